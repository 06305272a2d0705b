"""A run keeps its results whatever drawing raises: a mesh that cannot be read, a plot that fails, a full disk."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("undrawn")


def with_visual(scenario, file, **limits):
    """The scenario with a mesh that cannot be read on its ball."""
    path = scenario(duration=0.5, **limits)
    model = path.parent / "buoy.yaml"
    model.write_text(model.read_text() + f"    shapes: {{seen: {{type: mesh, file: {file}, roles: [appearance]}}}}\n")
    (path.parent / "broken.dae").write_text("<COLLADA/>")
    return path


@pytest.mark.parametrize(("above", "code"), [(0.0, 0), (9.0, 1)])
def test_a_visual_that_cannot_be_read_costs_nothing_but_its_picture(run, scenario, tmp_path, above, code):
    path, out = with_visual(scenario, "broken.dae", above=above), tmp_path / "out"
    status, text, _ = run("run", path, "--out", out)
    assert status == code
    assert "it sinks" in text and "broken.dae" in text and "grey box" in text
    (check,) = json.loads((out / "summary.json").read_text())["checks"]
    assert check["passed"] is (code == 0)
    assert "broken.dae" in (out / "report.html").read_text()


@pytest.mark.parametrize("visual", ["broken.dae", "gone.stl"])
def test_check_warns_of_it(run, scenario, visual):
    path = with_visual(scenario, visual)
    for file in (path, path.parent / "buoy.yaml"):
        status, text, errors = run("check", file)
        assert status == 0 and "no errors" in text
        assert "warning" in errors and visual in errors and "'float'" in errors


@pytest.mark.parametrize("part", ["recording_scene", "write_report"])
def test_whatever_drawing_raises_the_results_are_there(run, scenario, tmp_path, monkeypatch, part):
    def fails(*args, **options):
        raise RuntimeError("the pen broke")

    monkeypatch.setattr(f"hydromechs.viewer.{part}", fails)
    out = tmp_path / "out"
    status, text, _ = run("run", scenario(duration=0.5), "--out", out, "--show")
    assert status == 0
    assert "it sinks" in text and "the pen broke" in text
    assert json.loads((out / "summary.json").read_text())["checks"][0]["passed"]
    assert (out / "report.html").exists() is (part != "write_report")
    assert part == "write_report" or "the pen broke" in (out / "report.html").read_text()
