"""Recordings: writing during a run, loading, saving and export.

A recording is an `xarray.Dataset` whose first dimension is time. On disk it is an uncompressed Zarr store (format 2), a
folder that any Zarr reader can open. `RecordingWriter` writes the files of the store directly: an uncompressed chunk is the
plain memory of the array. An append is therefore one write per variable, and a run needs neither zarr nor xarray.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import files

from ._export import save_csv, save_mat, save_parquet
from ._stored import KINDS, check_store, checked_texts, plain_arrays, plain_attributes, size_on_disk

if TYPE_CHECKING:
    import xarray

MARK = "hydromechs_recording"
"""Attribute that identifies a store as a HydroMechs recording; its value is the version of the layout."""
VERSION = 2
"""Supported version of the layout."""
FOLDER_NAME = "recording.zarr"
"""File name of the recording in the folder of a run."""
HEADER_SIZE = 512
"""Size of the header of a variable, including padding with spaces [bytes]."""
ORDER = "variable_order"
"""Attribute of a store that contains the order of the variables; datasets do not have this attribute."""
NETCDF_EXTRA = "hydromechs_extra"
"""Attribute of a NetCDF file that stores contents that the format does not support, as JSON."""
NETCDF_SMALL, NETCDF_RATIO = 2**26, 16
"""Accepted total size of the variables of any NetCDF file [bytes], and accepted ratio to the file size beyond it [-].

Text in memory needs four times its size in the file.
"""

SINGLE_FILES = (".nc", ".csv", ".parquet", ".mat")
"""Suffixes of the formats that are single files."""


class RecordingError(OSError):
    """Error while a recording is written or read; the message contains the path and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """Description of one recorded variable."""

    name: str
    dims: tuple[str, ...]
    """Names of the dimensions; the first is "time"."""
    units: str
    """Unit, such as "m/s"; "1" for dimensionless numbers."""
    long_name: str
    dtype: str = "float64"
    """Data type: "float64", "float32", "int32", "int8" or "bool"."""

    def __post_init__(self) -> None:
        if not self.dims or self.dims[0] != "time" or "time" in self.dims[1:]:
            raise ValueError(f"variable {self.name!r}: dims are {self.dims}; make 'time' the first dimension and no other")
        if not self.name or any(c in self.name for c in "/\\.") or self.name == "time":
            raise ValueError(f"variable {self.name!r}: the name must not be empty, be 'time' or contain '/', '\\' or '.'")
        if self.dtype not in ("float64", "float32", "int32", "int8", "bool"):
            raise ValueError(f"variable {self.name!r}: dtype is {self.dtype!r}; use float64, float32, int32, int8 or bool")


TIME_ATTRS = {"units": "s", "long_name": "time"}


def _shapes(schema: Sequence[Variable], coords: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, ...]]:
    """Return the shape of one sample of each variable; reject duplicate names and dimensions without coordinates."""
    shapes: dict[str, tuple[int, ...]] = {}
    for variable in schema:
        if variable.name in shapes or variable.name in coords:
            raise ValueError(f"variable {variable.name!r} has the name of another variable or dimension; rename it")
        for dim in variable.dims[1:]:
            if dim not in coords:
                raise ValueError(
                    f"variable {variable.name!r}: dimension {dim!r} is not in coords ({', '.join(coords)}); add its names"
                )
        shapes[variable.name] = tuple(len(coords[dim]) for dim in variable.dims[1:])
    return shapes


def _checked(block: Mapping[str, np.ndarray], schema: Sequence[Variable], shapes: Mapping) -> tuple[int, dict[str, np.ndarray]]:
    """Return the number of samples in a block, and its arrays in the data types of the schema with `time` last."""
    names = [*shapes, "time"]
    if set(block) != set(names):
        missing, unknown = sorted(set(names) - set(block)), sorted(set(block) - set(names))
        raise ValueError(f"block of samples: variables {missing} are missing, and {unknown} are not in the schema")
    n = len(block["time"])
    arrays = {}
    for name, dtype in [*((v.name, v.dtype) for v in schema), ("time", "float64")]:
        shape = (n, *shapes.get(name, ()))
        if np.shape(block[name]) != shape:
            raise ValueError(f"block of samples: {name!r} has shape {np.shape(block[name])}, must be {shape}")
        arrays[name] = np.ascontiguousarray(block[name], dtype=dtype)
    return n, arrays


