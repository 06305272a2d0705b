"""`hydromechs pilot`: a scenario behind a page in a browser, to fly."""

from __future__ import annotations

from pathlib import Path

from hydromechs.station import Catalog

__all__ = ["catalog"]


def catalog(*more: str) -> Catalog:
    """The scenarios of the library, and those of files.

    Args:
        more: Paths of scenario files.
    """
    from hydromechs.formats import loads_scenario
    from hydromechs.library import load, load_vehicle, scenario_names, scenario_path

    files = {name: scenario_path(name) for name in scenario_names()} | {Path(path).stem: path for path in more}
    return Catalog(
        files=files, read=lambda text, file: loads_scenario(text, file, Path(file).parent, library=load, plants=load_vehicle)
    )
