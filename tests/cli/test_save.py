"""`hydromechs save`: recordings for other programs, read back by code that is not ours."""

import csv
import json
import sys
import warnings

import numpy as np
import pytest
import xarray

import hydromechs as hm
from hydromechs.recording import RecordingWriter, Variable, select_recording, structured

T = np.arange(21) * 0.05
DEPTH = np.stack([2.0 + 0.1 * T, np.where(T < 0.5, 0.0, np.nan)], axis=1)
POSITION = np.random.default_rng(1).normal(size=(21, 2, 3))
BODIES = ["hull", "front leg.lower"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a run: numbers on three axes, NaN, truth values, an empty dimension, tables among the attributes."""
    schema = [
        Variable(name="position", dims=("time", "body", "xyz"), units="m", long_name="position of the body origin"),
        Variable(name="depth", dims=("time", "body"), units="m", long_name="depth"),
        Variable(name="saturated", dims=("time", "actuator"), units="1", long_name="at its limit", dtype="bool"),
        Variable(name="command", dims=("time", "actuator"), units="1", long_name="command"),
        Variable(name="contact_force", dims=("time", "contact"), units="N", long_name="normal force"),
        Variable(name="energy", dims=("time",), units="J", long_name="energy"),
    ]
    coords = {"body": BODIES, "xyz": ["x", "y", "z"], "actuator": ["screw"], "contact": []}
    attrs = {"title": "Übung", "seed": 7, "command_units": {"screw": "throttle"}}
    path = tmp_path_factory.mktemp("saved") / "dive"
    writer = RecordingWriter(path / "recording.zarr", schema, coords, attrs)
    command = np.sin(T)[:, None]
    block = {"time": T, "position": POSITION, "depth": DEPTH, "saturated": command > 0.5, "command": command}
    writer.append({**block, "contact_force": np.empty((21, 0)), "energy": T**2})
    writer.close({"messages": ["t = 0.5 s: the screw saturates", "another"]})
    return path


def test_csv(run, folder, tmp_path):
    """Read by Python's own reader."""
    assert run("save", folder, "--out", tmp_path / "a.csv")[0] == 0
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["time"]) for row in rows] == T.tolist()
    assert [float(row["position.front leg.lower.z"]) for row in rows] == POSITION[:, 1, 2].tolist()
    assert rows[0]["saturated.screw"] == "False" and rows[-1]["saturated.screw"] == "True"


def test_netcdf(run, folder, tmp_path):
    """Read by the NetCDF library of Unidata, and by us: every number, type and attribute."""
    netCDF4 = pytest.importorskip("netCDF4", reason="needs pip install netCDF4")
    assert run("save", folder, "--format", "nc", "--out", tmp_path / "a.nc")[0] == 0
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file.variables["position"].dimensions == ("time", "body", "xyz") and file.variables["position"].units == "m"
        assert np.array_equal(file.variables["position"][:], POSITION)
        assert np.array_equal(np.asarray(file.variables["depth"][:]), DEPTH, equal_nan=True)
        assert file.title == "Übung"
    xarray.testing.assert_identical(hm.load_recording(tmp_path / "a.nc"), hm.load_recording(folder))


def test_parquet(run, folder, tmp_path):
    """Read by fastparquet."""
    fastparquet = pytest.importorskip("fastparquet", reason="needs pip install fastparquet")
    assert run("save", folder, "--format", "parquet", "--out", tmp_path / "a.parquet")[0] == 0
    file = fastparquet.ParquetFile(str(tmp_path / "a.parquet"))
    table = file.to_pandas()
    assert np.array_equal(table["position.front leg.lower.z"], POSITION[:, 1, 2]) and np.array_equal(table["time"], T)
    assert np.array_equal(table["depth.front leg.lower"], DEPTH[:, 1], equal_nan=True)
    assert table["saturated.screw"].dtype == bool and table["saturated.screw"].tolist() == (np.sin(T) > 0.5).tolist()
    assert file.key_value_metadata["title"] == "Übung"
    units = {field.name: field.metadata[b"units"].decode() for field in _arrow_schema(tmp_path / "a.parquet")}
    assert units["time"] == "s" and units["command.screw"] == "throttle" and units["energy"] == "J"


def _arrow_schema(path):
    import pyarrow.parquet

    return pyarrow.parquet.read_schema(path)


