"""Networks of dense layers from files: NumPy arrays (.npz), ONNX, and Stable-Baselines3 policies (.zip).

Files are data; nothing in them is executed. Pickles are read by `torch.load(weights_only=True)`, which rejects code.
"""

import io
import json
import math
import pickle
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs import files
from hydromechs.spatial import maximum, where
from hydromechs.values import Array, Scalar

MAX_NUMBERS = 8 * 2**20
"""Maximum number of weights of a network; they take 64 MiB."""
MAX_LAYERS = 64
"""Maximum number of layers."""
MAX_NODES = 8 * MAX_LAYERS
"""Maximum number of operators between input and output of an ONNX file."""
MAX_ENTRIES = 10_000
"""Maximum number of archive entries; the directory takes memory before any entry is read."""

DAMAGED = (
    *(ValueError, LookupError, OverflowError, EOFError, SyntaxError, RuntimeError, MemoryError, TypeError, AttributeError),
    *(struct.error, zipfile.BadZipFile, zlib.error, tokenize.TokenError, pickle.UnpicklingError),
)
"""Exceptions raised by readers for damaged files."""

ACTIVATIONS: Mapping[str, Callable[[Scalar], Scalar]] = {
    "none": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: maximum(x, 0.0),
    "elu": lambda x: where(x > 0.0, x, np.exp(x) - 1.0),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
}
"""Activation functions, keyed by name."""


class Layer(NamedTuple):
    """Dense layer y = f(W x + b)."""

    name: str
    """Name of the layer in the file."""
    weights: Array
    """Weights W, shape (m, n)."""
    bias: Array
    """Bias b, shape (m,)."""
    activation: str = "none"
    """Activation f, one of `ACTIVATIONS`."""


def read_network(path: str, activation: str) -> tuple[Layer, ...]:
    """Return the layers of a network file. `activation` applies to hidden layers if the file does not specify one."""
    readers = {".npz": _npz, ".onnx": _onnx, ".zip": _stable_baselines}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"policy {path}: unsupported file type; use {', '.join(readers)}")
    layers: list[Layer] = []
    try:
        with files.one_load(), np.errstate(all="ignore"):  # `_check` finds numbers that are not finite
            for layer in reader(files.read_bytes(path), activation):
                _check(layers, layer)
                layers.append(layer)
    except files.UnreadableFile:
        raise
    except DAMAGED as error:
        damaged = not isinstance(error, ValueError)
        reason = (
            "the file is damaged or has another format; export the policy again" if damaged else str(error)[:500]
        )  # it may quote a name from the file
        raise ValueError(f"policy {path}: {reason}") from None
    if not layers:
        raise ValueError(f"policy {path}: the file contains no layers; use a format from docs/learning.md")
    return tuple(layers)


def _check(before: Sequence[Layer], layer: Layer) -> None:
    """Raise `ValueError` if a layer is inconsistent with the layers before it."""
    W, b = layer.weights, layer.bias
    n = str(before[-1].weights.shape[0]) if before else "n"
    if W.ndim != 2 or not W.size or (before and W.shape[1] != before[-1].weights.shape[0]):
        raise ValueError(f"layer {layer.name!r} has weights of shape {W.shape}; export weights of shape (m, {n})")
    if b.shape != W.shape[:1]:
        raise ValueError(f"layer {layer.name!r} has a bias of shape {b.shape}; export a bias of shape {W.shape[:1]}")
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError(f"layer {layer.name!r} has non-finite weights; train again or export finite weights")
    _require_room(before, W.size)


def _require_room(before: Sequence[Layer], size: int) -> None:
    """Raise `ValueError` if another layer with `size` weights would exceed the limits of a network."""
    if len(before) >= MAX_LAYERS or sum(x.weights.size for x in before) + size > MAX_NUMBERS:
        raise ValueError(f"the network has more than {MAX_LAYERS} layers or {MAX_NUMBERS:,} weights; use a smaller network")


def _floats(data: Sequence[Any], dtype: Any, shape: Sequence[int], name: str) -> Array:
    """Return an array of the given shape from pieces of bytes."""
    dtype, size = np.dtype(dtype), sum(map(len, data))
    if math.prod(shape) > MAX_NUMBERS or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(
            f"{name!r} has {size} bytes, unlike shape {tuple(shape)} with at most {MAX_NUMBERS:,} values; export the file again"
        )
    return np.frombuffer(b"".join(data), dtype).astype(float).reshape(tuple(shape))


