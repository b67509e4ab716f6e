import json

import numpy as np
import pytest

from reproduction.convergence import measure_rates
from reproduction.experiment import Settings
from reproduction.measure import Entrant
from reproduction.pure_noise import EXPERIMENT, kink_bias

SIZES = (200, 800, 3200)


@pytest.fixture(scope="module")
def rates():
    """A single ball on noise and on a problem with a margin, 30 samples per size."""
    tasks = {
        f"{name}, d = {d}": ("smooth_cube", {"n_features": d, "swing": swing})
        for name, swing in (("pure noise", 0.0), ("smooth", 0.45))
        for d in (1, 2, 3)
    }
    return measure_rates(Settings(n_jobs=1), "test", tasks, {"one ball": Entrant("one ball", SIZES, 30)})


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_printed_rate_fails_on_ties_and_holds_with_a_margin(rates, d):
    claimed = -2 / (d + 1)
    noise, smooth = (rates[f"{name}, d = {d}"]["curves"]["one ball"] for name in ("pure noise", "smooth"))
    assert noise["slope_low"] > claimed
    assert smooth["slope_low"] <= claimed


def test_the_bias_on_noise_is_the_one_of_the_kink(rates):
    """At d = 1, where the ends of the interval cut the balls of a share 2 r of the rows: 0.34 r more bias."""
    curve = rates["pure noise, d = 1"]["curves"]["one ball"]
    for n, mean, mse in zip(SIZES, curve["value"]["mean"], curve["value"]["mse"], strict=True):
        noise = np.sqrt(max(mse - (mean - 0.5) ** 2, 0) / 29)
        assert mean - 0.5 == pytest.approx(kink_bias(n, 1) * (1 + 0.34 * n**-0.5), abs=4 * noise)


def test_page_and_figure_are_made_from_the_results_alone():
    results = json.loads(json.dumps(EXPERIMENT.run(Settings(quick=True, n_jobs=1))))
    text = EXPERIMENT.judge(results)
    assert "| 3 | -0.50 |" in text
    assert len(EXPERIMENT.draw(results).axes) == 3
    curve = results["tasks"]["pure noise, d = 2"]["curves"]["one ball"]
    curve.update(slope=-0.4321, slope_low=-0.5, slope_high=-0.4)
    assert "-0.43 [-0.50, -0.40] | broken" in EXPERIMENT.judge(results)
    (line,) = EXPERIMENT.index(results)
    assert "-0.43" in line.printed
    curve.update(slope=-0.7, slope_low=-0.8, slope_high=-0.6)
    assert "-0.70 [-0.80, -0.60] | kept" in EXPERIMENT.judge(results)