def test_matlab(run, folder, tmp_path):
    """Read by mat4py, which shares no code with SciPy."""
    mat4py = pytest.importorskip("mat4py", reason="needs pip install mat4py")
    assert (
        run("save", folder, "--format", "mat", "--out", tmp_path / "a.mat", "--variable", "depth", "--variable", "energy")[0]
        == 0
    )
    content = mat4py.loadmat(str(tmp_path / "a.mat"))
    assert np.array_equal(np.array(content["depth"], dtype=float), DEPTH, equal_nan=True)
    assert np.ravel(content["time"]).tolist() == T.tolist() and np.ravel(content["energy"]).tolist() == (T**2).tolist()
    assert content["units"] == {"time": "s", "depth": "m", "energy": "J"}
    assert np.ravel(content["dims"]["depth"]).tolist() == ["time", "body"]
    assert np.ravel(content["entries"]["body"]).tolist() == BODIES
    assert content["attributes"]["seed"] == 7


def test_matlab_arrays_of_three_dimensions(run, folder, tmp_path):
    """Read by SciPy, whose writer made it; mat4py reads matrices only."""
    from scipy.io import loadmat

    assert run("save", folder, "--out", tmp_path / "a.mat")[0] == 0
    content = loadmat(tmp_path / "a.mat")
    assert np.array_equal(content["position"], POSITION) and content["contact_force"].shape == (21, 0)
    assert content["saturated"].ravel().tolist() == (np.sin(T) > 0.5).tolist()
    assert json.loads(content["attributes"]["command_units"][0, 0][0]) == {"screw": "throttle"}


def test_names_that_matlab_does_not_accept(tmp_path):
    from scipy.io import loadmat

    names = ["my-force", "my_force", "2nd", "units"]
    data = {name: ("time", T + k) for k, name in enumerate(names)}
    hm.save_recording(xarray.Dataset(data, coords={"time": T}), tmp_path / "a.mat")
    content = loadmat(tmp_path / "a.mat")
    for k, name in enumerate(["my_force", "my_force_2", "x2nd", "units"]):
        assert content[name].ravel().tolist() == (T + k).tolist()
    assert content["units_2"].dtype.names  # the struct gives way to the variable


