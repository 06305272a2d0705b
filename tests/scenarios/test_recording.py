"""Recordings survive what happens to runs: kill, full disk, wrong folder; and come back exactly from every format."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import xarray

from hydromechs import Body, Controller, Inertia, Model, Simulation, drives, joints, load
from hydromechs.recording import MemoryRecorder, RecordingError, RecordingWriter, Variable, load_recording, save_recording
from hydromechs.simulation import _recorder

COORDS = {"body": ["vehicle", "Ünterarm"], "xyz": ["x", "y", "z"], "actuator": ["t1"], "contact": []}
SCHEMA = [
    Variable(name="position", dims=("time", "body", "xyz"), units="m", long_name="position of the body origin"),
    Variable(name="command", dims=("time", "actuator"), units="1", long_name="command"),
    Variable(name="saturated", dims=("time", "actuator"), units="1", long_name="at its limit", dtype="bool"),
    Variable(name="contact_force", dims=("time", "contact"), units="N", long_name="normal force"),
    Variable(name="energy", dims=("time",), units="N·m", long_name="energy", dtype="float32"),
]
ATTRS = {"title": "a run", "seed": 2**40, "step": 1e-3, "messages": ["one", "two"], "empty": "", "scenario": "a: 1\nb: ü\n"}


def block(n: int, start: int = 0) -> dict:
    rng = np.random.default_rng(start)
    out = {v.name: rng.normal(size=(n, *(len(COORDS[d]) for d in v.dims[1:]))) for v in SCHEMA}
    out["position"][: n // 2] = 0.0  # a value that a fill value might swallow
    out["command"][-1:] = np.nan
    out["saturated"] = out["saturated"] > 0
    out["time"] = 0.01 * (start + np.arange(n))
    return out


def recorded(blocks=(5, 3, 1, 20)) -> MemoryRecorder:
    recorder = MemoryRecorder(SCHEMA, COORDS, ATTRS)
    for k, n in enumerate(blocks):
        recorder.append(block(n, sum(blocks[:k])))
    return recorder


def assert_equal(a, b):
    """Same numbers to the last bit, same types, names, order and attributes."""
    xarray.testing.assert_identical(a, b)
    assert list(a.data_vars) == list(b.data_vars) and set(a.coords) == set(b.coords)
    assert {n: v.dtype for n, v in a.variables.items()} == {n: v.dtype for n, v in b.variables.items()}
    assert list(a.attrs.items()) == list(b.attrs.items())
    assert all(type(a.attrs[k]) is type(b.attrs[k]) for k in a.attrs)


@pytest.mark.parametrize("chunk", [1, 4, 7, 1024])
def test_the_store_equals_the_recording_in_memory(tmp_path, chunk):
    """Blocks that end inside, at and beyond the borders of chunks."""
    writer = RecordingWriter(tmp_path / "deep" / "r.zarr", SCHEMA, COORDS, ATTRS, chunk=chunk)
    memory = recorded()
    for k, n in enumerate((5, 3, 1, 0, 20)):
        writer.append(block(n, sum((5, 3, 1, 0)[:k])))
        assert load_recording(writer.path).sizes["time"] == writer.samples
    writer.close({"wall_time": np.float64(1.5)})
    memory.close({"wall_time": np.float64(1.5)})
    assert_equal(load_recording(writer.path), memory.dataset())
    assert writer.dataset().attrs["finished"] == 1
    assert writer.dataset()["position"].attrs == {"units": "m", "long_name": "position of the body origin"}


def test_other_readers_open_the_store(tmp_path):
    """Zarr's own reader through xarray finds the same numbers, zeros and NaN included."""
    writer = RecordingWriter(tmp_path / "r.zarr", SCHEMA, COORDS, ATTRS, chunk=4)
    writer.append(block(11))
    ds = xarray.open_zarr(writer.path, consolidated=False).load()
    xarray.testing.assert_equal(ds, writer.dataset())
    assert ds["saturated"].dtype == bool and not np.isnan(ds["position"]).any()


