"""Curves of a recording as data in groups of panels: path, attitude, velocity, joints, actuators, forces, energy, contact.

`_plots` draws them as pictures, `_client` in a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hydromechs.recording import attitude
from hydromechs.values import Array

from ._style import COLOURS, GREY, INK

if TYPE_CHECKING:
    import xarray

SUMMED = ("weight", "buoyancy")
"""Causes whose forces are shown as a sum; other causes have separate curves."""
CAUSES = ("thrusters", "drives", "drag", "friction", "water", "contact", "external")
"""Causes of work, in the order of the colours."""
MAX_CURVES = 10
"""Maximum number of curves in one panel, for distinguishable colours; the largest curves are shown."""


@dataclass(frozen=True, kw_only=True)
class PlotPanel:
    """Panel with curves over time that share a scale."""

    title: str
    """Title of the panel."""
    label: str = ""
    """Label of the value axis, with unit."""
    series: Mapping[str, Array]
    """Values of each curve, shape (time,), keyed by name."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Colours of individual curves, keyed by name."""
    references: Mapping[str, Array] = field(default_factory=dict)
    """References of some curves, shape (time,), keyed by name."""
    min_range: float = 0.0
    """Minimum range of the value axis."""
    down: bool = False
    """True if the value axis points downwards, as for depth."""
    shaded: Array | None = None
    """True at samples to highlight, shape (time,)."""
    note: str = ""
    """Meaning of the highlight."""

    def colour(self, name: str) -> str:
        """Return the colour of a curve."""
        return self.colours.get(name, COLOURS[list(self.series).index(name) % len(COLOURS)])


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """Paths seen from above, on axes of equal scale."""

    x: str
    """Label of the horizontal axis."""
    y: str
    """Label of the vertical axis."""
    paths: Mapping[str, Array]
    """Path of each body [m], shape (time, 2), keyed by body."""
    references: Mapping[str, Array]
    """Reference paths of some bodies [m], shape (time, 2), keyed by body."""


@dataclass(frozen=True, kw_only=True)
class PlotGroup:
    """Group of related panels."""

    title: str
    """Title of the group."""
    caption: str = ""
    """Explanation in one or two sentences."""
    panels: tuple[PlotPanel, ...]
    """Panels, in drawing order."""
    columns: int = 1
    """Number of panels side by side."""
    heading: str = ""
    """Common heading of all panels, if their titles are short."""
    folded: bool = False
    """True if a page shows the group only on demand."""
    plan: PlanView | None = None
    """View from above, next to the panels. Optional."""


def plot_groups(ds: xarray.Dataset) -> dict[str, PlotGroup]:
    """Return the plot groups for which a recording has data, keyed by name, in the order of a report.

    Args:
        ds: Recording with at least two samples.
    """
    found = {name: make(ds) for name, make in GROUPS.items()}
    return {name: group for name, group in found.items() if group is not None}


def free_bodies(ds: xarray.Dataset) -> list[str]:
    """Return the names of bodies that move freely in the world, with vehicles before loose objects."""
    coordinates = set(names_along(ds, "coordinate"))
    return [b for b in names_along(ds, "body") if {f"{b}.x", f"{b}.qw"} <= coordinates]


def names_along(ds: xarray.Dataset, dim: str) -> list[str]:
    """Return the names along a dimension, or an empty list if the recording does not have the dimension."""
    return [str(x) for x in ds[dim].values] if dim in ds.coords else []


def depth(ds: xarray.Dataset, body: str) -> Array:
    """Return the depth of a body origin below the mean water surface [m], shape (time,)."""
    if "depth" in ds:
        return ds["depth"].sel(body=body).values
    z = ds["position"].sel(body=body, xyz="z").values
    return z if ds.attrs.get("axes", "NED") == "NED" else -z


def roll_pitch_yaw(quaternion: Array) -> Array:
    """Return roll, pitch and yaw for display [rad], shape (time, 3), without jumps of 2π."""
    roll, pitch, yaw = (attitude(name, quaternion) for name in ("roll", "pitch", "heading"))
    return np.stack([_unwrapped(roll), pitch, _unwrapped(yaw)], axis=1)


def _unwrapped(angle: Array) -> Array:
    return np.unwrap(angle) if np.isfinite(angle).all() else angle


