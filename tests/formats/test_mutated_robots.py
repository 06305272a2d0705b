"""Robot descriptions with random changes give a model or an error of ours with lines, never another error.

144 files here; `python -m benchmarks files --robots` tries as many as one likes.
"""

import pytest
from benchmarks.robot_study import ROBOTS, robot_mutant, try_robot

import hydromechs as hm
from hydromechs.errors import ScenarioError

BASES = sorted(ROBOTS.iterdir())


@pytest.mark.parametrize("file", BASES, ids=lambda p: p.name)
def test_files_are_read_unchanged(file):
    assert try_robot(file) == ("read, moved and written", "")


@pytest.mark.parametrize("base", range(len(BASES)), ids=[p.name for p in BASES])
def test_changed_files_are_read_or_rejected(base, tmp_path):
    kinds = set()
    for k in range(16):
        number = base + k * len(BASES)
        suffix, content = robot_mutant(0, number)
        path = tmp_path / f"changed{suffix}"
        path.write_bytes(content)
        kind, failure = try_robot(path)
        assert not failure, f"robot_mutant(0, {number}): {kind}\n{failure}"
        kinds.add(kind)
    assert {"read, moved and written", "refused when read"} <= kinds


def test_inertias_too_far_apart_are_named(tmp_path):
    """Found by the study: a slider of 1e30 kg on an arm with friction divided by zero."""
    path = tmp_path / "rov.sdf"
    path.write_text((ROBOTS / "rov.sdf").read_text(encoding="utf-8").replace("<mass>1</mass>", "<mass>1e30</mass>"))
    with pytest.raises(ScenarioError, match=r"mass matrix .*from .* to 1e\+30 \(\w+(\.\w)?\), too widely") as caught:
        hm.load_plant(path)
    assert [fault.path for fault in caught.value.faults] == [("models", 0)]


def test_an_inertia_beyond_all_bounds_is_repaired_at_most_once(tmp_path):
    """A sphere of water added to an inertia of 1e308 changes nothing: its repair never ended, and its notes filled the memory."""
    path = tmp_path / "arm.urdf"
    text = (
        (ROBOTS / "arm.urdf")
        .read_text(encoding="utf-8")
        .replace('ixx="0.01" ixy="0" ixz="0"', 'ixx="0.01" ixy="0" ixz="-1e308"')
    )
    path.write_text(text)
    with pytest.raises(hm.ModelError, match=r"line 15: body 'slider'.*too large"):
        hm.import_file(path)
