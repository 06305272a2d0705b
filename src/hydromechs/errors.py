"""Exceptions that HydroMechs raises on purpose."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["FieldError", "ModelError", "ScenarioError", "SimulationDiverged", "UnsupportedFeature"]


class ModelError(ValueError):
    """A model description that cannot be simulated; `problems` has one line per fault.

    Args:
        source: File name or model name that the faults belong to.
        problems: One line per fault, each naming the body or joint, the value and the remedy.
    """

    def __init__(self, source: str, problems: Sequence[str]):
        self.source = source
        self.problems = tuple(problems)
        lines = "\n".join(f"  - {p}" for p in self.problems)
        super().__init__(f"{source}: {len(self.problems)} problem(s)\n{lines}")

    def __reduce__(self):
        return ModelError, (self.source, self.problems)


class ScenarioError(ValueError):
    """A scenario that cannot be simulated; `problems` has one line per fault.

    Args:
        source: File name or scenario name that the faults belong to.
        problems: One line per fault, each naming the key, the value and the remedy.
        places: Keys and indices that lead to each fault, where they are known.
    """

    def __init__(self, source: str, problems: Sequence[str], places: Sequence[tuple] = ()):
        self.source = source
        self.problems = tuple(problems)
        self.places = tuple(places)
        lines = "\n".join(f"  - {p}" for p in self.problems)
        super().__init__(f"{source}: {len(self.problems)} problem(s)\n{lines}")

    def __reduce__(self):
        return ScenarioError, (self.source, self.problems, self.places)


class SimulationDiverged(RuntimeError):
    """The state stopped being finite; `state` is the last one that was, `recording` what was recorded in memory, if any."""

    state: object = None
    recording: object = None


class FieldError(ValueError):
    """A value that a field cannot have.

    Args:
        name: The field, as "Thruster.radius".
        value: What was given.
        must: What it must be, in words, as "must be finite and > 0; leave it out for none".
    """

    def __init__(self, name: str, value: object, must: str):
        self.name, self.value, self.must = name, value, must
        shown = f"{value:.6g}" if isinstance(value, float) else str(value) if isinstance(value, list) else repr(value)
        super().__init__(f"{name} is {shown}, {must}")

    def __reduce__(self):
        return FieldError, (self.name, self.value, self.must)


class UnsupportedFeature(ValueError):
    """A valid description of something that HydroMechs does not do."""