class RecordingWriter:
    """Writer of a recording to disk during a run.

    When `append` returns, the operating system has received the data, so a killed process loses no appended samples. The
    length of `time` is written last and equals the number of complete samples; `load_recording` ignores the others.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: Sequence[Variable],
        coords: Mapping[str, Sequence[str]],
        attrs: Mapping[str, Any],
        *,
        overwrite: bool = False,
        chunk: int = 1024,
    ) -> None:
        """Create an empty store in the folder `path`, with missing parent folders.

        `schema` lists the variables without `time`, `coords` contains the names along each other dimension, and `attrs`
        contains values that JSON supports. Each file of a variable contains `chunk` samples.
        """
        self.path = Path(path)
        """Folder of the store."""
        self.samples = 0
        """Number of complete samples."""
        self._schema = tuple(schema)
        self._shapes = _shapes(self._schema, coords)
        self._chunk = chunk
        self.attrs = {MARK: VERSION, "finished": 0, **plain_attributes(attrs)}
        """Attributes of the dataset."""
        _check_free(self.path, overwrite, "remove it first")  # runs do not overwrite
        with self._clear_errors("cannot be created"):
            files.remove(self.path)
            self.path.mkdir(parents=True)
            self._write_attrs()  # first, so that files left by a failure are recognised as ours
            files.write_json(self.path / ".zgroup", {"zarr_format": 2})
            for dim, names in coords.items():
                self._create_names(dim, [str(n) for n in names])
            for variable in self._schema:
                self._create(variable.name, variable.dims, {"units": variable.units, "long_name": variable.long_name})
            self._create("time", ("time",), TIME_ATTRS)
            for name, dtype in self._types().items():
                self._write_length(name, dtype, 0)

    def append(self, block: Mapping[str, np.ndarray]) -> None:
        """Append samples of all variables and `time`, each with time along the first axis."""
        n, arrays = _checked(block, self._schema, self._shapes)
        if n == 0:
            return
        try:
            with self._clear_errors("cannot be written"):
                for name, values in arrays.items():
                    self._write_rows(name, values)
                    self._write_length(name, values.dtype, self.samples + n)
        except RecordingError:
            for name, dtype in self._types().items():  # so that other readers too find equal lengths
                with contextlib.suppress(OSError):
                    self._write_length(name, dtype, self.samples)
            raise
        self.samples += n

    def close(self, attrs: Mapping[str, Any] | None = None) -> None:
        """Finish the recording: update its attributes, or remove it if it has no samples and `attrs` sets `finished` to 0."""
        self.attrs = {**self.attrs, "finished": 1, **plain_attributes(attrs or {})}
        with self._clear_errors("cannot be finished"):
            if self.samples or self.attrs["finished"]:
                self._write_attrs()
                self._consolidate()
            else:
                files.remove(self.path)

    def dataset(self) -> xarray.Dataset:
        """Return the recording so far, loaded from disk."""
        return load_recording(self.path)

    def _write_attrs(self) -> None:
        files.write_json(self.path / ".zattrs", {**self.attrs, ORDER: [v.name for v in self._schema]})

    def _consolidate(self) -> None:
        """Collect all metadata in the file that `xarray.open_zarr` expects; the recording must be complete."""
        names = (".zgroup", ".zattrs", ".zarray")
        found = [file for name in names for file in (*self.path.glob(name), *self.path.glob(f"*/{name}"))]
        metadata = {file.relative_to(self.path).as_posix(): files.read_json(file) for file in found}
        files.write_json(self.path / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": metadata})

    def _types(self) -> dict[str, np.dtype]:
        return {**{v.name: np.dtype(v.dtype) for v in self._schema}, "time": np.dtype("float64")}

    def _create(self, name: str, dims: Sequence[str], attrs: Mapping[str, Any]) -> None:
        (self.path / name).mkdir()
        files.write_json(self.path / name / ".zattrs", {"_ARRAY_DIMENSIONS": list(dims), **attrs})

    def _create_names(self, dim: str, names: list[str]) -> None:
        values = np.array(names, dtype=f"<U{max([1, *map(len, names)])}")
        self._create(dim, (dim,), {})
        files.write_json(self.path / dim / ".zarray", _array_header(values.dtype, values.shape, (max(1, len(names)),)))
        if names:
            (self.path / dim / "0").write_bytes(values.tobytes())

    def _write_length(self, name: str, dtype: np.dtype, length: int) -> None:
        """Set the number of samples of a variable.

        A header of the same size overwrites the old header in one system call, so that a kill cannot damage it. (Renaming a
        new file over the old one made an append of ten samples ten times slower on ext4.)
        """
        shape = self._shapes.get(name, ())
        chunks = (self._chunk, *(max(1, n) for n in shape))
        text = json.dumps(_array_header(dtype, (length, *shape), chunks)).encode()
        file = os.open(f"{self.path}/{name}/.zarray", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.write(file, text.ljust(HEADER_SIZE))
        finally:
            os.close(file)

    def _write_rows(self, name: str, values: np.ndarray) -> None:
        """Write samples to the files of a variable, starting at sample number `self.samples`."""
        row = values[0].nbytes
        if row == 0:
            return
        start = self.samples
        suffix = ".0" * (values.ndim - 1)
        data = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        while data:
            chunk, offset = divmod(start, self._chunk)
            rows = min(self._chunk - offset, len(data) // row)
            with open(f"{self.path}/{name}/{chunk}{suffix}", "wb" if offset == 0 else "r+b", buffering=0) as file:
                if offset == 0:
                    file.truncate(self._chunk * row)  # a chunk has its full size from the start
                file.seek(offset * row)
                piece = data[: rows * row]
                while piece:
                    piece = piece[file.write(piece) :]
            start, data = start + rows, data[rows * row :]

    @contextlib.contextmanager
    def _clear_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise RecordingError(
                f"recording {self.path} {what}: {e.strerror or e}; check free space and write permission. "
                f"The {self.samples} samples written before are intact"
            ) from e


class MemoryRecorder:
    """Recorder in memory with the interface of `RecordingWriter`."""

    def __init__(self, schema: Sequence[Variable], coords: Mapping[str, Sequence[str]], attrs: Mapping[str, Any]) -> None:
        self.samples = 0
        """Number of samples."""
        self._schema = tuple(schema)
        self._shapes = _shapes(self._schema, coords)
        self._coords = {dim: [str(n) for n in names] for dim, names in coords.items()}
        self.attrs = {MARK: VERSION, "finished": 0, **plain_attributes(attrs)}
        """Attributes of the dataset."""
        self._blocks: list[dict[str, np.ndarray]] = []

    def append(self, block: Mapping[str, np.ndarray]) -> None:
        """Append a copy of samples of all variables and `time`, each with time along the first axis."""
        n, arrays = _checked(block, self._schema, self._shapes)
        self._blocks.append({name: values.copy() for name, values in arrays.items()})
        self.samples += n

    def close(self, attrs: Mapping[str, Any] | None = None) -> None:
        """Finish the recording; the attribute `finished` becomes 1 unless `attrs` overrides it."""
        self.attrs = {**self.attrs, "finished": 1, **plain_attributes(attrs or {})}

    def dataset(self) -> xarray.Dataset:
        """Return the recording so far."""
        import xarray

        variables = {}
        for v in self._schema:
            empty = np.empty((0, *self._shapes[v.name]), v.dtype)
            data = np.concatenate([empty, *(b[v.name] for b in self._blocks)])
            variables[v.name] = (v.dims, data, {"units": v.units, "long_name": v.long_name})
        time = np.concatenate([np.empty(0), *(b["time"] for b in self._blocks)])
        coords = {dim: (dim, np.array(names, dtype=f"<U{max([1, *map(len, names)])}")) for dim, names in self._coords.items()}
        return xarray.Dataset(variables, coords={**coords, "time": ("time", time, TIME_ATTRS)}, attrs=dict(self.attrs))


def load_recording(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Load the recording at `path` into memory: a Zarr store, a NetCDF file (.nc), or the folder of a run.

    The recording of a killed or running run contains all complete samples.
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"there is no recording at {path}, because the path does not exist; correct the path")
    if path.is_dir():
        inner = path / FOLDER_NAME
        return _checked_dataset(_load_zarr(inner if inner.is_dir() else path), path)
    if path.suffix == ".nc":
        return _checked_dataset(_load_netcdf(path), path)
    raise RecordingError(f"{path} is not a recording; give a Zarr folder, a NetCDF file (.nc), or a folder with {FOLDER_NAME}")


def _checked_dataset(ds: xarray.Dataset, path: Path) -> xarray.Dataset:
    """Return a dataset; raise `RecordingError` for an unsupported version or duplicate names."""
    remedy = "run the scenario again, or read the data with xarray"
    try:
        files.check_version(path, "a recording", ds.attrs.get(MARK, VERSION), VERSION, remedy)
    except OSError as error:
        raise RecordingError(str(error)) from None
    for name, variable in ds.variables.items():
        if name in ds.dims and name != "time" and len(np.unique(variable.values)) < variable.size:
            raise RecordingError(f"{path} is a damaged recording: {name!r} contains duplicate names; {remedy}")
    return ds


def save_recording(ds: xarray.Dataset, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Save a recording. Zarr and NetCDF files can be loaded again without loss; the other formats are for export only.

    Args:
        ds: The recording.
        path: File to write; the suffix selects the format. `.zarr`: compressed Zarr store. `.nc`: NetCDF (version 3).
            `.csv`: one row per sample, columns such as `position.vehicle.x`. `.parquet`: the same table with units;
            requires pyarrow (the extra `parquet`). `.mat`: MATLAB file (version 5), one array per variable.
        overwrite: Replace an existing file or HydroMechs recording at this path.

    Returns:
        Path of the saved recording.
    """
    path = Path(path)
    writers = {".zarr": _save_zarr, ".nc": _save_netcdf, ".csv": save_csv, ".parquet": save_parquet, ".mat": save_mat}
    if path.suffix not in writers:
        raise RecordingError(f"cannot save {path}: the suffix {path.suffix!r} is not supported; use {', '.join(writers)}")
    _check_free(path, overwrite, "set overwrite=True")
    try:
        with files.replacing(path) as partial:
            writers[path.suffix](ds, partial)
            if path.is_dir():
                files.remove(path)  # only now: a failed save leaves the old recording
    except OSError as e:
        raise RecordingError(f"recording {path} cannot be written: {e.strerror or e}; check free space and permissions") from e
    return path


