"""Files of every format that are devices, pipes, folders, huge, damaged or someone else's: an error, soon, that quotes nothing."""

import contextlib
import gzip
import json
import os
import struct
import time
import tracemalloc
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import files, sweeps
from hydromechs.actuation.motions import recorded_file
from hydromechs.cli._main import app
from hydromechs.errors import FieldError
from hydromechs.formats import is_scenario_file, load_scenario_file, loads
from hydromechs.geometry import _mesh_checks as meshes
from hydromechs.geometry import height_field, read_heights, read_mesh
from hydromechs.identification import validation
from hydromechs.identification.validation import _logs
from hydromechs.model import Body, Model
from hydromechs.model.flexible import ModalLink
from hydromechs.registry import members
from hydromechs.scenario import SavedState
from hydromechs.simulation import load_state
from hydromechs.station import RecordedInputs

SECRET = "s3cr3t-of-root"
TEXTS = {
    "a password file": f"root:{SECRET}:0:0:{SECRET}:/root:/bin/sh\ndaemon:{SECRET}:1:1\n",
    "a mapping": f"token: {SECRET}\nname: {SECRET}\nbodies: {SECRET}\nmodels: {SECRET}\n",
    "a list": f"- {SECRET}\n",
    "bad YAML": f"key: *{SECRET}\n",
    "XML": f"<{SECRET}><{SECRET}></a>",
    "JSON": json.dumps({SECRET: SECRET}),
    "words": f'{SECRET} {{ "{SECRET}" }} {SECRET}\n',
    "a table": f"{SECRET},{SECRET}\n{SECRET},1\n",
    "ten words": f"{SECRET} " * 10 + "\n",
    "bytes": f"{SECRET}\n".encode() + b"\xff\xfe\x00\x80",
    "nulls": f"\0{SECRET}\0\n",
}
READERS = {
    "model.yaml": hm.load,
    "scenario.yaml": hm.load_scenario,
    "sweep.yaml": sweeps.load_sweep,
    "study.yaml": validation.load_validation_study,
    "robot.urdf": hm.load,
    "robot.sdf": hm.load,
    "robot.xml": hm.load,
    "robot.dm": hm.load,
    "plant.urdf": hm.load_plant,
    "state.json": load_state,
    "resumed.json": SavedState.read,
    "inputs.jsonl": RecordedInputs,
    "recording.nc": hm.load_recording,
    "heights.csv": lambda file: read_heights(file, None),
    "heights.xyz": lambda file: read_heights(file, None),
    "heights.npy": lambda file: read_heights(file, None),
    "heights.png": lambda file: read_heights(file, None, low=0, high=1),
    "heights.stl": lambda file: read_heights(file, None, spacing=0.1),
    "motion.csv": lambda file: recorded_file(str(file), "t", "x"),
    "motion.csv.gz": lambda file: recorded_file(str(file), "t", "x"),
    "log.csv": lambda file: validation.read_log(file, "t"),
    "modes.csv": lambda file: ModalLink(file=str(file), frequencies=(1.0,)).table(),
}
ERRORS = (OSError, ValueError, KeyError)
"""Errors that the command line turns into a message."""


@pytest.fixture(params=READERS)
def reader(request, tmp_path):
    """A path with the ending of a format, and what reads it."""
    return tmp_path / request.param, READERS[request.param]


def strange(path, kind):
    """Make something at a path that is no regular file, or is too large."""
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(files.MAX_BYTES + 1)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_only_regular_files_are_read(reader, kind):
    path, read = reader
    strange(path, kind)
    with pytest.raises(ERRORS, match="folder|device, pipe|not a recording|not a Zarr store|cannot resume"):
        read(path)


def test_large_files_are_not_read(reader):
    path, read = reader
    strange(path, "huge")
    with pytest.raises(ERRORS):
        read(path)


@pytest.mark.parametrize("kind", TEXTS)
def test_messages_quote_no_file_that_is_not_ours(reader, kind):
    path, read = reader
    text = TEXTS[kind]
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    with pytest.raises(ERRORS) as error:
        read(path)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "huge"])
