import numpy as np
import pytest

import extremes


@pytest.mark.parametrize("case", extremes.CASES)
@pytest.mark.parametrize("shape", extremes.SHAPES)
def test_classes_have_the_shares_of_the_case(case: str, shape: str) -> None:
    _, d, shares = extremes.CASES[case]
    _, P = extremes.SHAPES[shape](min(d, 20), shares)(50_000, np.random.default_rng(5))
    # A tree's scores are shifted by 20,000 draws; the mean of a probability varies no more than that of a label.
    deviations = np.sqrt(shares * (1 - shares) * (1 / 20_000 + 1 / 50_000))
    assert (np.abs(P.mean(axis=0) - shares) <= 4 * deviations).all()
    assert (
        0 < extremes.floor_of(case, shape) < 1.1 * (1 - shares.max())
    )  # the rare class of a tree is hardly ever likelier


def test_columns_that_tell_nothing_are_noise() -> None:
    draw = extremes.shifted(30, np.full(2, 0.5))
    X, P = draw(20_000, np.random.default_rng(0))
    assert np.abs(np.corrcoef(X[:, 20:].T, P[:, 0])[-1, :-1]).max() <= 5 / np.sqrt(20_000)


def test_report_counts_what_intervals_hold(monkeypatch) -> None:
    def judged(records: list[dict], rule: dict) -> np.ndarray:
        return np.array([[0.2, 0.1, 0.3]] * len(records))

    monkeypatch.setattr(extremes, "judged", judged)
    floors = [0.2, 0.2, 0.4]
    records = [{"case": "200 rows", "shape": "tree", "floor": f, "oracle": f + 0.01} for f in floors]
    text = extremes.report(records, {})
    assert "| 200 rows | 200 | 5 | all |  | 2 of 3 | 52 | -0.0667 | 0.0667 | 0.0100 | 0.200 |" in text
