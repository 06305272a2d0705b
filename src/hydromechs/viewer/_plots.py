"""Plots of a recording: path, attitude, velocities, joints, actuators, forces by cause, energies, contact."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs.recording import ATTITUDE, attitude, attitude_of, period_of
from hydromechs.values import nearest

from ._style import COLOURS, GREY, INK, RED, curves, figure, grid_panels, shade, time_panels

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

SUMMED = ("weight", "buoyancy")
"""Forces that are shown as a sum; all others get separate curves."""
CAUSES = ("thrusters", "drives", "drag", "friction", "water", "contact", "external")
"""Causes of work in the order of their colours."""
MOST_CURVES = 10
"""Maximum number of distinguishable curves in one panel; the largest are shown."""


def plot_recording(ds: xarray.Dataset, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw all plots of a recording that have data.

    Args:
        ds: The recording.
        folder: Folder of the PNG files; it is created.

    Returns:
        The files, in the order of a report: those of path, attitude, velocity, joints, actuators, commands, forces, energy,
        contact and water that apply.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if ds.sizes.get("time", 0) < 2:
        return []
    out = []
    for name, draw in PICTURES.items():
        path = folder / f"{name}.png"
        if draw(ds, path):
            out.append(path)
    return out


def plot_variable(
    ds: xarray.Dataset, name: str, out: str | os.PathLike[str], select: Mapping[str, str | Sequence[str]] | None = None
) -> Path:
    """Draw one variable over time, one panel for each entry of its first dimension, one curve for each of its last.

    Args:
        ds: The recording.
        name: Name of the variable, or of an angle of the bodies such as "roll_deg" or "tilt".
        out: File to write; its suffix selects the format (.png, .svg, .pdf).
        select: Names to show along a dimension, one or a list: `{"body": "vehicle", "xyz": ["x", "z"]}`.
    """
    out = Path(out)
    angle = name in ATTITUDE and "orientation" in ds
    if not angle and (name not in ds.data_vars or ds[name].dims[:1] != ("time",)):
        known = [str(n) for n, v in ds.data_vars.items() if v.dims[:1] == ("time",)]
        known += [*ATTITUDE] if "orientation" in ds else []
        raise ValueError(f"no variable {name!r} in the recording{nearest(name, known)}")
    data = attitude_of(ds, name) if angle else ds[name]
    period = period_of(name)
    if period is not None and np.isfinite(data.values).all():
        data = data.copy(data=np.unwrap(data.values, axis=0, period=period))  # remove jumps by a full turn
    for dim, wanted in (select or {}).items():
        if dim not in data.dims[1:]:
            raise ValueError(f"{name!r} has no dimension {dim!r}{nearest(dim, map(str, data.dims[1:]))}")
        labels = [wanted] if isinstance(wanted, str) else list(wanted)
        entries = [str(x) for x in data[dim].values]
        for label in labels:
            if label not in entries:
                raise ValueError(f"{dim} {label!r} is not in the recording{nearest(label, entries)}")
        data = data.sel({dim: labels})
    if data.size == 0:
        raise ValueError(f"{name!r} has no entries in this recording")
    unit = data.attrs.get("units", "1")
    label = "" if unit == "1" else f"[{unit}]"
    groups = {title: _entries(part) for title, part in _by_first(data)}
    most = max(len(g) for g in groups.values())
    if len(groups) > 16 or most > 2 * MOST_CURVES:
        dims = ", ".join(map(str, data.dims[1:]))
        entries_of = "; ".join(f"{dim} has {', '.join(map(str, data[dim].values))}" for dim in data.dims[1:])
        raise ValueError(f"{name!r} would be {len(groups)} panels of {most} curves: select fewer along {dims}; {entries_of}")
    time = ds["time"].values
    heading = data.attrs.get("long_name", name)
    with figure(out, height=0.8 + max(1.9 * len(groups), 0.2 * most + 1.2, 2.6), math=False) as fig:
        fig.suptitle(heading[:1].upper() + heading[1:], x=0.01, ha="left", fontweight="bold", fontsize=12)
        panels = time_panels(fig, [(title, label) for title in groups], time)
        for ax, series in zip(panels, groups.values(), strict=True):
            curves(ax, time, series)
            if name == "depth":
                ax.invert_yaxis()
    return out


def _by_first(data: xarray.DataArray) -> list[tuple[str, xarray.DataArray]]:
    """Return the parts of a variable that get separate panels, with titles."""
    if data.ndim < 3:
        return [("", data)]
    dim = data.dims[1]
    return [(str(label), data.sel({dim: label})) for label in data[dim].values]


def _entries(data: xarray.DataArray) -> dict[str, np.ndarray]:
    """Return the curves of a variable with their names."""
    if data.ndim == 1:
        return {str(data.name): data.values}
    stacked = data.values.reshape(data.sizes["time"], -1)
    names = [""]
    for dim in data.dims[1:]:
        names = [f"{before} {label}".strip() for before in names for label in data[dim].values]
    return {label: stacked[:, k] for k, label in enumerate(names)}


def free_bodies(ds: xarray.Dataset) -> list[str]:
    """Return bodies that move freely in the world, by the names of their coordinates; vehicles come before loose objects."""
    coordinates = set(_names(ds, "coordinate"))
    return [b for b in _names(ds, "body") if {f"{b}.x", f"{b}.qw"} <= coordinates]


def _shown_body(ds: xarray.Dataset) -> str | None:
    """Return the body shown in plots: the first free one, or the last body of a mechanism on a fixed base."""
    names = _names(ds, "body")
    return next(iter(free_bodies(ds)), names[-1] if names else None)


def _names(ds: xarray.Dataset, dim: str) -> list[str]:
    return [str(x) for x in ds[dim].values] if dim in ds.coords else []


def _has(ds: xarray.Dataset, *names: str) -> bool:
    return all(name in ds and ds[name].size > 0 for name in names)


def _anything(values: np.ndarray) -> bool:
    return bool(np.any(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=1.0) != 0.0))


def _largest(series: dict[str, np.ndarray], count: int = MOST_CURVES) -> dict[str, np.ndarray]:
    """Return the curves with the largest peaks, in order."""
    peaks = {name: float(np.max(np.abs(np.nan_to_num(values)))) for name, values in series.items()}
    keep = set(sorted(peaks, key=lambda name: -peaks[name])[:count])
    return {name: values for name, values in series.items() if name in keep}


def depth(ds: xarray.Dataset, body: str) -> np.ndarray:
    """Return the depth of a body's origin below the mean surface [m], shape (time,)."""
    if "depth" in ds:
        return ds["depth"].sel(body=body).values
    z = ds["position"].sel(body=body, xyz="z").values
    return z if ds.attrs.get("axes", "NED") == "NED" else -z


