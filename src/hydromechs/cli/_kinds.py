"""Kinds of command arguments, such as model, scenario, sweep, run or campaign, and advice on the commands for each kind."""

import re
import stat
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from hydromechs.values import is_path, nearest

HEAD = 65_536
"""Number of bytes at the start of a file that are searched for its kind."""
USES = {
    "vehicle": "fly it with `hydromechs pilot {0}`, show it with `hydromechs view {0}`, or name it in a scenario file",
    "campaign": "replay a world with `hydromechs run {0} --world 0`",
    "run": "show it with `hydromechs replay {0}`, or continue it with `hydromechs run SCENARIO --resume {0}`",
}
"""Advice for arguments that are not YAML files; `FILE_KINDS` has the advice for YAML files."""
TEXTS = {"model": "a model", "vehicle": "a model", "scenario": "a scenario", "sweep": "a sweep"}
TEXTS |= {"validation": "a validation study", "run": "the folder of a run or a recording"}
TEXTS |= {"campaign": "the folder of a campaign"}


def kinds_of(source: str) -> set[str]:
    """Return the possible kinds of a name or path: "model", "vehicle", "scenario", "sweep", "validation", "run", "campaign".

    Names are looked up in the library, and files are recognised by their first bytes; nothing is loaded.
    """
    from hydromechs.library import names, plant_names, scenario_names, sweep_names

    path = Path(source)
    if path.is_dir():
        if (path / "campaign.json").is_file():
            return {"campaign"}
        return {"run"} if (path / "recording.zarr").is_dir() or (path / ".zattrs").is_file() else set()
    if not is_path(source):
        tables = {"model": names(), "vehicle": plant_names(), "scenario": scenario_names(), "sweep": sweep_names()}
        return {kind for kind, known in tables.items() if source in known}
    return _kind_of_file(path)


def _kind_of_file(path: Path) -> set[str]:
    from hydromechs.formats import FILE_KINDS, is_robot_file

    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a device or a pipe might never end
            return set()
        with path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError):
        return set()
    if path.suffix == ".nc":
        return {"run"}
    if is_robot_file(path):
        return {"model"}
    keys = {key: kind for kind, row in FILE_KINDS.items() for key in (row.key, row.old_key) if key}
    found = re.search(rf"^[\"']?({'|'.join(keys)})[\"']?\s*:".encode(), head, re.MULTILINE)
    return {keys[found[1].decode()]} if found else set()


def expect(source: str, command: str, *wanted: str) -> None:
    """Raise an error that names the right command if an argument is of another kind.

    Arguments of unknown kind pass; they fail when loaded.
    """
    from hydromechs.formats import FILE_KINDS

    found = kinds_of(source)
    if found and found.isdisjoint(wanted):
        kind = "vehicle" if "vehicle" in found else sorted(found)[0]
        takes = " or ".join(dict.fromkeys(TEXTS[w] for w in wanted))
        use = USES[kind] if kind in USES else FILE_KINDS[kind].use
        raise ValueError(f"{source} is {TEXTS[kind]}, but `hydromechs {command}` requires {takes}; {use.format(source)}")
    if not found and wanted == ("run",) and not Path(source).exists():
        runs = sorted(str(p.parent) for p in Path("runs").glob("*/recording.zarr"))
        hint = nearest(str(Path("runs") / source), runs) if runs else "; simulate a scenario first: hydromechs run NAME"
        raise FileNotFoundError(f"path {source} does not exist; set the folder of a run{hint}")


class SuggestingCommand(TyperCommand):
    """Command that reports an unknown option with the closest match and the list of all options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; replace the error about an unknown option."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            name = getattr(error, "option_name", None)  # of NoSuchOption, which Typer does not export
            if name is None or not hasattr(error, "possibilities") or not hasattr(error, "message"):
                raise
            known = [o for p in self.get_params(ctx) for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]
            error.message, error.possibilities = f"`{ctx.command_path}` has no option {name}{nearest(name, known)}", None
            raise