def _shown_body(ds: xarray.Dataset) -> str | None:
    """Return the body shown in plots: the first free body, or the last body of a mechanism with a fixed base."""
    names = names_along(ds, "body")
    return next(iter(free_bodies(ds)), names[-1] if names else None)


def _has(ds: xarray.Dataset, *names: str) -> bool:
    return all(name in ds and ds[name].size > 0 for name in names)


def _anything(values: Array) -> bool:
    return bool(np.any(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=1.0) != 0.0))


def _largest(series: dict[str, Array]) -> dict[str, Array]:
    peaks = {name: float(np.max(np.abs(np.nan_to_num(values)))) for name, values in series.items()}
    keep = set(sorted(peaks, key=lambda name: -peaks[name])[:MAX_CURVES])
    return {name: values for name, values in series.items() if name in keep}


def _references(ds: xarray.Dataset, names: Iterable[str]) -> dict[str, Array]:
    known = names_along(ds, "channel")
    return {n: ds["signal"].sel(channel=f"reference.{n}").values for n in names if f"reference.{n}" in known}


def _led(ds: xarray.Dataset, body: str) -> bool:
    known = names_along(ds, "channel")
    if not {f"{kind}.{x}" for kind in ("reference", "error") for x in "xyz"} <= set(known):
        return False
    first = ds["signal"].isel(time=0)
    off = [float(first.sel(channel=f"reference.{x}") - first.sel(channel=f"error.{x}")) for x in "xyz"]
    return bool(np.allclose(off, ds["position"].sel(body=body).isel(time=0).values, atol=1e-6))


def _path(ds: xarray.Dataset) -> PlotGroup | None:
    shown = (free_bodies(ds) or [b for b in [_shown_body(ds)] if b])[:MAX_CURVES]
    if not shown or not _has(ds, "position"):
        return None
    ned = ds.attrs.get("axes", "NED") == "NED"
    right, up = ("y", "x") if ned else ("x", "y")
    position = {body: ds["position"].sel(body=body) for body in shown}
    ways = {body: _references(ds, "xyz") for body in shown if _led(ds, body)}
    plan = PlanView(
        x=f"{right}: east [m]",
        y=f"{up}: north [m]",
        paths={body: p.sel(xyz=[right, up]).values for body, p in position.items()},
        references={body: np.stack([way[right], way[up]], axis=1) for body, way in ways.items()},
    )
    below = PlotPanel(
        title="Depth below the mean surface",
        label="depth [m]",
        series={body: depth(ds, body) for body in shown},
        references={body: way["z"] if ned else -way["z"] for body, way in ways.items()},
        min_range=0.1,
        down=True,
    )
    caption = "Path from above and depth. Circle: start. Square: end."
    return PlotGroup(title="Path", caption=caption, panels=(below,), plan=plan)


def _attitude(ds: xarray.Dataset) -> PlotGroup | None:
    out, names = [], ("roll", "pitch", "yaw")
    for body in free_bodies(ds)[:4] if _has(ds, "orientation") else ():
        angles = np.degrees(roll_pitch_yaw(ds["orientation"].sel(body=body).values))
        wanted = {n: np.degrees(x) for n, x in _references(ds, names).items()} if _led(ds, body) else {}
        series = dict(zip(names, angles.T, strict=True))
        panel = PlotPanel(title=f"Attitude of {body}", label="angle [deg]", series=series, references=wanted, min_range=0.1)
        out.append(panel)
    return _group("Attitude", "Roll, pitch and heading.", out)


def _velocity(ds: xarray.Dataset) -> PlotGroup | None:
    out = []
    for body in free_bodies(ds)[:3] if _has(ds, "velocity") else ():
        V = ds["velocity"].sel(body=body).values.T
        linear = dict(zip(("u surge", "v sway", "w heave"), V[:3], strict=True))
        angular = dict(zip(("p roll", "q pitch", "r yaw"), V[3:], strict=True))
        out.append(PlotPanel(title=f"Velocity of {body} in body axes", label="[m/s]", series=linear))
        out.append(PlotPanel(title=f"Angular velocity of {body} in body axes", label="[rad/s]", series=angular))
    return _group("Velocities", "Linear and angular velocity in body axes.", out)


