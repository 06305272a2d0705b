"""Scenarios of the library with every integrator: resumed to the last bit, reset, and changed without compiling.

`python tests/scenarios/test_every_scenario.py [NAME ...]` goes through all of them with every method (many minutes: it compiles each).
"""

import os
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.hydro import Current

METHODS = ("rk4", "semi_implicit_euler", "euler", "dormand_prince", "b1pc5", "b2pc5", "b4pc5", "linearly_implicit")
HALF = 0.1
"""Half of a short run [s]."""


def resumed(scenario, folder):
    """Run, reset, run the first half, save, load into another simulation and run the rest: what is wrong, "" for nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a step is long for a method is no matter here
        sim = scenario.simulation()
        start = sim.state
        try:
            whole = sim.run(2 * HALF).state
        except hm.SimulationDiverged:
            return "diverged"
        except ValueError as error:
            return str(error)
        if sim.reset() != start:
            return "reset is not the start"
        hm.save_state(sim.run(HALF).state, Path(folder) / "state.json")
        other = scenario.simulation()
        other.state = hm.load_state(Path(folder) / "state.json")
        return "" if other.run(HALF).state == whole else "resumed run differs"


def changed(scenario):
    """The scenario with another seed and another current, of the same kind."""
    current = scenario.environment.current
    if isinstance(current, Current) and current.velocity is not None:
        current = replace(current, velocity=tuple(x + 0.1 for x in current.velocity))
    return replace(scenario, seed=scenario.seed + 1, environment=replace(scenario.environment, current=current))


@pytest.mark.parametrize("method", ["semi_implicit_euler", "dormand_prince", "b2pc5"])
def test_a_scenario_resumes_with_other_methods(method, tmp_path):
    step = 5e-4 if method == "b2pc5" else 2e-3  # blocks need short ones where something touches
    assert resumed(replace(library.load_scenario("sinking_chain"), integrator=method, step=step), tmp_path) == ""


def main(names):
    """Print what became of each scenario with each method, and how many programs another seed and current add."""
    os.environ["HYDROMECHS_CACHE"] = cache = tempfile.mkdtemp()
    for name in names or library.scenario_names():
        for method in METHODS:
            began, scenario = time.perf_counter(), replace(library.load_scenario(name), integrator=method)
            with tempfile.TemporaryDirectory() as folder:
                while "requires a step below" in (words := resumed(scenario, folder)):  # rejected before the start
                    scenario = replace(scenario, step=scenario.step / 2)
            words = words or f"step {scenario.step:g} s: resumed and reset to the last bit"
            before = set(os.listdir(cache))
            if method == "rk4":
                changed(scenario).simulation().run(HALF)
                words += f"; another seed and current add {len(set(os.listdir(cache)) - before)} programs"
            print(f"{name:30s} {method:20s} {words} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
