"""Arithmetic and Chebyshev nodes with their optimal weights."""

import warnings
from typing import Any

import numpy as np

from bayesfloor.balls.weights import arithmetic_weights, chebyshev_weights
from bayesfloor.errors import BayesfloorWarning

from .experiment import Experiment, Results, Settings
from .wording import table

__all__ = ["EXPERIMENT"]


def run(settings: Settings) -> Results:
    """Nodes and weights for d = 10 (L = 11) and d = 100 (L = 101), with d vanishing moments."""
    results: Results = {}
    for d in (10, 100):
        for kind, make in (("arithmetic", arithmetic_weights), ("Chebyshev", chebyshev_weights)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BayesfloorWarning)  # that they are beyond all digits is shown here
                nodes, weights = make(d + 1, d)
            results[f"{kind}, d = {d}"] = {
                "kind": kind,
                "n_features": d,
                "nodes": nodes.tolist(),
                "weights": weights.tolist(),
                "largest": float(np.abs(weights).max()),
                "norm": float(np.linalg.norm(weights)),
                "negative": int((weights < 0).sum()),
                "decreasing": bool((np.diff(weights) <= 0).all()),
                "decreasing_size": bool((np.diff(np.abs(weights)) <= 0).all()),
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
            "yes" if w["decreasing_size"] else "no",
        ]
        for name, w in results["weights"].items()
    ]
    header = ["weights", "L", "largest", "norm", "negative ones", "they decrease", "their sizes decrease"]
    arithmetic = [w for w in results["weights"].values() if w["kind"] == "arithmetic"]
    chebyshev = [w for w in results["weights"].values() if w["kind"] == "Chebyshev"]
    decreasing = [w for w in arithmetic if w["decreasing"]]
    lost = max(arithmetic, key=lambda w: w["n_features"])
    text = (
        f"{'Some' if decreasing else 'None'} of the arithmetic weights decrease monotonically as the paper says: they "
        f"are (-1)^(l-1) binom(L, l), and reach {lost['largest']:.1e} at L = {len(lost['nodes'])}; a float64 sum "
        f"weighted with them is off by about {lost['largest'] * 2.0**-53:.0e}. "
    )
    if all(w["negative"] > 0 for w in results["weights"].values()):
        text += "Both kinds have negative weights, so that neither ensemble is a convex combination. "
    text += (
        f"That Chebyshev nodes keep the weights small holds: their norm is at most "
        f"{max(w['norm'] for w in chebyshev):.2f} here. The largest of them sit on the smallest radii, "
        "where balls are empty."
    )
    return f"{table(header, rows)}\n\n{text}"


EXPERIMENT = Experiment(
    "weights",
    "Nodes and optimal weights",
    "Optimal weights at arithmetic and at Chebyshev nodes for d = 10 (L = 11) and d = 100 (L = 101): the arithmetic "
    'ones are said to "decrease monotonically", and the ensemble to be "a convex combination".',
    run,
    draw,
    judge,
)
