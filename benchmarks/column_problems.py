"""Problems whose floor is known exactly with any of their columns left out.

They have columns that are redundant, irrelevant, leaked, or matter only together.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
from scipy.special import expit, ndtr

Labelled = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ColumnProblem:
    """A distribution of rows, and its floor for every set of columns.

    `units` are the columns that are left out: by name, the places they have in X (a category has several).
    """

    name: str
    units: dict[str, tuple[int, ...]]
    draw: Callable[[int, np.random.Generator], Labelled] = field(repr=False)
    exact: Callable[[frozenset[str]], float] = field(repr=False)
    kinds: dict[str, str]  # what a column is there for

    def sample(self, n: int, seed: int) -> Labelled:
        """Rows and labels."""
        return self.draw(n, np.random.default_rng([seed, zlib.crc32(self.name.encode())]))

    def floor(self, units: Sequence[str]) -> float:
        """The lowest error with these columns alone."""
        return self.exact(frozenset(units))

    def loss(self, unit: str) -> float:
        """What the floor loses without a column."""
        return self.floor([other for other in self.units if other != unit]) - self.floor(list(self.units))


def get(name: str) -> ColumnProblem:
    """A problem by its name."""
    return PROBLEMS[name]()


def _places(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    return {name: (j,) for j, name in enumerate(names)}


def _two_gaussians(name: str, kinds: dict[str, str], shift: Sequence[float], covariance: np.ndarray) -> ColumnProblem:
    """Two equally frequent classes with one covariance S; of columns A the floor is Phi(-sqrt(m_A' S_AA^-1 m_A)/2)."""
    names, mean = list(kinds), np.array(shift)
    root = np.linalg.cholesky(covariance)

    def draw(n: int, rng: np.random.Generator) -> Labelled:
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, len(mean))) @ root.T + y[:, None] * mean, y

    def exact(units: frozenset[str]) -> float:
        own = [j for j, unit in enumerate(names) if unit in units]
        if not own:
            return 0.5
        m = mean[own]
        return float(ndtr(-np.sqrt(m @ np.linalg.solve(covariance[np.ix_(own, own)], m)) / 2))

    return ColumnProblem(name, _places(names), draw, exact, kinds)


@cache
def independent() -> ColumnProblem:
    """Three columns that tell something each, two that tell nothing."""
    kinds = {"x1": "useful", "x2": "useful", "x3": "useful", "x4": "irrelevant", "x5": "irrelevant"}
    return _two_gaussians("independent", kinds, (1.6, 1.0, 0.5, 0.0, 0.0), np.eye(5))


@cache
def redundant() -> ColumnProblem:
    """x2 is x1 measured less exactly: it tells nothing beside x1, and nearly all without it."""
    kinds = {"x1": "useful", "x2": "redundant", "x3": "useful", "x4": "irrelevant", "x5": "irrelevant"}
    covariance = np.eye(5)
    covariance[0, 1] = covariance[1, 0] = 1.0
    covariance[1, 1] = 1.09
    return _two_gaussians("redundant", kinds, (1.5, 1.5, 0.8, 0.0, 0.0), covariance)


@cache
def exclusive_or() -> ColumnProblem:
    """The sign of x1 x2, flipped in 5 % of the rows where x3 > 0 and in 20 % of the others: x3 changes no decision."""
    kinds = {"x1": "together", "x2": "together", "x3": "irrelevant", "x4": "irrelevant", "x5": "irrelevant"}

    def draw(n: int, rng: np.random.Generator) -> Labelled:
        X = rng.uniform(-1, 1, (n, 5))
        flipped = rng.random(n) < np.where(X[:, 2] > 0, 0.05, 0.2)
        return X, ((X[:, 0] * X[:, 1] > 0) ^ flipped).astype(np.int64)

    def exact(units: frozenset[str]) -> float:
        return 0.125 if {"x1", "x2"} <= units else 0.5

    return ColumnProblem("exclusive or", _places(list(kinds)), draw, exact, kinds)


