"""Summary of a run: times, checks, energy audit, and warnings about doubtful results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._checks import Check, CheckResult
from ._stored import structured

if TYPE_CHECKING:
    import xarray


WARNING_KINDS = {
    "capsized": "a vehicle capsized",
    "saturated": "an actuator was at its limit for a long time",
    "joint_stop": "a joint reached a stop",
    "line_slack": "a line went slack",
    "line_taut": "a line snapped tight",
    "deep_contact": "a contact was deeper than half the thickness of its shape",
    "above_surface": "a body left the water in an environment without a free surface",
    "below_bed": "a body was below the seabed",
    "off_terrain": "a body left the grid of a height field",
    "short_waves": "waves are too short for a body that does not scatter them",
    "reynolds": "a smooth body exceeded the critical Reynolds number of its drag coefficient",
    "outside_map": "the flow came from an angle outside a hydrodynamic map",
    "inflow": "inflow drove a propeller beyond its zero-thrust point",
}
"""Descriptions of the kinds of warnings; a scenario lists kinds in `expected_warnings`."""


class RunWarning(NamedTuple):
    """Condition that occurred in a run, with its first time and worst value."""

    kind: str
    """One of `WARNING_KINDS`."""
    item: str
    """Name of the body, joint, actuator, line or contact."""
    time: float
    """Time at which the limit was first exceeded [s]."""
    value: float
    """Worst value in the run [in `unit`]."""
    limit: float
    """Limit that the value exceeded [in `unit`]."""
    unit: str
    """Unit of value and limit."""
    text: str
    """Warning in one sentence: item, time, value, limit, advice."""
    expected: bool = False
    """True if the scenario expects warnings of this kind."""


DESIGN = "Control design"
"""Label of the controller description in the set-up of a summary."""
STORED_ENERGIES = {
    "kinetic_energy_body": "kinetic energy of the bodies",
    "kinetic_energy_fluid": "kinetic energy of the water",
    "potential_energy": "potential energy",
    "elastic_energy": "elastic energy",
}
"""Descriptions of the variables of a recording whose sum is the stored energy."""


def real_time_factor(simulated: float, wall: float) -> float:
    """Return the simulated time [s] divided by the wall time [s]; 0 if the wall time is 0."""
    return simulated / wall if wall > 0.0 else 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Summary:
    """Contents of the report of a run, without pictures."""

    title: str = ""
    """Title of the mission in one line."""
    description: str = ""
    """Description of the mission in a few sentences."""
    model: str = ""
    duration: float | None = None
    """Simulated time [s]."""
    wall_time: float | None = None
    """Wall time of the simulation [s]."""
    compile_time: float | None = None
    """Wall time of set-up and compilation [s]."""
    real_time_factor: float | None = None
    """Simulated time divided by wall time [-]."""
    late_steps: int | None = None
    """Number of missed deadlines in a real-time run; None if the run was not paced."""
    stopped: str | None = None
    """Event that ended the run early, or None."""
    diverged: str | None = None
    """Reason for divergence, or None."""
    checks: tuple[CheckResult, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    """Conditions that make the result doubtful even if the checks pass."""
    work: Mapping[str, float] = field(default_factory=dict)
    """Work since the first sample of the recording [J], keyed by cause."""
    stored: Mapping[str, float] = field(default_factory=dict)
    """Change of each kind of stored energy [J], keyed by variable."""
    residual: float | None = None
    """Maximum |energy residual|, relative to its value at the first sample [J]."""
    residual_relative: float | None = None
    """Residual divided by the exchanged energy, the sum of all |work| and all |changes of stored energy| [-]."""
    residual_before: float | None = None
    """Energy residual at the resumed state [J]; None if the run was not resumed. The variable `energy_residual` and its
    checks include this value, but `residual` does not."""
    setup: tuple[tuple[str, str], ...] = ()
    """Set-up of the run: pairs of label and text."""
    messages: tuple[str, ...] = ()
    """Warnings and events, without repetition."""

    @property
    def passed(self) -> bool:
        """True if the run did not diverge and all checks passed."""
        return self.diverged is None and all(check.passed for check in self.checks)

    @property
    def unexpected(self) -> tuple[RunWarning, ...]:
        """Warnings of kinds that the scenario does not expect."""
        return tuple(w for w in self.warnings if not w.expected)

    @property
    def total_work(self) -> float:
        """Sum of the work of all causes [J]."""
        return sum(self.work.values())

    @property
    def stored_change(self) -> float:
        """Change of all stored energy [J]; differs from the total work by the residual at the end."""
        return sum(self.stored.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the content of summary.json as plain data."""
        changes = {f"change of {name.replace('_', ' ')}": change for name, change in self.stored.items()}
        plain = {
            "checks": [check._asdict() for check in self.checks],
            "warnings": [warning._asdict() for warning in self.warnings],
            "work": {**self.work, **changes},
            "setup": [list(pair) for pair in self.setup],
            "messages": list(self.messages),
        }
        names = [f.name for f in fields(self) if f.name != "stored"]
        return {"audit" if name == "work" else name: plain.get(name, getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        parts = [repr(self.title)]
        if self.duration is not None:
            parts.append(f"{self.duration:g} s" + (f" in {self.wall_time:.3g} s" if self.wall_time is not None else ""))
        if self.diverged is not None:
            parts.append("diverged")
        if self.checks:
            parts.append(f"{sum(check.passed for check in self.checks)} of {len(self.checks)} checks passed")
        if self.unexpected:
            parts.append(f"{len(self.unexpected)} warning{'' if len(self.unexpected) == 1 else 's'}")
        if self.residual_relative is not None:
            parts.append(f"energy residual {self.residual_relative:.1e}")
        return f"Summary({', '.join(parts)})"


def summarise(
    dataset: xarray.Dataset,
    *,
    title: str = "",
    description: str = "",
    checks: Sequence[Check] = (),
    warnings: Sequence[RunWarning] = (),
    setup: Sequence[tuple[str, str]] = (),
    compile_time: float | None = None,
    late_steps: int | None = None,
    stopped: str | None = None,
    diverged: str | None = None,
    end_time: float | None = None,
    notes: Sequence[str] = (),
) -> Summary:
    """Return the summary of a recorded run.

    Args:
        dataset: The recording.
        title: Title in one line. Defaults to the title in the recording.
        description: Description of the mission.
        checks: Checks to evaluate.
        warnings: Warnings about the run, from `simulation.run_warnings`.
        setup: Setup of the run: pairs of label and text.
        compile_time: Compile time [s].
        late_steps: Number of missed deadlines in a real-time run, or None.
        stopped: Event that ended the run early, or None.
        diverged: Reason for divergence, or None.
        end_time: Final time of the run [s]. Defaults to the time of the last sample.
        notes: Messages that are added to the messages in the recording.
    """
    attrs, recorded = dataset.attrs, dataset.sizes.get("time", 0) > 0
    time = dataset["time"].values
    span = float((time[-1] if end_time is None else end_time) - time[0]) if recorded else 0.0
    wall = float(attrs.get("wall_time", 0.0))
    work = _work(dataset) if recorded and "work" in dataset else {}
    stored = {}
    if recorded:
        stored = {n: float(dataset[n].values[-1] - dataset[n].values[0]) for n in STORED_ENERGIES if n in dataset}
    residual = relative = before = None
    if recorded and "energy_residual" in dataset:
        left = dataset["energy_residual"].values
        residual = float(np.abs(left - left[0]).max())
        before = (float(left[0]) or None) if time[0] > 0.0 else None  # at the start it is rounding error
        exchanged = sum(abs(x) for x in (*work.values(), *stored.values()))
        relative = residual / (exchanged or 1.0)
    over = [check for check in checks if recorded and check.over(float(time[0]))]  # of a resumed run
    judged = [check.judge(dataset) for check in checks if check not in over] if recorded else []
    unjudged = [f"check {check.name!r} was not evaluated, because its time ended before this run started" for check in over]
    said = [*(structured(dataset, "messages") or ()), *notes, *([diverged] if diverged else ()), *unjudged]
    texts = list(dict.fromkeys(map(str, said)))
    return Summary(
        title=title or str(attrs.get("title", "")),
        description=description,
        model=str(attrs.get("model", "")),
        duration=span,
        wall_time=wall,
        compile_time=compile_time,
        real_time_factor=real_time_factor(span, wall),
        late_steps=late_steps,
        stopped=stopped,
        diverged=diverged,
        checks=tuple(judged if diverged is None else (result.unjudged() for result in judged)),
        warnings=tuple(warnings),
        work=work,
        stored=stored,
        residual=residual,
        residual_relative=relative,
        residual_before=before,
        setup=tuple(setup),
        messages=tuple(m for m in texts if not any(m != other and m in other for other in texts)),
    )


def _work(dataset: xarray.Dataset) -> dict[str, float]:
    """Return the work from the first to the last sample [J], keyed by cause; the energy balance of a resumed run is longer."""
    done = dataset["work"].isel(time=-1) - dataset["work"].isel(time=0)
    return {str(cause): float(done.sel(cause=cause)) for cause in dataset["cause"].values}
