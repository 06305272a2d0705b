"""Folders of results from someone else: links in place of outputs, and damaged or oversized contents."""

import ast
import io
import json
import os
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import files, sweeps
from hydromechs.browser._flight import Flight
from hydromechs.cli._main import app
from hydromechs.errors import FieldError, ScenarioError
from hydromechs.formats import loads_scenario
from hydromechs.recording import RunFolder, load_recording
from hydromechs.recording._folder import FolderInUse, lock_folder, unlock_folder
from hydromechs.scenario import SavedState
from hydromechs.simulation import load_state
from hydromechs.station import RecordedInputs

PACKAGE = Path(hm.__file__).parent
MINE = "a file of the user\n"
SCENARIO = """
hydromechs_scenario: 2
name: still
run: {duration: 0.1, record: 0.05}
models: {m: {model: ./hull.yaml, position: [0, 0, 3]}}
checks: {shallow: {quantity: position.hull.z, below: 9}}
"""
HULL = """
hydromechs_model: 2
name: hull
bodies:
  hull:
    joint: free
    inertia: {mass: 10, tensor: [1, 1, 1, 0, 0, 0]}
    hydro: {volume: 0.01}
"""
SWEEP = """
hydromechs_sweep: 2
name: depths
scenario: ./still.yaml
parameters: {depth: {path: models.0.position.z, low: 2, high: 10, steps: 2}}
results: {z: {quantity: position.hull.z}}
"""
COMMANDS = {
    "run": ["run", "still.yaml", "--out", "run"],
    "campaign": ["campaign", "still.yaml", "--worlds", "4", "--chunk", "2", "--threads", "1", "--out", "campaign"],
    "sweep": ["sweep", "sweep.yaml", "--out", "sweep", "--workers", "1"],
}