def _joints(ds: xarray.Dataset) -> PlotGroup | None:
    names = [name for name in names_along(ds, "coordinate") if name in names_along(ds, "dof")]
    if not names or not _has(ds, "q", "v"):
        return None
    rates = {n: ds["v"].sel(dof=n).values for n in names}
    keep = list(_largest(rates))
    rest = "" if len(keep) == len(names) else f" ({len(keep)} fastest of {len(names)} joints)"
    positions = {n: ds["q"].sel(coordinate=n).values for n in keep}
    references = _references(ds, keep)
    out = [
        PlotPanel(title=f"Joint positions{rest}", label="[rad] or [m]", series=positions, references=references),
        PlotPanel(title=f"Joint rates{rest}", label="[rad/s] or [m/s]", series={n: rates[n] for n in keep}),
    ]
    if "tau" in ds and _anything(ds["tau"].sel(dof=names).values):
        torques = {n: ds["tau"].sel(dof=n).values for n in keep}
        out.append(PlotPanel(title=f"Joint torques and forces{rest}", label="[N·m] or [N]", series=torques))
    caption = "Positions and rates of the joints, and the torques of drives, friction and stops."
    return _group("Joints", caption, out, folded=True)


def _actuators(ds: xarray.Dataset) -> PlotGroup | None:
    if not _has(ds, "actuator_force"):
        return None
    drives = set(names_along(ds, "actuator")) & set(names_along(ds, "dof"))
    parts = ["thrust of each thruster [N]"] if len(drives) < ds.sizes["actuator"] else []
    parts += ["torque or force of each joint drive [N·m] or [N]"] if drives else []
    heading = ", ".join(parts)
    caption = "Force or torque of each actuator. Red shading marks saturated commands."
    return _by_actuator(ds, "actuator_force", "Thrusters and drives", caption, heading[0].upper() + heading[1:])


def _commands(ds: xarray.Dataset) -> PlotGroup | None:
    if not _has(ds, "command") or not _anything(ds["command"].values):
        return None
    caption = "Command to each actuator. Red shading marks saturation."
    return _by_actuator(ds, "command", "Commands", caption, "Command to each actuator, in the unit of the command", folded=True)


def _by_actuator(
    ds: xarray.Dataset, variable: str, title: str, caption: str, heading: str, *, folded: bool = False
) -> PlotGroup:
    """Return a group with a small panel for each actuator, highlighted while the actuator is at its limit."""
    names, dofs = names_along(ds, "actuator"), names_along(ds, "dof")
    shape = (ds.sizes["time"], len(names))
    saturated = ds["saturated"].values.astype(bool) if _has(ds, "saturated") else np.zeros(shape, bool)
    panels = []
    for k, name in enumerate(names):
        share = 100.0 * float(saturated[:, k].mean())
        panel = PlotPanel(
            title=name,
            series={name: ds[variable].sel(actuator=name).values},
            colours={name: COLOURS[2] if name in dofs else COLOURS[0]},
            shaded=saturated[:, k] if share > 0 else None,
            note="" if share == 0 else f"at limit for {'< 1' if share < 1 else f'{share:.0f}'} % of the time",
        )
        panels.append(panel)
    return PlotGroup(title=title, caption=caption, panels=tuple(panels), columns=3, heading=heading, folded=folded)


def _forces(ds: xarray.Dataset) -> PlotGroup | None:
    body = _shown_body(ds)
    if body is None:
        return None
    causes = [str(name).removeprefix("force_") for name in ds.data_vars if str(name).startswith("force_")]
    wrenches = {c.replace("_", " "): _force(ds, c, body) for c in causes if c not in SUMMED}
    wrenches["weight + buoyancy"] = _force(ds, "weight", body) + _force(ds, "buoyancy", body)
    wrenches = {name: F for name, F in wrenches.items() if _anything(F)}
    if not wrenches:
        return None
    titles = ["X  along x [N]", "Y  along y [N]", "Z  along z [N]", "K  about x [N·m]", "M  about y [N·m]", "N  about z [N·m]"]
    panels = tuple(
        PlotPanel(title=titles[k], series={name: F[:, k] for name, F in wrenches.items()}) for k in (0, 3, 1, 4, 2, 5)
    )
    heading = f"Forces and moments on {body} by cause, in body axes"
    caption = "Drag and added mass are hydrodynamic; weight and buoyancy are shown as their sum."
    return PlotGroup(title="Forces by cause", caption=caption, panels=panels, columns=2, heading=heading)