def _archive(data: bytes) -> zipfile.ZipFile:
    if data.count(b"PK\1\2") > MAX_ENTRIES:  # signature of each entry in the list
        raise ValueError(f"the archive has more than {MAX_ENTRIES:,} entries; store only the weights")
    return zipfile.ZipFile(io.BytesIO(data))


def _sequence(
    names: Collection[str], read: Callable[[str], Array], pattern: str, rest: str, activation: str, last: str = "none"
) -> Iterator[Layer]:
    """Yield layers whose weight names match a numbered pattern; `rest` maps a number to the name of the bias."""
    numbered = {int(m[1]): name for name in names if (m := re.fullmatch(pattern, name))}
    for k, name in sorted(numbered.items()):
        bias = rest.format(k)
        if bias not in names:
            raise ValueError(f"bias {bias!r} of {name!r} is missing; export weights and biases")
        yield Layer(name, read(name), read(bias), last if k == max(numbered) else activation)


def _npz(data: bytes, activation: str) -> Iterator[Layer]:
    """Yield layers from the arrays W0, b0, W1, b1, ... with outputs along the first axis."""
    with _archive(data) as archive:

        def read(name: str) -> Array:
            file = io.BytesIO(files.read_entry(archive, f"{name}.npy"))
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = header(file)
            if dtype.kind != "f":
                raise ValueError(f"array {name!r} has type {dtype}; store floating-point values")
            rows = _floats([file.read()], dtype, shape[::-1] if by_columns else shape, f"{name}.npy")
            return rows.T if by_columns else rows

        names = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
        yield from _sequence(names, read, r"W(\d+)", "b{}", activation)


# -- Stable-Baselines3 ---------------------------------------------------------------------------------------------------------


SAFE_TORCH = 2, 6
"""Oldest PyTorch version whose `weights_only=True` rejects all code."""
MAX_DATA = 8 * 2**20
"""Maximum size of the model description [bytes]; the parsed objects take much more memory."""


def _stable_baselines(data: bytes, activation: str) -> Iterator[Layer]:
    """Yield the layers of the actor of PPO, A2C, SAC, TD3 or DDPG."""
    with _archive(data) as archive:
        try:
            weights, about = files.read_entry(archive, "policy.pth"), json.loads(files.read_entry(archive, "data", MAX_DATA))
        except KeyError:
            raise ValueError("entries 'policy.pth' and 'data' are missing; save the model with model.save(...)") from None
    try:
        import torch
    except ModuleNotFoundError:
        raise ValueError(
            "Stable-Baselines3 files require PyTorch; pip install 'hydromechs[learn]', or save the weights as .npz"
        ) from None
    if tuple(map(int, re.findall(r"\d+", torch.__version__)[:2])) < SAFE_TORCH:
        raise ValueError(
            f"PyTorch {torch.__version__} can execute code from a file even with weights_only=True (CVE-2025-32434); install "
            f"PyTorch {SAFE_TORCH[0]}.{SAFE_TORCH[1]} or later, or save the weights as .npz"
        )
    if zipfile.is_zipfile(io.BytesIO(weights)):  # PyTorch reads all entries
        with _archive(weights) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > files.MAX_BYTES:
                raise ValueError(f"'policy.pth' unpacks to more than {files.MAX_BYTES:,} bytes; use a smaller network")
    arrays = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)

    def read(name: str) -> Array:
        if math.prod(arrays[name].shape) > MAX_NUMBERS:  # a few stored numbers can be broadcast to many
            raise ValueError(
                f"{name!r} has shape {tuple(arrays[name].shape)}, above {MAX_NUMBERS:,} values; use a smaller network"
            )
        return np.asarray(arrays[name], dtype=float)

    given = about.get("policy_kwargs", {}) if isinstance(about, dict) else {}
    named = re.search(r"(\w+)'>$", str(given.get("activation_fn", ""))) if isinstance(given, dict) else None
    squashed = "actor.mu.weight" in arrays  # SAC
    hidden = named[1].lower() if named else "relu" if any(x.startswith("actor.") for x in arrays) else "tanh"
    if hidden not in ACTIVATIONS:
        raise ValueError(f"activation {hidden!r} is not supported; use one of {', '.join(ACTIVATIONS)}")
    if "action_net.weight" in arrays:
        net, last, end = r"mlp_extractor\.policy_net\.", "action_net", "none"
    elif squashed:
        net, last, end = r"actor\.latent_pi\.", "actor.mu", "tanh"
    else:
        yield from _sequence(arrays, read, r"actor\.mu\.(\d+)\.weight", "actor.mu.{}.bias", hidden, "tanh")
        return
    bare = net.replace("\\", "")
    yield from _sequence(arrays, read, net + r"(\d+)\.weight", bare + "{}.bias", hidden, hidden)
    yield Layer(last, read(f"{last}.weight"), read(f"{last}.bias"), end)