def roll_pitch_yaw(quaternion: np.ndarray) -> np.ndarray:
    """Return angles of the rotations about z, then y, then x [rad], shape (time, 3), for display, without jumps of 2π."""
    roll, pitch, yaw = (attitude(name, quaternion) for name in ("roll", "pitch", "heading"))
    return np.stack([_unwrapped(roll), pitch, _unwrapped(yaw)], axis=1)


def _unwrapped(angle: np.ndarray) -> np.ndarray:
    return np.unwrap(angle) if np.isfinite(angle).all() else angle


def _references(ds: xarray.Dataset, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return references recorded by a controller, by name."""
    known = _names(ds, "channel")
    return {n: ds["signal"].sel(channel=f"reference.{n}").values for n in names if f"reference.{n}" in known}


def _led(ds: xarray.Dataset, body: str) -> bool:
    """True if a recorded reference pose is that of a body."""
    known = _names(ds, "channel")
    if not {f"{kind}.{x}" for kind in ("reference", "error") for x in "xyz"} <= set(known):
        return False
    first = ds["signal"].isel(time=0)
    off = [float(first.sel(channel=f"reference.{x}") - first.sel(channel=f"error.{x}")) for x in "xyz"]
    return bool(np.allclose(off, ds["position"].sel(body=body).isel(time=0).values, atol=1e-6))


def _path(ds: xarray.Dataset, out: Path) -> bool:
    """Draw a plan view on the left and depth over time on the right."""
    shown = free_bodies(ds) or [b for b in [_shown_body(ds)] if b]
    if not shown or not _has(ds, "position"):
        return False
    time, ned = ds["time"].values, ds.attrs.get("axes", "NED") == "NED"
    right, up = ("y", "x") if ned else ("x", "y")
    with figure(out, height=4.0, math=False) as fig:
        plan, section = fig.subplots(1, 2, width_ratios=[1.0, 1.15])
        depths = {body: depth(ds, body) for body in shown[:MOST_CURVES]}
        led: dict[str, np.ndarray] = {}
        for k, body in enumerate(depths):
            p = ds["position"].sel(body=body)
            x, y = p.sel(xyz=right).values, p.sel(xyz=up).values
            plan.plot(x, y, color=COLOURS[k % len(COLOURS)], label=body)
            if _led(ds, body):
                way = _references(ds, "xyz")
                plan.plot(way[right], way[up], ":", color=COLOURS[k % len(COLOURS)], lw=1.0, label="reference")
                led[body] = way["z"] if ned else -way["z"]
            plan.plot(x[0], y[0], "o", ms=7, mfc="white", mec=COLOURS[k % len(COLOURS)], mew=1.6, zorder=3)
            plan.plot(x[-1], y[-1], "s", ms=7, color=COLOURS[k % len(COLOURS)], mec="white", zorder=3)
        plan.plot([], [], "o", ms=6, mfc="white", mec=GREY, mew=1.4, label="start")
        plan.plot([], [], "s", ms=6, color=GREY, label="end")
        _square(plan)
        plan.set(title="Seen from above", xlabel=f"{right}: {'east' if right == 'y' or not ned else 'north'} [m]")
        plan.set_ylabel(f"{up}: north [m]")
        plan.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)
        curves(section, time, depths, legend=False, references=led)
        _span(section, 0.1)
        section.invert_yaxis()
        low, high = sorted(section.get_ylim())
        if low <= 0.0 <= high:
            section.axhline(0.0, color="#56b4e9", lw=2, alpha=0.6, zorder=1)
        section.set(title="Depth below the mean surface", xlabel="time [s]", ylabel="depth [m]", xlim=(time[0], time[-1]))
    return True


def _square(ax: Axes) -> None:
    """Set equal scales and a square field around the curves, at least 0.2 m wide."""
    ax.set_aspect("equal", adjustable="box")
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    half = 0.5 * max(x1 - x0, y1 - y0, 0.2)
    ax.set_xlim(0.5 * (x0 + x1) - half, 0.5 * (x0 + x1) + half)
    ax.set_ylim(0.5 * (y0 + y1) - half, 0.5 * (y0 + y1) + half)


def _span(ax: Axes, least: float) -> None:
    """Widen the axis of values to at least `least`."""
    low, high = ax.get_ylim()
    if high - low < least:
        ax.set_ylim(0.5 * (low + high) - 0.5 * least, 0.5 * (low + high) + 0.5 * least)


class PlotPanel(NamedTuple):
    """Curves of a recording over time in one panel."""

    title: str
    """Title."""
    label: str
    """Unit of their values."""
    series: dict[str, np.ndarray]
    """Values by name, shape (time,) each."""
    colours: Mapping[str, str] | None = None
    """Colours of some curves."""
    references: Mapping[str, np.ndarray] | None = None
    """References of some curves, shape (time,) each."""
    least: float = 0.0
    """Minimum range of values shown."""


def _stacked(panels_of: Callable[[xarray.Dataset], list[PlotPanel]], ds: xarray.Dataset, out: Path) -> bool:
    """Draw panels under each other; False if there are none."""
    shown = panels_of(ds)
    if not shown:
        return False
    time = ds["time"].values
    with figure(out, height=0.6 + 2.1 * len(shown), math=False) as fig:
        named: set[tuple[str, ...]] = set()
        for ax, p in zip(time_panels(fig, [(p.title, p.label) for p in shown], time), shown, strict=True):
            legend = tuple(p.series) not in named  # once for panels with the same curves
            curves(ax, time, p.series, legend=legend, colours=p.colours, references=p.references)
            named.add(tuple(p.series))
            _span(ax, p.least)
    return True


def _attitude(ds: xarray.Dataset) -> list[PlotPanel]:
    out, names = [], ("roll", "pitch", "yaw")
    for body in free_bodies(ds)[:4] if _has(ds, "orientation") else ():
        angles = np.degrees(roll_pitch_yaw(ds["orientation"].sel(body=body).values))
        wanted = {n: np.degrees(x) for n, x in _references(ds, names).items()} if _led(ds, body) else {}
        series = dict(zip(names, angles.T, strict=True))
        out.append(PlotPanel(f"Attitude of {body}", "angle [deg]", series, references=wanted, least=0.1))
    return out


def _velocity(ds: xarray.Dataset) -> list[PlotPanel]:
    out = []
    for body in free_bodies(ds)[:3] if _has(ds, "velocity") else ():
        V = ds["velocity"].sel(body=body).values.T
        linear = dict(zip(("u surge", "v sway", "w heave"), V[:3], strict=True))
        angular = dict(zip(("p roll", "q pitch", "r yaw"), V[3:], strict=True))
        out.append(PlotPanel(f"Velocity of {body}, in its axes", "[m/s]", linear))
        out.append(PlotPanel(f"Angular velocity of {body}, in its axes", "[rad/s]", angular))
    return out


def _joints(ds: xarray.Dataset) -> list[PlotPanel]:
    names = [name for name in _names(ds, "coordinate") if name in _names(ds, "dof")]
    if not names or not _has(ds, "q", "v"):
        return []
    rates = {n: ds["v"].sel(dof=n).values for n in names}
    keep = list(_largest(rates))
    rest = "" if len(keep) == len(names) else f" (the {len(keep)} fastest of {len(names)})"
    positions = {n: ds["q"].sel(coordinate=n).values for n in keep}
    out = [
        PlotPanel(f"Joint positions{rest}", "[rad] or [m]", positions, references=_references(ds, keep)),
        PlotPanel(f"Joint rates{rest}", "[rad/s] or [m/s]", {n: rates[n] for n in keep}),
    ]
    if "tau" in ds and _anything(ds["tau"].sel(dof=names).values):
        torques = {n: ds["tau"].sel(dof=n).values for n in keep}
        out.append(PlotPanel(f"Joint torques and forces{rest}", "[N·m] or [N]", torques))
    return out


def _actuators(ds: xarray.Dataset, out: Path) -> bool:
    """Draw one small panel for each, shaded red while it is at its limit."""
    if not _has(ds, "actuator_force"):
        return False
    drives = set(_names(ds, "actuator")) & set(_names(ds, "dof"))
    parts = ["thrust of each thruster [N]"] if len(drives) < ds.sizes["actuator"] else []
    parts += ["torque or force of each joint drive [N·m] or [N]"] if drives else []
    heading = ", ".join(parts)
    return _small_panels(ds, out, "actuator_force", heading[0].upper() + heading[1:])


def _commands(ds: xarray.Dataset, out: Path) -> bool:
    if not _has(ds, "command") or not _anything(ds["command"].values):
        return False
    return _small_panels(ds, out, "command", "Command to each actuator, in its own unit")


def _small_panels(ds: xarray.Dataset, out: Path, name: str, heading: str) -> bool:
    time, names, dofs = ds["time"].values, _names(ds, "actuator"), _names(ds, "dof")
    saturated = ds["saturated"].values.astype(bool) if _has(ds, "saturated") else np.zeros((len(time), len(names)), bool)
    shares = 100.0 * saturated.mean(axis=0)
    with figure(out, height=0.9 + 1.45 * -(-len(names) // 3), math=False) as fig:
        fig.suptitle(heading, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        for k, (ax, label) in enumerate(zip(grid_panels(fig, names, time), names, strict=True)):
            values = ds[name].sel(actuator=label).values
            curves(ax, time, {label: values}, colours={label: COLOURS[2] if label in dofs else COLOURS[0]})
            if shares[k] > 0:
                shade(ax, time, saturated[:, k])
                share = "< 1" if shares[k] < 1 else f"{shares[k]:.0f}"
                ax.set_title(f"at limit {share} %", loc="right", fontsize=8.5, fontweight="normal", color=RED)
    return True


def _force_causes(ds: xarray.Dataset) -> list[str]:
    """Return the labels of recorded forces that get separate curves."""
    labels = [str(name).removeprefix("force_") for name in ds.data_vars if str(name).startswith("force_")]
    return [label for label in labels if label not in SUMMED]


def _forces(ds: xarray.Dataset, out: Path) -> bool:
    body = _shown_body(ds)
    if body is None:
        return False
    wrenches = {c.replace("_", " "): _force(ds, c, body) for c in _force_causes(ds)}
    wrenches["weight + buoyancy"] = _force(ds, "weight", body) + _force(ds, "buoyancy", body)
    wrenches = {name: F for name, F in wrenches.items() if _anything(F)}
    if not wrenches:
        return False
    time = ds["time"].values
    titles = ["X  along x [N]", "K  about x [N·m]", "Y  along y [N]", "M  about y [N·m]", "Z  along z [N]", "N  about z [N·m]"]
    colours = dict(zip(wrenches, COLOURS, strict=False))
    with figure(out, height=6.4, math=False) as fig:
        fig.suptitle(f"Forces and moments on {body} by cause, in its axes", x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        panels = grid_panels(fig, titles, time, columns=2)
        for ax, entry in zip(panels, (0, 3, 1, 4, 2, 5), strict=True):
            curves(ax, time, {name: F[:, entry] for name, F in wrenches.items()}, legend=False, colours=colours)
        handles, labels = panels[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncol=min(6, len(labels)))
    return True


def _force(ds: xarray.Dataset, cause: str, body: str) -> np.ndarray:
    name = f"force_{cause}"
    return ds[name].sel(body=body).values if name in ds else np.zeros((ds.sizes["time"], 6))


def _change(series: xarray.DataArray) -> np.ndarray:
    """Change of a series since its first sample, shape (nt,); the energy balance of a resumed run starts earlier."""
    return series.values - series.values[0]


def _energy(ds: xarray.Dataset) -> list[PlotPanel]:
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
        return []
    if len(stored) > 1:
        stored["total"] = np.sum(list(stored.values()), axis=0)
    parts = {"Energy stored, change since the start": stored, "Work done on the mechanism, by cause": work}
    if _has(ds, "energy_residual"):
        parts["Audit: energy not accounted for"] = {"residual": _change(ds["energy_residual"])}
    colours = {"residual": GREY, "total": INK, **_cause_colours(work)}
    return [PlotPanel(title, "[J]", series, colours=colours) for title, series in parts.items() if series]


def _cause_colours(causes: Iterable[str]) -> dict[str, str]:
    """Return a colour for each cause: fixed for known causes, an unused one for others."""
    known = dict(zip(CAUSES, COLOURS, strict=False))
    free = [c for c in COLOURS if c not in {known.get(cause) for cause in causes}]
    return known | {cause: free[k % len(free)] for k, cause in enumerate(c for c in causes if c not in known)}


def _contact(ds: xarray.Dataset) -> list[PlotPanel]:
    if not _has(ds, "contact_force") or not _anything(ds["contact_force"].values):
        return []
    names = _names(ds, "contact")
    forces = {n: ds["contact_force"].sel(contact=n).values for n in names}
    forces = {n: force for n, force in _largest(forces).items() if _anything(force)}
    rest = "" if len(forces) == len(names) else f" ({len(forces)} of {len(names)} pairs)"
    what = next(iter(forces)) if len(forces) == 1 else "contacts"  # one curve has no legend
    out = [PlotPanel(f"Normal force of {what}{rest}", "[N]", forces)]
    if "contact_gap" in ds:
        gaps = {n: ds["contact_gap"].sel(contact=n).values for n in forces}
        out.append(PlotPanel("Gap, negative in contact", "[m]", gaps))
    return out


def _water(ds: xarray.Dataset) -> list[PlotPanel]:
    body = _shown_body(ds)
    v = ds["fluid_velocity"].sel(body=body).values if body is not None and _has(ds, "fluid_velocity") else np.zeros((0, 3))
    series = dict(zip("xyz", v.T, strict=True))
    return [PlotPanel(f"Velocity of the water at {body}, in world axes", "[m/s]", series)] if _anything(v) else []


PICTURES: dict[str, Callable[[xarray.Dataset, Path], bool]] = {
    "path": _path,
    "attitude": partial(_stacked, _attitude),
    "velocity": partial(_stacked, _velocity),
    "joints": partial(_stacked, _joints),
    "actuators": _actuators,
    "commands": _commands,
    "forces": _forces,
    "energy": partial(_stacked, _energy),
    "contact": partial(_stacked, _contact),
    "water": partial(_stacked, _water),
}
"""Plots of `plot_recording` by file name; each function returns False if there is no data."""