def _force(ds: xarray.Dataset, cause: str, body: str) -> Array:
    name = f"force_{cause}"
    return ds[name].sel(body=body).values if name in ds else np.zeros((ds.sizes["time"], 6))


def _change(series: xarray.DataArray) -> Array:
    """Return the change of a series since its first sample, shape (time,); energies of a resumed run do not start at zero."""
    return series.values - series.values[0]


def _energy(ds: xarray.Dataset) -> PlotGroup | None:
    labels = {
        "kinetic_energy_body": "kinetic, bodies",
        "kinetic_energy_fluid": "kinetic, water",
        "potential_energy": "potential",
        "elastic_energy": "elastic",
    }
    stored = {label: _change(ds[n]) for n, label in labels.items() if n in ds}
    stored = {label: values for label, values in stored.items() if _anything(values)}
    work = {str(c): _change(ds["work"].sel(cause=c)) for c in ds["cause"].values} if _has(ds, "work") else {}
    work = {cause: values for cause, values in work.items() if _anything(values)}
    if not stored and not work:
        return None
    if len(stored) > 1:
        stored["total"] = np.sum(list(stored.values()), axis=0)
    parts = {"Change of stored energy since the start": stored, "Work on the mechanism by cause": work}
    if _has(ds, "energy_residual"):
        parts["Residual of the energy audit"] = {"residual": _change(ds["energy_residual"])}
    colours = {"residual": GREY, "total": INK, **_cause_colours(work)}
    panels = [PlotPanel(title=title, label="[J]", series=series, colours=colours) for title, series in parts.items() if series]
    return _group("Energy", "Stored energy, work by cause, and the residual of the audit.", panels)


def _cause_colours(causes: Iterable[str]) -> dict[str, str]:
    """Return the colour of each cause: a fixed colour for known causes, an unused colour for others."""
    known = dict(zip(CAUSES, COLOURS, strict=False))
    free = [c for c in COLOURS if c not in {known.get(cause) for cause in causes}]
    return known | {cause: free[k % len(free)] for k, cause in enumerate(c for c in causes if c not in known)}


def _contact(ds: xarray.Dataset) -> PlotGroup | None:
    if not _has(ds, "contact_force") or not _anything(ds["contact_force"].values):
        return None
    names = names_along(ds, "contact")
    forces = {n: ds["contact_force"].sel(contact=n).values for n in names}
    forces = {n: force for n, force in _largest(forces).items() if _anything(force)}
    rest = "" if len(forces) == len(names) else f" ({len(forces)} of {len(names)} pairs)"
    what = next(iter(forces)) if len(forces) == 1 else "contacts"  # one curve has no legend
    out = [PlotPanel(title=f"Normal force of {what}{rest}", label="[N]", series=forces)]
    if "contact_gap" in ds:
        gaps = {n: ds["contact_gap"].sel(contact=n).values for n in forces}
        out.append(PlotPanel(title="Gap (negative in contact)", label="[m]", series=gaps))
    return _group("Contact", "Contact forces between bodies and with the ground, and gaps.", out)


def _water(ds: xarray.Dataset) -> PlotGroup | None:
    body = _shown_body(ds)
    v = ds["fluid_velocity"].sel(body=body).values if body is not None and _has(ds, "fluid_velocity") else np.zeros((0, 3))
    if not _anything(v):
        return None
    series = dict(zip("xyz", v.T, strict=True))
    panel = PlotPanel(title=f"Water velocity at {body} in world axes", label="[m/s]", series=series)
    return _group("Water", "Water velocity at the vehicle, from current, gusts and waves.", [panel])


def _group(title: str, caption: str, panels: list[PlotPanel], *, folded: bool = False) -> PlotGroup | None:
    """Return a group of stacked panels, or None without panels."""
    return PlotGroup(title=title, caption=caption, panels=tuple(panels), folded=folded) if panels else None


GROUPS: dict[str, Callable[[xarray.Dataset], PlotGroup | None]] = {
    "path": _path,
    "attitude": _attitude,
    "velocity": _velocity,
    "forces": _forces,
    "actuators": _actuators,
    "energy": _energy,
    "contact": _contact,
    "water": _water,
    "joints": _joints,
    "commands": _commands,
}
"""Functions that create the groups, keyed by name; a function returns None if the recording has no data."""