def test_what_looks_at_files_does_not_wait(tmp_path, kind):
    path = tmp_path / "x.py"
    strange(path, kind)
    assert not is_scenario_file(path)
    named = tmp_path / "named.yaml"
    named.write_text(f"{HEAD}bodies:\n  b: {{joint: {{type: '{path}:Thing'}}}}\n")
    with pytest.raises(hm.ModelError):
        hm.load(named, code=True)


# -- YAML ---------------------------------------------------------------------------------------------------------------

HEAD = "hydromechs_model: 2\nname: x\n"
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [{f'*a{k - 1}, ' * 9}x]\n" for k in range(1, 12))
YAML = {
    "many aliases": (HEAD + LAUGHS, "aliases"),
    "flow nesting": (HEAD + "bodies: " + "[" * 500 + "]" * 500, "64 levels"),
    "flow nesting without end": (HEAD + "bodies: " + "{a: " * 100_000, "64 levels"),
    "block nesting": (HEAD + "".join(f"{' ' * k}k:\n" for k in range(500)), "64 levels"),
    "many values": (HEAD + "bodies: [" + "1," * 60_000 + "]", "50000 values"),
    "an alias of itself": (HEAD + "bodies: &a [*a]\n", "alias"),
    "Python objects": (HEAD + "bodies: !!python/object/apply:os.system ['touch ran']\n", "tag"),
    "a null character": (HEAD + "title: a\0b\n", "character"),
    "a long number": (HEAD + f"bodies: {'9' * 10_000}\n", "bodies"),
    "a list as a key": (HEAD + "? [a, b]\n: 1\nbodies: []\n", "key"),
}