def _check_free(path: Path, overwrite: bool, remedy: str) -> None:
    """Raise an error unless the path is free or contains a recording that the caller may overwrite."""
    if not (path.exists() or path.is_symlink()):
        return
    ours = path.is_file() if path.suffix in SINGLE_FILES else is_recording(path)
    if not ours:
        raise RecordingError(f"{path} exists and is not a recording, so it was not changed; give another path")
    if not overwrite:
        raise RecordingError(f"{path} already exists; give another path, or {remedy}")


def is_recording(path: Path) -> bool:
    """True if a folder is a HydroMechs recording."""
    try:
        found = files.read_json(path / ".zattrs")
    except OSError:
        return False
    return isinstance(found, dict) and MARK in found


def _array_header(dtype: np.dtype, shape: Sequence[int], chunks: Sequence[int]) -> dict:
    """Return the content of .zarray (Zarr storage specification, version 2)."""
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": dtype.str,
        "compressor": None,
        "fill_value": None,  # readers must not treat any value as missing
        "order": "C",
        "filters": None,
    }


def _load_zarr(path: Path) -> xarray.Dataset:
    try:
        check_store(path)
    except OSError as e:
        raise RecordingError(f"{path} is not a readable recording: {e}") from None
    try:
        arrays = plain_arrays(path) or _zarr_arrays(path)  # exactly what was checked
        attrs: dict[str, Any] = _attributes(path)
        n = arrays["time"].shape[0]  # before any other variable: a running simulation writes it last
    except (OSError, KeyError, ValueError, TypeError, IndexError) as e:
        raise RecordingError(f"{path} is not a Zarr store with a variable `time`; give the path of a recording") from e
    order = attrs.pop(ORDER, [])
    try:
        return _dataset(path, arrays, n, order if isinstance(order, list) else [], attrs)
    except (
        RuntimeError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        MemoryError,
    ) as e:  # damaged chunks, inconsistent sizes
        raise RecordingError(f"{path} is a damaged recording: {type(e).__name__}: {e}") from e


