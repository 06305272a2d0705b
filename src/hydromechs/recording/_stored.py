"""Checks of untrusted Zarr stores before zarr opens them.

A store names the codecs that unpack it, and zarr would load any installed codec, including pickle. Stores of this package
contain plain numbers and fixed-length texts, uncompressed or compressed by Blosc or Zstandard; all others are rejected.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hydromechs import files

if TYPE_CHECKING:
    import xarray


def structured(ds: xarray.Dataset, name: str) -> Any:
    """Return an attribute of a recording: a list of strings, such as "messages", or a table of units; None if it is missing."""
    value = ds.attrs.get(name)
    try:
        value = json.loads(value) if isinstance(value, str) else value  # early recordings store lists and tables directly
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        value = [str(item) for item in value]
    return value if isinstance(value, dict if name.endswith("_units") else list | dict) else None


def plain_attributes(attrs: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return attributes as strings and numbers; lists and tables become JSON text, which `structured` reads."""
    text = json.dumps(dict(attrs), default=lambda x: x.tolist() if isinstance(x, np.generic | np.ndarray) else str(x))
    return {
        key: value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
        for key, value in json.loads(text).items()
    }


CODECS = ("blosc", "zstd")
"""Compressors that this package uses in stores."""
KINDS = "fiubU"
"""NumPy kinds of numbers, booleans and fixed-length strings, excluding Python objects."""
HEADER = 2**20
"""Maximum size of array metadata [bytes]."""
SMALL = 2**30
"""Total size of the arrays in a store up to which the compression ratio is not checked [bytes]."""
RATIO = 1000
"""Maximum compression ratio of larger stores [-]; the ratio of recorded motions is below 100."""
CHUNKS = 1_000_000
"""Maximum number of chunks in a store, including missing chunks, all of which zarr visits."""


def check_store(path: Path) -> None:
    """Raise `files.UnreadableFile` unless a Zarr store has the format of this package."""
    declared = held = chunks = 0
    packed: list[tuple[Path, int, str | None]] = []
    for name in (".zgroup", ".zattrs"):
        _mapping(path / name)
    for folder in (path, *(p for p in path.iterdir() if p.is_dir())):
        for file in folder.iterdir():
            if file.is_symlink():
                raise files.UnreadableFile(f"{file} is a link; replace it with a copy of its target")
    for folder in sorted(p for p in path.iterdir() if p.is_dir()):
        if (folder / ".zarray").exists():
            _mapping(folder / ".zattrs")
            size, count, chunk, codec = _array_size(folder / ".zarray")
            declared, chunks = declared + size, chunks + count
            for file in sorted(folder.iterdir()):
                held += size_on_disk(file)
                if file.name[0].isdigit():  # a chunk; zarr reads no other data
                    packed.append((file, chunk, codec))
    if declared > max(SMALL, RATIO * held):
        raise files.UnreadableFile(
            f"{path} declares {declared:.3g} bytes but contains {held} bytes; it is damaged or malicious"
        )
    if chunks > CHUNKS:
        raise files.UnreadableFile(f"{path} declares {chunks} chunks, which exceeds {CHUNKS}; it is damaged or malicious")
    for file, chunk, codec in packed:
        _check_chunk(file, chunk, codec)


def checked_texts(values: np.ndarray, name: str) -> np.ndarray:
    """Return an array from an untrusted file; raise `ValueError` for invalid characters, which crash when printed."""
    if values.dtype.kind == "U":
        codes = np.frombuffer(values.tobytes(), f"{values.dtype.str[0]}u4")
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise ValueError(f"{name} contains invalid characters")
    return values


def _mapping(file: Path) -> None:
    """Raise `files.UnreadableFile` if a file exists and does not contain a mapping."""
    if file.exists() and not isinstance(files.read_json(file), dict):
        raise files.UnreadableFile(f"{file} must contain a mapping; it is damaged")


