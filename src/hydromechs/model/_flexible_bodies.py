"""Bodies of flexible links: sections with shared modal coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hydromechs.errors import Fault, message_of
from hydromechs.geometry import Cylinder, Origin

from . import added_mass, drag
from ._body import Body, Hydro, Inertia
from ._body_shape import BodyShape
from ._checks import topological_order
from .flexible import FlexibleLink, Section
from .joints import ModalJoint


def tip_name(name: str) -> str:
    """Return the name of the tip of a flexible body."""
    return f"{name}.tip"


def is_section(body: object, bodies: Sequence[object]) -> bool:
    """True if a body was derived from a flexible link of one of the bodies."""
    joint = getattr(body, "joint", None)
    return isinstance(joint, ModalJoint) and any(
        getattr(b, "name", None) == getattr(body, "parent", "") and getattr(b, "flexible", None) is not None for b in bodies
    )


def with_sections(bodies: Sequence[Body], density: float) -> tuple[dict[int, list[Body]], list[Fault]]:
    """Return each body by index, followed by the sections of its flexible link, and errors.

    Existing sections in `bodies` are replaced.
    """
    out: dict[int, list[Body]] = {}
    faults = []
    for i, body in enumerate(bodies):
        if is_section(body, bodies):
            continue
        out[i] = [body]
        link = getattr(body, "flexible", None)
        if not isinstance(body, Body) or not isinstance(link, FlexibleLink):
            continue
        try:
            out[i] += _sections(body.name, link, density)
        except (ValueError, OSError) as e:
            faults.append(Fault(("bodies", i, "flexible"), f"body {body.name!r}: {message_of(e)}"))
    return out, faults


def sorted_groups(groups: Mapping[int, list[Body]]) -> list[int]:
    """Return the indices of bodies with parents first; a body carried by a tip or section counts as carried by its link."""
    carrier = {b.name: group[0].name for group in groups.values() for b in group}
    links = [(group[0].name, carrier.get(group[0].parent or "")) for group in groups.values()]
    keys = list(groups)
    return [keys[k] for k in topological_order(links)]


def _sections(name: str, link: FlexibleLink, density: float) -> list[Body]:
    found = link.modes(density)
    out = []
    for k, section in enumerate((found.sections[-1], *found.sections[:-1])):
        p = np.array(link.origin.xyz) + link.origin.R @ section.p
        joint = ModalJoint(
            placement=Origin((float(p[0]), float(p[1]), float(p[2])), link.origin.rpy),
            translation=_rows(section.translation),
            rotation=_rows(section.rotation),
            shortening=tuple(_rows(G) for G in section.shortening),
            link="flexible",
            names=found.names,
            units=found.units,
            position=link.position,
            stiffness=tuple(found.stiffness.tolist()),
            mode_damping=tuple(found.damping.tolist()),
        )
        own = tip_name(name) if k == 0 else f"{name}.section{k}"
        out.append(_wet(Body(name=own, parent=name, joint=joint, inertia=_inertia(section)), section, link, density))
    return out


def _inertia(section: Section) -> Inertia:
    return Inertia(mass=section.mass, tensor=(*section.tensor, 0.0, 0.0, 0.0))


def _wet(body: Body, section: Section, link: FlexibleLink, density: float) -> Body:
    """Return a section with hydrodynamics and the shape of a cylinder with the length of the section."""
    if link.water is None or not section.length:
        return body
    strip, length = link.water, section.length
    across = strip.added(density) * length
    shape = BodyShape(
        name="section",
        shape=Cylinder(radius=strip.radius, length=length),
        origin=Origin(rpy=(0.0, 0.5 * math.pi, 0.0)),
        roles=("wetting", "appearance"),
        style="link",
    )
    hydro = Hydro(
        volume=strip.displaced * length,
        added_mass=(added_mass.Diagonal((0.0, across, across, 0.0, 0.0, 0.0)),),
        drag=(drag.ShapeDrag(shape="section", coefficient=strip.drag, end_coefficient=0.0, points=1),),
    )
    return replace(body, hydro=hydro, shapes=(shape,))


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in matrix)
