"""Paths of meshes and other files that a robot description refers to, restricted to its folder and allowed folders."""

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from hydromechs import files

from ._imported import ImportOptions

SCHEMES = ("package", "model", "file", "http", "https", "data", "fuel")
"""Supported URI schemes of paths."""
LEVELS = 8
"""Number of parent folders that are searched for a package, because ROS packages enclose the `urdf` folder."""
MARKS = ("package.xml", "model.config", "manifest.xml")
"""Files that identify a folder as a ROS package or a Gazebo model."""
NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
"""Name of a package in its `package.xml`."""
CHILDREN = 1000
"""Maximum number of folder entries in a search for packages."""


class Missing(ValueError):
    """Error about a file that is missing or must not be read, with the file and the remedy in the message."""


class RobotFiles:
    """Finder of the files that a robot description refers to.

    A relative path starts at the folder of the file that contains it. `package://name/rest` and `model://name/rest` are
    searched in this order:

    * in the folder of the package, if `packages` specifies the folder;
    * in allowed folders, the folder of the file and its parents, as `name/rest` or `models/name/rest`;
    * in those of these folders that have this name, or a `package.xml` with this name, as `rest`;
    * next to the package of the description, and in a folder `src` above it, also one level deeper.

    Outside the allowed folders and the folder of the file, a package must contain `package.xml` or `model.config`.
    Otherwise a file in a home folder could give access to that folder. Only files below an allowed folder, the folder of
    the file or such a package are accepted. Symbolic links are resolved before this check.
    """

    def __init__(self, folder: str | Path, options: ImportOptions) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.options = options
        self.allowed = [Path(os.path.realpath(f)) for f in options.folders]
        self.packages = {name: Path(os.path.realpath(f)) for name, f in options.packages.items()}
        self.used: set[Path] = set()
        """Folders of packages in which files were found."""
        self.included: set[str] = set()
        """Paths of the files that the description includes."""
        self._names: dict[Path, str] = {}
        self._listings: dict[Path, list[Path]] = {}

    def find(self, written: str, by: str = "") -> Path:
        """Return the absolute path of a file that a description refers to by path or address; raise `Missing` otherwise.

        A relative path starts at the folder of the file `by` if `by` is one of `included`.
        """
        folder = Path(by).parent if by in self.included else self.folder
        scheme, separator, rest = written.partition("://")
        if "\0" in written or not written.strip():
            raise Missing(f"the file name is {written!r}; set a path")
        if not separator or scheme not in SCHEMES:
            return self._relative(written, written, folder)
        if scheme == "file":
            try:
                return self._relative(written, unquote(rest), folder)
            except Missing:  # Gazebo also searches its models for file://NAME/...
                if rest.startswith("/") or not list(self._package_roots(unquote(rest).partition("/")[0])):
                    raise
                return self._package(written, unquote(rest))
        if scheme in ("package", "model"):
            return self._package(written, unquote(rest))
        raise Missing(f"the file {written!r} is a network address; put the file next to the description")

    def package(self, name: str) -> Path:
        """Return the folder of a package, from which files may be read afterwards; raise `Missing` otherwise."""
        root = next(self._package_roots(name), None)
        if root is None:
            where = f"set the folder of the package with packages={{{name!r}: 'folder'}} (--package {name}=FOLDER)"
            raise Missing(f"package {name!r} was not found in the folder of the file or its parents; {where}")
        self.packages[name] = root
        return root

    def allowed_file(self, path: str) -> Path:
        """Return a file by path; raise `Missing` if it is outside the folder of the description and the allowed folders."""
        found = Path(os.path.realpath(self.folder / path))
        if not os.path.isfile(found):
            raise Missing(f"the file {str(found)!r} does not exist")
        if not self._is_allowed(found):
            raise Missing(
                f"the file {str(found)!r} is outside the description's folder; allow this folder with folders= (--folder)"
            )
        return found

    def _is_allowed(self, file: Path) -> bool:
        return any(file.is_relative_to(root) for root in (self.folder, *self.allowed, *self.packages.values(), *self.used))

    def _relative(self, written: str, path: str, folder: Path) -> Path:
        tried = [Path(os.path.realpath(root / path.replace("\\", "/"))) for root in (folder, *self.allowed)]
        for found in tried:
            if os.path.isfile(found):
                if self._is_allowed(found):
                    return found
                remedy = f"allow the folder with folders=[{str(found.parent)!r}] (--folder {found.parent}), or move the file"
                raise Missing(f"the file {written!r} is {str(found)!r}, outside of the folder of the description; {remedy}")
        raise Missing(f"the file {written!r} does not exist; tried {_listed(tried)}; add the file, or set folders= (--folder)")

    def _package(self, written: str, rest: str) -> Path:
        name, _, inside = rest.replace("\\", "/").partition("/")
        tried = []
        for root in self._package_roots(name):
            found = Path(os.path.realpath(root / inside))
            tried.append(found)
            if os.path.isfile(found):
                if found.is_relative_to(root):
                    self.used.add(root)
                    return found
                raise Missing(
                    f"the file {written!r} is {str(found)!r}, outside the package folder {str(root)!r}; move it there"
                )
        where = f"set the folder of the package, packages={{{name!r}: 'folder'}} (--package {name}=FOLDER)"
        remedy = f"{where}; a package outside the folder of the description must contain a package.xml"
        raise Missing(f"the file {written!r} does not exist; tried {_listed(tried) or 'a folder ' + repr(name)}; {remedy}")

    def _package_roots(self, name: str) -> Iterator[Path]:
        """Return candidate folders of a package, most likely first."""
        if name in self.packages:
            yield self.packages[name]
            return
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            return
        own = (*self.allowed, self.folder)
        for folder in (*own, *list(self.folder.parents)[:LEVELS]):
            if folder.name == name and (folder in own or _is_marked(folder)):
                yield folder
            for inside in (Path(os.path.realpath(folder / name)), Path(os.path.realpath(folder / "models" / name))):
                inner = folder in own and inside.is_relative_to(folder)
                if os.path.isdir(inside) and (inner or _is_marked(inside)):
                    yield inside
            if self._named(folder) == name:
                yield folder
        for beside in itertools.chain.from_iterable(self._children(folder) for folder in self._workspaces()):
            if _is_marked(beside / name):
                yield Path(os.path.realpath(beside / name))
            if self._named(beside) == name:
                yield beside

    def _workspaces(self) -> Iterator[Path]:
        """Return folders that may contain packages: next to the package of the description, and folders `src` above it."""
        above = [self.folder, *list(self.folder.parents)[:LEVELS]]
        own = next((folder for folder in above if _is_marked(folder)), None)
        yield from (folder for folder in above if own is not None and (folder == own.parent or folder.name == "src"))

    def _children(self, folder: Path) -> list[Path]:
        """Return the subfolders of a folder in order, at most `CHILDREN`."""
        if folder not in self._listings:
            try:
                with os.scandir(folder) as entries:
                    found = [e.path for e in itertools.islice(entries, CHILDREN) if e.is_dir(follow_symlinks=False)]
            except OSError:
                found = []
            self._listings[folder] = [Path(path) for path in sorted(found)]
        return self._listings[folder]

    def _named(self, folder: Path) -> str:
        """Return the name in the `package.xml` of a folder, which can differ from the folder name; empty without a name."""
        if folder not in self._names:
            try:
                found = NAME.search(files.read_bytes(folder / MARKS[0], limit=2**16))
            except OSError:
                found = None
            self._names[folder] = found[1].decode(errors="replace") if found else ""
        return self._names[folder]


def _listed(paths: list[Path]) -> str:
    shown = [repr(str(path)) for path in dict.fromkeys(paths)]
    return ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")


def _is_marked(folder: Path) -> bool:
    return any(os.path.isfile(folder / mark) for mark in MARKS)
