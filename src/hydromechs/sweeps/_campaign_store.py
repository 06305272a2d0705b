"""Folder of a campaign: campaign.json, and one file of results for each chunk of worlds.

Each file is written under a temporary name and then renamed, so that every file with its final name is complete. The name
contains the first and the last world of the chunk. The same worlds yield the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hydromechs import files
from hydromechs.errors import message_of
from hydromechs.recording import checked_texts, lock_folder, unlock_folder
from hydromechs.values import Array

from ._fingerprint import fingerprint_of_scenario, source_of

if TYPE_CHECKING:
    from ._campaign import MissionCampaign

MARK = "hydromechs_campaign"
"""Marker key of campaign.json; its value is the version of the layout."""
VERSION = 2
"""Supported version of the layout."""
ABOUT, LOCK, REPORT = "campaign.json", "campaign.lock", "report.html"
"""File names in the folder of a campaign."""
CHUNK = re.compile(r"worlds-(\d{7,12})-(\d{7,12})\.npz")
"""Pattern of the file name of a chunk, with its first and last world."""
REASON, TEXT, MESSAGES = 400, 200, 3
"""Maximum lengths of a reason and of a message [characters], and maximum number of messages per world."""
UNPACKED = 512 * 2**20
"""Maximum size of an unpacked chunk [bytes]."""
SMALL, RATIO = 2**26, 200
"""Size of an unpacked chunk that is always accepted [bytes], and maximum compression ratio of larger chunks [-]."""
PER_WORLD = dict.fromkeys(("success", "failed", "capsized"), "b")
PER_WORLD |= {"seed": "u", "end_time": "f", "reason": "U", "messages": "i", "digest": "u"}
PER_CHECK = {"passed": "b", "value": "f"}
PER_QUANTITY = {"final": "f", "min": "f", "max": "f", "rms": "f"}
"""NumPy kinds of the arrays of a chunk, keyed by name: per world, per world and check, per world and quantity."""
Rows: TypeAlias = dict[str, Array]
"""Arrays of results, keyed by name, one row per world."""
COMPARED = {
    "scenario": "scenario",
    "seed": "seed",
    "duration": "duration [s]",
    "settings": "settings",
    "quantities": "quantities",
    "target": "target",
    "lanes": "worlds per vector operation",
    "hydromechs": "version of hydromechs",
}
"""Labels of the entries of campaign.json that a resumed campaign must match."""


class CampaignStore:
    """Results of a campaign in a folder, which need not exist."""

    def __init__(self, folder: str | os.PathLike[str], campaign: MissionCampaign) -> None:
        self.folder, self.campaign = Path(folder), campaign

    @contextlib.contextmanager
    def opened(self) -> Iterator[CampaignStore]:
        """Lock the folder while a campaign writes to it. An empty folder is initialised; the same campaign is resumed."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file; choose a folder")
        others = sorted(p.name for p in self.folder.iterdir()) if self.folder.is_dir() else []
        strange = [name for name in others if name != LOCK and not fnmatch(name, files.PARTIAL)]
        if strange and ABOUT not in others:
            raise ValueError(f"{self.folder} contains other files ({', '.join(strange[:3])}); choose another folder")
        about = self._about()
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = lock_folder(self.folder, LOCK, "campaign")
        try:
            kept = ABOUT in others and bool(list(chunks(self.folder)))
            if kept:  # without results, as after an error in its first chunk, any campaign may use the folder
                self._check_same(about)
            for partial in self.folder.glob(files.PARTIAL):  # left by a campaign that was killed
                partial.unlink()
            path = self.folder / ABOUT
            if not kept or read_about(self.folder)["worlds"] < self.campaign.worlds:
                files.write_json(path, about)
            yield self
        finally:
            unlock_folder(self.folder, LOCK, handle)

    def _about(self) -> dict[str, Any]:
        from hydromechs import __version__

        c, scenario = self.campaign, self.campaign.scenario
        checks = [
            {"name": x.name, "quantity": x.quantity, "text": x.text, "limit": x.limit, "below": x.below, "above": x.above}
            for x in scenario.checks
        ]
        return {
            MARK: VERSION,
            "scenario": scenario.name,
            "title": scenario.title,
            "description": scenario.description,
            "source": c.source,
            "worlds": c.worlds,
            "seed": c.seed,
            "duration": c.duration,
            "settings": dict(c.settings),
            "checks": checks,
            "quantities": list(c.quantities),
            "target": c.target,
            "lanes": c.lanes,
            "hydromechs": __version__,
            "source_hash": source_of(),
            "fingerprint": fingerprint_of_scenario(scenario),
            "text": c.text,
        }

    def _check_same(self, about: Mapping[str, Any]) -> None:
        """Reject the folder of a different campaign, and name the differences."""
        found, mine = read_about(self.folder), json.loads(json.dumps(about))
        different = [
            f"{what} {found.get(key)!r}, not {mine[key]!r}" for key, what in COMPARED.items() if found.get(key) != mine[key]
        ]
        if found.get("source_hash") != mine["source_hash"] and found.get("hydromechs") == mine["hydromechs"]:
            different.append(f"different source code of hydromechs {mine['hydromechs']}")
        if not different and found.get("fingerprint") != mine["fingerprint"]:
            part = "models or code that the scenario references"
            different.append(
                "different text of the scenario file" if found.get("text") != mine["text"] else f"different {part}"
            )
        if found["worlds"] > mine["worlds"] and not different:
            different.append(f"worlds {found['worlds']}, not {mine['worlds']}")
        if different:
            raise ValueError(
                f"{self.folder} contains a different campaign: {'; '.join(different)}; choose another folder or delete this one"
            )

    def missing(self, size: int) -> list[range]:
        """Return the worlds without results, divided into chunks. `size`: maximum number of worlds in a chunk."""
        gaps, at = [], 0
        for there in sorted(chunks(self.folder), key=lambda r: r.start):
            gaps += [range(at, there.start)] if there.start > at else []
            at = max(at, there.stop)
        gaps += [range(at, self.campaign.worlds)]
        return [range(k, min(k + size, gap.stop)) for gap in gaps for k in range(gap.start, gap.stop, size)]

    def finished(self) -> tuple[int, int]:
        """Return the number of worlds with results, and the number of these that passed all checks."""
        about = read_about(self.folder)
        success = [read_chunk(path, worlds, about)["success"] for worlds, path in chunks(self.folder).items()]
        return sum(map(len, success)), int(sum(x.sum() for x in success))

    def write(self, worlds: range, rows: Mapping[str, Array]) -> None:
        """Write the results of a chunk of worlds."""
        packed = io.BytesIO()
        np.savez_compressed(packed, **rows)  # type: ignore[arg-type]
        files.write_bytes(self.folder / f"worlds-{worlds.start:07d}-{worlds.stop - 1:07d}.npz", packed.getvalue())