@cache
def leaked() -> ColumnProblem:
    """Two Gaussian columns, and the label itself with 2 % of its values flipped."""
    kinds = {"x1": "redundant", "x2": "redundant", "leak": "leaked", "x4": "irrelevant", "x5": "irrelevant"}
    share, shift = 0.02, {"x1": 1.2, "x2": 0.8}

    def draw(n: int, rng: np.random.Generator) -> Labelled:
        y = rng.integers(0, 2, n)
        X = rng.normal(size=(n, 5))
        X[:, 0] += shift["x1"] * y
        X[:, 1] += shift["x2"] * y
        X[:, 2] = y ^ (rng.random(n) < share)
        return X, y

    def exact(units: frozenset[str]) -> float:
        # Log-odds of the Gaussians: N(+-m^2/2, m^2), to which the leak adds +-log((1 - share)/share).
        m = float(np.sqrt(sum(shift[unit] ** 2 for unit in units if unit in shift)))
        if "leak" not in units:
            return float(ndtr(-m / 2)) if m else 0.5
        if not m:
            return share
        odds = np.log((1 - share) / share)
        return float((1 - share) * ndtr(-(m * m / 2 + odds) / m) + share * ndtr(-(m * m / 2 - odds) / m))

    return ColumnProblem("leaked", _places(list(kinds)), draw, exact, kinds)


