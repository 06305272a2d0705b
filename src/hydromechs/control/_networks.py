"""Networks of dense layers from files: NumPy arrays (.npz), ONNX, and policies of Stable-Baselines3 (.zip).

Files are data: nothing in them runs. Pickles are left to `torch.load(weights_only=True)`, which rejects code.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs import files
from hydromechs.spatial import maximum, where
from hydromechs.values import Array, Scalar

MAX_NUMBERS = 4_000_000
"""Maximum number of weights of a network."""
MAX_LAYERS = 64
"""Maximum number of layers."""

DAMAGED = (
    *(ValueError, LookupError, OverflowError, EOFError, SyntaxError, RuntimeError, MemoryError),
    *(struct.error, zipfile.BadZipFile, zlib.error, tokenize.TokenError, pickle.UnpicklingError),
)
"""Errors that readers raise for damaged files."""

ACTIVATIONS: Mapping[str, Callable[[Scalar], Scalar]] = {
    "none": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: maximum(x, 0.0),
    "elu": lambda x: where(x > 0.0, x, np.exp(x) - 1.0),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
}
"""Activations by name."""


class Layer(NamedTuple):
    """y = f(W x + b)."""

    name: str
    """Name in the file."""
    weights: Array
    """W, shape (m, n)."""
    bias: Array
    """b, shape (m,)."""
    activation: str = "none"
    """f, one of `ACTIVATIONS`."""


def read_network(path: str, activation: str) -> tuple[Layer, ...]:
    """Return the layers of a file. `activation`: activation of hidden layers, for files that do not specify it."""
    readers = {".npz": _npz, ".onnx": _onnx, ".zip": _stable_baselines}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"policy {path}: must be a file of the type {', '.join(readers)}")
    layers: list[Layer] = []
    try:
        with files.open_file(path) as file:
            for layer in reader(file.read(), activation):
                _check(layers, layer)
                layers.append(layer)
    except files.UnreadableFile:
        raise
    except DAMAGED as error:
        damaged = not isinstance(error, ValueError)
        raise ValueError(f"policy {path}: {'is damaged or of another format' if damaged else error}") from None
    if not layers:
        raise ValueError(f"policy {path}: has no layers; see the formats in docs/learning.md")
    return tuple(layers)


def _check(before: Sequence[Layer], layer: Layer) -> None:
    """Raise `ValueError` if a layer does not fit those before it."""
    W, b = layer.weights, layer.bias
    n = str(before[-1].weights.shape[0]) if before else "n"
    if W.ndim != 2 or not W.size or (before and W.shape[1] != before[-1].weights.shape[0]):
        raise ValueError(f"layer {layer.name!r} has weights of shape {W.shape}, must have shape (m, {n})")
    if b.shape != W.shape[:1]:
        raise ValueError(f"layer {layer.name!r} has a bias of shape {b.shape}, must have shape {W.shape[:1]}")
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError(f"layer {layer.name!r} has weights that are not finite")
    if len(before) >= MAX_LAYERS or sum(x.weights.size for x in before) + W.size > MAX_NUMBERS:
        raise ValueError(f"has more than {MAX_LAYERS} layers or {MAX_NUMBERS:,} weights; use a smaller network")


def _floats(data: bytes, dtype: Any, shape: Sequence[int], name: str) -> Array:
    """Numbers of a shape from bytes."""
    dtype = np.dtype(dtype)
    if math.prod(shape) > MAX_NUMBERS or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(
            f"{name!r} has {len(data)} bytes, must have those of shape {tuple(shape)}, at most {MAX_NUMBERS:,} numbers"
        )
    return np.frombuffer(data, dtype).astype(float).reshape(tuple(shape))


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        data = file.read(files.MAX_BYTES + 1)
    if len(data) > files.MAX_BYTES:
        raise ValueError(f"{name!r} is larger than {files.MAX_BYTES:,} bytes")
    return data


def _sequence(arrays: Mapping[str, Array], pattern: str, rest: str, activation: str, last: str = "none") -> Iterator[Layer]:
    """Layers whose weights have names that match a pattern with a number; `rest` names a bias from the number."""
    numbers = sorted(int(m[1]) for name in arrays if (m := re.fullmatch(pattern, name)))
    names = {int(m[1]): name for name in arrays if (m := re.fullmatch(pattern, name))}
    for k in numbers:
        bias = rest.format(k)
        if bias not in arrays:
            raise ValueError(f"has {names[k]!r} without its bias {bias!r}")
        yield Layer(names[k], arrays[names[k]], arrays[bias], last if k == numbers[-1] else activation)


def _npz(data: bytes, activation: str) -> Iterator[Layer]:
    """W0, b0, W1, b1, ..., outputs before inputs."""
    arrays: dict[str, Array] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            file = io.BytesIO(_entry(archive, name))
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = read(file)
            if dtype.kind != "f":
                raise ValueError(f"array {name.removesuffix('.npy')!r} must hold floating-point numbers, not {dtype}")
            rows = _floats(file.read(), dtype, shape[::-1] if by_columns else shape, name)
            arrays[name.removesuffix(".npy")] = rows.T if by_columns else rows
    yield from _sequence(arrays, r"W(\d+)", "b{}", activation)


# -- Stable-Baselines3 ---------------------------------------------------------------------------------------------------------


def _stable_baselines(data: bytes, activation: str) -> Iterator[Layer]:
    """The actor of PPO, A2C, SAC, TD3 or DDPG."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        try:
            weights, about = _entry(archive, "policy.pth"), json.loads(_entry(archive, "data"))
        except KeyError:
            raise ValueError("has no entries 'policy.pth' and 'data'; save the model with model.save(...)") from None
    try:
        import torch
    except ModuleNotFoundError:
        raise ValueError(
            "files of Stable-Baselines3 need PyTorch: pip install 'hydromechs[learn]', or save the weights as .npz"
        ) from None
    found = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    arrays = {str(name): np.asarray(x, dtype=float) for name, x in found.items()}
    given = about.get("policy_kwargs", {}) if isinstance(about, dict) else {}
    named = re.search(r"(\w+)'>$", str(given.get("activation_fn", ""))) if isinstance(given, dict) else None
    squashed = "actor.mu.weight" in arrays  # SAC
    hidden = named[1].lower() if named else "relu" if any(x.startswith("actor.") for x in arrays) else "tanh"
    if hidden not in ACTIVATIONS:
        raise ValueError(f"the activation {hidden!r} is not supported; use one of {', '.join(ACTIVATIONS)}")
    if "action_net.weight" in arrays:
        net, last = r"mlp_extractor\.policy_net\.", Layer("action_net", arrays["action_net.weight"], arrays["action_net.bias"])
    elif squashed:
        net, last = r"actor\.latent_pi\.", Layer("actor.mu", arrays["actor.mu.weight"], arrays["actor.mu.bias"], "tanh")
    else:
        yield from _sequence(arrays, r"actor\.mu\.(\d+)\.weight", "actor.mu.{}.bias", hidden, "tanh")
        return
    bare = net.replace("\\", "")
    yield from _sequence(arrays, net + r"(\d+)\.weight", bare + "{}.bias", hidden, hidden)
    yield last


