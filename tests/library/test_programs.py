"""The traced programs of the library's scenarios: equal hashes prove that results, speed and operation counts are unchanged.

After a change that is meant to alter them, write the new hashes: `python tests/library/test_programs.py`.
"""

import hashlib
import json
from pathlib import Path

import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.integrators import RungeKutta4
from hydromechs.simulation import PlantPrograms

HASHES = Path(__file__).with_name("programs.json")


def hashes(name):
    """Hashes of what a scenario's plant compiles: its derivative and what is recorded of it."""
    programs = PlantPrograms(hm.load_scenario(name).plant, RungeKutta4())
    texts = {"derivative": programs.stepper.derivative_program, "observer": programs.observer.program}
    return {key: hashlib.sha256(str(program).encode()).hexdigest()[:16] for key, program in texts.items()}


@pytest.mark.parametrize("name", library.scenario_names())
def test_programs_are_unchanged(name):
    assert hashes(name) == json.loads(HASHES.read_text())[name]


if __name__ == "__main__":
    HASHES.write_text(json.dumps({name: hashes(name) for name in library.scenario_names()}, indent=1) + "\n")
