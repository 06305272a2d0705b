"""Text of files does not control the terminal: it can neither hide what is printed nor write into the clipboard."""

import json

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import sweeps
from hydromechs.cli import _campaign
from hydromechs.cli._console import Console
from hydromechs.cli._main import app
from hydromechs.formats import loads
from hydromechs.recording import RecordingWriter, Variable

EVIL = "name\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\x7f\u202e"
"""Writes into the clipboard of some terminals, clears the screen, and reverses the rest of a line."""
CODES = ("\x1b", "\x9b", "\x07", "\x7f", "\u202e")
MODEL = "hydromechs_model: 2\nname: {}\nbodies: {{hull: {{joint: free, inertia: {{mass: 10, tensor: [1, 1, 1, 0, 0, 0]}}}}}}\n"
SCENARIO = """
hydromechs_scenario: 2
name: still
run: {duration: 0.1, record: 0.05}
models: {m: {model: ./m.yaml, position: [0, 0, 3]}}
checks: {shallow: {quantity: position.hull.z, below: 9}}
"""


def clean(text):
    return "name" in text and not any(code in text for code in CODES)


@pytest.mark.parametrize("thing", [str, Text, lambda text: Text(text, "red"), "table", "progress"])
def test_the_console_prints_characters_only(capsys, thing):
    console = Console(width=200)
    if thing == "table":
        table = Table(EVIL, title=EVIL)
        table.add_row(EVIL)
        console.print(table)
    elif thing == "progress":
        with Progress(console=console) as bar:
            bar.add_task(EVIL, total=2, completed=2)
    else:
        console.print(thing(EVIL))
    assert clean(capsys.readouterr().out)


def test_colours_still_work(capsys):
    Console(force_terminal=True, color_system="standard").print(Text("name", "red"))
    assert "\x1b[31mname" in capsys.readouterr().out


@pytest.mark.parametrize("code", ["\\e", "\\a", "\\x9b", "\\x7f", "\\b", "\\u202e", "\\u2066"])
def test_texts_of_yaml_files_are_printable(code):
    with pytest.raises(hm.ModelError, match="line 2: .*control characters"):
        loads(MODEL.format(f'"a{code}b"'))
    assert loads(MODEL.format('"a\\tb"')).name == "a\tb"


def test_names_of_a_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        variable = Variable(name=EVIL, dims=("time", "body"), units=EVIL, long_name=EVIL)
        writer = RecordingWriter(tmp_path / f"{name}.zarr", [variable], {"body": [EVIL]}, {"title": EVIL})
        writer.append({"time": [0.0, 1.0], EVIL: [[0.0], [1.0 if name == "a" else 2.0]]})
        writer.close()
    assert clean(CliRunner().invoke(app, ["compare", "a.zarr", "b.zarr"]).output)


def test_texts_of_a_campaign(tmp_path, monkeypatch):
    """Title, checks and set-up, on the terminal and on the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MODEL.format("m"))
    (tmp_path / "s.yaml").write_text(SCENARIO)
    made = CliRunner().invoke(app, ["campaign", "s.yaml", "--worlds", "2", "--out", "c"])
    assert made.exit_code == 0, made.output
    about = json.loads((tmp_path / "c" / "campaign.json").read_text())
    payload = EVIL + "<script>1</script>\"'><img src=x onerror=1>"
    hostile = {key: payload for key, value in about.items() if isinstance(value, str)} | {"settings": {payload: payload}}
    hostile |= {"checks": [{**check, **dict.fromkeys(("name", "text", "limit"), payload)} for check in about["checks"]]}
    (tmp_path / "c" / "campaign.json").write_text(json.dumps(about | hostile))
    results = sweeps.load_campaign("c")
    page = _campaign.write_page(results).read_text()
    assert "<script" not in page and "<img" not in page and "onerror=1>" in page.replace("&gt;", ">")
    console = Console(width=200, record=True)
    _campaign.print_campaign(results, console)
    assert clean(console.export_text())


ROBOTS = {
    "r.urdf": """<robot name="NAME"><link name="NAME"><inertial><mass value="5"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><box size="0.3 0.3 0.3"/></geometry></collision></link></robot>""",
    "r.sdf": """<sdf version="1.9"><model name="NAME"><link name="NAME"><inertial><mass>1</mass></inertial>
        <collision name="c"><geometry><box><size>0.3 0.3 0.3</size></box></geometry></collision></link></model></sdf>""",
    "r.xml": """<mujoco model="NAME"><worldbody><body name="NAME"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
        </worldbody></mujoco>""",
    "r.dm": 'System { MobileBase { Name "NAME" Mass 5 Inertia 1 0 0 0 1 0 0 0 1 } }',
}
"""Robots whose names are in the place of NAME."""


@pytest.mark.parametrize("file", ROBOTS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names_of_robot_files_are_printable_and_models_of_them_can_be_read(file, tmp_path, monkeypatch):
    """A URDF may contain codes from 7f to 9f and line breaks; a converted robot and the README of its project do not."""
    monkeypatch.chdir(tmp_path)
    name = "name\x7f\x9b31m\u202e" + ("" if file == "r.dm" else "&#10;# title")
    (tmp_path / file).write_text(ROBOTS[file].replace("NAME", name), encoding="utf-8")
    model = hm.load(file)
    assert clean("".join((model.name, *model.body_names))) and "\n" not in "".join(model.body_names)
    run = CliRunner()
    assert run.invoke(app, ["convert", file, "robot.yaml"]).exit_code == 0
    assert hm.load("robot.yaml").body_names == model.body_names
    if file == "r.urdf":
        result = run.invoke(app, ["new", file, "project"])
        assert result.exit_code == 0 and clean((tmp_path / "project" / "README.md").read_text(encoding="utf-8"))
        assert run.invoke(app, ["check", "project/mission.yaml"]).exit_code == 0
