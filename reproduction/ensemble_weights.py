"""Arithmetic and Chebyshev nodes with their optimal weights: Figure 6."""

import warnings
from typing import Any

import numpy as np

from bayesfloor.balls.authors_code import relaxed_arithmetic_weights
from bayesfloor.balls.weights import arithmetic_weights, chebyshev_weights
from bayesfloor.errors import BayesfloorWarning

from .experiment import Experiment, Line, Results, Settings
from .wording import reproduced, table

__all__ = ["EXPERIMENT"]

_KINDS = {
    "arithmetic": lambda d: arithmetic_weights(d + 1, d),
    "arithmetic, authors' code": lambda d: relaxed_arithmetic_weights(d + 1, d),
    "Chebyshev": lambda d: chebyshev_weights(d + 1, d),
}


def run(settings: Settings) -> Results:
    """Nodes and weights for d = 10 (L = 11) and d = 100 (L = 101), with d vanishing moments."""
    results: Results = {}
    for d in (10, 100):
        for kind, make in _KINDS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BayesfloorWarning)  # that they are beyond all digits is shown here
                nodes, weights = make(d)
            sizes = np.abs(weights)
            results[f"{kind}, d = {d}"] = {
                "kind": kind,
                "n_features": d,
                "nodes": nodes.tolist(),
                "weights": weights.tolist(),
                "largest": float(sizes.max()),
                "norm": float(np.linalg.norm(weights)),
                "negative": int((weights < -1e-9 * sizes.max()).sum()),
                # Weights of a linear programme may be equal but for rounding.
                "decreasing": bool((np.diff(weights) <= 1e-9 * sizes.max()).all()),
                "sign_changes": int((np.diff(np.sign(weights[sizes > 1e-9 * sizes.max()])) != 0).sum()),
            }
        settings.tell("weights", d, 100)
    return {"weights": results}


def draw(results: Results) -> Any:
    """A panel per kind and dimension."""
    from .figures import weights_by_node

    return weights_by_node(results["weights"])


def judge(results: Results) -> str:
    """Sizes and signs against what the paper says of them."""
    rows = [
        [
            name,
            len(w["nodes"]),
            f"{w['largest']:.3g}",
            f"{w['norm']:.3g}",
            w["negative"],
            "yes" if w["decreasing"] else "no",
            w["sign_changes"],
        ]
        for name, w in results["weights"].items()
    ]
    header = ["weights", "L", "largest", "norm", "negative ones", "they decrease", "changes of sign"]
    of_kind = {kind: [w for w in results["weights"].values() if w["kind"] == kind] for kind in _KINDS}
    lost = max(of_kind["arithmetic"], key=lambda w: w["n_features"])
    text = (
        f"Arithmetic weights with d vanishing moments {_decrease(of_kind['arithmetic'])}: they are "
        f"(-1)^(l-1) binom(L, l), and reach {lost['largest']:.1e} at L = {len(lost['nodes'])}; a float64 sum weighted "
        f"with them is off by about {lost['largest'] * 2.0**-53:.0e}. The authors' code keeps moments small instead of "
        f"making them vanish; its arithmetic weights {_decrease(of_kind[_RELAXED])}, so that the paper's figure "
        f"{'probably' if all(w['decreasing'] for w in of_kind[_RELAXED]) else 'hardly'} shows those. "
    )
    if all(w["negative"] > 0 for kind in ("arithmetic", "Chebyshev") for w in of_kind[kind]):
        text += "Both kinds with vanishing moments have negative weights, so neither ensemble is a convex combination. "
    text += (
        f"That Chebyshev nodes keep the weights small holds: their norm is at most "
        f"{max(w['norm'] for w in of_kind['Chebyshev']):.2f} here. The largest of them sit on the smallest radii, "
        "where balls are empty."
    )
    return f"{table(header, rows)}\n\n{text}"


_RELAXED = "arithmetic, authors' code"


def _decrease(weights: list[Results]) -> str:
    found = [w["n_features"] for w in weights if w["decreasing"]]
    if len(found) == len(weights):
        return "decrease monotonically"
    return f"decrease monotonically for d = {found[0]} alone" if found else "do not decrease monotonically"


def index(results: Results) -> list[Line]:
    """Whether arithmetic weights decrease and Chebyshev weights oscillate."""
    lines = []
    for part, d in (("a", 10), ("b", 100)):
        printed, authors, chebyshev = (results["weights"][f"{kind}, d = {d}"] for kind in _KINDS)
        cells = [
            f"{'' if w['decreasing'] else 'not '}decreasing, largest {w['largest']:.2g}" for w in (printed, authors)
        ]
        oscillating = chebyshev["sign_changes"] >= d // 2
        lines.append(
            Line(
                f"Figure 6({part})",
                f"d = {d}: arithmetic weights decrease monotonically, Chebyshev weights oscillate",
                cells[0],
                cells[1],
                f"as printed; Chebyshev weights change sign {chebyshev['sign_changes']} times",
                reproduced(printed["decreasing"] and oscillating, authors["decreasing"], None),
            )
        )
    return lines


EXPERIMENT = Experiment(
    "weights",
    "Nodes and optimal weights (Figure 6)",
    "Optimal weights at arithmetic and at Chebyshev nodes for d = 10 (L = 11) and d = 100 (L = 101): the arithmetic "
    'ones are said to "decrease monotonically", and the ensemble to be "a convex combination".',
    run,
    draw,
    judge,
    index,
)