@pytest.mark.parametrize("kind", YAML)
def test_hostile_yaml(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(files.LIMITS, "values", 50_000)
    text, words = YAML[kind]
    with pytest.raises(hm.ModelError, match=words):
        loads(text)
    Path("s.yaml").write_text(text.replace("hydromechs_model: 2", "hydromechs_scenario: 2"))
    with pytest.raises(hm.ScenarioError):
        load_scenario_file("s.yaml")
    Path("v.yaml").write_text(text.replace("hydromechs_model: 2", "hydromechs_validation: 2"))
    with pytest.raises(ValueError):
        validation.load_validation_study("v.yaml")
    assert not Path("ran").exists()


@pytest.mark.parametrize("value", ["1", "a", "[]", "{}", "null", "true", "[[[]]]", "{a: {b: [1, null]}}", ".nan", "-1e999"])
def test_wrong_types_in_every_key(value):
    """Every key of a model, a scenario and its first items with a value of another type is an error in words, or is accepted."""
    from hydromechs.formats._scenario_sections import ScenarioFile

    for key in members(Model):
        _quietly(lambda key=key: loads(f"{HEAD}bodies: {{}}\n{key}: {value}\n".replace("name: x\n", "", key == "name")))
    for key in members(Body):
        _quietly(lambda key=key: loads(f"{HEAD}bodies:\n  b: {{{key}: {value}}}\n"))
    for key in ScenarioFile.__dataclass_fields__:
        text = f"hydromechs_scenario: 2\nname: x\nrun: {{duration: 1}}\nmodels: {{m: {{model: m}}}}\n{key}: {value}\n"
        _quietly(lambda text=text: hm.formats.loads_scenario(text, library=lambda name: BALL))


BALL = loads("hydromechs_model: 2\nname: x\nbodies: {b: {joint: free, inertia: {mass: 1, tensor: [1, 1, 1, 0, 0, 0]}}}\n")


def _quietly(read):
    """Read; an error must be one of the reader's own."""
    with contextlib.suppress(hm.ModelError, hm.ScenarioError):
        read()


# -- robot descriptions -------------------------------------------------------------------------------------------------

URDF = "<robot name='r'><link name='a'><{0}><geometry><mesh filename='{1}'/></geometry></{0}></link></robot>"


@pytest.mark.parametrize("role", ["visual", "collision"])
@pytest.mark.parametrize(
    "path",
    [
        "../secret.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://../secret.stl",
        "package://x/../../secret.stl",
        "model://../secret.stl",
        "http://127.0.0.1:9/a.stl",
        "link.stl",
        "pipe.stl",
        "a\0b.stl",
        "..\\secret.stl",
    ],
)
def test_meshes_stay_in_the_folder_of_the_robot(tmp_path, path, role):
    """A collision mesh elsewhere is an error; a visual one becomes a box. Neither is read."""
    robot = tmp_path / "robot"
    robot.mkdir()
    (tmp_path / "secret.stl").write_text(f"solid {SECRET}\nendsolid {SECRET}\n")
    (robot / "link.stl").symlink_to(tmp_path / "secret.stl")
    os.mkfifo(robot / "pipe.stl")
    (robot / "r.urdf").write_text(URDF.format(role, path.replace("\0", "&#0;")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = hm.import_file(robot / "r.urdf")
            assert role == "visual" and not any(
                isinstance(look.shape, hm.geometry.Mesh) for look in found.model.bodies[0].shapes
            )
            text = str(found.notes)
        except hm.ModelError as error:
            text = str(error)
    assert SECRET not in text + " ".join(str(w.message) for w in caught)


@pytest.mark.parametrize("path", ["package://{}/secret.stl", "model://{}/secret.stl", "file://{}/secret.stl"])
def test_folders_above_the_robot_are_no_packages_unless_they_are_marked(tmp_path, path):
    """`package://bob/.ssh/id` in a file in /home/bob/Downloads would read the key."""
    robot = tmp_path / "downloads" / "r.urdf"
    robot.parent.mkdir()
    (tmp_path / "secret.stl").write_text("solid a\nendsolid a\n")
    robot.write_text(URDF.format("collision", path.format(tmp_path.name)))
    with pytest.raises(hm.ModelError, match=r"package\.xml|does not exist"):
        hm.import_file(robot)
    (tmp_path / "package.xml").write_text("<package/>")
    assert hm.import_file(robot).model.bodies[0].shapes[0].shape.file == str((tmp_path / "secret.stl").resolve())


def test_models_that_include_each_other_do_not_multiply_without_end(tmp_path):
    for i in range(8):
        (tmp_path / f"m{i}").mkdir()
        include = f"<include><uri>model://m{i + 1}</uri><name>a{{}}</name></include>"
        inside = "".join(map(include.format, range(8))) if i < 7 else "<link name='l'/>"
        (tmp_path / f"m{i}" / "model.sdf").write_text(f"<sdf version='1.9'><model name='m'>{inside}</model></sdf>")
    world = "<sdf version='1.9'><world name='w'><include><uri>model://m0</uri></include></world></sdf>"
    (tmp_path / "w.sdf").write_text(world)
    with pytest.raises(hm.ModelError, match="more than 5000 files"):
        hm.import_file(tmp_path / "w.sdf")


TRIANGLES = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nusemtl a\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("material", ["pipe.mtl", "device.mtl", "link.mtl", "../secret.mtl", "/etc/passwd"])
def test_materials_of_meshes_are_regular_files_beside_them(tmp_path, material):
    folder = tmp_path / "meshes"
    folder.mkdir()
    (tmp_path / "secret.mtl").write_text(f"newmtl {SECRET}\nKd 0.1 0.2 0.3\n")
    os.mkfifo(folder / "pipe.mtl")
    (folder / "device.mtl").symlink_to("/dev/zero")
    (folder / "link.mtl").symlink_to(tmp_path / "secret.mtl")
    (folder / "a.obj").write_text(f"mtllib {material}\n{TRIANGLES}")
    assert len(read_mesh(folder / "a.obj")[0].faces) == 4
    grid = read_heights(folder / "a.obj", ((0.1, 0.2), (0.1, 0.2)), spacing=0.1)
    assert grid.heights.shape == (2, 2)


def test_meshes_are_of_the_formats_that_are_named(tmp_path, monkeypatch):
    """Others name further files or unpack archives; messages do not quote a mesh."""
    (tmp_path / "a.gltf").write_text('{"asset": {"version": "2.0"}, "buffers": [{"uri": "/etc/passwd", "byteLength": 9}]}')
    with pytest.raises(ValueError, match=r"\.gltf"):
        read_mesh(tmp_path / "a.gltf")
    (tmp_path / "a.obj").write_text(f"v {SECRET} 0 0\nf 1 1 1\n")
    with pytest.raises(ValueError, match=r"a\.obj") as error:
        read_mesh(tmp_path / "a.obj")
    assert SECRET not in str(error.value)
    monkeypatch.setattr(meshes, "MAX_BYTES", 9)
    with pytest.raises(ValueError, match="MiB"):
        read_mesh(tmp_path / "a.obj")


@pytest.mark.parametrize("root", ["robot", "sdf", "mujoco"])
@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><{0}>&x;</{0}>",
        "<!DOCTYPE a [<!ENTITY a 'xx'><!ENTITY b '&a;&a;'>]><{0} name='&b;'/>",
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/a.dtd'><{0}/>",
        "<{0}>" * 200,
        "<{0} name='r'><include file='/etc/passwd'/><include><uri>file:///etc/passwd</uri></include></{0}>",
    ],
)
def test_hostile_xml(tmp_path, root, text):
    suffix = {"robot": ".urdf", "sdf": ".sdf", "mujoco": ".xml"}[root]
    (tmp_path / f"r{suffix}").write_text(text.format(root))
    with pytest.raises(hm.ModelError) as error:
        hm.load(tmp_path / f"r{suffix}")
    assert "root:" not in str(error.value)


MERGES = {
    "one mapping": "b: {<<: [" + "*a, " * 2500 + "]}\n",
    "many mappings": "b: [" + "{<<: *a}, " * 2500 + "]\n",
    "nested": "b: &b {<<: *a}\nc: {<<: [" + "*b, " * 2500 + "]}\n",
}


@pytest.mark.parametrize("kind", MERGES)
def test_merged_keys_of_yaml_are_counted_before_they_are_copied(tmp_path, kind):
    pytest.importorskip("xacro", reason="needs pip install 'hydromechs[xacro]'")
    from hydromechs.formats import _xacro

    loader = _xacro._Units("a: &a {" + ", ".join(f"k{k}: 0" for k in range(2000)) + "}\n" + MERGES[kind])
    tracemalloc.start()
    try:
        with pytest.raises(_xacro.Missing, match="more than 10000 keys are merged by << in a YAML file"):
            loader.get_single_data()
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


EXPRESSIONS = {
    "lengths": "[" + ",".join(["len(l)"] * 1000) + "]",
    "comparisons": "[" + ",".join(["l == k"] * 1000) + "]",
    "slices": "[" + ",".join(["l[1:][0]"] * 1000) + "]",
    "membership": "[" + ",".join(["1 in l"] * 1000) + "]",
    "texts": "[" + ",".join(["len(t)"] * 1000) + "]",
    "additions": "[" + ",".join(["1+1+1"] * 300) + "]",
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_the_work_of_expressions_is_limited(tmp_path, monkeypatch, kind):
    """A small file evaluates a slow expression 2048 times: hours, if only the results are counted."""
    pytest.importorskip("xacro", reason="needs pip install 'hydromechs[xacro]'")
    from hydromechs.formats import _xacro

    monkeypatch.setattr(_xacro, "MAX_WORK", 2_000_000)  # for a fast test
    values = {"l": "[0]*9999", "k": "[0]*9999", "t": "str([0]*3000)"}
    properties = "".join(f'<xacro:property name="{name}" value="${{{value}}}"/>' for name, value in values.items())
    slow = f'<xacro:macro name="m0"><link name="${{len(str({EXPRESSIONS[kind]}))}}"/></xacro:macro>'
    macros = "".join(f'<xacro:macro name="m{k + 1}"><xacro:m{k}/><xacro:m{k}/></xacro:macro>' for k in range(11))
    text = f'<robot name="r" xmlns:xacro="http://wiki.ros.org/xacro">{properties}{slow}{macros}<xacro:m11/></robot>'
    (tmp_path / "r.xacro").write_text(text)
    start = time.process_time()
    with pytest.raises(hm.ModelError, match="the expressions of the file read more than 2000000 items of lists and texts"):
        hm.load(tmp_path / "r.xacro")
    assert time.process_time() - start < 10.0


MJCF = """<mujoco>
<compiler settotalmass="{total}"/>
<worldbody><body name="a"><joint name="j1"/><geom size="{size}"/></body></worldbody>
<equality>
<joint {ends}/>
</equality>
</mujoco>"""


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        ({"ends": "joint2='j1'"}, 5, "joint1 is missing, but joint2 is 'j1'; set joint1 to the dependent joint"),
        ({"size": "1e-320"}, 3, r"size of the sphere is \(1e-320,\), must have 1 number\(s\) above 1e-12 m; set the size"),
        ({"total": "1e-320"}, 2, "settotalmass is .* kg and the sum of masses is .* kg.*; correct the masses"),
        ({"total": "1e300"}, 2, "settotalmass is 1e.300 kg"),
        ({"total": "1", "size": "1e-10"}, 2, "settotalmass is 1 kg and the sum of masses is 4.18879e-27 kg"),
    ],
)
def test_missing_and_tiny_values_of_mjcf_are_named(tmp_path, change, line, words):
    """NumPy and Python would fail with errors that name no line."""
    (tmp_path / "r.xml").write_text(MJCF.format(**{"total": "-1", "size": "1", "ends": "joint1='j1'", **change}))
    with pytest.raises(hm.ModelError, match=words) as error:
        hm.load(tmp_path / "r.xml")
    assert f"line {line}:" in str(error.value)