def command(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with scenarios, and with folders of results."""
    folder = tmp_path_factory.mktemp("results")
    for name, text in {"still.yaml": SCENARIO, "hull.yaml": HULL, "sweep.yaml": SWEEP}.items():
        (folder / name).write_text(text)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for words in COMMANDS.values():
            result = command(*words)
            assert result.exit_code == 0, (words, result.output, result.exception)
    finally:
        os.chdir(before)
    shutil.copytree(folder, folder.with_name("pristine"), symlinks=True)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """The same folder as the current one, as it was at first, and a file and a folder of the user."""
    shutil.rmtree(made)
    shutil.copytree(made.with_name("pristine"), made, symlinks=True)
    monkeypatch.chdir(made)
    (tmp_path / "mine.txt").write_text(MINE)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "path.png").write_text(MINE)
    return tmp_path


def untouched(folder):
    return (folder / "mine.txt").read_text() == MINE and [p.name for p in (folder / "mine").iterdir()] == ["path.png"]


def outputs(folder):
    """All files and folders that a command leaves in a folder."""
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if "recording.zarr" not in p.parts[:-1])


# -- links --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", COMMANDS)
def test_links_in_place_of_outputs_are_not_written_through(here, kind):
    """Every output of a first run, one after the other, is a link to something of the user when the command runs again."""
    target = Path(kind)
    again = [*COMMANDS[kind], *(["--force"] if kind == "run" else [])]
    saved = shutil.copytree(target, here / "saved")
    for name in [*outputs(target), *map(Path, ("run.lock", "campaign.lock", "sweep.lock"))]:
        shutil.rmtree(target)
        shutil.copytree(saved, target)
        folder = (target / name).is_dir()
        files.remove(target / name)
        (target / name).symlink_to(here / ("mine" if folder else "mine.txt"))
        result = command(*again)
        assert untouched(here), (name, result.output)
        assert isinstance(result.exception, (ValueError, OSError, SystemExit, type(None))), (name, result.exception)


def test_results_replace_links(here):
    for name in ("report.html", "summary.json", "state.json"):
        path = Path("run") / name
        path.unlink(missing_ok=True)
        path.symlink_to(here / "mine.txt")
    assert command(*COMMANDS["run"], "--force").exit_code == 0
    assert untouched(here) and not Path("run/report.html").is_symlink() and "<html" in Path("run/report.html").read_text()


def test_a_run_removes_links_to_folders(here):
    folder = RunFolder("run")
    files.remove(folder.recording)
    folder.recording.symlink_to(here / "mine")
    folder.clear()
    assert untouched(here) and not folder.recording.exists() and not folder.has_run()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "dangling link"])
def test_a_lock_is_a_file_of_its_own(here, kind):
    lock, victim = Path("x.lock"), here / "mine.txt"
    if kind == "link":
        lock.symlink_to(victim)
    elif kind == "hard link":
        lock.hardlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(lock)
    elif kind == "dangling link":
        lock.symlink_to(here / "new.txt")
    else:
        lock.mkdir()
    with pytest.raises(FolderInUse, match=r"x\.lock.*remove it"):
        lock_folder(Path.cwd(), "x.lock", "run")
    assert untouched(here) and not (here / "new.txt").exists()


def test_a_lock_that_is_held_keeps_its_content(here):
    handle = lock_folder(Path.cwd(), "x.lock", "run")
    with pytest.raises(FolderInUse, match=str(os.getpid())):
        lock_folder(Path.cwd(), "x.lock", "run")
    unlock_folder(Path.cwd(), "x.lock", handle)
    assert not Path("x.lock").exists()


def test_files_are_replaced_whole_or_not_at_all(here):
    path = Path("new folder/a.txt")
    files.write_text(path, "one")
    path.chmod(0o600)
    files.write_text(path, "two")
    assert path.read_text() == "two" and path.stat().st_mode & 0o777 == 0o600  # a private file stays private
    with pytest.raises(ZeroDivisionError), files.replacing(path) as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "two" and [p.name for p in path.parent.iterdir()] == ["a.txt"]
    for strange in ("/dev/null", "pipe"):
        if strange == "pipe":
            os.mkfifo(strange)
        with pytest.raises(OSError, match="device, pipe"):
            files.write_text(strange, "x")
    with pytest.raises(OSError, match="new folder"):
        files.write_text(path.parent, "x")


ALLOWED = {
    "files.py": "the helper",
    "recording/_store.py": "the folder of a recording is new",
    "recording/_export.py": "writes to the partial file of save_recording",
    "viewer/_pictures.py": "a temporary folder",
    "station/_operator.py": "mode x",
    "station/_station.py": "mode x",
}


def test_all_files_are_written_by_one_helper():
    """Every writer of the package uses `files.replacing`, but for new folders and files."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            of_files = ast.unparse(node.func).startswith("files.")
            modes = [x.value for x in (*node.args[:2], *(k.value for k in node.keywords)) if isinstance(x, ast.Constant)]
            opens = name == "open" and any(isinstance(m, str) and set(m) & set("wax") and len(m) < 4 for m in modes)
            if (name in ("write_text", "write_bytes") and not of_files and isinstance(node.func, ast.Attribute)) or opens:
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= set(ALLOWED), found - set(ALLOWED)


# -- contents of a campaign ---------------------------------------------------------------------------------------------------

CHUNK = Path("campaign/worlds-0000002-0000003.npz")


def rewritten(change):
    """Rewrite the chunk; `change` maps the name and the bytes of each array to bytes, or to None to remove it."""
    with zipfile.ZipFile(CHUNK) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(CHUNK, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, raw in content.items():
            if (new := change(name, raw)) is not None:
                packed.writestr(name, new)


def array(values, **header):
    """Bytes of an .npy file, with another header."""
    out = io.BytesIO()
    described = np.lib.format.header_data_from_array_1_0(values) | header
    np.lib.format.write_array_header_1_0(out, described)
    return out.getvalue() + values.tobytes()


STRANGE = {
    "huge shape": array(np.zeros(2), shape=(10**12,)),
    "another shape": array(np.zeros(2), shape=(3,)),
    "a negative shape": array(np.zeros(2), shape=(-2,)),
    "another kind": array(np.zeros(2, "<U2")),
    "objects": array(np.zeros(2), descr="|O"),
    "huge items": array(np.zeros(2), descr="<U1000000"),
    "too short": array(np.zeros(2))[:-1],
    "too long": array(np.zeros(2)) + b"\0",
    "no header": b"\x93NUMPY\x01\x00",
    "another version": b"\x93NUMPY\x03\x00" + array(np.zeros(2))[8:],
    "a header that is code": b"\x93NUMPY\x01\x00\x20\x00__import__('os').system('true')  ",
    "nothing": b"",
    "missing": None,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_arrays_of_a_chunk_are_named_with_the_remedy(here, kind):
    rewritten(lambda name, raw: STRANGE[kind] if name == "end_time.npy" else raw)
    for use in (sweeps.load_campaign, lambda folder: command(*COMMANDS["campaign"]).exception):
        with pytest.raises(ValueError, match=r"worlds-0000002.*delete this file and run the campaign again"):
            error = use(Path("campaign"))
            raise error


def test_damage_of_any_byte_of_a_chunk_is_an_error_or_harmless(here):
    raw, rng = CHUNK.read_bytes(), np.random.default_rng(4)
    for n in range(300):
        broken = bytearray(raw)
        for at in rng.integers(0, len(raw), 1 + n % 3):
            broken[at] = rng.integers(256)
        CHUNK.write_bytes(broken[: len(raw) if n % 4 else int(rng.integers(len(raw)))])
        try:
            sweeps.load_campaign("campaign")
        except ValueError as error:
            assert "worlds-0000002" in str(error)


def test_a_chunk_asks_for_no_memory(here):
    """400 MiB of zeros in 400 kB, whose header agrees with them."""
    bomb = array(np.zeros(400 * 2**17))
    rewritten(lambda name, raw: bomb if name == "end_time.npy" else raw)
    CHUNK.rename(f"campaign/worlds-0000000-{400 * 2**17 - 1:07d}.npz")
    about = Path("campaign/campaign.json")
    about.write_text(json.dumps(json.loads(about.read_text()) | {"worlds": 10**9}))
    tracemalloc.start()
    with pytest.raises(ValueError, match="worlds-0000000.*unpacks"):
        sweeps.load_campaign("campaign")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_reasons_of_a_chunk_are_characters(here):
    strange = array(np.array([0x110000, 0xD800], "<u4"), descr="<U1")
    rewritten(lambda name, raw: strange if name == "reason.npy" else raw)
    with pytest.raises(ValueError, match=r"worlds-0000002.*reason"):
        sweeps.load_campaign("campaign")


@pytest.mark.parametrize("worlds", ["0000003-0000002", "0000004-0000005", "0000000-999999999999"])
def test_chunks_of_worlds_that_the_campaign_does_not_have(here, worlds):
    CHUNK.rename(f"campaign/worlds-{worlds}.npz")
    with pytest.raises(ValueError, match=f"worlds-{worlds}"):
        sweeps.load_campaign("campaign")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("duration", "NaN"),
        ("duration", "true"),
        ("duration", "Infinity"),
        ("duration", "1e999"),
        ("duration", "1" + "0" * 400),
        ("duration", "0"),
        ("duration", "-1"),
        ("worlds", "true"),
        ("worlds", "0"),
        ("worlds", "4.0"),
        ("worlds", "1" + "0" * 30),
        ("seed", "true"),
        ("seed", "-1"),
        ("seed", "NaN"),
        ("lanes", "1" + "0" * 30),
        ("settings", '{"hull.inertia.mass": 1' + "0" * 400 + "}"),
        ("settings", "[]"),
        ("settings", '{"hull.inertia.mass": NaN}'),
        ("quantities", "[1]"),
        ("quantities", "null"),
        ("checks", '[{"name": "a", "quantity": "b", "text": "c", "limit": "d", "below": true, "above": null}]'),
        ("checks", '[{"name": "a", "quantity": "b", "text": "c", "limit": "d", "below": NaN, "above": null}]'),
        ("title", "1"),
    ],
)
def test_numbers_of_a_campaign_are_checked(here, key, text):
    about = Path("campaign/campaign.json")
    content = json.loads(about.read_text()) | {key: "HERE"}
    about.write_text(json.dumps(content).replace('"HERE"', text))
    with pytest.raises((ValueError, OSError), match=r"campaign\.json"):
        sweeps.load_campaign("campaign")


# -- contents of a sweep ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["coordinate", "parameters", "units", "dimensions", "characters", "chunk", "many chunks", "pipe"]
)
def test_damaged_stores_of_sweeps_are_named(here, kind):
    store = Path("sweep/results.zarr")

    def edit(file, **changes):
        (store / file).write_text(json.dumps(json.loads((store / file).read_text()) | changes))

    if kind == "coordinate":
        shutil.rmtree(store / "seed")
    elif kind == "parameters":
        edit(".zattrs", parameters=["nothing"])
    elif kind == "units":
        edit("z/.zattrs", units="days since yesterday")
    elif kind == "dimensions":
        edit("z/.zattrs", _ARRAY_DIMENSIONS=[1, 2])
    elif kind == "many chunks":
        edit("z/.zarray", shape=[10**8], chunks=[1])
    elif kind == "characters":
        (store / "reason" / "0").write_bytes(np.full(10**4, 0x110000, "<u4").tobytes()[: 4 * 400])
    elif kind == "chunk":
        (store / "z" / "0").write_bytes(b"short")
    else:
        (store / "status" / "0").unlink()
        os.mkfifo(store / "status" / "0")
        assert isinstance(command(*COMMANDS["sweep"]).exception, (ValueError, OSError, SystemExit, type(None)))
        (store / "status" / "0").unlink(missing_ok=True)
        return
    with pytest.raises((ValueError, OSError), match=r"results\.zarr"):
        sweeps.load_results("sweep")


