"""A scene as data: moving frames, solids on them, arrows, lines, surfaces, each in a layer. Pages and pictures draw it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hydromechs import dynamics
from hydromechs.files import one_load
from hydromechs.geometry import Triangles, joined
from hydromechs.model import Body, Model
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array

from ._looks import Color, body_looks, body_properties
from ._solids import turn_about_z

HIDDEN = frozenset(
    {
        *("inertia", "added mass", "drag shapes", "contact shapes", "centres of mass", "centres of buoyancy"),
        *("force: weight", "force: buoyancy", "force: added mass", "force: fluid acceleration", "force: sum of thrust"),
    }
)
"""Layers that are hidden by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingFrame:
    """A moving frame."""

    name: str
    """Name, unique in the scene."""
    parent: str = ""
    """Name of the parent frame; the world if empty."""
    position: Array
    """Origin in the parent [m], shape (time, 3)."""
    wxyz: Array
    """Axes in the parent, quaternion (w, x, y, z), shape (time, 4)."""
    mechanism: str = ""
    """Root body of the mechanism that it belongs to; empty for the world."""
    scenery: bool = False
    """True for surroundings, which affect neither the camera nor the size of arrows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePart:
    """Base of objects of one colour."""

    name: str
    """Name, unique in the scene."""
    color: Color
    """Red, green, blue, 0 to 1."""
    layer: str
    """Layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSolid(ScenePart):
    """A surface fixed to a frame."""

    frame: str = ""
    """Name of its frame; the world if empty."""
    triangles: Triangles
    """Its surface in the axes of the frame."""
    opacity: float = 1.0
    """Opacity: 0 is invisible, 1 is opaque."""
    layer: str = "bodies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrows(ScenePart):
    """Arrows in the world."""

    ends: Array
    """Tail and tip of each [m], shape (time, n, 2, 3)."""
    width: float
    """Radius of their shafts [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(ScenePart):
    """A static line in the world."""

    points: Array
    """Its points [m], shape (n, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand(ScenePart):
    """A moving line in the world, such as a tether."""

    points: Array
    """Its points [m], shape (time, n, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface(ScenePart):
    """Height field on a fixed grid; the heights vary over time."""

    x: Array
    """Grid lines along x of the world [m], shape (nx,)."""
    y: Array
    """Grid lines along y of the world [m], shape (ny,)."""
    z: Array
    """z of the world at the grid points [m], shape (time, nx, ny)."""
    opacity: float = 1.0
    """Opacity: 0 is invisible, 1 is opaque."""
    layer: str = "water surface"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """All drawn objects over time. World axes are the model's; `upright` rotates them so that z is up."""

    title: str = ""
    """Title."""
    axes: str = "NED"
    """World axes: NED (z down) or ENU (z up)."""
    times: Array = field(default_factory=lambda: np.zeros(1))
    """Times [s], shape (time,)."""
    frames: tuple[MovingFrame, ...] = ()
    """Frames, parents first."""
    solids: tuple[SceneSolid, ...] = ()
    """Solids."""
    arrows: tuple[Arrows, ...] = ()
    """Arrows."""
    lines: tuple[Line, ...] = ()
    """Lines."""
    strands: tuple[Strand, ...] = ()
    """Moving lines."""
    surfaces: tuple[Surface, ...] = ()
    """Surfaces."""
    wet: bool = True
    """True if it is under water."""

    @property
    def upright(self) -> Array:
        """Rotation from world axes to axes with z up: half a turn about x if z is down, shape (3, 3)."""
        return np.diag([1.0, -1.0, -1.0]) if self.axes == "NED" else np.eye(3)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """All layers, in the order of drawing."""
        parts: tuple[ScenePart, ...] = (*self.surfaces, *self.solids, *self.lines, *self.strands, *self.arrows)
        return tuple(dict.fromkeys(part.layer for part in parts))

    def poses(self, k: int) -> dict[str, tuple[Array, Array]]:
        """Return axes and origin of each frame in the world at one time."""
        out: dict[str, tuple[Array, Array]] = {"": (np.eye(3), np.zeros(3))}
        for frame in self.frames:
            R, p = out[frame.parent]
            out[frame.name] = (R @ quaternion_matrix(frame.wxyz[k]), p + R @ frame.position[k])
        return out

    def at(self, k: int) -> Scene:
        """Return the static scene at one time."""
        return replace(
            self,
            times=self.times[k : k + 1],
            frames=tuple(replace(f, position=f.position[k : k + 1], wxyz=f.wxyz[k : k + 1]) for f in self.frames),
            arrows=tuple(replace(a, ends=a.ends[k : k + 1]) for a in self.arrows),
            strands=tuple(replace(s, points=s.points[k : k + 1]) for s in self.strands),
            surfaces=tuple(replace(s, z=s.z[k : k + 1]) for s in self.surfaces),
        )

    def bounds(self, *moments: int, frames: Collection[str] | None = None) -> tuple[Array, Array]:
        """Return the minimum and maximum coordinates of the bodies' visuals at some times, z up [m], shapes (3,) and (3,).

        Only those on some `frames`; all but scenery by default.
        """
        if frames is None:
            frames = {"", *(frame.name for frame in self.frames if not frame.scenery)}
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for k in moments:
            poses = self.poses(k)
            for solid in self.solids:
                if solid.layer == "bodies" and len(solid.triangles.vertices) and solid.frame in frames:
                    R, p = poses[solid.frame]
                    points = (solid.triangles.vertices @ R.T + p) @ self.upright.T
                    low, high = np.minimum(low, points.min(0)), np.maximum(high, points.max(0))
        return (low, high) if np.isfinite(low).all() else (-np.ones(3), np.ones(3))


def bodies_at(model: Model, q: Array) -> tuple[Array, Array]:
    """Return positions and orientations of all bodies at a configuration, shapes (nb, 3) [m] and (nb, 4)."""
    kin = dynamics.kinematics(model, np.asarray(q, dtype=float), np.zeros(model.nv))
    R = np.array([np.asarray(R, dtype=float) for R in kin.R_WB])
    return np.array([np.asarray(p, dtype=float) for p in kin.p_WB]), quaternion_from_matrix(R)


def model_scene(model: Model, q: Array | None = None, *, properties: bool = False) -> Scene:
    """Return the static scene of a model.

    `q`: configuration, shape (nq,); defaults to the initial one; `properties`: True to add properties of the bodies in separate
    layers.
    """
    position, wxyz = bodies_at(model, model.initial().q if q is None else np.asarray(q, dtype=float))
    frames, solids = body_parts(model, position[None], wxyz[None], properties=properties)
    return Scene(title=model.name, axes=model.world.axes, frames=tuple(frames), solids=tuple(solids), wet=model.wet)


@one_load()
def body_parts(
    model: Model, position: Array, wxyz: Array, *, properties: bool = False, turns: dict[str, Array] | None = None
) -> tuple[list[MovingFrame], list[SceneSolid]]:
    """Return frames and solids of all bodies at positions [m], shape (time, nb, 3), and orientations, shape (time, nb, 4).

    `properties` adds layers with properties of the bodies. `turns` has angles of propellers by the name of their frame
    [rad], shape (time,); other propellers are static.
    """
    frames: list[MovingFrame] = []
    solids: list[SceneSolid] = []
    roots: dict[str, str] = {}
    looks = [body_looks(body) for body in model.bodies]
    shown = [pieces for (pieces, _), scenery in zip(looks, model.scenery, strict=True) if not scenery]
    everything = joined(piece.triangles for pieces in shown for piece in pieces).vertices
    size = 0.02 * float(np.ptp(everything, axis=0).max()) if len(everything) else 0.02
    for i, (body, (pieces, propellers)) in enumerate(zip(model.bodies, looks, strict=True)):
        root = roots[body.name] = body.name if body.parent is None else roots[body.parent]
        frames.append(
            MovingFrame(name=body.name, position=position[:, i], wxyz=wxyz[:, i], mechanism=root, scenery=model.scenery[i])
        )
        if properties:
            pieces = [*pieces, *body_properties(body, model.world, size)]
        for k, piece in enumerate(pieces):
            values = piece._asdict()
            solids.append(SceneSolid(name=f"{body.name}/{piece.layer} {k}", frame=body.name, **values))
        for k, propeller in enumerate(propellers):
            name = f"{body.name}/propeller {k + 1}"
            frame = _frame_at(body, propeller.p)
            angle = (turns or {}).get(frame, np.zeros(len(position)))
            frames.append(replace(_turning(name, body.name, propeller.R, propeller.p, angle), mechanism=root))
            solids.append(SceneSolid(name=f"{name}/blades", frame=name, **propeller.piece._asdict()))
    return frames, solids


def _frame_at(body: Body, p: Array) -> str:
    """Return the name of the body's frame nearest to a point, within a tenth of its distance from the origin; empty if none."""
    named = [(float(np.linalg.norm(np.array(f.origin.xyz) - p)), f.name) for f in body.frames]
    distance, name = min(named, default=(np.inf, ""))
    return name if distance <= 0.05 + 0.1 * float(np.linalg.norm(p)) else ""


def _turning(name: str, parent: str, R: Array, p: Array, angle: Array) -> MovingFrame:
    """Return a frame that rotates about its z axis by angles [rad], shape (time,)."""
    turn = np.array([turn_about_z(x) for x in angle])
    return MovingFrame(
        name=name, parent=parent, position=np.broadcast_to(p, (len(angle), 3)), wxyz=quaternion_from_matrix(R @ turn)
    )