@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
@pytest.mark.parametrize("blocks", [(), (5, 3)], ids=["no samples", "samples"])
def test_round_trip_is_exact(tmp_path, suffix, blocks):
    recorder = recorded(blocks)
    recorder.close()
    ds = recorder.dataset()
    path = save_recording(ds, tmp_path / f"r{suffix}")
    assert_equal(load_recording(path), ds)
    again = save_recording(load_recording(path), tmp_path / f"again{suffix}")
    assert_equal(load_recording(again), ds)


@pytest.mark.parametrize(("version", "words"), [(1, ["0.5", "again", "xarray"]), (9, ["install"])])
@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_a_recording_of_another_version_reports_it(tmp_path, suffix, version, words):
    ds = recorded().dataset()
    assert ds.attrs["hydromechs_recording"] == 2
    path = save_recording(ds.assign_attrs(hydromechs_recording=version), tmp_path / f"r{suffix}")
    with pytest.raises(RecordingError, match=f"version {version}.* reads version 2") as error:
        load_recording(path)
    assert str(path) in str(error.value) and all(word in str(error.value) for word in words)


def test_csv_has_a_column_per_entry_with_all_digits(tmp_path):
    ds = recorded((4,)).dataset()
    with open(save_recording(ds, tmp_path / "r.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][:4] == ["time", "position.vehicle.x", "position.vehicle.y", "position.vehicle.z"]
    assert rows[0][4] == "position.Ünterarm.x" and rows[0][-1] == "energy" and len(rows) == 5
    column = rows[0].index("position.Ünterarm.z")
    assert [float(row[column]) for row in rows[1:]] == list(ds["position"].values[:, 1, 2])


def test_the_folder_of_a_run_is_enough(tmp_path):
    writer = RecordingWriter(tmp_path / "recording.zarr", SCHEMA, COORDS, ATTRS)
    writer.append(block(3))
    assert_equal(load_recording(tmp_path), writer.dataset())


KILLED = """
import sys
sys.path.insert(0, {here!r})
import numpy as np
from hydromechs.recording import RecordingWriter, Variable
names = [f"v{{i}}" for i in range(20)]
schema = [Variable(name=n, dims=("time", "body"), units="m", long_name=n) for n in names]
writer = RecordingWriter({path!r}, schema, {{"body": ["a", "b", "c"]}}, {{}}, chunk=64)
k = 0
while True:
    t = np.arange(k, k + 10) * 1.0
    writer.append({{"time": t, **{{n: np.outer(t, [1, 2, 3]) + i for i, n in enumerate(names)}}}})
    k += 10
    print(k, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
@pytest.mark.parametrize("lines", [1, 23, 400])
def test_killed_run_keeps_what_was_appended(tmp_path, lines):
    import hydromechs

    here = str(Path(hydromechs.__file__).parents[1])
    path = str(tmp_path / "r.zarr")
    process = subprocess.Popen([sys.executable, "-c", KILLED.format(here=here, path=path)], stdout=subprocess.PIPE, text=True)
    for _ in range(lines):
        done = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    ds = load_recording(path)
    n = ds.sizes["time"]
    assert n >= done and n % 10 == 0 and ds.attrs["finished"] == 0
    for i in range(20):
        np.testing.assert_array_equal(ds[f"v{i}"].values, np.outer(np.arange(n), [1, 2, 3]) + i)


class FullDisk:
    """Stands for a file on a disk that takes no more data."""

    def __init__(self, file, *_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))


def test_full_disk_is_said_and_data_stay(tmp_path, monkeypatch):
    """A disk that fills up in the middle of a block, after some of the variables."""
    import builtins

    writer = RecordingWriter(tmp_path / "r.zarr", SCHEMA, COORDS, ATTRS)
    writer.append(block(5))
    real_open = builtins.open
    monkeypatch.setattr(builtins, "open", lambda f, *a, **k: (FullDisk if "command" in str(f) else real_open)(f, *a, **k))
    with pytest.raises(RecordingError, match=r"r\.zarr cannot be written: No space left.*5 samples"):
        writer.append(block(7, 5))
    monkeypatch.undo()
    assert writer.samples == 5
    assert_equal(writer.dataset(), recorded((5,)).dataset())
    xarray.open_zarr(writer.path, consolidated=False)  # equal lengths again
    writer.append(block(7, 5))  # room was made
    assert_equal(writer.dataset(), recorded((5, 7)).dataset())


def test_full_disk_at_the_start_and_at_the_end(tmp_path, monkeypatch):
    """Nothing half-written is in the way afterwards."""
    import builtins

    path = tmp_path / "r.zarr"
    real_open = builtins.open
    monkeypatch.setattr(builtins, "open", lambda f, *a, **k: (FullDisk if "command" in str(f) else real_open)(f, *a, **k))
    with pytest.raises(RecordingError, match="cannot be created: No space left"):
        RecordingWriter(path, SCHEMA, COORDS, ATTRS)
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="not a Zarr store with a variable `time`"):
        load_recording(path)
    writer = RecordingWriter(path, SCHEMA, COORDS, ATTRS, overwrite=True)
    writer.append(block(5))
    monkeypatch.setattr(os, "replace", lambda a, _: FullDisk(a))
    with pytest.raises(RecordingError, match="cannot be finished: No space left"):
        writer.close()
    monkeypatch.undo()
    assert not list(path.rglob("*.partial"))
    assert_equal(writer.dataset(), recorded((5,)).dataset())


def test_full_disk_when_saving_leaves_the_old_file(tmp_path, monkeypatch):
    ds = recorded().dataset()
    path = save_recording(ds.isel(time=slice(3)), tmp_path / "r.nc")
    monkeypatch.setattr(xarray.Dataset, "to_netcdf", lambda _, p, **__: FullDisk(p))
    with pytest.raises(RecordingError, match="No space left"):
        save_recording(ds, path, overwrite=True)
    assert load_recording(path).sizes["time"] == 3


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="/proc is where even root cannot write")
def test_read_only_folder(tmp_path):
    with pytest.raises(RecordingError, match=r"/proc/r\.zarr cannot be created"):
        RecordingWriter("/proc/r.zarr", SCHEMA, COORDS, ATTRS)
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot be created: Not a directory"):
        RecordingWriter(tmp_path / "file" / "r.zarr", SCHEMA, COORDS, ATTRS)
    with pytest.raises(RecordingError, match="cannot be written"):
        save_recording(recorded().dataset(), tmp_path / "file" / "r.csv")


def test_what_is_there_already(tmp_path):
    """A recording is replaced when told so, anything else never."""
    path = tmp_path / "r.zarr"
    RecordingWriter(path, SCHEMA, COORDS, ATTRS).append(block(3))
    with pytest.raises(RecordingError, match=r"r\.zarr already exists; give another path, or remove it first"):
        RecordingWriter(path, SCHEMA, COORDS, ATTRS)
    with pytest.raises(RecordingError, match=r"r\.zarr already exists; give another path, or set overwrite=True"):
        save_recording(recorded().dataset(), path)
    assert load_recording(path).sizes["time"] == 3
    assert RecordingWriter(path, SCHEMA, COORDS, ATTRS, overwrite=True).dataset().sizes["time"] == 0

    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    for write in (
        lambda: RecordingWriter(precious, SCHEMA, COORDS, ATTRS, overwrite=True),
        lambda: save_recording(recorded().dataset(), precious.rename(tmp_path / "p.zarr"), overwrite=True),
    ):
        with pytest.raises(RecordingError, match="not a recording"):
            write()
    assert (tmp_path / "p.zarr" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("missing.zarr", None, r"no recording at .*missing\.zarr"),
        ("r.txt", "hello", "is not a recording"),
        ("r.nc", "hello", "cannot be read as NetCDF"),
    ],
)
def test_what_is_no_recording(tmp_path, name, text, message):
    if text:
        (tmp_path / name).write_text(text)
    with pytest.raises(RecordingError, match=message):
        load_recording(tmp_path / name)
    with pytest.raises(RecordingError, match="not a Zarr store"):
        load_recording(tmp_path)
    with pytest.raises(RecordingError, match="suffix '.xls'"):
        save_recording(recorded().dataset(), tmp_path / "r.xls")


def test_blocks_are_checked(tmp_path):
    writer = RecordingWriter(tmp_path / "r.zarr", SCHEMA, COORDS, ATTRS)
    for recorder in (writer, recorded(())):
        wrong = block(4)
        wrong["position"] = wrong["position"][:, :, :2]
        with pytest.raises(ValueError, match=r"'position' has shape \(4, 2, 2\), must be \(4, 2, 3\)"):
            recorder.append(wrong)
        less = block(4)
        less["extra"] = less.pop("energy")
        with pytest.raises(ValueError, match=r"\['energy'\] are missing, and \['extra'\] are not in the schema"):
            recorder.append(less)
        assert recorder.samples == 0


def test_schema_is_checked(tmp_path):
    def variable(**changes):
        return Variable(**{"name": "a", "dims": ("time",), "units": "m", "long_name": "a", **changes})

    for changes in (
        dict(dims=("body",)),
        dict(dims=("time", "time")),
        dict(name="a/b"),
        dict(name="time"),
        dict(dtype="int64"),
    ):
        with pytest.raises(ValueError, match="variable"):
            variable(**changes)
    with pytest.raises(ValueError, match="'leg' is not in coords"):
        MemoryRecorder([variable(dims=("time", "leg"))], {"body": ["a"]}, {})
    with pytest.raises(ValueError, match="has the name of another"):
        RecordingWriter(tmp_path / "r.zarr", [variable(), variable()], {}, {})


def test_the_attributes_are_there_before_the_run_ends(tmp_path):
    RecordingWriter(tmp_path / "r.zarr", SCHEMA, COORDS, ATTRS)
    assert json.loads((tmp_path / "r.zarr" / ".zattrs").read_text())["scenario"] == ATTRS["scenario"]


def test_a_run_on_disk_takes_no_memory_for_its_samples(tmp_path):
    """Verify that `run(path=...)` records what a run in memory does, and holds a block of it at most."""
    peaks, runs = [], []
    for path in (None, tmp_path / "run.zarr"):
        sim = Simulation(load("sinking_chain"), record=1e-3)
        sim.compile()
        tracemalloc.start()
        runs.append(sim.run(20.0, path=path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    memory, disk = runs
    size = memory.recording.nbytes
    assert size > 20e6 and memory.sink.samples == disk.sink.samples == 20_001
    assert peaks[0] > size and peaks[1] < 0.3 * size
    xarray.testing.assert_equal(memory.recording, disk.recording)
    assert disk.recording.attrs["finished"] == 1 and "20001 samples" in repr(disk)


def test_a_recording_too_large_for_memory_is_said(monkeypatch):
    """Verify that the warning tells the size and the remedy, before the run."""
    monkeypatch.setattr(_recorder, "LARGE", 1e5)
    with pytest.warns(UserWarning, match=r"GB of memory; use run\(\.\.\., path="):
        Simulation(load("sinking_chain")).run(2.0)


def test_a_sample_holds_what_the_controller_gave_at_its_time():
    """Verify on a controller whose command and signal are the time itself, sampled at and between its calls."""

    class Clock(Controller):
        period = 0.1

        def start(self, simulation):
            self.signals = {"now": "s"}

        def __call__(self, state):
            self.signal_values = np.array([state.t])
            return {"rod": state.t}

    rod = Body(name="rod", joint=joints.Prismatic(axis=(1, 0, 0)), inertia=Inertia(mass=1.0))
    sim = Simulation(Model(bodies=[rod]), components=[drives.Torque(joint="rod")], controller=Clock(), step=0.01, record=0.02)
    whole = sim.run(1.0).recording
    called = np.floor(whole.time.values / 0.1 + 1e-9) * 0.1
    for values in (whole.command.values[:, 0], whole.signal.values[:, 0]):
        np.testing.assert_allclose(values[:-1], called[:-1], rtol=0, atol=1e-12)
    sim.reset()
    parts = [sim.run(t).recording for t in (0.3, 0.14, 0.56)]  # resumed at a call, and between two
    joined = np.concatenate([p.command.values[:-1, 0] for p in parts])
    np.testing.assert_array_equal(joined, whole.command.values[:-1, 0])
