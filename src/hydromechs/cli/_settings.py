"""Option --set PATH=VALUE, which replaces numbers in a scenario or model."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hydromechs import registry
from hydromechs.errors import message_of
from hydromechs.recording import RunFolder, load_recording

T = TypeVar("T")


class SettingError(ValueError):
    """Error about an invalid --set option."""


def parsed_settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of --set options, keyed by path: numbers and tuples parsed from JSON, otherwise text."""
    out: dict[str, Any] = {}
    for text in texts or ():
        path, equals, value = text.partition("=")
        if not (equals and path.strip() and value.strip()):
            raise SettingError(f"--set {text!r} is not of the form PATH=VALUE; write, for example, vehicle.inertia.mass=12")
        if path.strip() in out:
            raise SettingError(f"--set {path.strip()} is given twice; keep one value")
        out[path.strip()] = _value(value.strip())
    return out


def _value(text: str) -> Any:
    for read in (json.loads, float):
        try:
            return tuples(read(text))
        except (ValueError, RecursionError):
            continue
    return text


def tuples(value: Any) -> Any:
    """Return a value with all lists converted to tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def with_settings(thing: T, settings: Mapping[str, Any]) -> T:
    """Return a scenario or model with replaced numbers.

    Raises:
        SettingError: If a path or value is invalid; names the path, the value and the closest match.
    """
    for path, value in settings.items():
        try:
            registry.located(thing, path)
        except KeyError as error:
            raise SettingError(f"--set {path}={_shown(value)}: {message_of(error)}") from None
    try:
        return registry.replaced_all(thing, settings) if settings else thing
    except ValueError as error:
        raise SettingError(f"--set {error}") from error


def recorded(scenario: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute that stores the settings of a run in its recording; factors are stored as resulting numbers."""
    plain = {path: value for path, value in settings.items() if not registry.is_factor(path)}
    for path in settings.keys() - plain.keys():
        places = set(registry.located(scenario, path))
        plain |= {n.path: n.value for n in registry.paths(scenario) if places & set(registry.located(scenario, n.path))}
    return {"settings": json.dumps(plain)} if plain else {}


def settings_of_run(path: str) -> dict[str, Any]:
    """Return the settings of an earlier run, given its folder or a file in it; empty if there is no recording."""
    given = Path(path)
    recording = RunFolder(given if given.is_dir() else given.parent).recording
    text = str(load_recording(recording).attrs.get("settings", "")) if recording.exists() else ""
    try:
        return {key: tuples(value) for key, value in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, RecursionError):
        raise SettingError(
            f"{recording}: attribute 'settings' is {text[:40]!r}, not a JSON object of numbers; correct or delete it"
        ) from None


def _shown(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
