"""Mounting of one model on a frame of another, for example an arm on a vehicle or a tool on an arm."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.errors import ModelError
from hydromechs.geometry import Origin
from hydromechs.spatial import rpy_from_matrix

from ._body import Body
from ._model import Model
from ._placement import Mdh
from .joints import Composite, Fixed, Free, Joint


def attach(
    vehicle: Model, part: Model, *, frame: str, at: Origin | None = None, prefix: str | None = None, name: str | None = None
) -> Model:
    """Mount a model on a frame of another model: an arm on a vehicle, a tool on an arm, a payload or an imported robot.

    The free root of a part becomes a fixed joint, and the root axes are aligned with the frame. For a part that is fixed in
    its world, the world origin of the part is aligned with the frame. Bodies, joints, frames and numbers do not change.

    Args:
        vehicle: The model that carries the part.
        part: The model to mount; axes, gravity and water density must equal those of the vehicle.
        frame: Frame or body of the vehicle.
        at: Pose of the part in that frame. Defaults to the frame itself.
        prefix: Prefix of all names of the part, separated by a dot: "left" gives "left.elbow". Defaults to the name of the
            part if the vehicle already has one of the names of the part, and to no prefix otherwise.
        name: Name of the new model. Defaults to the names of vehicle and part, for example "rov_arm".

    Returns:
        The combined model.

    Raises:
        KeyError: The vehicle has no such frame or body.
        ValueError: The worlds differ, prefixed names are in use, or the part has several roots, one of them free.
    """
    for what, model in (("vehicle", vehicle), ("part", part)):
        if not isinstance(model, Model):
            shown = repr(model) if isinstance(model, str) else f"a {type(model).__name__}"
            remedy = f"pass {what}.model" if hasattr(model, "model") else "load it with hydromechs.load"
            raise TypeError(f"attach: {what} is {shown}, must be a Model; {remedy}")
    carrier, mount = mount_point(vehicle, frame)
    _check_worlds(vehicle, part)
    before = _prefix(vehicle, part, prefix)
    problem = mount_problem(part)
    if problem:
        raise ValueError(f"attach: {problem}; attach the roots separately")
    mounted = mounted_bodies(part, before, carrier, _composed(mount, at or Origin()))
    carried = f"{part.name}: {part.description}" if part.description else ""
    sources = dict(vehicle.sources)
    sources |= {f"{before}{key}" if f"{before}{key}" not in sources else f"{part.name}: {key}": x for key, x in part.sources}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parts issued their warnings when they were built
        try:
            return Model(
                name=name or f"{vehicle.name}_{part.name}",
                bodies=(*vehicle.bodies, *mounted),
                loops=(*vehicle.loops, *(loop.renamed(before) for loop in part.loops)),
                world=vehicle.world,
                description="; ".join(text for text in (vehicle.description, carried) if text),
                sources=tuple(sources.items()),
            )
        except ModelError as error:
            raise ValueError(f"attach: {part.name} on {vehicle.name}: {'; '.join(error.problems)}") from error


def mount_point(vehicle: Model, frame: str) -> tuple[str, Origin]:
    """Return the body that carries a frame or is named `frame`, and the pose of the frame on that body."""
    body = vehicle.bodies[vehicle.locate(frame).body].name
    return body, vehicle.frames[frame][1].origin if frame in vehicle.frames else Origin()


def mount_problem(part: Model) -> str:
    """Return the reason why a model cannot be mounted; empty if mounting is possible."""
    roots = [body for body in part.bodies if body.parent is None]
    if len(roots) < 2 or not any(isinstance(root.joint, Free) for root in roots):
        return ""
    names = ", ".join(repr(root.name) for root in roots)
    return f"{part.name} has {len(roots)} roots ({names}), one of them free"


def mounted_bodies(part: Model, before: str, carrier: str, mount: Origin) -> list[Body]:
    """Return the bodies of a model that is mounted on another model, with prefixed names."""
    stand = f"{before}{part.name}.mount"
    mounted = [_renamed(body, before) for body in part.bodies]
    extra: list[Body] = []
    for i, body in enumerate(part.bodies):
        if body.parent is None:
            joint = _on(mount, body.joint)
            if joint is None and not extra:  # a Denavit-Hartenberg row cannot follow another pose: insert a body
                extra.append(Body(name=stand, parent=carrier, joint=Fixed(placement=mount)))
            mounted[i] = replace(mounted[i], parent=carrier if joint else stand, joint=joint or body.joint)
    return [*extra, *mounted]


def _check_worlds(vehicle: Model, part: Model) -> None:
    """Raise `ValueError` if the worlds of two models differ."""
    both = ((what, getattr(part.world, what), getattr(vehicle.world, what)) for what in ("axes", "gravity", "water_density"))
    other = [f"{what} {mine}, {vehicle.name} {theirs}" for what, mine, theirs in both if mine != theirs]
    if not other:
        return
    turn = "; the axes of the part are not rotated, so set `at` to keep its up direction" if "axes" in other[0] else ""
    raise ValueError(
        f"attach: {part.name} has {'; '.join(other)}; use the same world: dataclasses.replace(part, world=vehicle.world){turn}"
    )


def _prefix(vehicle: Model, part: Model, prefix: str | None) -> str:
    """Return the prefix of all names of the part; raise `ValueError` if the vehicle already has a prefixed name."""
    if prefix is not None and (not isinstance(prefix, str) or not prefix.strip()):
        raise ValueError(f"attach: prefix is {prefix!r}, must be a text; omit prefix to keep the names")
    taken = {*vehicle.body_names, *vehicle.frames, "world"}
    names = [*part.body_names, *part.frames, f"{part.name}.mount"]
    for before in ("", f"{part.name}.") if prefix is None else (f"{prefix}.",):
        used = [before + x for x in names if before + x in taken]
        if not used:
            return before
    listed = ", ".join(map(repr, used[:5])) + (", ..." if len(used) > 5 else "")
    raise ValueError(f"attach: {vehicle.name} already has {listed}; set another prefix for {part.name}, such as prefix='left'")


def _renamed(body: Body, before: str) -> Body:
    parent = None if body.parent is None else before + body.parent
    frames = tuple(replace(frame, name=before + frame.name) for frame in body.frames)
    joint = body.joint if parent is not None else Fixed()  # a body with a parent is never free; the root's joint is set later
    return replace(body, name=before + body.name, parent=parent, joint=joint, frames=frames)


def _on(mount: Origin, joint: Joint | Composite) -> Joint | Composite | None:
    """Return the joint between a root and its mount; None if one joint cannot express it."""
    if isinstance(joint, Free):
        return Fixed(placement=mount)
    first = joint.parts[0]
    placement = getattr(first, "placement", None)
    if isinstance(placement, Mdh) or placement is None:
        return joint if mount == Origin() else None
    moved: Any = replace(first, placement=_composed(mount, placement))
    return replace(joint, parts=(moved, *joint.parts[1:])) if isinstance(joint, Composite) else moved


def _composed(a: Origin, b: Origin) -> Origin:
    """Return the pose b composed with the pose a; exact if either pose does not rotate."""
    if not any(a.rpy):
        x, y, z = (p + q for p, q in zip(a.xyz, b.xyz, strict=True))
        return Origin((x, y, z), b.rpy)
    x, y, z = map(float, np.array(a.xyz) + a.R @ np.array(b.xyz)) if any(b.xyz) else a.xyz
    roll, pitch, yaw = map(float, rpy_from_matrix(a.R @ b.R)) if any(b.rpy) else a.rpy
    return Origin((x, y, z), (roll, pitch, yaw))