# -- ONNX ----------------------------------------------------------------------------------------------------------------------

_Message = dict[int, list[Any]]
"""Values of a protocol-buffer message, keyed by field number: integers or views of bytes."""
_TYPES = {1: "<f4", 11: "<f8", 10: "<f2", 7: "<i8", 6: "<i4"}
"""NumPy types, keyed by ONNX type number."""
MAX_DIMENSIONS = 8
"""Maximum number of dimensions of a tensor."""
_FLOATS = {1, 10, 11, 16}
"""ONNX type numbers of floating-point types."""
_SAME = {"Identity", "Flatten", "Cast", "Dropout"}
"""Operators that do not change the values of a single observation."""
_NAMED = {"Tanh": "tanh", "Relu": "relu", "Elu": "elu", "Sigmoid": "sigmoid"}
"""Activation names, keyed by ONNX operator."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    out = shift = 0
    while True:
        byte = data[at]
        out, at, shift = out | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return out, at
        if shift > 63:
            raise ValueError("the file is damaged: an integer exceeds 64 bits; export the file again")


def _message(data: memoryview) -> _Message:
    out: _Message = {}
    value: int | memoryview
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind, -1)
            if kind == 2:
                size, at = _varint(data, at)
            if size < 0 or at + size > len(data):
                raise ValueError("the file is damaged or not an ONNX file; export the file again")
            value, at = data[at : at + size], at + size
        files.count("values", 1)
        out.setdefault(key >> 3, []).append(value)
    return out


def _text(message: _Message, field: int) -> str:
    return str(message[field][-1], "utf-8", "replace") if field in message else ""


def _tensor(message: _Message) -> Array:
    name = _text(message, 8)
    shape: list[int] = []
    for x in message.get(1, []):  # single numbers, or packed
        at = 0
        while isinstance(x, memoryview) and at < len(x) and len(shape) <= MAX_DIMENSIONS:
            size, at = _varint(x, at)
            shape.append(size)
        shape += [x] if isinstance(x, int) else []
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError(f"tensor {name!r} has more than {MAX_DIMENSIONS} dimensions; export a matrix or vector")
    kind = message.get(2, [0])[0]
    if kind not in _TYPES or 13 in message:
        raise ValueError(
            f"tensor {name!r} is external or not of a floating-point type; store floating-point values in the file"
        )
    for field, packed in ((9, _TYPES[kind]), (4, "<f4"), (10, "<f8")):
        if field in message:
            return _floats(message[field], packed, shape, name)
    raise ValueError(f"tensor {name!r} has no values; export the model again")


def _onnx(data: bytes, activation: str) -> Iterator[Layer]:
    graph = _message(_message(memoryview(data))[7][0])
    constants = {_text(t, 8): t for t in map(_message, graph.get(5, []))}
    inputs = [name for x in graph.get(11, []) if (name := _text(_message(x), 1)) not in constants]
    if len(inputs) != 1:
        raise ValueError(f"the model has the inputs {', '.join(inputs) or 'none'}; export a single input, the observation")
    makers: dict[str, _Message] = {}
    for node in map(_message, graph.get(1, [])):
        made = str(node[2][0], "utf-8", "replace")
        if _text(node, 4) == "Constant":
            constants[made] = _message(_options(node)["value"][5][0])
        else:
            makers[made] = node
    wanted = at = _text(_message(graph[12][0]), 1)
    path: list[tuple[_Message, list[str], str]] = []
    while at != inputs[0]:  # from the output back to the input: nothing else is decoded
        given = [str(x, "utf-8", "replace") for x in makers[at].get(1, [])] if at in makers else []
        sources = [x for x in given if x not in constants]
        if len(sources) != 1:
            names = ", ".join(("Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Clip", *_NAMED, *sorted(_SAME)))
            raise ValueError(f"the first output {wanted!r} is not a chain of dense layers; use only the operators {names}")
        path.append((makers[at], given, sources[0]))
        at = sources[0]
        if len(path) > MAX_NODES:
            raise ValueError(f"the model has more than {MAX_NODES} operators between input and output; use a smaller network")
    chain: list[Layer] = []
    for k, (node, given, source) in reversed(list(enumerate(path))):
        last = all(_text(later, 4) in _SAME for later, _, _ in path[:k])
        numbers = [_tensor(constants[x]) for x in given if x != source]
        chain = _applied(node, chain, numbers, first=given[0] == source, last=last)
    yield from _whole(chain)


def _options(node: _Message) -> dict[str, _Message]:
    return {_text(x, 1): x for x in map(_message, node.get(5, []))}


def _whole(chain: list[Layer]) -> list[Layer]:
    """Return the chain with a full matrix in the last layer, as `_applied` may leave only the diagonal."""
    if not chain or chain[-1].weights.ndim != 1:
        return chain
    _require_room(chain[:-1], len(chain[-1].weights) ** 2)
    return [*chain[:-1], chain[-1]._replace(weights=np.diag(chain[-1].weights))]


def _dense(chain: list[Layer], name: str, W: Array, b: Array) -> list[Layer]:
    """Return the chain with another dense layer, which absorbs a preceding diagonal."""
    if chain and chain[-1].activation == "none" and chain[-1].weights.ndim == 1 and W.ndim == 2:
        before = chain.pop()
        W, b = W * before.weights, b + W @ np.broadcast_to(before.bias, W.shape[1])
    return [*chain, Layer(name, W, b)]


def _applied(node: _Message, chain: list[Layer], numbers: Sequence[Array], *, first: bool, last: bool) -> list[Layer]:
    """Return the chain with another operator; `first`: the chain is its first argument; `last`: it is the last operator."""
    operator, name, options = _text(node, 4), _text(node, 3) or _text(node, 4), _options(node)
    if operator == "Cast" and options.get("to", {}).get(3, [1])[0] not in _FLOATS:
        raise ValueError(f"node {name!r} casts to a type that is not floating-point; remove the node")
    if operator in _SAME:
        return chain
    if operator == "Clip":
        if last and [float(np.ravel(x)[0]) for x in numbers] == [-1.0, 1.0]:
            return chain  # actions are clipped to this range
        raise ValueError(f"node {name!r} clips hidden values or to a range other than [-1, 1]; clip only actions, to [-1, 1]")
    if operator == "Elu" and "alpha" in options and struct.unpack("<f", options["alpha"][2][0])[0] != 1.0:
        raise ValueError(f"node {name!r} has an alpha other than 1; train with alpha 1")
    if operator in _NAMED:
        if chain and chain[-1].activation == "none":
            return [*chain[:-1], _whole(chain)[-1]._replace(activation=_NAMED[operator])]
    elif operator == "MatMul" and first:
        _require_room(chain, numbers[0].size)
        return _dense(chain, name, numbers[0].T, np.zeros(numbers[0].shape[-1]))
    elif operator == "Gemm" and first:
        whole = {key: struct.unpack("<f", options[key][2][0])[0] if key in options else 1.0 for key in ("alpha", "beta")}
        if "transA" not in options or options["transA"].get(3, [0])[0] == 0:
            W = numbers[0] if options.get("transB", {}).get(3, [0])[0] else numbers[0].T
            b = whole["beta"] * numbers[1] if len(numbers) > 1 else np.zeros(len(W))
            _require_room(chain, W.size)
            return _dense(chain, name, whole["alpha"] * W, np.broadcast_to(b.ravel(), len(W)))
    elif operator in ("Add", "Sub", "Mul", "Div") and len(numbers) == 1 and (first or operator in ("Add", "Mul")):
        c = numbers[0].ravel()
        if not chain or chain[-1].activation != "none":
            n = len(chain[-1].weights) if chain else len(c)
            chain = [*chain, Layer(name, np.ones(n), np.zeros(n))]  # a diagonal, for the next matrix
        W, b = chain[-1].weights, chain[-1].bias
        if len(c) not in (1, len(b)):
            raise ValueError(f"node {name!r} has {len(c)} values; export {len(b)} values")
        if operator in ("Add", "Sub"):
            b = b + c if operator == "Add" else b - c
        else:
            factor = np.broadcast_to(c if operator == "Mul" else 1.0 / c, len(b))
            W, b = (factor * W.T).T, factor * b
        return [*chain[:-1], chain[-1]._replace(weights=W, bias=b)]
    raise ValueError(f"node {name!r} ({operator}) is not part of a chain of dense layers; remove it")
