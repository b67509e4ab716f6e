"""How much more data a model needs to come near the floor: its learning curve, carried on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from .._types import Floats, RandomSeed
from ..errors import DataError, ParameterError
from ..floor.excess import check_rows, check_share, error_limit, floor_reach, known_floor, points
from ..floor.result import FloorResult
from ..utils.checks import brief, seed_from
from ..utils.intervals import ConfidenceInterval, check_level

__all__ = ["ModelCurvePoint", "SamplesNeeded", "samples_needed"]


_FEWEST_POINTS = 3  # a and b leave one point to check the fit by
_PARAMETERS = 3  # a, b and the end, where that is fitted too
_FARTHEST = 100  # times the largest training set seen: beyond it a power law is a guess
_SMALLEST, _LARGEST = 0.02, 3.0  # exponents; the smallest stands for "does not fall"
_DRAWS = 2_000


class ModelCurvePoint(NamedTuple):
    """The model trained on so many rows, and its error on so many others."""

    n_train: int
    error: float
    n_test: int


@dataclass(frozen=True)
class SamplesNeeded:
    """How many training rows bring the model near the floor.

    Attributes
    ----------
    status : {"more rows", "already there", "below the floor", "cannot tell"}
        "Already there": the target is reached with the largest training set seen.
        "Below the floor": the model shows that the floor was estimated too high, or that test rows have leaked into
        training; how near to it the model is then means nothing.
    n_train : float or None
        Rows in total at which the curve comes within `within` of the floor; None if that cannot be told.
    interval : ConfidenceInterval or None
        Of `n_train`; None where it has no upper end up to a hundredfold of what was seen.
    n_more : float or None
        `n_train` less the largest training set seen, at least 0.
    exponent : float or None
        The b of error(n) = floor + a n^-b.
    within, floor : float
    curve : tuple of ModelCurvePoint
    reason : str
        The answer in a sentence.
    """

    status: str
    n_train: float | None
    interval: ConfidenceInterval | None
    exponent: float | None
    within: float
    floor: float
    curve: tuple[ModelCurvePoint, ...]
    reason: str

    @property
    def n_more(self) -> float | None:
        """Rows beyond the largest training set seen."""
        return None if self.n_train is None else max(0.0, self.n_train - self.curve[-1].n_train)

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "status": self.status,
            "n_train": self.n_train,
            "n_more": self.n_more,
            "interval": None if self.interval is None else asdict(self.interval),
            "exponent": self.exponent,
            "within": self.within,
            "floor": self.floor,
            "curve": [point._asdict() for point in self.curve],
            "reason": self.reason,
        }


def samples_needed(
    result: FloorResult | float,
    model_curve: Any,
    *,
    interval: ConfidenceInterval | Sequence[float] | None = None,
    within: float = 0.01,
    confidence_level: float | None = None,
    random_state: RandomSeed = 0,
) -> SamplesNeeded:
    """How many rows a model needs to come within so much of the floor.

    Fits error(n) = floor + a n^-b to the model's learning curve by least squares, weighted by the noise of the
    errors, and solves it for floor + `within`. The interval comes from repeating this 2,000 times with the errors and
    the floor drawn from their noise: binomial (more where the points scatter more about the curve than that) for the
    errors, and what its interval says for the floor. All sizes are usually tested on the same rows, and then err
    together on those that nobody gets right; the errors are therefore also drawn with a shift they share.

    Parameters
    ----------
    result : FloorResult or float
        The floor; a number needs `interval`.
    model_curve : sequence of (n_train, error, n_test), or mapping or frame with these columns
        Error of the same model trained on growing numbers of rows; at least three.
    interval : ConfidenceInterval or (low, high), optional
        Of a floor given as a number.
    within : float
        How near the floor is near enough: 0.01 is a point.
    confidence_level : float, optional
        Of the answer; that of the floor's interval if None.
    random_state : int, RandomState or None

    Returns
    -------
    SamplesNeeded
        It says "already there" when the last error is within the target. It says "cannot tell" when the curve does not
        clearly fall, when four sizes or more show that it levels off too high, or when the answer, or the upper end of
        its interval, lies more than a hundred times beyond the largest training set seen. It says "below the floor"
        when the upper limit of the last error lies below the floor, or when the model is near it and no curve that ends
        there fits: the floor was estimated too high, whatever its interval.

    Examples
    --------
    >>> curve = [(n, 0.10 + 2 * n**-0.5, 50_000) for n in (500, 1_000, 2_000, 4_000, 8_000)]
    >>> needed = samples_needed(0.10, curve, interval=(0.098, 0.102), within=0.01)   # (2 / 0.01)^2 = 40,000 rows
    >>> needed.status, round(needed.n_train, -2), 40_000 in needed.interval
    ('more rows', 40000.0, True)
    >>> samples_needed(0.15, curve, interval=(0.12, 0.18)).status   # 12.2 % with 8,000 rows, and falling
    'below the floor'
    """
    floor, limits = known_floor(result, interval, 0.95 if confidence_level is None else confidence_level)
    level = limits.confidence_level if confidence_level is None else confidence_level
    check_level(level)
    within = check_share("within", within)
    if within == 0:
        raise ParameterError("within must be above 0: the floor itself is only reached with infinitely many rows")
    seed = seed_from(random_state)
    given = _check_curve(model_curve)
    curve = _merge(given)

    def answer(status: str, reason: str, *found: Any) -> SamplesNeeded:
        n_train, reach, exponent = found or (None, None, None)
        return SamplesNeeded(status, n_train, reach, exponent, within, floor, curve, reason)

    too_high = _shows_floor_too_high(given, curve, floor, within, level)
    if too_high:
        return answer("below the floor", too_high)
    sizes = np.array([point.n_train for point in curve], dtype=np.float64)
    near = f"within {points(within)} of the floor ({floor:.2%})"
    is_reached = bool(curve) and curve[-1].error <= floor + within
    reached = f"target reached: with {_rows(sizes[-1])} this model is {near}" if is_reached else ""
    if is_reached and curve[-1].error < floor:
        reached += "; its error is below the floor, by chance or because that was estimated too high"
    if is_reached and len(sizes) < _FEWEST_POINTS:
        return answer("already there", reached, float(sizes[-1]), None, None)
    if len(sizes) < _FEWEST_POINTS:
        return answer(
            "cannot tell",
            f"cannot tell: the curve has {len(sizes)} sizes of training set, and {_FEWEST_POINTS} at least are needed",
        )
    errors = np.array([point.error for point in curve])
    smoothed, noise = _noise(curve)
    log_n, b, fitted = _fit(sizes, errors[None], np.array([floor]), noise, within, 10_000)
    spread = float((((errors - fitted[0]) / noise) ** 2).sum() / (len(sizes) - 2))
    rng = np.random.default_rng(seed)
    drawn = errors + rng.normal(size=(_DRAWS, len(sizes))) * noise * max(1.0, spread) ** 0.5
    lowest = smoothed.min()  # repeats at one size may have been tested on the same rows: those of one count
    shared = (lowest * (1 - lowest) / max(point.n_test for point in given)) ** 0.5
    drawn += rng.normal(size=(_DRAWS, 1)) * shared
    log_draws, b_draws, _ = _fit(sizes, drawn, _draw_floors(floor, limits, rng), noise, within, 150)
    # Ends are ranks, not means of two draws: some are infinite.
    ends = np.quantile(log_draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    farthest = _FARTHEST * sizes[-1]
    low, high = (float(np.exp(end)) if end <= np.log(farthest) else math.inf for end in ends)
    n, exponent = float(np.exp(log_n[0])), float(b[0])
    if is_reached:
        n = min(n, float(sizes[-1]))
        bounded = ConfidenceInterval(min(low, n), high, level) if math.isfinite(high) else None
        sure = "" if high <= sizes[-1] else "; the test rows and sizes are too few to be sure of it"
        return answer("already there", reached + sure, n, bounded, exponent)
    z = float(ndtri((1 + level) / 2))
    reach = floor_reach(floor, limits, (1 + level) / 2)[1]
    end = _levels_off(sizes, errors, noise, floor + within + math.hypot(reach, z * shared), level)
    if end is not None:
        return answer(
            "cannot tell",
            f"cannot tell: the curve levels off near {end:.2%}, and does not look as if it came {near}; if it stays "
            "there no number of rows is enough, and a better model is needed",
        )
    if n <= sizes[-1]:
        return answer(
            "cannot tell",
            f"cannot tell: the curve does not fall as more rows should make it; with {_rows(sizes[-1])} this model is "
            f"{100 * (errors[-1] - floor):.2f} points above the floor ({floor:.2%})",
        )
    # Draws without a slope are not evidence of a slow one: the curve may as well have ended above the floor.
    flat = float((b_draws <= 1.0001 * _SMALLEST).mean())
    if flat > (1 - level) / 2:
        return answer(
            "cannot tell",
            f"cannot tell: the curve does not clearly fall (from {errors[0]:.2%} with {_rows(sizes[0])} to "
            f"{errors[-1]:.2%} with {_rows(sizes[-1])}); more test rows or a wider range of sizes would show whether "
            "it does; if it is flat, a better model is needed, not more rows",
        )
    if n > farthest or math.isinf(low):
        return answer(
            "cannot tell",
            f"cannot tell: at its present pace this model would need more than {_FARTHEST} times the "
            f"{_rows(sizes[-1])} seen to be {near}, too far to carry the curve on; a better model is the shorter way",
        )
    if math.isinf(high):
        return answer(
            "cannot tell",
            f"cannot tell: the number of rows that would bring this model {near} has no upper limit at "
            f"{100 * level:g}% confidence, up to {_FARTHEST} times the {_rows(sizes[-1])} seen; more test rows, larger "
            "training sets or a floor with a narrower interval would give one",
        )
    reason = (
        f"with about {_count(n - sizes[-1])} more rows ({100 * level:g}% interval "
        f"{_count(max(0.0, low - sizes[-1]))} to {_count(high - sizes[-1])}) this model would be {near}; with "
        f"{_rows(sizes[-1])} it is {100 * (errors[-1] - floor):.2f} points above it"
    )
    return answer("more rows", reason, n, ConfidenceInterval(low, high, level), exponent)


def _noise(curve: Sequence[ModelCurvePoint]) -> tuple[Floats, Floats]:
    """Errors that are never 0 or 1, and their standard deviations."""
    tests = np.array([point.n_test for point in curve], dtype=np.float64)
    # (k + 1) / (n + 2): an error of 0 is not free of noise.
    smoothed = (np.array([point.error for point in curve]) * tests + 1) / (tests + 2)
    return smoothed, np.sqrt(smoothed * (1 - smoothed) / tests)


def _shows_floor_too_high(
    given: list[ModelCurvePoint], curve: Sequence[ModelCurvePoint], floor: float, within: float, level: float
) -> str | None:
    """What the end of the curve says against the floor; None if nothing."""
    if not curve or curve[-1].error > floor + within:
        return None
    last = curve[-1]
    # Repeats may have been tested on the same rows: those of one count.
    n_test = max(point.n_test for point in given if point.n_train == last.n_train)
    limit = error_limit(last.error, n_test, (1 + level) / 2)
    by = f"by at least {100 * (floor - limit):.2f} points with {100 * level:g}% confidence"
    if limit >= floor:
        doubled = _falls_through(curve, n_test, floor, level)
        if doubled is None:
            return None
        by = f"since the curve still falls: with twice the rows it leads to about {max(0.0, doubled):.1%}"
    where = "below the floor" if last.error < floor else "on its way below the floor"
    return (
        f"{where}: with {_rows(last.n_train)} this model errs {last.error:.2%}, and the floor is said to be "
        f"{floor:.2%}. Most likely the floor was estimated too high, {by}; "
        "otherwise test rows have leaked into training. Estimate it again from more rows, with effort='thorough' or "
        "with this model among classifiers="
    )


def _falls_through(curve: Sequence[ModelCurvePoint], n_test: int, floor: float, level: float) -> float | None:
    """Error with twice the rows, if that is below the floor and no curve that ends at the floor or above fits."""
    if len(curve) < _FEWEST_POINTS:
        return None
    sizes = np.array([point.n_train for point in curve], dtype=np.float64)
    errors = np.array([point.error for point in curve])
    smoothed, noise = _noise(curve)
    shared = float(ndtri((1 + level) / 2)) * (smoothed.min() * (1 - smoothed.min()) / n_test) ** 0.5
    target = floor - shared
    if target <= 0:
        return None
    ends, exponents, fitted, misfit, limit = _ends(sizes, errors, noise, target, level)
    best = int(misfit.argmin())
    doubled = float(ends[best] + (fitted[best, -1] - ends[best]) * 2 ** -exponents[best])
    refuted = misfit[ends >= target].min() - misfit[best] > limit
    return doubled if refuted and doubled < floor else None


def _fit(
    sizes: Floats, errors: Floats, floors: Floats, noise: Floats, within: float, n_exponents: int
) -> tuple[Floats, Floats, Floats]:
    """Least squares for each row of `errors`: log of the rows needed, exponent, and fitted errors.

    For a given exponent the best a >= 0 has a closed form, so the exponent is all that is searched for.
    """
    grid = np.geomspace(_SMALLEST, _LARGEST, n_exponents)
    relative = np.log(sizes / sizes[-1])
    shapes = np.exp(-grid[:, None] * relative)  # (b, points): 1 at the largest size
    weights = noise**-2.0
    excess = errors - floors[:, None]
    products = (excess * weights) @ shapes.T  # (rows, b)
    norms = (shapes**2 * weights).sum(axis=1)
    heights = np.maximum(0.0, products / norms)
    # |excess - a shape|^2 less the constant |excess|^2
    best = (heights**2 * norms - 2 * heights * products).argmin(axis=1)
    exponents = grid[best]
    height = heights[np.arange(len(best)), best]
    with np.errstate(divide="ignore"):
        needed = np.log(sizes[-1]) + np.log(height / within) / exponents
    flat = (exponents <= grid[0]) & (height > within)
    needed = np.where(flat, np.inf, np.maximum(needed, 0.0))
    return needed, exponents, floors[:, None] + height[:, None] * shapes[best]


def _levels_off(sizes: Floats, errors: Floats, noise: Floats, target: float, level: float) -> float | None:
    """Where the curve ends, if it refutes that it ends at `target` or below; else None."""
    if len(sizes) <= _PARAMETERS or target >= errors.max():
        return None
    ends, _, _, misfit, limit = _ends(sizes, errors, noise, target, level)
    return float(ends[misfit.argmin()]) if misfit[ends <= target].min() - misfit.min() > limit else None


def _ends(
    sizes: Floats, errors: Floats, noise: Floats, target: float, level: float
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Ends that the curve may have, `target` among them: exponent, fitted errors and misfit of each, and a limit.

    Ends whose misfit is above the least by more than the limit are refuted, by their likelihood ratio.
    """
    ends = np.append(np.linspace(0.0, errors.max(), 500), target)
    _, exponents, fitted = _fit(sizes, np.repeat(errors[None], len(ends), axis=0), ends, noise, 1.0, 150)
    misfit = (((errors - fitted) / noise) ** 2).sum(axis=1)
    freedom = len(sizes) - _PARAMETERS
    scale = float(misfit.min() / freedom) if freedom > 0 else 1.0
    # Scatter beyond the binomial has to be estimated from the few points that are left.
    limit = ndtri((1 + level) / 2) ** 2 if scale <= 1 else scale * stdtrit(freedom, (1 + level) / 2) ** 2
    return ends, exponents, fitted, misfit, float(limit)