def digest(*state: Array) -> int:
    """Return a digest of a final state: q, v and internal states."""
    return int.from_bytes(hashlib.blake2b(b"".join(x.tobytes() for x in state), digest_size=8).digest(), "little")


def blank(worlds: int, checks: int, quantities: int) -> Rows:
    """Return the rows of worlds without results."""
    shapes = dict.fromkeys(PER_WORLD, ()) | dict.fromkeys(PER_CHECK, (checks,)) | dict.fromkeys(PER_QUANTITY, (quantities,))
    kinds = {**PER_WORLD, **PER_CHECK, **PER_QUANTITY, "message": "U"}
    empty: dict[str, tuple[str, Any]] = {"b": ("?", False), "U": ("<U1", ""), "f": ("f8", math.nan)}
    out: Rows = {}
    for name, kind in kinds.items():
        dtype, value = empty.get(kind, (f"{kind}8", 0))
        out[name] = np.full((worlds, *shapes.get(name, (MESSAGES,))), value, dtype=dtype)
    return out


def chunks(folder: Path) -> dict[range, Path]:
    """Return the paths of chunk files in a folder, keyed by range of worlds."""
    found = ((CHUNK.fullmatch(path.name), path) for path in sorted(folder.iterdir()))
    return {range(int(m[1]), int(m[2]) + 1): path for m, path in found if m}


