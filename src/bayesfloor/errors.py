"""What goes wrong, by name: errors of data and parameters are also a ValueError or a TypeError."""

__all__ = ["BayesfloorWarning", "ClusterError", "DataError", "DataTypeError", "ParameterError"]


class DataError(ValueError):
    """The data cannot be used as they are; the message says what, where, and what to do."""


class DataTypeError(TypeError):
    """The data are of a kind that is not supported (text columns, sparse matrices, ...)."""


class ParameterError(ValueError):
    """A parameter is out of its range."""


class ClusterError(RuntimeError):
    """A cluster cannot be reached, was lost, or could not do a piece of work; the message says what to do."""


class BayesfloorWarning(UserWarning):
    """A result exists but should not be taken at face value."""
