"""Figures of the experiments, drawn from their results alone; beside `plots.py` the only matplotlib import."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .experiment import Results

__all__ = [
    "as_files",
    "ball_and_shells",
    "ball_by_ball",
    "curves_by_size",
    "estimates_by_alpha",
    "estimates_by_unit",
    "kinds_of_weights",
    "rates",
    "rates_of_classes",
    "stopping_points",
    "weights_by_node",
]

# Okabe and Ito's colours: told apart by everyone.
_LOOKS = {
    "as printed": ("#D55E00", "o"),
    "authors' code": ("#E69F00", "v"),
    "adaptive learner": ("#0072B2", "s"),
    "learned floor": ("#009E73", "D"),
    "Henze-Penrose": ("#CC79A7", None),
    "oracle": ("0.45", None),
    "random forest": ("#56B4E9", "^"),
    "XGBoost": ("#CC79A7", "P"),
    "network": ("#8C564B", "X"),
}
# Curves often coincide: the first is drawn widest, the last on top of it.
_KINDS: dict[str, dict[str, Any]] = {
    "chebyshev": {"color": "#0072B2", "marker": "o", "ms": 8, "lw": 4, "alpha": 0.6},
    "arithmetic": {"color": "#D55E00", "marker": "v", "ms": 6, "lw": 2},
    "uniform": {"color": "#000000", "marker": "s", "ms": 3, "lw": 1, "ls": "--"},
}


def as_files(figure: Any) -> dict[str, bytes]:
    """The figure as PNG and SVG, the same bytes each time; it is closed."""
    import matplotlib.pyplot as plt

    files = {}
    with plt.rc_context({"svg.hashsalt": "bayesfloor"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
            files[kind] = buffer.getvalue()
    plt.close(figure)
    return files


def _panels(rows: int, columns: int, width: float = 5.0, height: float = 4.0, **options: Any) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)  # no window, whatever the user's settings
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def _sizes(ax: Any, sizes: Sequence[int]) -> None:
    """Logarithmic axis with the sizes themselves as ticks, as many as there is room for."""
    ax.set_xscale("log")
    shown = list(sizes) if len(sizes) <= 6 else list(sizes)[::2]
    ax.set_xticks(shown, [f"{n:,}" for n in shown])
    ax.minorticks_off()
    ax.set_xlabel("rows N")


def _tidy(ax: Any, title: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def _truth(ax: Any, truth: float) -> None:
    ax.axhline(100 * truth, color="black", linestyle="--", linewidth=1.2, label="true floor")


def _percent(values: Sequence[float]) -> Any:
    return 100 * np.asarray(values, dtype=float)


def curves_by_size(tasks: Mapping[str, Results], log_above: float | None = None) -> Any:
    """Means with bands over N, a panel per problem; logarithmic above so many percent, if given."""
    figure, axes = _panels(1, len(tasks), width=6.0, height=4.4)
    for ax, (title, task) in zip(axes[0], tasks.items(), strict=True):
        for label, curve in task["curves"].items():
            colour, marker = _LOOKS[label]
            if "lower" in curve:
                for bound in ("upper", "lower"):
                    ax.plot(curve["n"], _percent(curve[bound]["mean"]), color=colour, label=f"{label} bounds")
                if "printed lower" in curve:
                    printed = _percent(curve["printed lower"]["mean"])
                    ax.plot(curve["n"], printed, color=colour, ls=":", label=f"{label}, lower bound as printed")
                    ax.set_yscale("symlog", linthresh=2)  # it runs to -50 %; what is of interest lies near 0
                    ax.set_yticks([-50, -20, -10, -5, -2, -1, 0, 1, 2, 5])
                    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
                    ax.minorticks_off()
                continue
            # As printed it lies below others that answer 0, too: wide enough to be seen there.
            look: dict[str, Any] = {"lw": 5, "ms": 9, "alpha": 0.6} if label == "as printed" else {"ms": 5}
            look["ls"] = ":" if label == "oracle" else "-"
            means = _percent(curve["value"]["mean"])
            ax.plot(curve["n"], means, color=colour, marker=marker, label=label, **look)
            if label not in ("oracle", "network", "XGBoost", "random forest"):
                low, high = _percent(curve["value"]["low"]), _percent(curve["value"]["high"])
                ax.fill_between(curve["n"], low, high, color=colour, alpha=0.12, lw=0)
        _truth(ax, task["truth"])
        _sizes(ax, max((c["n"] for c in task["curves"].values()), key=len))
        if log_above is not None:
            ax.set_yscale("symlog", linthresh=log_above)
            ax.set_yticks([0, 0.5, 1, 2, 5, 10, 20, 50, 100])
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.minorticks_off()
            ax.set_ylim(bottom=-0.1)
        ax.set_ylabel("error, %" if log_above is None else f"error, % (log scale above {log_above:g})")
        _tidy(ax, title)
    _legend_below(figure, axes[0])
    return figure


def _legend_below(figure: Any, axes: Any) -> None:
    entries: dict[str, Any] = {}
    for ax in np.ravel(axes):
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    columns = max(2, int(figure.get_figwidth() / 2.7))
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns, frameon=False)


def weights_by_node(weights: Mapping[str, Results]) -> Any:
    """Weights over nodes; sizes on a log scale where they are huge."""
    figure, axes = _panels(2, len(weights) // 2, height=3.2)
    for ax, (title, w) in zip(np.ravel(axes), weights.items(), strict=True):
        values = np.array(w["weights"])
        ax.axhline(0, color="0.6", linewidth=0.8)
        signs = ((values >= 0, "#0072B2", "positive"), (values < 0, "#D55E00", "negative"))
        for chosen, colour, name in signs:
            ax.vlines(np.array(w["nodes"])[chosen], 0, values[chosen], color=colour, linewidth=1)
            ax.plot(np.array(w["nodes"])[chosen], values[chosen], "o", ms=3, color=colour, label=name)
        if w["largest"] > 1e6:
            ax.set_yscale("symlog", linthresh=1.0)
            top = int(np.ceil(np.log10(w["largest"])))
            ticks = [10.0**k for k in (top // 3, 2 * top // 3, top)]
            ax.set_yticks([-t for t in ticks[::-1]] + [0] + ticks)
            ax.set_ylabel("weight (log scale)")
        else:
            ax.set_ylabel("weight")
        ax.minorticks_off()
        ax.set_xlabel("node, share of the largest")
        _tidy(ax, f"{title}, L = {len(values)}")
    _legend_below(figure, axes)
    return figure


def kinds_of_weights(tasks: Mapping[str, Results], panels: Sequence[tuple[str, str]], kinds: Sequence[str]) -> Any:
    """Mean squared error above, mean with band below; a column per problem and rule."""
    figure, axes = _panels(2, len(panels), width=4.2, height=3.0)
    for (above, below), (title, rule) in zip(axes.T, panels, strict=True):
        task = tasks[title]
        for kind in kinds:
            curve, look = task["curves"][f"{rule}, {kind}"]["value"], _KINDS[kind]
            sizes = np.array(task["curves"][f"{rule}, {kind}"]["n"])
            above.plot(sizes, np.maximum(curve["mse"], 1e-7), **look, label=kind)
            below.plot(sizes, _percent(curve["mean"]), **look, label=kind)
            band = _percent(curve["low"]), _percent(curve["high"])
            below.fill_between(sizes, *band, color=look["color"], alpha=0.15, lw=0)
        truth = task["truth"]
        above.plot(sizes, truth * (1 - truth) / sizes, color="0.45", ls=":", label="oracle")
        above.set_yscale("log")
        _truth(below, truth)
        for ax in (above, below):
            _sizes(ax, sizes.tolist())
            _tidy(ax, "")
        above.set_title(f"{title}\n{rule}", fontsize=9)
        above.set_xlabel("")
    axes[0, 0].set_ylabel("mean squared error")
    axes[1, 0].set_ylabel("mean and 95 % band, %")
    _legend_below(figure, axes)
    return figure


def estimates_by_alpha(tasks: Mapping[str, Results], rule: str, alphas: Sequence[float]) -> Any:
    """Estimates over N for each alpha, a panel per problem."""
    figure, axes = _panels((len(tasks) + 1) // 2, 2, width=5.6, height=3.6)
    shades = ("#FDBE85", "#FD8D3C", "#D94701", "#7F2704")
    for ax, (title, task) in zip(np.ravel(axes), tasks.items(), strict=False):
        curves = [task["curves"][f"{rule}, alpha {alpha}"] for alpha in alphas]
        for alpha, curve, shade, marker in zip(alphas, curves, shades, "ov^s", strict=True):
            values = _percent(curve["value"]["mean"])
            ax.plot(curve["n"], values, color=shade, marker=marker, ms=5, label=f"{rule}, alpha {alpha}")
        for label in ("adaptive learner", "learned floor"):
            if label in task["curves"]:
                other, (colour, marker) = task["curves"][label], _LOOKS[label]
                means = _percent(other["value"]["mean"])
                ax.plot(other["n"], means, color=colour, marker=marker, ms=5, label=label)
        _truth(ax, task["truth"])
        _sizes(ax, curves[0]["n"])
        ax.set_ylabel("error, %")
        _tidy(ax, title)
    _legend_below(figure, axes)
    return figure


def estimates_by_unit(tasks: Mapping[str, Results], units: Sequence[float]) -> Any:
    """Estimate and share of empty balls over the unit of length, a panel per problem."""
    figure, axes = _panels(2, (len(tasks) + 1) // 2, width=4.6, height=3.4)
    for ax, (title, task) in zip(np.ravel(axes), tasks.items(), strict=False):
        curves = [task["curves"][f"unit {unit:g}"] for unit in units]
        values, empty = ([curve[figure]["mean"][0] for curve in curves] for figure in ("value", "empty"))
        ax.plot(units, _percent(values), color="#D55E00", marker="o", ms=5, label="printed radii in this unit (ours)")
        _truth(ax, task["truth"])
        ax.set_xscale("log", base=2)
        shown = [unit for unit in units if unit in (0.5, 4, 32, 256, 2048, 16384)]
        ax.set_xticks(shown, [f"{unit:g}" for unit in shown])
        ax.minorticks_off()
        ax.set_xlabel("unit, in mean distances between points")
        ax.set_ylabel("error, %")
        _tidy(ax, title)
        right = ax.twinx()
        right.plot(units, _percent(empty), color="#0072B2", linestyle="-.", label="empty balls (right axis)")
        right.set_ylim(0, 102)
        right.set_ylabel("empty balls, %", color="#0072B2")
        right.spines["top"].set_visible(False)
    _legend_below(figure, figure.axes)
    return figure


def ball_by_ball(sets: Mapping[str, Results], papers_floor: float, published: Sequence[Sequence[Any]]) -> Any:
    """Single-ball estimate (log scale) and share of empty balls over the radius."""
    figure, axes = _panels(1, len(sets), width=6.6, height=4.8)
    least = 1e-5
    greys = ("0.35", "0.5", "0.62", "0.74")
    for ax, (title, found) in zip(axes[0], sets.items(), strict=True):
        values, learned = 100 * np.maximum(found["estimate"], least), found["learned floor"]
        ax.plot(found["share"], values, color="#D55E00", marker="o", ms=5, label="single ball (0: at the bottom)")
        ax.axhspan(100 * max(learned["low"], least), 100 * learned["high"], color="#009E73", alpha=0.18, linewidth=0)
        ax.axhline(100 * max(learned["estimate"], least), color="#009E73", label="learned floor, with interval")
        ax.axhline(100 * learned["ceiling"], color="#009E73", linestyle=":", label="certified")
        authors = found["authors' code"]["estimate"]
        where = ", below the axis" if authors < least else ""
        name = f"authors' code, {100 * authors:.2f} %{where}"
        ax.axhline(100 * max(authors, least), color="#E69F00", linestyle="-.", label=name)
        if title == "MNIST":
            name = f"the paper's {100 * papers_floor:g} %"
            ax.axhline(100 * papers_floor, color="black", linestyle="--", linewidth=1.2, label=name)
            for (paper, _, error), grey in zip(published, greys, strict=True):
                ax.axhline(100 * error, color=grey, linewidth=1, label=f"{paper}, {100 * error:g} %")
        ax.set_yscale("log")
        ax.set_ylim(100 * least / 1.3, 100)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("radius, as a share of the mean distance to the 9th neighbour")
        ax.set_ylabel("error, %")
        _tidy(ax, f"{title}, {found['n']:,} images")
        right = ax.twinx()
        empty = _percent(found["empty"])
        right.plot(found["share"], empty, color="#0072B2", linestyle="--", label="empty balls (right axis)")
        right.set_ylim(0, 102)
        right.set_ylabel("empty balls, %", color="#0072B2")
        right.spines["top"].set_visible(False)
    _legend_below(figure, figure.axes)
    return figure


def stopping_points(results: Results, labels: Sequence[str], claimed: Mapping[str, int]) -> Any:
    """Error over rows and over epochs, with the intervals of the estimators and the paper's stops."""
    figure, axes = _panels(1, 2, width=6.4, height=4.8)
    (task,) = results["tasks"].values()
    rows_ax, epochs_ax = axes[0]
    at = results["sizes"].index(results["n_rows"])
    for label in labels:
        curve, (colour, marker) = task["curves"][label], _LOOKS[label]
        low, high, mean = (_percent(curve[name]["mean"]) for name in ("interval low", "interval high", "value"))
        rows_ax.plot(curve["n"], mean, color=colour, marker=marker, ms=4, label=f"{label}, mean interval")
        rows_ax.fill_between(curve["n"], low, high, color=colour, alpha=0.18, linewidth=0)
        epochs_ax.axhline(mean[at], color=colour)
        epochs_ax.axhspan(low[at], high[at], color=colour, alpha=0.18, linewidth=0)
    colour, marker = _LOOKS["network"]
    if "network" in task["curves"]:
        net = task["curves"]["network"]
        rows_ax.plot(net["n"], _percent(net["value"]["mean"]), color=colour, marker=marker, ms=5, label="network, mean")
        runs = np.array(results["over_epochs"])
        epochs = np.arange(1, runs.shape[1] + 1)
        low, high = 100 * np.percentile(runs, [5, 95], axis=0)
        epochs_ax.fill_between(epochs, low, high, color=colour, alpha=0.25, linewidth=0)
        epochs_ax.plot(epochs, 100 * runs.mean(axis=0), color=colour)
    for ax, unit in ((rows_ax, "rows"), (epochs_ax, "epochs")):
        _truth(ax, results["truth"])
        ax.axvline(claimed[unit], color="black", linewidth=1, label="where the paper stops")
        ax.set_yscale("symlog", linthresh=2)  # as printed the answer is 0
        ax.set_ylim(-0.2, 100)
        ax.set_yticks([0, 1, 2, 5, 10, 20, 50, 100], ["0", "1", "2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()
        ax.set_ylabel("error, % (log scale above 2)")
    _sizes(rows_ax, results["sizes"])
    epochs_ax.xaxis.get_major_locator().set_params(integer=True)
    epochs_ax.set_xlabel("epochs")
    _tidy(rows_ax, f"over rows, {results['n_epochs']} epochs each")
    _tidy(epochs_ax, f"over epochs, {results['n_rows']:,} rows")
    _legend_below(figure, axes[0])
    return figure


def ball_and_shells(ball: Results, shells: Results) -> Any:
    """The drawings of Figures 1 and 3(a)."""
    from matplotlib.patches import Circle

    figure, axes = _panels(1, 2, width=5.4, height=4.8)
    left, right = axes[0]
    X, y = np.array(ball["points"]), np.array(ball["labels"])
    for c, (colour, marker, name) in enumerate((("#D55E00", "o", "class 1"), ("#0072B2", "s", "class 2"))):
        left.plot(*X[y == c].T, marker, ms=5, color=colour, label=name)
    centre = X[ball["centre"]]
    left.add_patch(Circle(tuple(centre), ball["radius"], fill=False, color="black"))
    left.plot(*centre, "s", ms=9, mfc="none", mec="black", label="centre, of class 2")
    _tidy(left, f"Figure 1: {ball['counts'][0]} of class 1 and {ball['counts'][1] + 1} of class 2 in the ball")
    points, labels = np.array(shells["points"]), np.array(shells["labels"])
    for c, (colour, marker) in enumerate(zip(("#0072B2", "#E69F00", "#009E73", "#CC79A7"), "osv^", strict=True)):
        right.plot(*points[labels == c].T, marker, ms=3, color=colour, label=f"shell {c + 1}")
    _tidy(right, "Figure 3(a): four concentric classes, in two dimensions")
    for ax in (left, right):
        ax.set_aspect("equal")
        ax.set_xlabel("x_1")
        ax.set_ylabel("x_2")
        ax.legend(loc="upper right", fontsize=8)
    return figure


def rates(tasks: Mapping[str, Results], labels: Sequence[str]) -> Any:
    """Mean squared error over N, a panel per learner, with the slope of 1/N."""
    figure, axes = _panels(1, len(labels), width=6.0, height=4.6, sharey=True)
    for ax, label in zip(axes[0], labels, strict=True):
        _rate_panel(ax, tasks, label)
    axes[0, 0].set_ylabel("mean squared error")
    _legend_below(figure, axes[0])
    return figure


def _rate_panel(ax: Any, tasks: Mapping[str, Results], label: str) -> None:
    from matplotlib import colormaps

    shades = colormaps["viridis"](np.linspace(0, 0.9, len(tasks)))
    for (title, task), shade, marker in zip(tasks.items(), shades, "osv^DPX*", strict=False):
        curve = task["curves"][label]
        look = {"color": shade, "marker": marker, "ms": 5, "ls": "--" if "noise" in title else "-"}
        ax.plot(curve["n"], np.maximum(curve["value"]["mse"], 1e-8), **look, label=title)
    truth = next(iter(tasks.values()))["truth"]
    sizes = np.array(curve["n"])
    ax.plot(sizes, truth * (1 - truth) / sizes, ":", color="black", label="oracle, 1/N")
    ax.set_yscale("log")
    _sizes(ax, curve["n"])
    _tidy(ax, label)


def rates_of_classes(tasks: Mapping[str, Results], labels: Sequence[str], small: Results, smallest: int) -> Any:
    """As `rates`, with a panel for a class that does not grow."""
    figure, axes = _panels(1, len(labels) + 1, width=5.0, height=4.4, sharey=True)
    for ax, label in zip(axes[0], labels, strict=False):
        _rate_panel(ax, tasks, label)
    ax, (task,) = axes[0, -1], small.values()
    for label, curve in task["curves"].items():
        colour, marker = _LOOKS[label]
        ax.plot(curve["n"], curve["value"]["mse"], color=colour, marker=marker, ms=5, label=label)
    sizes = np.array(curve["n"])
    ax.plot(sizes, curve["value"]["mse"][0] * sizes[0] / sizes, ":", color="black", label="1 / largest class")
    ax.set_yscale("log")
    _sizes(ax, curve["n"])
    ax.set_xlabel("rows of each larger class")
    _tidy(ax, f"one class stays at {smallest} rows")
    axes[0, 0].set_ylabel("mean squared error")
    _legend_below(figure, axes[0])
    return figure