def _check_chunk(file: Path, size: int, codec: str | None) -> None:
    """Raise `files.UnreadableFile` if the unpacked size of a chunk differs from the declared size [bytes]."""
    stored = file.stat().st_size
    if stored > (size if codec is None else size + size // 64 + 1024):  # incompressible data grow by less
        raise files.UnreadableFile(
            f"{file} has {stored} bytes, but its array declares {size} bytes; it is damaged or malicious"
        )
    if codec is not None:
        with file.open("rb") as stream:
            # Blosc: bytes 4 to 8 are the size, by which numcodecs allocates memory
            unpacked = _zstd_size(stream, stored) if codec == "zstd" else int.from_bytes(stream.read(8)[4:], "little")
        if unpacked != size:
            raise files.UnreadableFile(
                f"{file} unpacks to {unpacked} bytes instead of {size} bytes; it is damaged or malicious"
            )


def _zstd_size(stream: BinaryIO, stored: int) -> int | None:
    """Return the content size of a file with one Zstandard frame [bytes] (RFC 8878, sec. 3.1.1); None for other files.

    The function follows all blocks to the end, because numcodecs also unpacks further frames, which may have any size.
    """
    magic, flags = stream.read(4), int.from_bytes(stream.read(1), "little")
    if magic != b"\x28\xb5\x2f\xfd":
        return None
    size_flag, single, checksum, dictionary = flags >> 6, flags >> 5 & 1, flags >> 2 & 1, flags & 3
    stream.read(1 - single + (0, 1, 2, 4)[dictionary])
    width = (single, 2, 4, 8)[size_flag]
    size = int.from_bytes(stream.read(width), "little") + (256 if size_flag == 1 else 0)
    last = 0
    while not last:
        block = int.from_bytes(stream.read(3), "little")
        last, kind, length = block & 1, block >> 1 & 3, block >> 3
        if not (last or length) or stream.tell() >= stored:  # also zeros of a sparse file
            return None
        stream.seek(1 if kind == 1 else length, os.SEEK_CUR)  # a block of kind 1 repeats one byte
    return size if width and stream.tell() + 4 * checksum == stored else None


def _array_size(header: Path) -> tuple[int, int, int, str | None]:
    """Return the size of an array with full chunks [bytes], the number of chunks, their size [bytes], and the codec."""
    meta = files.read_json(header, HEADER)

    def refuse(key: str, must: str) -> files.UnreadableFile:
        return files.UnreadableFile(
            f"{header}: {key} {must}; recordings contain numbers and strings, compressed by {', '.join(CODECS)}"
        )

    if not isinstance(meta, dict) or meta.get("zarr_format") != 2:
        raise refuse("zarr_format", "must be 2")
    compressor = meta.get("compressor")
    if compressor is not None and not (isinstance(compressor, dict) and compressor.get("id") in CODECS):
        raise refuse("compressor", "names an unsupported codec")
    if meta.get("filters"):
        raise refuse("filters", "must be empty")
    if meta.get("dimension_separator", ".") != ".":
        raise refuse("dimension_separator", "must be '.'")
    try:
        dtype = np.dtype(meta["dtype"]) if isinstance(meta.get("dtype"), str) else None
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype.kind not in KINDS or dtype.itemsize == 0:
        raise refuse("dtype", "is neither a number nor a fixed-length text")
    shape, chunks = _counts(meta.get("shape"), 0), _counts(meta.get("chunks"), 1)
    if shape is None or chunks is None or len(shape) != len(chunks):
        raise refuse("shape and chunks", "must be lists of integers with equal length")
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    chunk = dtype.itemsize * math.prod(chunks)
    return count * chunk, count, chunk, None if compressor is None else compressor["id"]


@dataclass(frozen=True)
class PlainArray:
    """Uncompressed array in chunks along its first axis; `array[:n]` reads n rows."""

    folder: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    rows: int
    """Number of rows in a chunk."""

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return the first rows, or all rows for `...`; rows of missing files are 0."""
        shape = (len(range(self.shape[0])[rows]) if isinstance(rows, slice) else self.shape[0], *self.shape[1:])
        out, size = np.zeros(shape, self.dtype), self.rows * math.prod(shape[1:])
        for k in range(-(-shape[0] // self.rows) if out.size else 0):
            file = self.folder / ".".join([str(k), *("0" for _ in shape[1:])])
            if file.exists():
                chunk = np.fromfile(file, self.dtype, size)
                if chunk.size < size:
                    raise ValueError(f"{file} has {chunk.nbytes} bytes, must have {size * self.dtype.itemsize} bytes")
                part = out[k * self.rows : (k + 1) * self.rows]
                part[...] = chunk.reshape(-1, *shape[1:])[: len(part)]
        return out


def plain_arrays(path: Path) -> dict[str, PlainArray]:
    """Return the arrays of a checked store, "time" first; empty unless all have the format of `RecordingWriter`."""
    out = {}
    for folder in sorted((p for p in path.iterdir() if (p / ".zarray").exists()), key=lambda p: p.name != "time"):
        meta = files.read_json(folder / ".zarray", HEADER)
        shape, chunks = meta["shape"], meta["chunks"]
        other = not shape or chunks[1:] != [max(1, n) for n in shape[1:]]
        if other or meta["compressor"] is not None or meta["fill_value"] is not None or meta["order"] != "C":
            return {}
        out[folder.name] = PlainArray(folder, np.dtype(meta["dtype"]), tuple(shape), chunks[0])
    return out if (path / ".zgroup").exists() else {}


def _counts(value: Any, least: int) -> list[int] | None:
    good = isinstance(value, list) and all(type(n) is int and n >= least for n in value)
    return value if good else None


def size_on_disk(file: Path) -> int:
    """Return the size of a file on disk [bytes]; raise `files.UnreadableFile` for a pipe or device, which would block."""
    status = os.stat(file)
    if stat.S_ISDIR(status.st_mode):
        return 0
    if not stat.S_ISREG(status.st_mode):
        raise files.UnreadableFile(f"{file} is a device, pipe or socket; replace it with a regular file")
    return int(getattr(status, "st_blocks", -(-status.st_size // 512))) * 512
