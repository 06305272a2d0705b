"""The traced programs of the library's scenarios: equal hashes prove that results, speed and operation counts are unchanged.

After a change that is meant to alter them, write the new hashes: `python tests/library/test_programs.py`.
"""

import hashlib
import json
from pathlib import Path

import pytest

import hydromechs as hm
from hydromechs import formats, library
from hydromechs.integrators import RungeKutta4
from hydromechs.simulation import PlantPrograms

HASHES = Path(__file__).with_name("programs.json")


def hashes(scenario):
    """Hashes of what a scenario's plant compiles: its derivative and what is recorded of it."""
    programs = PlantPrograms(scenario.plant, RungeKutta4())
    texts = {"derivative": programs.stepper.derivative_program, "observer": programs.observer.program}
    return {key: hashlib.sha256(str(program).encode()).hexdigest()[:16] for key, program in texts.items()}


@pytest.mark.parametrize("name", library.scenario_names())
def test_programs_are_unchanged(name):
    """Also after files have held the scenario in shorthand and in its plain form."""
    scenario = hm.load_scenario(name)
    for plain in (False, True):
        again = formats.loads_scenario(formats.dumps_scenario(scenario, plain=plain), library=library.load)
        assert again == scenario and repr(again) == repr(scenario)
    assert hashes(again) == json.loads(HASHES.read_text())[name]


if __name__ == "__main__":
    names = library.scenario_names()
    HASHES.write_text(json.dumps({name: hashes(hm.load_scenario(name)) for name in names}, indent=1) + "\n")
