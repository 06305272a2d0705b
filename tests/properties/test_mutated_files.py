"""Whatever happens to a model or scenario file: it is simulated, or rejected with an error of ours, and nothing else.

220 files here; `python -m benchmarks files` tries as many as one likes, those of the library too, with limits on time and memory.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import yaml
from benchmarks import file_study as study
from benchmarks import mutations

FORMATS = Path(__file__).parents[1] / "formats"
SMALL = sorted((Path(study.__file__).parent / "files").glob("*.yaml"))


@pytest.fixture
def folder(tmp_path):
    """A folder with the small files, so that they find each other."""
    for file in SMALL:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "hull.stl").touch()
    return tmp_path


@pytest.mark.parametrize("file", SMALL, ids=lambda p: p.stem)
def test_small_files_run_unchanged(file, folder):
    assert study.try_file(folder / file.name) == ("simulated", "")


@pytest.mark.parametrize("part", range(6))
def test_changed_files_run_or_are_rejected(part, folder):
    kinds = set()
    numbers = [n for n in range(30 * part, 30 * (part + 1)) if n % study.EVERY != study.EVERY - 1]  # not the large ones
    for number in numbers:
        path = folder / "changed.yaml"
        path.write_bytes(study.mutant(0, number))
        kind, failure = study.try_file(path)
        assert not failure, f"mutant(0, {number}): {kind}\n{failure}"
        kinds.add(kind)
    assert {"simulated", "refused when read"} <= kinds


@pytest.mark.parametrize(("name", "count"), [("rich", 50), ("scenario_rich", 16)])
def test_changed_files_with_every_key_are_read_or_rejected(name, count, folder):
    """Files that hold all that a file can hold are too large to simulate each time."""
    text = (FORMATS / f"{name}.yaml").read_text()
    data = yaml.safe_load(text)
    for number in range(count):
        rng = Random(number)
        path = folder / "changed.yaml"
        if number % 2:
            path.write_text(mutations.mutated_text(text, rng), encoding="utf-8")
        else:
            changed = mutations.mutated_data(data, [data], rng)
            path.write_text("".join(f"{mutations.flow_yaml(k)}: {mutations.flow_yaml(v)}\n" for k, v in changed.items()))
        kind, failure = study.try_file(path, simulate=False)
        assert not failure, f"{number}: {kind}\n{failure}"


def test_numbers_beyond_floats_are_changed_too():
    for seed in range(200):
        mutations.mutated_data({"step": 10**400}, [{"step": 1}], Random(seed))


def test_not_a_number_is_the_same_when_it_is_read_again(folder):
    """A position that is NaN is rejected when the file is read: a controller is an object with checked fields."""
    text = (folder / "keeping.yaml").read_text()
    assert "position: [0, 0, 10]," in text
    (folder / "changed.yaml").write_text(text.replace("position: [0, 0, 10],", "position: .nan,"))
    assert study.try_file(folder / "changed.yaml") == ("refused when read", "")
