import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2


def _levels() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "levels.py"
    spec = importlib.util.spec_from_file_location("levels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["levels"] = module
    spec.loader.exec_module(module)
    return module


levels = _levels()


# Probability of label 1, derived apart from the script; of `priors` under equal shares.
POSTERIORS = {
    "plain": lambda X: expit(2 * X[:, 0] - 2),
    "noisy middle": lambda X: np.where((X**2).sum(axis=1) < chi2.ppf(0.5, 4), 0.5, X[:, 0] > 0),
    "half noise": lambda X: np.where(X[:, 1] > 0, 0.5, X[:, 0] > 0),
    # 4 of 5 rows are noise, around 6.
    "unequal groups": lambda X: (p := expit(np.log(4) + 6 * X[:, 0] - 18)) / 2 + (1 - p) * (X[:, 0] > 0),
    "equal groups": lambda X: expit(1.5 * X[:, 0] - 1.125),
    "copies": lambda X: np.full(len(X), 0.5),
    "priors": lambda X: expit(2 * X[:, 0] - 2),
    "rare class": lambda X: expit(2 * X[:, 0] - 2 + np.log(3 / 97)),
    "discrete": lambda X: levels.CELLS[(X @ 2 ** np.arange(5)).astype(int)],
    "half copied": lambda X: expit(2 * X[:, 0] - 2),
    **{shape: lambda X: expit(2 * X[:, 0] - 2) for shape in levels.NEAR_COPIES},
}


@pytest.mark.parametrize("shape", levels.SHAPES)
def test_the_stated_floor_is_that_of_the_posterior(shape: str) -> None:
    data = levels.SHAPES[shape](60_000, np.random.default_rng(1))
    P, units = POSTERIORS[shape](data.X), data.groups
    if units is None:
        units = np.unique(data.X[:, 0], return_inverse=True)[1] if shape != "discrete" else np.arange(len(P))
    weight = np.ones(len(P)) if data.priors is None else (0.5 / np.bincount(data.y))[data.y]
    size = np.bincount(units, weight)
    # What the best rule errs on average, and how often the labels prove it wrong.
    for loss in (np.minimum(P, 1 - P), (P > 0.5) != data.y):
        total = np.bincount(units, weight * loss)
        found = total.sum() / size.sum()
        error = np.sqrt(((total - found * size) ** 2).sum()) / size.sum()
        assert abs(found - data.floor) < 4 * error + 1e-9
        assert error < 0.01


@pytest.mark.parametrize("n", levels.SIZES)
@pytest.mark.parametrize("shape", levels.SHAPES)
def test_samples_are_as_large_as_asked_for_and_their_own(shape: str, n: int) -> None:
    data, _ = levels.drawn(shape, n, 0)
    assert abs(len(data.y) - n) < (4 if data.groups is None else n)
    assert np.bincount(data.y, minlength=2).min() >= 5
    again, other = (levels.drawn(shape, n, sample)[0] for sample in (0, 1))
    assert np.array_equal(data.X, again.X)
    assert not np.array_equal(data.X, other.X)


def _record(kind: str, shape: str, sample: int, **changed) -> dict:
    return {
        "kind": kind,
        "shape": shape,
        "n": 500,
        "sample": sample,
        "sources": "here",
        "truth": 0.2,
        "redrawn": 0,
        "library": " + ".join(levels.LIBRARIES[kind]),
        "floor": 0.2,
        "ceiling": 0.25,
        "low": 0.15,
        "high": 0.25,
        "error": 0.19,
        "seconds": 1.0,
    } | changed


def test_the_report_counts() -> None:
    records = [_record("ceiling", "discrete", i, ceiling=0.25 if i < 181 else 0.19) for i in range(200)]
    records += [_record("ceiling", "copies", i, ceiling=0.25 if i < 180 else None) for i in range(200)]
    records += [_record("interval", "discrete", i, redrawn=1) for i in range(10)]
    records += [_record("interval", "copies", i, low=0.15 if i < 7 else 0.21) for i in range(10)]
    text = levels.page(records, "here")
    assert "| discrete | 500 | 0.2000 | 181 of 200 | 181 | 0.2443 |  |" in text
    assert "| copies | 500 | 0.2000 | 180 of 200 | 181 | 0.2500 | 20 |" in text
    assert "are needed. **Not met** by copies with 500 rows, 180 of 200." in text
    assert "at least 94.1% of all. **Not met**: 361 of 400, 90.25%." in text
    assert "| copies | 0.2000 | 7 of 10 | 70.0% | 0.100 | 10 of 10 |" in text
    assert "at least 93% of all. **Not met**: 17 of 20, 85.0%." in text
    assert "Below 80%: copies (70%)." in text
    assert "drawn again: discrete 10 times." in text
    assert "present sources" not in text
    assert "Not all are of the present sources" in levels.page(records, "there")
    good = [r for r in records if r["shape"] == "discrete"]
    text = levels.page([r | {"ceiling": 0.25} for r in good], "here")
    assert "Not met" not in text
    assert text.count("**Met**") == 3


def test_near_copies_have_a_table_and_a_demand_of_their_own() -> None:
    shape = "near-copies, 1e-9"
    for held, met in ((52, "**Met**"), (51, f"**Not met** by {shape}")):
        text = levels.page([_record("interval", shape, i, low=0.15 if i < held else 0.21) for i in range(60)], "here")
        assert f"| {shape} | 0.2000 | {held} of 60 | 60 of 60 |" in text
        assert f"at least 52 of 60 each. {met}" in text
        assert "## The interval" not in text


def test_the_cost_of_certainty_is_that_of_clopper_and_pearson() -> None:
    counts = np.random.default_rng(0).binomial(100, 0.2, 200)
    ceilings = [levels.upper_limit(int(k), 100, 0.95) for k in counts]
    given = [_record("ceiling", "plain", i, ceiling=c, error=0.2) for i, c in enumerate(ceilings)]
    rows = levels.tightness_part(given)
    assert rows[2].startswith(f"| 500 | {np.mean(ceilings):.4f} | {counts.mean() / 100:.4f} |")
    assert "**Met**" in rows[-1]
    wide = levels.tightness_part([r | {"ceiling": 1.1 * r["ceiling"]} for r in given])
    assert "**Not met** by 500 rows" in wide[-1]


def test_records_of_other_sources_are_refused(tmp_path: Path) -> None:
    records = tmp_path / "levels.jsonl"
    records.write_text("".join(json.dumps(_record("ceiling", "plain", i)) + "\n" for i in range(3)), encoding="utf-8")
    assert len(levels.read(records)) == len(levels.read(records, "here")) == 3
    assert not levels.read(records, "elsewhere")
    options = SimpleNamespace(records=records, sources=None, out=tmp_path / "levels.md")
    with pytest.raises(SystemExit, match="--sources takes these: here"):
        levels.report(options)
    options.sources = ["here"]
    levels.report(options)
    assert "3 of 3" in options.out.read_text(encoding="utf-8")


def test_a_run_of_each_kind_keeps_what_it_saw() -> None:
    for kind in ("ceiling", "interval"):
        record = levels.one(kind, "plain", 60, 0, "here")
        assert 0 <= record["low"] <= record["floor"] <= record["high"] <= 1
        assert json.loads(json.dumps(record)) == record