# -- ONNX ----------------------------------------------------------------------------------------------------------------------

_Message = dict[int, list[Any]]
"""Values of a message of protocol buffers by field: integers, or bytes."""
_TYPES = {1: "<f4", 11: "<f8", 10: "<f2", 7: "<i8", 6: "<i4"}
"""NumPy's types by those of ONNX."""
_SAME = {"Identity", "Flatten", "Cast", "Dropout"}
"""Operators that change no number of one observation."""
_NAMED = {"Tanh": "tanh", "Relu": "relu", "Elu": "elu", "Sigmoid": "sigmoid"}
"""Activations by their operators."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    out = shift = 0
    while True:
        byte = data[at]
        out, at, shift = out | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return out, at
        if shift > 63:
            raise ValueError("is damaged: a number has more than 64 bits")


def _message(data: bytes) -> _Message:
    out: _Message = {}
    value: int | bytes
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
                raise ValueError("is damaged or no ONNX file")
            value, at = data[at : at + size], at + size
        out.setdefault(key >> 3, []).append(value)
    return out


def _text(message: _Message, field: int) -> str:
    return message[field][-1].decode("utf-8", "replace") if field in message else ""


def _tensor(message: _Message) -> Array:
    name, shape = _text(message, 8), []
    for x in message.get(1, []):  # single numbers, or packed
        at = 0
        while isinstance(x, bytes) and at < len(x):
            size, at = _varint(x, at)
            shape.append(size)
        shape += [x] if isinstance(x, int) else []
    kind = message.get(2, [0])[0]
    if kind not in _TYPES or 13 in message:
        raise ValueError(f"tensor {name!r} must hold floating-point numbers in the file itself")
    for field, packed in ((9, _TYPES[kind]), (4, "<f4"), (10, "<f8")):
        if field in message:
            return _floats(b"".join(message[field]), packed, shape, name)
    raise ValueError(f"tensor {name!r} has no numbers")


def _onnx(data: bytes, activation: str) -> Iterator[Layer]:
    graph = _message(_message(data)[7][0])
    constants = {_text(t, 8): _tensor(t) for t in map(_message, graph.get(5, []))}
    inputs = [name for x in graph.get(11, []) if (name := _text(_message(x), 1)) not in constants]
    if len(inputs) != 1:
        raise ValueError(f"has the inputs {', '.join(inputs) or 'none'}; must have one, the observation")
    chains: dict[str, list[Layer]] = {inputs[0]: []}
    for node in map(_message, graph.get(1, [])):
        operator, name = _text(node, 4), _text(node, 3) or _text(node, 4)
        given, made = ([x.decode("utf-8", "replace") for x in node.get(k, [])] for k in (1, 2))
        options = {_text(a, 1): a for a in map(_message, node.get(5, []))}
        if operator == "Constant":
            constants[made[0]] = _tensor(_message(options["value"][5][0]))
            continue
        sources = [x for x in given if x in chains]
        numbers = [constants[x] for x in given if x in constants]
        if len(sources) == 1 and len(numbers) == len(given) - 1:  # else it belongs to no chain of layers
            chains[made[0]] = _applied(operator, name, chains[sources[0]], numbers, options, given[0] in chains)
    wanted = _text(_message(graph[12][0]), 1)
    if wanted not in chains:
        names = ", ".join(("Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Clip", *_NAMED, *sorted(_SAME)))
        raise ValueError(f"its first output {wanted!r} is no chain of dense layers; supported operators are {names}")
    yield from chains[wanted]


def _applied(
    operator: str, name: str, chain: Sequence[Layer], numbers: Sequence[Array], options: Mapping[str, _Message], first: bool
) -> list[Layer]:
    """A chain of layers after one more operator; `first` if the chain is its first argument."""
    if operator in _SAME:
        return list(chain)
    if operator == "Clip":
        if [float(np.ravel(x)[0]) for x in numbers] == [-1.0, 1.0]:
            return list(chain)  # actions are clipped to this range
        raise ValueError(f"node {name!r} clips to another range than -1 to 1; remove it, or scale the actions")
    if operator in _NAMED:
        if chain and chain[-1].activation == "none":
            return [*chain[:-1], chain[-1]._replace(activation=_NAMED[operator])]
    elif operator == "MatMul" and first:
        return [*chain, Layer(name, numbers[0].T, np.zeros(numbers[0].shape[-1]))]
    elif operator == "Gemm" and first:
        whole = {key: struct.unpack("<f", options[key][2][0])[0] if key in options else 1.0 for key in ("alpha", "beta")}
        if "transA" not in options or options["transA"].get(3, [0])[0] == 0:
            W = numbers[0] if options.get("transB", {}).get(3, [0])[0] else numbers[0].T
            b = whole["beta"] * numbers[1] if len(numbers) > 1 else np.zeros(len(W))
            return [*chain, Layer(name, whole["alpha"] * W, np.broadcast_to(b.ravel(), len(W)))]
    elif operator in ("Add", "Sub", "Mul", "Div") and len(numbers) == 1 and (first or operator in ("Add", "Mul")):
        c = numbers[0].ravel()
        if not chain or chain[-1].activation != "none":
            n = len(chain[-1].weights) if chain else len(c)
            chain = [*chain, Layer(name, np.eye(n), np.zeros(n))]
        W, b = chain[-1].weights, chain[-1].bias
        if len(c) not in (1, len(b)):
            raise ValueError(f"node {name!r} has {len(c)} numbers, must have {len(b)}")
        if operator in ("Add", "Sub"):
            b = b + c if operator == "Add" else b - c
        else:
            factor = np.broadcast_to(c if operator == "Mul" else 1.0 / c, len(b))
            W, b = factor[:, None] * W, factor * b
        return [*chain[:-1], chain[-1]._replace(weights=W, bias=b)]
    raise ValueError(f"node {name!r} ({operator}) is no part of a chain of dense layers")
