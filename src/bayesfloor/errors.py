"""What goes wrong, by name: errors of data and parameters are also a ValueError or a TypeError."""

from ._text import printed

__all__ = ["BayesfloorWarning", "ClusterError", "DataError", "DataTypeError", "ParameterError"]


class _Printed(Exception):
    """A message that cannot steer a terminal, whatever it quotes; it may have several lines."""

    def __str__(self) -> str:
        return printed(super().__str__().split("\n"))


class DataError(_Printed, ValueError):
    """The data cannot be used as they are; the message says what, where, and what to do.

    Attributes
    ----------
    lines : tuple of str
        The message line by line where it is a list of several problems; empty otherwise.

    Examples
    --------
    >>> import bayesfloor as bf
    >>> bf.nearest_labels([[1.0], [2.0]], ["a"], k=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesfloor.errors.DataError: ...
    """

    lines: tuple[str, ...] = ()


class DataTypeError(_Printed, TypeError):
    """The data are of a kind that is not supported (text columns, sparse matrices, ...).

    Examples
    --------
    >>> import bayesfloor as bf
    >>> bf.nearest_labels([["red"], ["blue"]], ["a", "b"], k=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesfloor.errors.DataTypeError: ...
    """


class ParameterError(_Printed, ValueError):
    """A parameter is out of its range.

    Examples
    --------
    >>> import bayesfloor as bf
    >>> bf.GivenRadii([-1.0])
    Traceback (most recent call last):
        ...
    bayesfloor.errors.ParameterError: radii must be positive and finite, got [-1.0]
    """


class ClusterError(_Printed, RuntimeError):
    """A cluster cannot be reached, was lost, or could not do a piece of work; the message says what to do.

    Examples
    --------
    >>> issubclass(ClusterError, RuntimeError)   # the data and the parameters may well be right
    True
    """


class BayesfloorWarning(_Printed, UserWarning):
    """A result exists but should not be taken at face value.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BayesfloorWarning)   # or "error", to stop there
    """
