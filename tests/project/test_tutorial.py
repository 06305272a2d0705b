"""The tutorial works as it stands: its files in an empty folder, its blocks of Python one after the other in one session."""

import re
import sys
from pathlib import Path

from hydromechs.library import load, load_scenario

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+) ?(?:fragment)? ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "keep_depth", raising=False)
    blocks = BLOCK.findall(PAGE.read_text())
    files = {name: text for _, name, text in blocks if name}
    assert set(files) == {"rov.yaml", "keep_depth.py", "first_dive.yaml"}
    for name, text in files.items():
        assert f"`{name}`" in PAGE.read_text()
        (tmp_path / name).write_text(text)
    assert load(tmp_path / "rov.yaml").body_names == ("hull", "upper", "lower")
    assert load_scenario(tmp_path / "first_dive.yaml", code=True).duration == 30.0
    programs = [text for language, name, text in blocks if language == "python" and not name]
    assert len(programs) == 7
    session = {"__name__": "__main__"}
    for k, text in enumerate(programs):
        exec(compile(text, f"tutorial, program {k + 1}", "exec"), session)
    assert (tmp_path / "depth.png").stat().st_size > 1000
