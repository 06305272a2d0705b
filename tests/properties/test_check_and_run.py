"""`check` and `run` report the same problems of files with mistakes: a sample of `python -m benchmarks mutations`."""

from __future__ import annotations

import pytest
from benchmarks import check_study as study
from benchmarks.file_study import EVERY

FILES = [n for n in range(60) if n % EVERY != EVERY - 1]  # not the large ones
"""Numbers of the files; about 0.1 s each."""


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that others name."""
    for base in study.CHECKED_FILES.beside():
        (tmp_path / base.name).write_bytes(base.read_bytes())
    return tmp_path


def test_problems_have_the_same_places_values_and_lines(folder):
    kinds = []
    for number in FILES:
        suffix, content = study.mistaken_file(1, number)
        path = folder / f"mistaken{suffix}"
        path.write_bytes(content)
        kind, difference = study.compare(path)
        assert not difference, f"mistaken_file(1, {number}): {difference}"
        kinds.append(kind)
    assert kinds.count("the same problems") > 30 and kinds.count("no problem") > 3


def test_a_difference_is_found(folder, monkeypatch):
    """A command that reports less than the other is noticed, with the place that it does not report."""
    path = folder / "mistaken.yaml"
    path.write_text((folder / "float.yaml").read_text().replace("mass:", "mas:", 1))
    assert study.compare(path)[0] == "the same problems"
    monkeypatch.setattr(study, "started", lambda path: study.Report())
    kind, difference = study.compare(path)
    assert kind == "different problems" and "only check" in difference and "inertia.mas" in difference


@pytest.mark.parametrize(("seed", "number"), [(31, 1868), (43, 50), (44, 539)])
def test_files_that_once_differed(folder, seed, number):
    """A volume of 1e300 m³, which drawing rejected; lengths with which no inertia can be computed, which only `run` reported."""
    suffix, content = study.mistaken_file(seed, number)
    (folder / f"mistaken{suffix}").write_bytes(content)
    kind, difference = study.compare(folder / f"mistaken{suffix}")
    assert kind in ("no problem", "the same problems") and not difference