def test_recordings_have_few_chunks(here):
    header = Path("run/recording.zarr/time/.zarray")
    header.write_text(json.dumps(json.loads(header.read_text()) | {"shape": [10**9], "chunks": [1], "dtype": "|i1"}))
    with pytest.raises(OSError, match="chunks"):
        load_recording("run")


# -- numbers in JSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("t", "NaN"),
        ("t", "true"),
        ("t", "[1]"),
        ("t", "1e999"),
        ("control", "true"),
        ("q", "[true, 0, 0, 1, 0, 0, 0]"),
        ("q", "[NaN, 0, 0, 1, 0, 0, 0]"),
        ("q", "[[0], [1]]"),
        ("q", "1"),
        ("q", '["1"]'),
        ("q", "null"),
        ("v", "[1e999]"),
        ("v", "[1" + "0" * 400 + "]"),
        ("run", '{"seed": true}'),
    ],
)
def test_numbers_of_a_state_are_checked(here, key, text):
    state = Path("run/state.json")
    content = json.loads(state.read_text()) | {key: "HERE"}
    state.write_text(json.dumps(content).replace('"HERE"', text))
    with pytest.raises(ValueError, match=r"state\.json.*(state of a simulation|simulation state)"):
        SavedState.read("run") if key == "run" else load_state(state)


