"""Scenes as data, drawn by pages and pictures: moving frames with solids, arrows, lines and surfaces, in layers."""

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
    """Frame whose pose varies over time."""

    name: str
    """Name, unique in the scene."""
    parent: str = ""
    """Name of the parent frame; empty for the world."""
    position: Array
    """Origin in parent axes [m], shape (time, 3)."""
    wxyz: Array
    """Orientation relative to the parent, quaternion (w, x, y, z), shape (time, 4)."""
    mechanism: str = ""
    """Root body of the mechanism that contains the frame; empty for the world."""
    scenery: bool = False
    """True for surroundings, which affect neither the camera nor the size of arrows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePart:
    """Base class of objects with one colour and one layer."""

    name: str
    """Name, unique in the scene."""
    color: Color
    """Red, green and blue, from 0 to 1."""
    layer: str
    """Name of the layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSolid(ScenePart):
    """Surface fixed to a frame."""

    frame: str = ""
    """Name of the frame; empty for the world."""
    triangles: Triangles
    """Surface in the axes of the frame [m]."""
    opacity: float = 1.0
    """Opacity: 0 is invisible, 1 is opaque."""
    layer: str = "bodies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrows(ScenePart):
    """Arrows in world axes."""

    ends: Array
    """Tail and tip of each arrow [m], shape (time, n, 2, 3)."""
    width: float
    """Radius of the shafts [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(ScenePart):
    """Static line in world axes."""

    points: Array
    """Points of the line [m], shape (n, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand(ScenePart):
    """Moving line in world axes, such as a tether."""

    points: Array
    """Points of the line [m], shape (time, n, 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface(ScenePart):
    """Height field on a fixed grid, with heights that vary over time."""

    x: Array
    """World x coordinates of the grid [m], shape (nx,)."""
    y: Array
    """World y coordinates of the grid [m], shape (ny,)."""
    z: Array
    """World z coordinates at the grid points [m], shape (time, nx, ny)."""
    opacity: float = 1.0
    """Opacity: 0 is invisible, 1 is opaque."""
    layer: str = "water surface"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """All drawn objects over time, in the world axes of the model; `upright` rotates these axes so that z is up."""

    title: str = ""
    """Title of the scene."""
    axes: str = "NED"
    """World axes: NED (z down) or ENU (z up)."""
    times: Array = field(default_factory=lambda: np.zeros(1))
    """Times of the samples [s], shape (time,)."""
    frames: tuple[MovingFrame, ...] = ()
    """Frames, with parents before children."""
    solids: tuple[SceneSolid, ...] = ()
    """Surfaces fixed to frames."""
    arrows: tuple[Arrows, ...] = ()
    """Arrows, such as forces."""
    lines: tuple[Line, ...] = ()
    """Static lines, such as paths."""
    strands: tuple[Strand, ...] = ()
    """Moving lines, such as tethers."""
    surfaces: tuple[Surface, ...] = ()
    """Moving height fields, such as the water surface."""
    wet: bool = True
    """True if the scene is under water."""

    @property
    def upright(self) -> Array:
        """Rotation matrix from world axes to axes with z up, shape (3, 3): half a turn about x if z is down."""
        return np.diag([1.0, -1.0, -1.0]) if self.axes == "NED" else np.eye(3)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of all layers, in drawing order."""
        parts: tuple[ScenePart, ...] = (*self.surfaces, *self.solids, *self.lines, *self.strands, *self.arrows)
        return tuple(dict.fromkeys(part.layer for part in parts))

    def poses(self, k: int) -> dict[str, tuple[Array, Array]]:
        """Return the rotation matrix and origin [m] of each frame in world axes at time index `k`, keyed by frame."""
        out: dict[str, tuple[Array, Array]] = {"": (np.eye(3), np.zeros(3))}
        for frame in self.frames:
            R, p = out[frame.parent]
            out[frame.name] = (R @ quaternion_matrix(frame.wxyz[k]), p + R @ frame.position[k])
        return out

    def at(self, k: int) -> Scene:
        """Return the static scene at time index `k`."""
        return replace(
            self,
            times=self.times[k : k + 1],
            frames=tuple(replace(f, position=f.position[k : k + 1], wxyz=f.wxyz[k : k + 1]) for f in self.frames),
            arrows=tuple(replace(a, ends=a.ends[k : k + 1]) for a in self.arrows),
            strands=tuple(replace(s, points=s.points[k : k + 1]) for s in self.strands),
            surfaces=tuple(replace(s, z=s.z[k : k + 1]) for s in self.surfaces),
        )

    def bounds(self, *moments: int, frames: Collection[str] | None = None) -> tuple[Array, Array]:
        """Return the minimum and maximum coordinates of body visuals at some times, z up [m], shape (3,) each.

        Args:
            moments: Time indices.
            frames: Names of frames whose visuals count. Defaults to all frames except scenery.
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
    """Return positions [m], shape (nb, 3), and orientations, shape (nb, 4), of all bodies at a configuration."""
    kin = dynamics.kinematics(model, np.asarray(q, dtype=float), np.zeros(model.nv))
    R = np.array([np.asarray(R, dtype=float) for R in kin.R_WB])
    return np.array([np.asarray(p, dtype=float) for p in kin.p_WB]), quaternion_from_matrix(R)


def model_scene(model: Model, q: Array | None = None, *, properties: bool = False) -> Scene:
    """Return the static scene of a model.

    Args:
        model: Model to draw.
        q: Configuration, shape (nq,). Defaults to the initial configuration.
        properties: Add properties of the bodies in separate layers.
    """
    position, wxyz = bodies_at(model, model.initial().q if q is None else np.asarray(q, dtype=float))
    frames, solids = body_parts(model, position[None], wxyz[None], properties=properties)
    return Scene(title=model.name, axes=model.world.axes, frames=tuple(frames), solids=tuple(solids), wet=model.wet)


@one_load()
def body_parts(
    model: Model, position: Array, wxyz: Array, *, properties: bool = False, turns: dict[str, Array] | None = None
) -> tuple[list[MovingFrame], list[SceneSolid]]:
    """Return the frames and solids of all bodies.

    Args:
        model: Model to draw.
        position: Positions of all bodies [m], shape (time, nb, 3).
        wxyz: Orientations of all bodies, shape (time, nb, 4).
        properties: Add layers with properties of the bodies.
        turns: Propeller angles [rad], shape (time,), keyed by model frame; other propellers are static.
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
    """Return the name of the body frame nearest to a point [m], shape (3,), or an empty text if no frame is close."""
    named = [(float(np.linalg.norm(np.array(f.origin.xyz) - p)), f.name) for f in body.frames]
    distance, name = min(named, default=(np.inf, ""))
    return name if distance <= 0.05 + 0.1 * float(np.linalg.norm(p)) else ""


def _turning(name: str, parent: str, R: Array, p: Array, angle: Array) -> MovingFrame:
    """Return a moving frame that rotates about its z axis by given angles [rad], shape (time,)."""
    turn = np.array([turn_about_z(x) for x in angle])
    return MovingFrame(
        name=name, parent=parent, position=np.broadcast_to(p, (len(angle), 3)), wxyz=quaternion_from_matrix(R @ turn)
    )