@pytest.mark.parametrize("format", ["csv", "nc", "parquet", "mat", "zarr"])
def test_a_part_of_a_recording(run, folder, tmp_path, monkeypatch, format):
    """Variables, entries and times are chosen in every format; the file is named after the run."""
    monkeypatch.chdir(tmp_path)
    words = (
        "--variable",
        "depth",
        "--variable",
        "position",
        "--select",
        "body=hull",
        "--select",
        "xyz=z,x",
        "--from",
        0.1,
        "--to",
        0.3,
    )
    code, text, _ = run("save", folder, "--format", format, *words)
    assert code == 0 and f"dive.{format}: 2 variables, 5 samples from 0.1 to 0.3 s" in text
    expected = POSITION[2:7, 0, [2, 0]]
    if format in ("nc", "zarr"):
        ds = hm.load_recording(f"dive.{format}")
        assert set(ds.data_vars) == {"depth", "position"} and ds.body.values.tolist() == ["hull"]
        assert np.array_equal(ds.position.values[:, 0], expected)
    elif format == "mat":
        from scipy.io import loadmat

        assert np.array_equal(loadmat("dive.mat")["position"][:, 0], expected)
    else:
        import pandas

        table = pandas.read_csv("dive.csv") if format == "csv" else pandas.read_parquet("dive.parquet")
        assert set(table) == {"time", "depth.hull", "position.hull.z", "position.hull.x"}
        assert np.allclose(table[["position.hull.z", "position.hull.x"]], expected, rtol=4e-16, atol=0)  # pandas may round once


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), ("--format", "csv")),
        (("--format", "excel"), ("excel", "csv")),
        (("--out", "a.xls"), ("a.xls", "xls")),
        (("--format", "csv", "--out", "a.nc"), ("a.nc", ".csv")),
        (("--format", "csv", "--variable", "depht"), ("depht", "did you mean 'depth'")),
        (("--format", "csv", "--select", "bodi=hull"), ("bodi", "did you mean 'body'")),
        (("--format", "csv", "--select", "body=hul"), ("hul", "did you mean 'hull'")),
        (("--format", "csv", "--select", "hull"), ("--select", "body=vehicle")),
        (("--format", "csv", "--from", "5"), ("from 5 to 1 s", "choose 0 to 1 s")),
    ],
)
def test_mistakes_are_named(run, folder, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    code, _, error = run("save", folder, *words)
    assert code == 1 and all(text in error for text in named), error
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_replaced_only_by_force(run, folder, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("mine")
    code, _, error = run("save", folder, "--out", file)
    assert code == 1 and "a.csv" in error and "--force" in error and file.read_text() == "mine"
    assert run("save", folder, "--out", file, "--force")[0] == 0 and file.read_text().startswith("time,")


def test_a_missing_library_is_named(run, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, error = run("save", folder, "--out", tmp_path / "a.parquet")
    assert code == 1 and "hydromechs[parquet]" in error and not (tmp_path / "a.parquet").exists()


def test_xarray_opens_the_store_of_a_run_without_a_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = xarray.open_zarr(folder / "recording.zarr").load()
    xarray.testing.assert_equal(opened, hm.load_recording(folder))


@pytest.mark.parametrize("engine", ["scipy", "netcdf4"])
def test_xarray_writes_a_recording_as_netcdf(folder, tmp_path, engine):
    """The natural call, with tables and messages among the attributes."""
    if engine == "netcdf4":
        pytest.importorskip("netCDF4", reason="needs pip install netCDF4")
    ds = hm.load_recording(folder).drop_vars("contact_force")  # SciPy cannot write arrays without entries; a run records none
    ds.to_netcdf(tmp_path / "a.nc", engine=engine)
    with xarray.open_dataset(tmp_path / "a.nc", engine=engine, decode_timedelta=False) as again:
        xarray.testing.assert_equal(again, ds)
        assert structured(again, "messages") == ["t = 0.5 s: the screw saturates", "another"]
        assert structured(again, "command_units") == {"screw": "throttle"}


def test_xarray_writes_the_recording_of_a_simulation(tmp_path):
    thruster = hm.actuation.Thruster(name="push", frame="left_grip", curve=hm.actuation.ideal_curve(10.0, 10.0))
    sim = hm.Simulation(hm.load("hand_pipe"), components=[thruster], step=0.01, record=0.05)
    run = sim.run(0.1, path=tmp_path / "run.zarr")
    run.recording.to_netcdf(tmp_path / "a.nc", engine="scipy")
    again = hm.load_recording(tmp_path / "a.nc")
    assert np.array_equal(again.q, run.recording.q) and structured(again, "command_units") == {"push": "N"}


def test_parts_in_python(folder):
    ds = hm.load_recording(folder)
    part = select_recording(ds, variables=["energy"], begin=0.5)
    assert list(part.data_vars) == ["energy"] and part.time.values[0] == 0.5 and part.attrs == ds.attrs
    with pytest.raises(KeyError, match="time"):
        select_recording(ds, entries={"time": ["0.5"]})


@pytest.mark.parametrize("suffix", [".csv", ".nc"])
def test_angles_of_bodies_are_variables(run, tmp_path, suffix):
    """As in checks and plots; they are computed from the orientation."""
    q = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(0.2), np.sin(0.2), 0.0, 0.0]])
    schema = [Variable(name="orientation", dims=("time", "body", "wxyz"), units="1", long_name="orientation")]
    writer = RecordingWriter(tmp_path / "recording.zarr", schema, {"body": ["hull"], "wxyz": list("wxyz")}, {})
    writer.append({"time": T[:2], "orientation": q[:, None]})
    writer.close({})
    out = tmp_path / f"a{suffix}"
    status, _, error = run("save", tmp_path, "--out", out, "--variable", "tilt_deg", "--select", "body=hull")
    assert status == 0, error
    if suffix == ".csv":
        values = np.loadtxt(out, delimiter=",", skiprows=1)[:, 1]
    else:
        with xarray.open_dataset(out) as ds:
            assert ds.tilt_deg.attrs["units"] == "deg"
            values = ds.tilt_deg.values[:, 0]
    np.testing.assert_allclose(values, [0.0, np.degrees(0.4)], atol=1e-12)
    assert "did you mean 'tilt_deg'" in run("save", tmp_path, "--out", tmp_path / f"b{suffix}", "--variable", "tilt_degg")[2]