def read_about(folder: Path) -> dict[str, Any]:
    """Return the content of campaign.json after checking its entries."""
    path = folder / ABOUT
    try:
        about = files.read_json(path, finite=True)
    except FileNotFoundError:
        raise ValueError(f"{folder} is not the folder of a campaign; create one with `hydromechs campaign SCENARIO`") from None
    if not isinstance(about, dict) or MARK not in about:
        raise ValueError(f"{path} does not describe a campaign; choose another folder")
    files.check_version(path, "a campaign", about[MARK], VERSION, "run the campaign again")
    for key, (good, kind) in ENTRIES.items():
        if not good(about.get(key)):
            raise ValueError(f"{path}: {key} must be {kind}; restore the file, or choose another folder")
    for check in about["checks"]:
        texts = [check.get(key) for key in ("name", "quantity", "text", "limit")] if isinstance(check, dict) else [None]
        limits = [check.get(key) for key in ("below", "above")] if isinstance(check, dict) else []
        if not (all(isinstance(x, str) for x in texts) and all(x is None or _is_number(x) for x in limits)):
            raise ValueError(f"{path}: an entry of checks lacks a valid name, quantity or limit; restore the file")
    return about


def _is_number(x: object) -> bool:
    return type(x) in (int, float)  # True is an int


TEXT_ENTRY = (lambda x: isinstance(x, str), "a text")
ENTRIES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("scenario", "title", "description", "source", "text", "hydromechs", "target"), TEXT_ENTRY),
    **dict.fromkeys(("source_hash", "fingerprint"), TEXT_ENTRY),
    "worlds": (lambda x: type(x) is int and 0 < x < 10**12, "an integer above 0"),
    "seed": (lambda x: type(x) is int and x >= 0, "an integer of at least 0"),
    "lanes": (lambda x: type(x) is int and 0 < x < 1000, "an integer from 1 to 999"),
    "duration": (lambda x: _is_number(x) and x > 0, "a number above 0"),
    "settings": (lambda x: isinstance(x, dict), "a mapping"),
    "checks": (lambda x: isinstance(x, list), "a list"),
    "quantities": (lambda x: isinstance(x, list) and all(isinstance(q, str) for q in x), "a list of strings"),
}
"""Test and description of the values in campaign.json, keyed by entry."""


def read_chunk(path: Path, worlds: range, about: Mapping[str, Any]) -> Rows:
    """Return the arrays of a chunk; their sizes are checked before memory is allocated."""
    empty = blank(0, len(about["checks"]), len(about["quantities"]))
    try:
        if not 0 <= worlds.start < worlds.stop <= about["worlds"]:
            raise ValueError(f"the campaign has {about['worlds']} worlds")
        with files.open_file(path, UNPACKED) as file, zipfile.ZipFile(file) as packed:
            size = sum(info.file_size for info in packed.infolist())
            if size > min(UNPACKED, max(SMALL, RATIO * os.fstat(file.fileno()).st_size)):
                raise ValueError(f"the file unpacks to {size} bytes")
            return {name: _member(packed, name, none, len(worlds)) for name, none in empty.items()}
    except Exception as error:  # NumPy and zipfile can raise anything on a damaged file
        why = f"{type(error).__name__}: {message_of(error)}"
        raise ValueError(
            f"{path} is not a chunk of this campaign ({why}); delete this file and run the campaign again"
        ) from None


def _member(packed: zipfile.ZipFile, name: str, none: Array, worlds: int) -> Array:
    """Return an array of a chunk; raise `ValueError` if its header does not match the expected rows or the file size."""
    member = io.BytesIO(files.read_entry(packed, f"{name}.npy", UNPACKED))
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError(f"{name} has an unsupported version of the format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
    kind = dtype.kind == "U" == none.dtype.kind and dtype.itemsize <= 4 * REASON
    if shape != (worlds, *none.shape[1:]) or not (kind or dtype == none.dtype):
        raise ValueError(f"{name} has the wrong shape or type")
    content = member.read()
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} has the wrong size")
    return checked_texts(np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C"), name)
