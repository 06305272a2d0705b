"""Files of policies: damaged or hostile ones are rejected in little memory."""

import io
import math
import pickle
import re
import struct
import sys
import tracemalloc
import types
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from hydromechs import files
from hydromechs.cli._main import app
from hydromechs.control._networks import ACTIVATIONS, read_network

MEMORY = 300 * 2**20
"""Memory of reading a file of few megabytes [bytes]."""


def number(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)


def field(k, value):
    return number(k << 3) + number(value) if isinstance(value, int) else number(k << 3 | 2) + number(len(value)) + value


def tensor(name, x):
    return b"".join(field(1, n) for n in x.shape) + field(2, 1) + field(8, name) + field(9, x.astype("<f4").tobytes())


def node(operator, inputs, output, *attributes):
    return b"".join([*(field(1, x) for x in inputs), field(2, output), field(4, operator), *(field(5, x) for x in attributes)])


def model(nodes, tensors):
    ends = [field(11, field(1, b"x")), field(12, field(1, b"y"))]
    return field(7, b"".join([*(field(1, x) for x in nodes), *(field(5, x) for x in tensors), *ends]))


def chain(operator, count, *attributes):
    """Nodes from x to y, with the constant c."""
    names = [b"x", *(b"n%d" % k for k in range(1, count)), b"y"]
    return [node(operator, [names[k], b"c"], names[k + 1], *attributes) for k in range(count)]


