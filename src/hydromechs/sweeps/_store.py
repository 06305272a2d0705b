"""Store of a sweep: one Zarr store with one row per run, written block by block.

The store is uncompressed (Zarr format 2); each file contains the plain numbers of one variable in one block of runs. Each
file is written under a temporary name and renamed. The `status` of a block is written last, so that a block with a status
is complete. Writing a block again yields the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import files
from hydromechs.compiler import NATIVE
from hydromechs.errors import message_of
from hydromechs.recording import WARNING_KINDS, check_store, checked_texts, lock_folder, unlock_folder

from ._definition import ParameterSweep
from ._fingerprint import fingerprint_of, source_of
from ._runner import FAILED, REASON, Row

if TYPE_CHECKING:
    import xarray

MARK = "hydromechs_sweep"
"""Attribute that marks the store of a sweep; its value is the version of the layout."""
VERSION = 2
"""Supported version of the layout."""
KINDS = len(" ".join(WARNING_KINDS))
"""Maximum length of the list of warnings of a run [characters]."""
STORE, LOCK = "results.zarr", "sweep.lock"
"""File names in the folder of a sweep."""


class SweepStore:
    """Results of a sweep in a folder, which need not exist."""

    def __init__(self, folder: str | os.PathLike[str], sweep: ParameterSweep) -> None:
        self.folder, self.sweep = Path(folder), sweep
        self.path = self.folder / STORE
        """Path of the Zarr store."""
        self.block = sweep.block_size
        """Number of runs in a block."""
        self.blocks = [range(a, min(a + self.block, sweep.runs)) for a in range(0, sweep.runs, self.block)]
        """Numbers of the runs in each block."""

    @contextlib.contextmanager
    def opened(self, *, replace: bool = False) -> Iterator[SweepStore]:
        """Lock the folder while a sweep writes to it. An empty folder is initialised; the same sweep is resumed."""
        others = sorted(p.name for p in self.folder.iterdir()) if self.folder.is_dir() else []
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file; choose a folder")
        if others and STORE not in others and others != [LOCK]:
            raise ValueError(f"{self.folder} contains other files ({', '.join(others[:3])}); choose another folder")
        attrs = self._attrs()
        if self.path.exists() and not replace:
            self._check_same(attrs)
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = lock_folder(self.folder, LOCK, "sweep")
        try:
            if replace and self.path.exists():
                if MARK not in _attributes(self.path):
                    raise ValueError(f"{self.path} is not the store of a sweep, so it was not changed; choose another folder")
                shutil.rmtree(self.path)
            for link in filter(Path.is_symlink, (self.path, *self.path.glob("*"))):
                raise ValueError(f"{link} is a link; remove it, or choose another folder")
            if not (self.path / ".zgroup").exists():  # written last into a new store
                self._create(attrs)
            for partial in self.path.glob(f"*/{files.PARTIAL}"):  # left by a sweep that was killed
                partial.unlink()
            yield self
        finally:
            unlock_folder(self.folder, LOCK, handle)
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    def _check_same(self, attrs: Mapping[str, Any]) -> None:
        """Reject the store of a different sweep or of a different version of this package."""
        found, remedy = _attributes(self.path), "choose another folder, or replace the results (--force, or replace=True)"
        if MARK not in found:
            raise ValueError(f"{self.path} is not the store of a sweep; choose another folder")
        _check_version(self.path, found, remedy)
        if found["sweep"] != attrs["sweep"]:
            raise ValueError(f"{self.folder} contains the sweep {found['sweep']!r}, not {attrs['sweep']!r}; {remedy}")
        if found["source"] != attrs["source"]:
            made = f"hydromechs {found['hydromechs']}, whose equations may differ from those of {attrs['hydromechs']}"
            raise ValueError(f"{self.folder} was created by {made}; {remedy}")
        if found["fingerprint"] != attrs["fingerprint"]:
            raise ValueError(
                f"{self.folder} contains the sweep {found['sweep']!r} with a different scenario, parameters, sampling, seed or "
                f"results; {remedy}"
            )

    def done(self) -> list[bool]:
        """Return True for each complete block."""
        return [self._status(k) is not None for k in range(len(self.blocks))]

    def failed(self) -> int:
        """Return the number of failed runs in complete blocks."""
        found = (self._status(k) for k in range(len(self.blocks)))
        return sum(int((status == FAILED).sum()) for status in found if status is not None)

    def _status(self, block: int) -> np.ndarray | None:
        try:
            status = np.frombuffer(files.read_bytes(self.path / "status" / str(block)), np.int8)[: len(self.blocks[block])]
        except OSError:
            return None
        return status if len(status) == len(self.blocks[block]) and status.all() else None

    def write(self, block: int, rows: Sequence[Row]) -> None:
        """Write the results of the runs of a block."""
        columns: dict[str, Any] = {"end_time": [row.end_time for row in rows]}
        columns |= {r.name: [row.results[k] for row in rows] for k, r in enumerate(self.sweep.results)}
        if self.sweep.scenario.checks:
            columns |= {"passed": [row.passed for row in rows], "check_value": [row.values for row in rows]}
        if self.sweep.target != NATIVE.target:
            columns["on_gpu"] = [row.on_gpu for row in rows]
        for name, values in columns.items():
            self._write_block(name, block, np.array(values, bool if name in ("passed", "on_gpu") else np.float64))
        if any(row.reason for row in rows):
            self._write_block("reason", block, np.array([row.reason for row in rows], f"<U{REASON}"))
        if any(row.warnings for row in rows):
            self._write_block("warnings", block, np.array([row.warnings for row in rows], f"<U{KINDS}"))
        self._write_block("status", block, np.array([row.status for row in rows], np.int8))

    def _write_block(self, name: str, block: int, values: np.ndarray) -> None:
        whole = np.zeros((self.block, *values.shape[1:]), values.dtype)  # the last block is as long as the others
        whole[: len(values)] = values
        key = ".".join([str(block), *["0"] * (values.ndim - 1)])
        files.write_bytes(self.path / name / key, whole.tobytes())

    # -- a new store ----------------------------------------------------------------------------------------------------------

    def _attrs(self) -> dict[str, Any]:
        from hydromechs import __version__

        sweep = self.sweep
        return {
            MARK: VERSION,
            "sweep": sweep.name,
            "title": sweep.title,
            "description": sweep.description,
            "scenario": sweep.scenario.name,
            "hydromechs": __version__,
            "source": source_of(),
            "fingerprint": fingerprint_of(sweep),
            "coordinates": " ".join(["seed", *(p.name for p in sweep.parameters if " " not in p.name)]),
            "parameters": [p.name for p in sweep.parameters],
        }

    def _create(self, attrs: Mapping[str, Any]) -> None:
        """Create an empty store with coordinates, and variables without blocks."""
        sweep, n = self.sweep, self.sweep.runs
        if self.path.exists():  # left by a sweep that was killed here
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        files.write_json(self.path / ".zattrs", attrs)
        self._array("run", np.arange(n, dtype=np.int64), "run", {"long_name": "number of the run"})
        seeds = np.array([sweep.run_seed(i) for i in range(n)], np.int64)
        self._array("seed", seeds, "run", {"long_name": "seed of the run"})
        for k, p in enumerate(sweep.parameters):
            self._array(p.name, np.array([row[k] for row in sweep.table]), "run", {"path": ", ".join(p.paths)})
        self._variable("status", np.int8, 0, "status of the run: 0 not yet run, 1 done, 2 failed")
        self._variable("reason", f"<U{REASON}", "", "reason for the failure of the run")
        self._variable("warnings", f"<U{KINDS}", "", "kinds of unexpected warnings")
        self._variable("end_time", np.float64, "NaN", "final time of the run", units="s")
        for result in sweep.results:
            text = f"{result.statistic} of {result.quantity}" + (f" - {result.target:g}" if result.target else "")
            self._variable(result.name, np.float64, "NaN", text)
        if sweep.target != NATIVE.target:
            self._variable("on_gpu", bool, False, "true if a GPU simulated the run")
        if checks := sweep.scenario.checks:
            self._array("check", np.array([check.name for check in checks]), "check", {"long_name": "check of the scenario"})
            self._variable("passed", bool, False, "true if a check passed", checks=len(checks))
            self._variable("check_value", np.float64, "NaN", "value of a check", checks=len(checks))
        files.write_json(self.path / ".zgroup", {"zarr_format": 2})

    def _array(self, name: str, values: np.ndarray, dim: str, attrs: Mapping[str, Any]) -> None:
        self._header(name, values.dtype, values.shape, values.shape, None, {"_ARRAY_DIMENSIONS": [dim], **attrs})
        files.write_bytes(self.path / name / "0", values.tobytes())

    def _variable(self, name: str, dtype: Any, fill: Any, text: str, *, checks: int = 0, **attrs: str) -> None:
        """Create a variable without blocks, with one number per run, or per run and check."""
        more = (checks,) if checks else ()
        shape, chunks = (self.sweep.runs, *more), (self.block, *more)
        dims = ["run", *(["check"] if checks else [])]
        self._header(name, np.dtype(dtype), shape, chunks, fill, {"_ARRAY_DIMENSIONS": dims, "long_name": text, **attrs})

    def _header(
        self, name: str, dtype: np.dtype, shape: Sequence[int], chunks: Sequence[int], fill: Any, attrs: Mapping[str, Any]
    ) -> None:
        (self.path / name).mkdir()
        header = {"zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": dtype.str, "compressor": None}
        files.write_json(self.path / name / ".zarray", {**header, "fill_value": fill, "order": "C", "filters": None})
        files.write_json(self.path / name / ".zattrs", attrs)


def load_results(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Load the available results of a sweep from its folder or store.

    The dataset has one row per run, with the parameters as coordinates.
    """
    import xarray

    folder = Path(path)
    store = folder / STORE if (folder / STORE).exists() else folder
    attrs = _attributes(store)
    if MARK not in attrs:
        raise ValueError(f"{folder} is not the folder of a sweep; create one with `hydromechs sweep SWEEP.yaml`")
    _check_version(store, attrs, "run the sweep again")
    check_store(store)
    try:
        dataset = xarray.open_zarr(store, consolidated=False, mask_and_scale=False, chunks=None, zarr_format=2).load()
        for name, variable in dataset.variables.items():
            checked_texts(variable.values, str(name))
        return dataset.set_coords(["seed", *attrs["parameters"]])
    except Exception as error:  # zarr and xarray can raise anything on damaged chunks and attributes
        raise ValueError(f"{store} is damaged: {type(error).__name__}: {message_of(error)}; run the sweep again") from error


def on_grid(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return the results of a grid with one dimension per parameter instead of the dimension "run"."""
    names = list(dataset.attrs["parameters"])
    points = {tuple(dataset[name].values[i] for name in names) for i in range(dataset.sizes["run"])}
    counts = [len(np.unique(dataset[name])) for name in names]
    if len(points) < dataset.sizes["run"] or int(np.prod(counts)) != dataset.sizes["run"]:
        raise ValueError(
            "the runs are not a grid, because combinations of parameters are missing or repeated; plot the runs as points"
        )
    return dataset.drop_vars("run").set_index(run=names).unstack("run")


def _check_version(path: Path, attrs: Mapping[str, Any], remedy: str) -> None:
    try:
        files.check_version(path, "the store of a sweep", attrs[MARK], VERSION, remedy)
    except OSError as error:
        raise ValueError(str(error)) from None


def _attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a store; empty if there is no store."""
    try:
        found = files.read_json(path / ".zattrs")
    except OSError:
        return {}
    return found if isinstance(found, dict) else {}