# -- tables and states --------------------------------------------------------------------------------------------------


def test_a_compressed_table_that_grows_is_not_unpacked(tmp_path):
    file = tmp_path / "m.csv.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        for _ in range(66):
            out.write(bytes(2**20))
    with pytest.raises(ValueError, match="MiB"):
        recorded_file(str(file), "t", "x")


def test_a_compressed_log_that_grows_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(_logs, "MAX_LOG", 2**20)
    for text in (b"t,x\n" + b"0,1\n" * 2**20, b"t,x\n" + b"0" * 2**22, b"t" * 2**22):
        (tmp_path / "log.csv.gz").write_bytes(gzip.compress(text))
        with pytest.raises((ValueError, KeyError), match="MiB|no column|no time column"):
            validation.read_log(tmp_path / "log.csv.gz", "t")


@pytest.mark.parametrize("wide", ["names", "row", "both"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_table_with_a_million_columns_is_not_read(tmp_path, wide, suffix):
    more = "," * 10**6
    text = f"t,x{more if wide != 'row' else ''}\n0,1{more if wide != 'names' else ''}\n"
    file = tmp_path / f"x{suffix}"
    file.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    for read in (lambda: recorded_file(str(file), "t", "x"), lambda: validation.read_log(file, "t")):
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match="a line has 1000002 columns, more than 1000; delete columns"):
                read()
            assert tracemalloc.get_traced_memory()[1] < 100e6  # NumPy took 2 GB
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("damage", [lambda raw: raw[:-9], lambda raw: raw[:12] + b"\xff" * 9 + raw[21:]], ids=["cut", "bytes"])
def test_damaged_compressed_tables(tmp_path, damage):
    file = tmp_path / "x.csv.gz"
    file.write_bytes(damage(gzip.compress(b"t,x\n" + b"".join(b"%d,%d\n" % (k, k * k % 97) for k in range(99)))))
    with pytest.raises(ValueError):
        validation.read_log(file, "t")
    with pytest.raises(ValueError):
        recorded_file(str(file), "t", "x")


def test_a_table_with_more_names_than_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("t,x,y\n" + "".join(f"{k},1\n" for k in range(9)))
    with pytest.raises(FieldError, match="file"):
        recorded_file(str(tmp_path / "x.csv"), "t", "y")


@pytest.mark.parametrize("name", ["log.mcap", "log.bag", "bag/data.db3", "bag/metadata.yaml"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_logs_of_messages_are_regular_files(tmp_path, name, kind):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    strange(file, kind)
    if name == "bag/data.db3":
        file.with_name("metadata.yaml").write_text("{}")
    with pytest.raises((ValueError, OSError)):
        validation.read_log(tmp_path / name.partition("/")[0], "", topic="/imu", columns={"x": "x"})


def test_damaged_logs_of_messages(tmp_path):
    """Every byte of a small log in turn: an error in words, or the numbers that are left."""
    writer = pytest.importorskip("mcap.writer", reason="needs pip install 'hydromechs[mcap]'").Writer(
        str(tmp_path / "good.mcap")
    )
    writer.start()
    schema = writer.register_schema("imu", "jsonschema", b"{}")
    imu = writer.register_channel("/imu", "json", schema)
    for k in range(12):
        writer.add_message(imu, k, json.dumps({"x": 0.1 * k}).encode(), k)
    writer.finish()
    raw, file = (tmp_path / "good.mcap").read_bytes(), tmp_path / "log.mcap"
    for k in range(0, len(raw), 3):
        file.write_bytes(raw[:k] + bytes([raw[k] ^ 0x41]) + raw[k + 1 :])
        with contextlib.suppress(ValueError, KeyError):
            validation.read_log(file, "", topic="/imu", columns={"x": "x"})


@pytest.mark.parametrize("declared", ["true", "small", "huge"])
@pytest.mark.parametrize("compression", ["ZSTD", "LZ4", "NONE"])
def test_chunks_of_messages_are_unpacked_up_to_a_limit(tmp_path, monkeypatch, compression, declared):
    mcap = pytest.importorskip("mcap.writer", reason="needs pip install 'hydromechs[mcap]'")
    monkeypatch.setattr(_logs, "MAX_CHUNK", 2**20)
    file = tmp_path / "log.mcap"
    writer = mcap.Writer(str(file), compression=mcap.CompressionType[compression], chunk_size=2**31)
    writer.start()
    imu = writer.register_channel("/imu", "json", writer.register_schema("imu", "jsonschema", b"{}"))
    content = 2**23 if declared != "huge" else 0
    for k in range(20):
        writer.add_message(imu, k, b'{"x": 1}' + b" " * (content if k == 19 else 0), k)
    writer.finish()
    if declared != "true":
        raw = bytearray(file.read_bytes())
        at = raw.index(b"\x06", 8 + 9 + struct.unpack_from("<Q", raw, 9)[0]) + 1 + 8 + 16  # after the header and the times
        struct.pack_into("<Q", raw, at, 2**40 if declared == "huge" else 1000)
        file.write_bytes(raw)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"^log.mcap: a chunk unpacks to more than (1,048,576|1,000) bytes"):
            validation.read_log(file, "", topic="/imu", columns={"x": "x"})
        assert compression == "NONE" or tracemalloc.get_traced_memory()[1] < 7e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("payload", [b"{x", b"\xff\xfe", b"[" * 100_000])
def test_a_message_that_is_not_json_is_named(tmp_path, payload):
    mcap = pytest.importorskip("mcap.writer", reason="needs pip install 'hydromechs[mcap]'")
    writer = mcap.Writer(str(tmp_path / "log.mcap"))
    writer.start()
    imu = writer.register_channel("/imu", "json", writer.register_schema("imu", "jsonschema", b"{}"))
    writer.add_message(imu, 0, payload, 0)
    writer.finish()
    with pytest.raises(ValueError, match=r"^log.mcap: a message of /imu is not valid JSON"):
        validation.read_log(tmp_path / "log.mcap", "", topic="/imu", columns={"x": "x"})


def test_arrays_of_python_objects_are_not_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    np.save(tmp_path / "h.npy", np.array([[Evil()]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as numbers"):
        read_heights(tmp_path / "h.npy", None)
    assert not (tmp_path / "ran").exists()


def test_images_are_of_the_formats_that_are_named(tmp_path):
    """Pillow would start a program for some others."""
    (tmp_path / "h.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(%pipe%id) (w) file\n")
    with pytest.raises(ValueError, match="cannot be read"):
        read_heights(tmp_path / "h.png", None, low=0, high=1)


def test_images_and_grids_that_grow_are_not_made(tmp_path):
    """A few bytes stand for 10¹⁰ pixels; a spacing of a nanometre for 10¹⁸ heights."""
    size = b"IHDR" + struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + size + struct.pack(">I", zlib.crc32(size))
    (tmp_path / "h.png").write_bytes(start + b"\0" * 4 + b"IDAT" + b"\0" * 4)
    with pytest.raises(ValueError, match="at most 250000"):
        read_heights(tmp_path / "h.png", None, low=0, high=1)
    trimesh.creation.box().export(tmp_path / "h.stl")
    for spacing in (1e-9, 1e-300):
        with pytest.raises(ValueError, match="at most 250000"):
            read_heights(tmp_path / "h.stl", None, spacing=spacing)


GENERATED = [
    {"type": "slope", "rise": 0.1, "spacing": 1e-9},
    {"type": "slope", "rise": 0.1, "spacing": 1e-300},
    {"type": "rubble_mound", "spacing": 1.0, "stone": 1e-5},
    {"type": "rubble_mound", "spacing": 1.0, "stone": 1e-320},
    {"type": ["slope"], "spacing": 1.0},
    {"type": {}, "spacing": 1.0},
]


@pytest.mark.parametrize("generate", GENERATED, ids=str)
def test_generated_heights_are_limited_in_number(generate):
    with pytest.raises(ValueError, match="generate"):
        height_field(x=(0.0, 10.0), y=(0.0, 10.0), generate=generate)


def test_a_long_field_of_generated_heights_is_not_made():
    with pytest.raises(ValueError, match="heights"):
        height_field(x=(0.0, 10.0), y=(0.0, 1e300), generate={"type": "slope", "rise": 0.1, "spacing": 1.0})


@pytest.mark.parametrize("name", ["[[]]", "{}", "1", "null"])
def test_what_is_no_name_of_a_terrain(name):
    tether = "type: tether, winch: [0, 0, 0], frame: b, length: 5, elements: 4, diameter: 0.01, mass: 0.1, stiffness: 1.0e+4"
    text = "hydromechs_scenario: 2\nname: x\nrun: {duration: 1}\nmodels: {m: {model: m}}\n"
    with pytest.raises(hm.ScenarioError, match="ground"):
        hm.formats.loads_scenario(f"{text}tethers: {{t: {{{tether}, ground: [{name}]}}}}\n", library=lambda name: BALL)


@pytest.mark.parametrize("text", ["\n" * 1_000_000, " " * 1_000_000, "<!--" * 25_000, "<?" * 50_000, "\n<" * 50_000])
def test_files_of_one_character_are_recognised_at_once(tmp_path, text):
    """Patterns that look at every rest of the text would take hours."""
    (tmp_path / "m.yaml").write_text(text + "x")
    assert not is_scenario_file(tmp_path / "m.yaml")
    with pytest.raises(hm.ModelError):
        hm.load(tmp_path / "m.yaml")


STATE = {"hydromechs_state": 2, "layout": "", "run": {}, "t": 0.0, "q": [0, 0, 0, 1, 0, 0, 0], "v": [0] * 6}


@pytest.mark.parametrize(
    "change",
    [
        {"t": "now"},
        {"t": [1]},
        {"q": "abc"},
        {"q": [[1], [2, 3]]},
        {"q": {"a": 1}},
        {"evil": [1]},
        {"__class__": [1]},
        {"run": [1]},
        {"run": {"seed": [1]}},
        {"run": {"seed": {"a": 1}}},
        {"hydromechs_state": [1]},
        {"hydromechs_state": 99},
    ],
)
def test_hostile_states(tmp_path, change):
    file = tmp_path / "state.json"
    file.write_text(json.dumps(STATE | change))
    with pytest.raises(ValueError, match=r"state.json"):
        SavedState.read(file)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "null", '"a"', "{", "\ufeff{}", "1" * 5000, ""])
def test_json_that_is_no_state(tmp_path, text):
    file = tmp_path / "state.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"state.json"):
        load_state(file)
    result = CliRunner().invoke(app, ["run", "sinking_chain", "--resume", str(file), "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, ValueError) and not (tmp_path / "out").exists()