def _categories(name: str, kinds: dict[str, str], priors: np.ndarray, tables: dict[str, np.ndarray]) -> ColumnProblem:
    """Columns of categories that are independent within a class, 0/1 columns each: a row of a table for each class.

    b is a copy of a with a tenth of it drawn again.
    """
    n_levels = tables["a"].shape[1]
    copied = 0.9 * np.eye(n_levels) + 0.1 / n_levels
    sizes = {unit: n_levels if unit == "b" else tables[unit].shape[1] for unit in kinds}
    names, starts = list(sizes), np.cumsum([0, *sizes.values()])
    units = {unit: tuple(range(starts[j], starts[j + 1])) for j, unit in enumerate(names)}

    def level(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
        return (rng.random(len(table))[:, None] > np.cumsum(table, axis=1)[:, :-1]).sum(axis=1)

    def draw(n: int, rng: np.random.Generator) -> Labelled:
        y = rng.choice(len(priors), n, p=priors)
        found = {unit: level(rng, table[y]) for unit, table in tables.items()}
        found["b"] = level(rng, copied[found["a"]])
        return np.hstack([np.eye(sizes[unit])[found[unit]] for unit in names]), y

    def exact(units: frozenset[str]) -> float:
        joint = {}  # of the classes, by what is seen
        for cell in product(*(range(size) for size in sizes.values())):
            at = dict(zip(names, cell, strict=True))
            share = priors * copied[at["a"], at["b"]]
            for unit, table in tables.items():
                share = share * table[:, at[unit]]
            seen = tuple(at[unit] for unit in names if unit in units)
            joint[seen] = joint.get(seen, 0) + share
        return float(1 - sum(share.max() for share in joint.values()))

    return ColumnProblem(name, units, draw, exact, kinds)


@cache
def categories() -> ColumnProblem:
    """Three classes and five columns of categories."""
    tables = {
        "a": np.array([[0.75, 0.15, 0.10], [0.15, 0.70, 0.15], [0.20, 0.20, 0.60]]),
        "c": np.array([[0.8, 0.2], [0.5, 0.5], [0.25, 0.75]]),
        "d": np.array([[0.3, 0.3, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3], [0.25, 0.25, 0.25, 0.25]]),
        "e": np.full((3, 3), 1 / 3),
    }
    kinds = {"a": "useful", "b": "redundant", "c": "useful", "d": "useful", "e": "irrelevant"}
    return _categories("categories", kinds, np.array([0.5, 0.3, 0.2]), tables)


@cache
def ring() -> ColumnProblem:
    """The class follows r^2 = x1^2 + x2^2, of which x3 is a measurement with an error of its own."""
    kinds = {"x1": "useful", "x2": "useful", "x3": "redundant", "x4": "irrelevant", "x5": "irrelevant"}
    centre, slope, noise = 2 * np.log(2), 2.0, 0.7

    def draw(n: int, rng: np.random.Generator) -> Labelled:
        X = rng.normal(size=(n, 5))
        squared = X[:, 0] ** 2 + X[:, 1] ** 2
        X[:, 2] = squared + noise * X[:, 2]
        return X, (rng.random(n) < expit(slope * (squared - centre))).astype(np.int64)

    @cache
    def quadrature() -> dict[frozenset[str], float]:
        """Sums over a grid of x1, x2 and x3, with steps of 0.025, 0.025 and 0.05: halved, no floor moves by 3e-5."""
        step, step3 = 0.025, 0.05
        x = np.arange(-5, 5 + step / 2, step)
        z = np.arange(-4, 40, step3)
        mass = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * step
        both, ones = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
        alone = np.zeros(len(x))
        whole = 0.0
        for i, own in enumerate(x):  # of x2
            squared = own**2 + x**2
            eta = expit(slope * (squared - centre))
            measured = np.exp(-(((z - squared[:, None]) / noise) ** 2) / 2) / (noise * np.sqrt(2 * np.pi)) * step3
            both[i], ones[i] = mass @ measured, (mass * eta) @ measured
            alone[i] = mass @ eta
            whole += mass[i] * float(mass @ np.minimum(eta, 1 - eta))
        both, ones = both * mass[:, None], ones * mass[:, None]

        def error(ones: np.ndarray, both: np.ndarray) -> float:
            return float(np.minimum(ones, both - ones).sum())

        with_x3, single = error(ones, both), error(alone * mass, mass)
        third = error(ones.sum(axis=0), both.sum(axis=0))
        first = float((alone * mass).sum())
        return {
            frozenset(): min(first, 1 - first),
            frozenset({"x1"}): single,
            frozenset({"x2"}): single,
            frozenset({"x3"}): third,
            frozenset({"x1", "x3"}): with_x3,
            frozenset({"x2", "x3"}): with_x3,
            frozenset({"x1", "x2"}): whole,
            frozenset({"x1", "x2", "x3"}): whole,
        }

    def exact(units: frozenset[str]) -> float:
        return quadrature()[units & {"x1", "x2", "x3"}]

    return ColumnProblem("ring", _places(list(kinds)), draw, exact, kinds)


PROBLEMS: dict[str, Callable[[], ColumnProblem]] = {
    "independent": independent,
    "redundant": redundant,
    "exclusive or": exclusive_or,
    "leaked": leaked,
    "categories": categories,
    "ring": ring,
}


# --- random ones, which the width of intervals is calibrated on ---------------------------------------------


def random_problem(number: int) -> ColumnProblem:
    """Gaussians or categories by turns, five columns, the last of which tells nothing."""
    rng = np.random.default_rng([21, number])
    return _random_categories(number, rng) if number % 2 else _random_gaussians(number, rng)


def _random_gaussians(number: int, rng: np.random.Generator) -> ColumnProblem:
    kinds = {f"x{j}": "irrelevant" if j == 5 else "random" for j in range(1, 6)}
    shift = np.append(rng.normal(size=4) * rng.choice([0.2, 0.7, 1.4], size=4), 0.0)
    mixed = np.eye(5)
    mixed[:4, :4] += rng.uniform(0, 0.4) * rng.normal(size=(4, 4))
    return _two_gaussians(f"gaussians {number}", kinds, shift.tolist(), mixed @ mixed.T)


def _random_categories(number: int, rng: np.random.Generator) -> ColumnProblem:
    n_classes = int(rng.integers(2, 5))
    kinds = {"a": "random", "b": "redundant", "c": "random", "d": "random", "e": "irrelevant"}
    tables = {
        unit: rng.dirichlet(np.full(int(rng.integers(2, 6)), rng.choice([1.0, 3.0, 10.0])), size=n_classes)
        for unit in ("a", "c", "d")
    }
    tables["e"] = np.full((n_classes, 3), 1 / 3)
    return _categories(f"categories {number}", kinds, rng.dirichlet(np.full(n_classes, 5.0)), tables)