def _attributes(folder: Path) -> dict[str, Any]:
    file = folder / ".zattrs"
    return dict(files.read_json(file)) if file.exists() else {}


def _zarr_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a store, read by zarr."""
    import zarr  # slow to import, and unnecessary for the store of a run

    return dict(zarr.open_group(str(path), mode="r", zarr_format=2, use_consolidated=False).arrays())


def _dataset(path: Path, arrays: Mapping[str, Any], n: int, order: list[Any], attrs: dict[str, Any]) -> xarray.Dataset:
    import xarray

    variables = {}
    for name, stored in arrays.items():
        own = _attributes(path / name)
        dims = own.pop("_ARRAY_DIMENSIONS")
        values = stored[:n] if dims and dims[0] == "time" else stored[...]
        variables[name] = (tuple(dims), checked_texts(np.asarray(values), name), plain_attributes(own))
    coords = {name: variables.pop(name) for name in list(variables) if variables[name][0] == (name,)}
    names = [*(name for name in order if name in variables), *sorted(set(variables) - set(order))]
    return xarray.Dataset({name: variables[name] for name in names}, coords=coords, attrs=attrs)


def _save_zarr(ds: xarray.Dataset, path: Path) -> None:
    plain = ds.drop_encoding()
    plain.attrs = {MARK: VERSION, **plain.attrs, ORDER: [str(name) for name in ds.data_vars]}
    plain.to_zarr(path, mode="w", zarr_format=2, consolidated=True)


def _save_netcdf(ds: xarray.Dataset, path: Path) -> None:
    """Save a NetCDF 3 file with SciPy; store unsupported contents as JSON in one attribute.

    Unsupported contents are attributes that are neither text nor float, variables without entries (a dimension of length 0
    would become the record dimension of the file), and data types.
    """
    native = {k: v for k, v in ds.attrs.items() if type(v) is float or (type(v) is str and v)}
    empty = {
        name: {"dims": list(v.dims), "shape": list(v.shape), "dtype": v.dtype.str, "attrs": dict(v.attrs)}
        for name, v in ds.variables.items()
        if v.size == 0
    }
    extra = {
        "attrs": {k: v for k, v in ds.attrs.items() if k not in native},
        "order": list(ds.attrs),
        "empty": empty,
        "dtypes": {name: v.dtype.str for name, v in ds.variables.items()},
    }
    plain = ds.drop_encoding().drop_vars(empty)
    plain.attrs = {**native, NETCDF_EXTRA: json.dumps(extra)}
    encoding = {name: {"_FillValue": None} for name, v in plain.variables.items() if v.dtype.kind == "f"}
    plain.to_netcdf(path, engine="scipy", encoding=encoding)


def _load_netcdf(path: Path) -> xarray.Dataset:
    import xarray

    try:
        files.require_file(path, 2**50)
        most = max(NETCDF_SMALL, NETCDF_RATIO * size_on_disk(path))
        with xarray.open_dataset(path, engine="scipy", decode_times=False) as file:
            if file.nbytes > most:
                raise ValueError(f"the file declares {file.nbytes} bytes of data but is much smaller")
            ds = file.load().drop_encoding()
    except Exception as e:  # SciPy's reader can raise anything on a damaged header
        raise RecordingError(
            f"{path} cannot be read as NetCDF 3: {type(e).__name__}: {e}; save the recording again with hm.save_recording"
        ) from e
    try:
        return _with_extra(ds, json.loads(ds.attrs.pop(NETCDF_EXTRA, "{}")), most)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise RecordingError(f"{path}: the attribute {NETCDF_EXTRA} is damaged: {type(e).__name__}: {e}") from e


def _with_extra(ds: xarray.Dataset, extra: dict[str, Any], most: int) -> xarray.Dataset:
    """Return a dataset with the contents that NetCDF cannot store; raise `ValueError` if it needs more than `most` bytes."""
    import xarray

    described = [*extra.get("dtypes", {}).values(), *(empty["dtype"] for empty in extra.get("empty", {}).values())]
    if any(np.dtype(str(dtype)).kind not in KINDS for dtype in described):
        raise ValueError("a variable is neither numeric nor text")
    if any(0 not in empty["shape"] for empty in extra.get("empty", {}).values()):
        raise ValueError("a variable described as empty has entries")
    if sum(np.dtype(dtype).itemsize * ds[name].size for name, dtype in extra.get("dtypes", {}).items() if name in ds) > most:
        raise ValueError("the data types need too much memory for a file of this size")
    for name, empty in extra.get("empty", {}).items():
        ds[name] = (empty["dims"], np.empty(empty["shape"], empty["dtype"]), empty["attrs"])
        if empty["dims"] == [name]:
            ds = ds.set_coords(name)
    for name, dtype in extra.get("dtypes", {}).items():
        if ds[name].dtype.str != dtype:
            ds[name] = ds[name].astype(dtype)
    attrs = {k: v.item() if isinstance(v, np.generic) else v for k, v in ds.attrs.items()} | extra.get("attrs", {})
    names = [name for name in extra.get("dtypes", ds.data_vars) if name in ds.data_vars]
    return xarray.Dataset(
        {name: ds[name].variable for name in names}, coords=ds.coords, attrs={k: attrs[k] for k in extra.get("order", attrs)}
    )