def zeros(count):
    """An entry with `count` zeros."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": (count,)})
    return out.getvalue() + bytes(4 * count)


def archive(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


def peak_of(path):
    """The error and the peak memory of reading a file."""
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, files.UnreadableFile)) as error:
            read_network(str(path), "tanh")
        return str(error.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ALPHA = field(1, b"alpha") + number(2 << 3 | 5) + np.array(1.0, "<f4").tobytes()
BOMBS = {
    "unused.npz": (lambda: archive((f"x{k}.npy", zeros(4_000_000)) for k in range(20)), "no layers"),
    "names.npz": (lambda: archive((f"{k}", b"") for k in range(10_001)), "10,000 entries"),
    "diagonal.onnx": (lambda: model(chain(b"Mul", 1), [tensor(b"c", np.ones(10_000))]), "weights"),
    "gemm.onnx": (lambda: model(chain(b"Gemm", 60, ALPHA), [tensor(b"c", np.ones((1000, 1000)))]), "weights"),
    "nodes.onnx": (lambda: model(chain(b"Mul", 2000), [tensor(b"c", np.ones(8))]), "operators"),
    "fields.onnx": (lambda: field(1, b"") * 30_000, "values are read"),
    "rank.onnx": (lambda: model(chain(b"Mul", 1), [field(1, bytes([1]) * 9) + tensor(b"c", np.ones(1))]), "dimensions"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_take_little_memory(tmp_path, monkeypatch, name):
    monkeypatch.setitem(files.LIMITS, "values", 20_000)
    data, text = BOMBS[name]
    (tmp_path / name).write_bytes(data())
    error, peak = peak_of(tmp_path / name)
    assert text in error and peak < MEMORY


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_entries_do_not_unpack_to_more_than_they_declare(tmp_path, method):
    content, out = bytes(50_000_000), io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=1) as file:
        file.writestr("W0.npy", content)
        file.writestr("b0.npy", b"")
    size = struct.Struct("<I").pack
    (tmp_path / "net.npz").write_bytes(out.getvalue().replace(size(len(content)), size(100)))
    _, peak = peak_of(tmp_path / "net.npz")
    assert peak < 10_000_000


def test_tensors_that_repeat_a_number_are_not_expanded(tmp_path, monkeypatch):
    class Tensor:
        shape = (1_000_000, 1_000_000)

        def __array__(self, *args, **kwargs):
            raise AssertionError("the tensor is expanded")

    weights = {"actor.mu.0.weight": Tensor(), "actor.mu.0.bias": Tensor()}
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(load=lambda *args, **kwargs: weights, __version__="2.6.0"))
    path = tmp_path / "net.zip"
    path.write_bytes(archive([("data", "{}"), ("policy.pth", pickle.dumps(0))]))
    with pytest.raises(ValueError, match=r"net\.zip.*values"):
        read_network(str(path), "tanh")
    path.write_bytes(archive([("data", "{}"), ("policy.pth", archive([("a", bytes(files.MAX_BYTES + 1))]))]))
    with pytest.raises(ValueError, match=r"net\.zip.*unpacks to more than"):
        read_network(str(path), "tanh")
    path.write_bytes(archive([("data", "[" + "0," * 4_500_000 + "0]"), ("policy.pth", b"")]))
    with pytest.raises(ValueError, match=r"net\.zip.*'data' is larger"):
        read_network(str(path), "tanh")


@pytest.mark.parametrize(("version", "rejected"), [("2.5.1+cu121", True), ("1.13", True), ("2.6.0", False), ("3.0.0a0", False)])
def test_pytorch_that_can_run_code_reads_no_weights(tmp_path, monkeypatch, version, rejected):
    """CVE-2025-32434: before 2.6, `weights_only=True` does not reject all code."""
    called = []

    def load(*args, **kwargs):
        called.append(kwargs)
        return {}

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(load=load, __version__=version))
    path = tmp_path / "net.zip"
    path.write_bytes(archive([("data", "{}"), ("policy.pth", pickle.dumps(0))]))
    with pytest.raises(ValueError, match=f"PyTorch {re.escape(version)}.*2.6 or later" if rejected else "no layers"):
        read_network(str(path), "tanh")
    assert bool(called) != rejected


def test_a_file_that_grows_is_read_to_the_limit(tmp_path, monkeypatch):
    """Its size is checked while it is read, too: files of a kernel report size 0."""
    monkeypatch.setattr(files, "open_file", lambda *args: io.BytesIO(bytes(files.MAX_BYTES + 2**21)))
    error, _ = peak_of(tmp_path / "net.npz")
    assert "net.npz" in error and "larger than" in error


def test_a_scale_before_a_matrix_needs_no_matrix(tmp_path):
    """5,000 observations, scaled and shifted; and a scale before an activation."""
    rng, n = np.random.default_rng(3), 5000
    c, d, W = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 3)) / math.sqrt(n)
    nodes = [node(b"Mul", [b"x", b"c"], b"a"), node(b"Add", [b"a", b"d"], b"b"), node(b"MatMul", [b"b", b"W"], b"h")]
    nodes += [node(b"Tanh", [b"h"], b"i"), node(b"Mul", [b"i", b"e"], b"j"), node(b"Tanh", [b"j"], b"y")]
    tensors = [tensor(b"c", c), tensor(b"d", d), tensor(b"W", W), tensor(b"e", np.arange(3.0))]
    (tmp_path / "net.onnx").write_bytes(model(nodes, tensors))
    x = y = rng.normal(size=n)
    for layer in read_network(str(tmp_path / "net.onnx"), "tanh"):
        y = ACTIVATIONS[layer.activation](layer.weights @ y + layer.bias)
    np.testing.assert_allclose(y, np.tanh(np.arange(3.0) * np.tanh((x * c + d) @ W)), atol=1e-6)


SCENARIO = """
hydromechs_scenario: 2
name: s
models: {v: {plant: bluerov2_heavy_alpha5, position: [0, 0, 5]}}
run: {integrator: rk4, step: 0.005, duration: 0.02}
"""
BLOCKS = "blocks:\n  pilot: {{type: policy, file: {}, waypoints: [{{t: 0, position: [0, 0, 0]}}]}}\n"
DAMAGED = {
    "no text": field(7, field(11, field(1, 5)) + field(12, field(1, b"y"))),
    "no graph": field(7, 7),
    "no number": model([node(b"Gemm", [b"x", b"c"], b"y", field(1, b"alpha") + field(2, 5))], [tensor(b"c", np.ones((3, 3)))]),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_check_reports_damaged_files(tmp_path, kind):
    (tmp_path / "net.onnx").write_bytes(DAMAGED[kind])
    (tmp_path / "s.yaml").write_text(SCENARIO + BLOCKS.format("net.onnx"))
    result = CliRunner().invoke(app, ["check", str(tmp_path / "s.yaml")])
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "damaged" in " ".join(result.output.split())
