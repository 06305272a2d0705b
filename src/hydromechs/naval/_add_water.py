"""Hydrodynamics of a dry robot: buoyancy, added mass and drag of each body, estimated from shapes or meshes.

A report lists every assumption with its uncertainty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hydromechs.errors import Fault, ModelError, message_of
from hydromechs.files import one_load
from hydromechs.geometry import Triangles
from hydromechs.model import Body, Hydro, Model
from hydromechs.values import Array, nearest

from ._added_mass import AddedMassMethod, FromShapes
from ._drag import drag_guess
from ._hydrostatics import without_buoyancy
from ._parts import SolidMesh, SolidPart, check_model, part_of, read_mesh_of, solid_or_drawn, union


@dataclass(frozen=True, slots=True, kw_only=True)
class HydroEstimate:
    """Estimated quantity of a body."""

    body: str
    quantity: str
    """Name of the quantity: volume, centre of buoyancy, added mass, added inertia or drag area."""
    value: tuple[float, ...]
    """Value in `unit`: one number, or one number per body axis."""
    uncertainty: tuple[float, ...]
    """Standard uncertainty of each number in `unit`; about two thirds of true values are within it."""
    unit: str
    how: str
    """Method of estimation."""

    @property
    def numbers(self) -> str:
        """Values and uncertainties as text."""
        return ", ".join(f"{v:.4g} ± {u:.2g}" for v, u in zip(self.value, self.uncertainty, strict=True)) + f" {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterReport:
    """Report of `add_water`: estimated quantities, unchanged bodies and dry bodies. Prints as a table."""

    estimates: tuple[HydroEstimate, ...]
    kept: tuple[str, ...]
    """Bodies that already had hydrodynamics, which are unchanged."""
    dry: tuple[str, ...]
    """Moving bodies that remain dry because their size is unknown."""
    notes: tuple[str, ...]
    """Warnings about estimates."""

    def of(self, body: str) -> tuple[HydroEstimate, ...]:
        """Return the estimates for the body named `body`."""
        return tuple(estimate for estimate in self.estimates if estimate.body == body)

    def __str__(self) -> str:
        rows = [("body", "estimated", "value", "how"), *((g.body, g.quantity, g.numbers, g.how) for g in self.estimates)]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=True)), row[3]]) for row in rows]
        if self.kept:
            lines.append(f"kept: {', '.join(self.kept)}")
        if self.dry:
            lines.append(f"still without hydrodynamics, because these bodies have no shapes: {', '.join(self.dry)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


GIVEN, MESH, SIMPLE, HULL = 0.02, 0.05, 0.1, 0.3
"""Relative uncertainty of the volume of a mesh in the arguments, a mesh in the model, simple shapes, and a convex hull."""
CENTRED = 0.02
"""Standard uncertainty of the centre of buoyancy, relative to the size of the body; doubled for simple shapes."""
DENSITIES = (50.0, 20_000.0)
"""Range of plausible mean densities of a body [kg/m³]."""
SHARED = 0.01
"""Fraction of the volume of a body shared by its parts above which a note is added."""


class WetModel(NamedTuple):
    """Model with estimated hydrodynamics, and the report."""

    model: Model
    """Model with hydrodynamics; its `sources` describe the estimates."""
    report: WaterReport
    """Estimated quantities, with uncertainties; prints as a table."""


class _Geometry(NamedTuple):
    """Parts of a body, with their sources and uncertainty."""

    parts: tuple[SolidPart, ...]
    source: str
    error: float
    """Relative standard uncertainty of the volume."""


@one_load()
def add_water(
    model: Model,
    *,
    bodies: Iterable[str] | None = None,
    meshes: Mapping[str, str | Path | Triangles] | None = None,
    folder: str | Path = ".",
    added_mass: AddedMassMethod | None = None,
) -> WetModel:
    """Estimate volume, centre of buoyancy, added mass and drag of a dry model from the shapes of its bodies.

    The size of a body follows from its shapes for contact and wetting, otherwise from its shapes for appearance. Meshes are
    treated as solid; open meshes are replaced by their convex hulls. Overlaps between parts of a body count once. The report
    lists each estimate with its uncertainty. A body with drag or added mass but without buoyancy, which is common in Gazebo
    files, receives only a volume.

    Args:
        model: Model without hydrodynamics on some bodies.
        bodies: Names of bodies whose hydrodynamics are estimated, and replaced if present. Defaults to all moving bodies
            without hydrodynamics.
        meshes: Closed meshes keyed by body, as paths or `geometry.Triangles` in the body's frame; they replace the shapes.
        folder: Base folder of mesh paths. Mesh paths of a loaded model are relative to its file.
        added_mass: Method for added mass: `naval.FromShapes()` (default) or `naval.FromPanels()`.

    Returns:
        Model with hydrodynamics, and the report.

    Raises:
        ModelError: A mesh is flat, unreadable or missing, or a mesh in `meshes` is open; all are listed with their bodies.
        KeyError: A name is not a body.
        TypeError: An argument has the wrong type.
    """
    check_model("add_water", model)
    if isinstance(bodies, str):
        raise TypeError(f"add_water: bodies is {bodies!r}, must be a list of names: [{bodies!r}]")
    if meshes is not None and not isinstance(meshes, Mapping):
        raise TypeError(f"add_water: meshes is {meshes!r}, must be meshes keyed by body: {{'hull': 'hull.stl'}}")
    if added_mass is not None and not isinstance(added_mass, AddedMassMethod):
        raise TypeError(
            f"add_water: added_mass is {added_mass!r}, must be naval.FromShapes() or naval.FromPanels(), or a custom AddedMass"
        )
    given = dict(meshes or {})
    moving = [b for b, moves in zip(model.bodies, model.moves, strict=True) if moves]
    chosen = [b.name for b in moving if b.hydro is None] if bodies is None else list(bodies)
    for what, names in (("bodies", chosen), ("meshes", given)):
        for name in names:
            if name not in model.body_names:
                raise KeyError(f"{what}: {model.name} has no body {name!r}{nearest(name, model.body_names)}")
    chosen += [name for name in given if name not in chosen and bodies is None]
    sinking = {model.body_names[i] for i in without_buoyancy(model)} - set(chosen) if bodies is None else set()
    chosen += sorted(sinking, key=model.body_index)
    geometries = _geometries(model, chosen, given, Path(folder))
    way, density = added_mass or FromShapes(), model.world.water_density
    estimates: list[HydroEstimate] = []
    notes: list[str] = []
    new = {}
    for name, geometry in geometries.items():
        body = model.bodies[model.body_index(name)]
        new[name], found, words = _watered(body, geometry, way, density, volume_only=name in sinking)
        if name in sinking:
            assert isinstance(body.hydro, Hydro)  # as `without_buoyancy` chose it
            new[name] = replace(body.hydro, volume=new[name].volume, buoyancy_center=new[name].buoyancy_center)
            found = [estimate for estimate in found if estimate.quantity in ("volume", "centre of buoyancy")]
            words = [_kept_note(name, body.hydro), *words]
        estimates += found
        notes += words
    notes += [
        f"body {name!r} has neither a volume nor shapes for an estimate; add shapes or set the volume"
        for name in sinking
        if name not in new
    ]
    watered = tuple(replace(b, hydro=new[b.name]) if b.name in new else b for b in model.bodies)
    kept = tuple(b.name for b in model.bodies if b.hydro is not None and b.name not in new)
    dry = tuple(b.name for b in moving if b.hydro is None and b.name not in new and b.inertia.mass > 0.0)
    sources = dict(model.sources) | {f"{g.body}: {g.quantity}": f"estimated, {g.numbers}: {g.how}" for g in estimates}
    report = WaterReport(estimates=tuple(estimates), kept=kept, dry=dry, notes=tuple(notes))
    return WetModel(replace(model, bodies=watered, sources=tuple(sources.items())), report)


def _geometries(
    model: Model, chosen: list[str], given: Mapping[str, str | Path | Triangles], folder: Path
) -> dict[str, _Geometry]:
    """Return the parts of the selected bodies that have any, keyed by name; one error lists all mesh problems."""
    out: dict[str, _Geometry] = {}
    faults = []
    for name in chosen:
        i = model.body_index(name)
        try:
            geometry = _geometry(model.bodies[i], given.get(name), folder)
        except (ValueError, FileNotFoundError) as error:
            faults.append(Fault(("bodies", i, "shapes"), f"body {name!r}: {message_of(error)}"))
            continue
        if geometry.parts:
            out[name] = geometry
    if faults:
        raise ModelError(model.name, faults)
    return out


def _geometry(body: Body, mesh: str | Path | Triangles | None, folder: Path) -> _Geometry:
    """Return the parts of a body: the mesh in the arguments, otherwise solid shapes, otherwise shapes for appearance."""
    if mesh is not None:
        solid = mesh if isinstance(mesh, Triangles) else read_mesh_of(folder / mesh)
        if problems := solid.problems():
            raise ValueError("; ".join(problems))
        return _Geometry((SolidPart(shape=SolidMesh(surface=solid), name=f"mesh {solid.name}"),), solid.name, GIVEN)
    filled, drawn = solid_or_drawn(body)
    drawn = [s for s in drawn if s.style != "propeller"]  # mostly empty
    for source, things in (("shapes", filled), ("appearance", drawn)):
        parts = tuple(part for part in (part_of(thing, folder) for thing in things) if part is not None)
        if parts:
            meshed = all(isinstance(part.shape, SolidMesh) for part in parts)
            error = MESH if meshed else SIMPLE
            if any(part.note for part in parts):
                volumes = np.array([part.shape.volume for part in parts])
                error = max(HULL, 1.0 - float(volumes @ [part.filled for part in parts]) / float(volumes.sum()))
            return _Geometry(parts, f"its {source}", error)
    return _Geometry((), "", 0.0)


def _kept_note(name: str, hydro: Hydro) -> str:
    """Return the note about a body that receives a volume, with its other hydrodynamics unchanged."""
    if not hydro.added_mass:
        done = f"the drag is unchanged, and there is no added mass; use bodies=[{name!r}] to estimate both"
    else:
        done = "added mass and drag are unchanged" if hydro.drag else "the added mass is unchanged, and there is no drag"
    return f"body {name!r} had no volume, which is now estimated; {done}"


def _watered(
    body: Body, geometry: _Geometry, way: AddedMassMethod, density: float, *, volume_only: bool
) -> tuple[Hydro, list[HydroEstimate], list[str]]:
    parts = geometry.parts
    whole, shared, error = union(parts)
    mass, drag = way.of(parts, density), drag_guess(parts)
    center = tuple(whole.center.tolist())
    hydro = Hydro(volume=whole.volume, buoyancy_center=center, added_mass=mass.elements, drag=drag.elements)
    counts = Counter(part.name for part in parts)
    names = ", ".join(f"{n} {name}" if n > 1 else name for name, n in counts.items())
    size = 2.0 * float(np.sqrt(5.0 * np.trace(whole.second) / whole.volume / 3.0))
    apart = CENTRED * size * (1.0 if geometry.error < SIMPLE else 2.0)
    diagonal = np.diag(mass.matrix)
    volume_error = whole.volume * float(np.hypot(geometry.error, error))

    def estimate(quantity: str, value: Array | float, uncertainty: Array | float, unit: str, how: str) -> HydroEstimate:
        numbers, errors = (tuple(x.tolist()) for x in np.broadcast_arrays(np.atleast_1d(value), uncertainty))
        return HydroEstimate(body=body.name, quantity=quantity, value=numbers, uncertainty=errors, unit=unit, how=how)

    estimates = [
        estimate("volume", whole.volume, volume_error, "m³", f"{geometry.source}: {names}"),
        estimate("centre of buoyancy", whole.center, apart, "m", "centroid of the volume"),
        estimate("added mass", diagonal[:3], mass.spread[:3], "kg", mass.how),
        estimate("added inertia", diagonal[3:], mass.spread[3:], "kg·m²", mass.how),
        estimate("drag area", drag.areas, drag.uncertainty * drag.areas, "m²", drag.how),
    ]
    hulls = [f"body {body.name!r}: {part.note}" for part in parts if part.note]
    return hydro, estimates, [*hulls, *_notes(body, whole.volume, shared, volume_only)]


def _notes(body: Body, volume: float, shared: float, volume_only: bool) -> list[str]:
    out = []
    if shared > SHARED:
        twice = "" if volume_only else "; the added mass of shared parts counts twice"
        out.append(f"body {body.name!r}: the parts share {shared:.0%} of the volume, which counts once{twice}")
    mean = body.inertia.mass / volume
    if body.inertia.mass > 0.0 and not DENSITIES[0] < mean < DENSITIES[1]:
        slip = (
            "check whether the shapes are in millimetres" if mean < DENSITIES[0] else "check whether the shapes are too small"
        )
        out.append(f"body {body.name!r}: {body.inertia.mass:.4g} kg in {volume:.4g} m³ are {mean:.3g} kg/m³; {slip}")
    return out