def _draw_floors(floor: float, interval: ConfidenceInterval, rng: np.random.Generator) -> Floats:
    """Floors that the interval allows, normal to either side of the estimate."""
    z = float(ndtri((1 + interval.confidence_level) / 2))
    steps = rng.normal(size=_DRAWS)
    return np.clip(floor + steps / z * np.where(steps < 0, floor - interval.low, interval.high - floor), 0.0, 1.0)


def _check_curve(model_curve: Any) -> list[ModelCurvePoint]:
    names = ModelCurvePoint._fields
    if isinstance(model_curve, Mapping) or hasattr(model_curve, "columns"):
        missing = [name for name in names if name not in model_curve]
        if missing:
            raise DataError(f"model_curve has no column {missing[0]!r}: it needs {', '.join(names)}")
        columns = [list(model_curve[name]) for name in names]
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"the columns {', '.join(names)} of model_curve must be equally long")
        points: list[Any] = list(zip(*columns, strict=True))
    else:
        try:
            points = [tuple(point) for point in model_curve]
        except TypeError:
            raise DataError(
                f"model_curve must be a sequence of (n_train, error, n_test), got {brief(model_curve)}"
            ) from None
    checked = []
    for i, point in enumerate(points):
        if len(point) != len(names):
            raise DataError(f"point {i} of model_curve must be (n_train, error, n_test), got {brief(point)}")
        n_train, error, n_test = point
        checked.append(
            ModelCurvePoint(
                check_rows(f"n_train of point {i}", n_train),
                check_share(f"error of point {i}", error),
                check_rows(f"n_test of point {i}", n_test),
            )
        )
    return checked


def _merge(points: list[ModelCurvePoint]) -> tuple[ModelCurvePoint, ...]:
    """One point per size, smallest first: repeats are averaged, and their test rows added."""
    by_size: dict[int, list[ModelCurvePoint]] = {}
    for point in points:
        by_size.setdefault(point.n_train, []).append(point)
    merged = []
    for n_train, same in sorted(by_size.items()):
        n_test = sum(point.n_test for point in same)
        merged.append(ModelCurvePoint(n_train, sum(point.error * point.n_test for point in same) / n_test, n_test))
    return tuple(merged)


def _count(n: float) -> str:
    """Two digits are all that such a figure carries."""
    digits = 1 - math.floor(math.log10(n)) if n >= 10 else 0
    return f"{round(n, digits):,.0f}"


def _rows(n: float) -> str:
    return f"{n:,.0f} rows"