def test_signals_of_a_state_may_have_no_value(here):
    state = Path("run/state.json")
    state.write_text(json.dumps(json.loads(state.read_text()) | {"signal": [float("nan")]}))
    assert np.isnan(load_state(state).signal[0])


@pytest.mark.parametrize("line", ['{"tick": true}', '{"end": NaN}', '{"end": true}', '{"end": [1]}', '{"tick": 1, "swing": 1}'])
def test_numbers_of_inputs_are_checked(here, line):
    Path("inputs.jsonl").write_text('{"hydromechs_inputs": 1, "period": 0.1}\n' + line + "\n")
    with pytest.raises(ValueError, match="tick|end|swing"):
        RecordedInputs("inputs.jsonl")
    for line in ("[" * 100_000, '{"tick": 1' + "0" * 5000 + "}"):
        Path("inputs.jsonl").write_text('{"hydromechs_inputs": 1, "period": 0.1}\n' + line + "\n")
        with pytest.raises(ValueError, match=r"inputs\.jsonl:2"):
            RecordedInputs("inputs.jsonl")
    Path("inputs.jsonl").write_text('{"hydromechs_inputs": 1, "period": true}\n')
    with pytest.raises(FieldError, match="period"):
        RecordedInputs("inputs.jsonl")


@pytest.mark.parametrize(
    "inputs",
    [
        "[" * 100_000,
        "[]",
        '{"scenario": "s", "seed": 1e999, "parameters": {}, "entries": [], "end": {"n": 1, "part": 0}}',
        '{"scenario": "s", "seed": 1, "parameters": {}, "entries": [], "end": {"n": true, "part": 0}}',
        '{"scenario": "s", "seed": 1, "parameters": {}, "entries": [], "end": {"n": 1' + "0" * 400 + ', "part": 0}}',
        '{"scenario": "s", "seed": 1, "parameters": {}, "entries": [{"n": NaN, "part": 0}], "end": {"n": 1, "part": 0}}',
    ],
)
def test_inputs_of_a_page_are_checked(inputs):
    """The attribute of a recording from a page, before its flight is repeated."""
    with pytest.raises(ValueError, match="inputs.*damaged"):
        Flight.of(xarray.Dataset(attrs={"inputs": inputs}))


@pytest.mark.parametrize(("level", "remedy"), [(0.0, "commands"), (0.1, "extend"), (5.0, "extend")])
def test_an_event_that_never_happens_comes_with_the_right_advice(here, level, remedy):
    text = SCENARIO + f"events: {{late: {{quantity: time, level: {level}, stop: true}}}}\n"
    with pytest.raises(ScenarioError, match=remedy):
        loads_scenario(text, folder=Path.cwd())
