"""What the first estimate on a new machine compiles: every function adds to the wait for it."""

import os
import subprocess
import sys

CODE = """
import bayesfloor as bf
import numba.core.event as event
from bayesfloor.library import boosting, extra_trees, network

seen = event.RecordingListener()
with event.install_listener("numba:compile", seen):
    bf.estimate(*bf.problems.get("moons").sample(1500, 0), effort="fast")
from bayesfloor.counting import kernels

started = [e.data["dispatcher"].py_func.__module__ for _, e in seen.buffer if e.is_start]
ours = sum(name.startswith("bayesfloor.") for name in started)
functions = {f for m in (boosting, extra_trees, network, kernels) for f in vars(m).values() if hasattr(f, "py_func")}
signatures = max(len(f.signatures) for f in functions)
print(ours, len(started) - ours, signatures, all(f.stats.cache_path for f in functions))
"""


def test_an_estimate_compiles_few_functions_each_for_one_signature(tmp_path):
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=surroundings)
    ours, of_numba, signatures, are_kept = run.stdout.split()
    assert int(ours) <= 36, run.stdout
    assert int(of_numba) <= 30, run.stdout  # what their expressions need of it; depends on its version
    assert (signatures, are_kept) == ("1", "True")
