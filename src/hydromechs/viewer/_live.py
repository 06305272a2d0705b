"""Live scene: bodies moved by a simulation, ground and sea around their initial positions, ghosts."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.geometry import HeightField, Sphere, joined
from hydromechs.hydro import Environment, WaveComponents, wave_components
from hydromechs.model import Model
from hydromechs.spatial import quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array

from ._page import Page, node_name, put, segments
from ._raster import Camera, scene_camera
from ._recorded import AROUND, CURRENT, FASTEST, FORCES, NEAR_SURFACE, OTHER, SEA, _ground, tether_strand, wave_heights
from ._scene import Arrows, MovingFrame, Scene, SceneSolid, Surface, _frame_at, body_parts
from ._solids import turn_about_z

ROOM = 15.0
"""Distance around the initial positions within which the ground and the sea are drawn [m]."""
SEA_EVERY = 0.1
"""Interval between updates of a moving water surface [s]."""
COMES = 2.0
"""Time allowed for a browser to apply its initial camera [s]."""
LAG = 0.1
"""Distance of the camera target from the followed body above which it is corrected, as a fraction of the camera distance."""
SKY_HEIGHT, CLEARANCE = 30.0, 0.3
"""Height above a camera at which the search for the ground starts, and minimum height of a camera above the ground [m]."""
PEBBLES, STONE = 240, (0.52, 0.46, 0.36)
"""Number and colour of stones on the ground."""
PARTICLES, SNOW, DRIFT = 600, (0.92, 0.94, 0.88), 8.0
"""Number and colour of particles in the water, and distance around the bodies within which the particles are drawn [m]."""
LAMP = 14.0
"""Intensity of a lamp."""
GHOST = 0.35
"""Opacity of ghosts."""


def live_scene(
    model: Model,
    position: Array,
    wxyz: Array,
    *,
    terrain: Sequence[Terrain] = (),
    environment: Environment | None = None,
    tethers: Mapping[str, Array] | None = None,
) -> Scene:
    """Return the scene of a mechanism at one time, with surroundings.

    Args:
        position: Positions of all bodies [m], shape (nb, 3).
        wxyz: Orientations of all bodies, shape (nb, 4).
        environment: Environment with water surface and current.
        tethers: Points of tethers, keyed by name, in world axes [m], shape (n, 3). Defaults to no tethers.
    """
    frames, solids = body_parts(model, position[None], wxyz[None])
    plain = Scene(axes=model.world.axes, frames=tuple(frames), solids=tuple(solids))
    low, high = plain.bounds(0)
    around = (low - ROOM, high + ROOM)
    down = float(model.world.down[2])
    surfaces: tuple[Surface, ...] = ()
    if model.wet and environment is not None and float((position @ np.array(model.world.down)).min()) < NEAR_SURFACE:
        center = 0.5 * (low + high) * np.array([1.0, -down, -down])
        lines = np.linspace(-2.0 * ROOM, 2.0 * ROOM, 33)
        x, y = center[0] + lines, center[1] + lines
        surfaces = (Surface(name="water surface", x=x, y=y, z=np.zeros((1, 33, 33)), color=SEA, opacity=0.4),)
    moving = environment is not None and (environment.current or environment.gusts or environment.waves)
    tails = np.broadcast_to(position[0], (1, 8, 2, 3))
    current = Arrows(name="current", ends=tails, width=0.005 * _size(plain), color=CURRENT, layer="current")
    return Scene(
        title=model.name,
        axes=model.world.axes,
        frames=tuple(frames),
        solids=(*solids, *_ground(model, terrain, environment, around), *_pebbles(terrain, 0.5 * (low + high), plain.upright)),
        arrows=(current,) if moving else (),
        surfaces=surfaces,
        strands=tuple(tether_strand(name, points[None]) for name, points in (tethers or {}).items()),
        wet=model.wet,
    )


def with_particles(scene: Scene) -> Scene:
    """Return a scene with small particles in the water around its bodies, so that pilots see motion in open water."""
    if not scene.wet:
        return scene
    rng = np.random.default_rng(2)
    low, high = scene.bounds(0)
    points = rng.uniform(low - DRIFT, high + DRIFT, (PARTICLES, 3))
    grain = Sphere(radius=1.0).triangulate(4)
    sizes = rng.uniform(0.006, 0.018, PARTICLES)
    grains = [
        grain.scaled((size, size, size)).moved(np.eye(3), scene.upright.T @ point)
        for size, point in zip(sizes, points, strict=True)
        if point[2] < -0.2
    ]
    if not grains:
        return scene
    snow = SceneSolid(name="particles", triangles=joined(grains), color=SNOW, layer="particles")
    return replace(scene, solids=(*scene.solids, snow))


def with_force_arrows(scene: Scene, labels: Sequence[str], bodies: int, thrusters: int) -> Scene:
    """Return a scene with arrows of length 0 for the forces on each body by cause, and for the thrust of each thruster.

    Args:
        scene: Scene without force arrows.
        labels: Causes of forces, such as "added_mass".
        bodies: Number of bodies.
        thrusters: Number of thrusters.
    """

    def arrows(name: str, cause: str, count: int) -> Arrows:
        ends = np.zeros((1, count, 2, 3))
        color, width = FORCES.get(cause, OTHER), 0.006 * _size(scene)
        return Arrows(name=f"force {name}", ends=ends, color=color, layer=f"force: {name}", width=width)

    words = {label: "sum of thrust" if thrusters and label == "thrust" else label.replace("_", " ") for label in labels}
    own = [arrows("thrust", "thrust", thrusters)] if thrusters else []
    return replace(scene, arrows=(*own, *(arrows(name, label, bodies) for label, name in words.items()), *scene.arrows))


def _pebbles(terrain: Sequence[Terrain], center: Array, upright: Array) -> Iterator[SceneSolid]:
    """Yield stones on the ground around a point [m], z up, shape (3,), so that pilots see motion over plain ground."""
    rng, down = np.random.default_rng(1), upright.T @ (0.0, 0.0, -1.0)
    stone = Sphere(radius=1.0).triangulate(7)
    stones = []
    for x, y in rng.uniform(-ROOM, ROOM, (PEBBLES, 2)):
        above = upright.T @ np.array([center[0] + x, center[1] + y, center[2]])
        drawn = [thing for thing in terrain if _covers(thing, above)]
        height = min((float(thing.ray(above, down, down)) for thing in drawn), default=np.inf)
        if 0.0 < height < 4.0 * ROOM:
            size = 0.03 + 0.15 * rng.random() ** 3
            stones.append(stone.scaled((size, 0.8 * size, 0.4 * size)).moved(np.eye(3), above + height * down))
    if stones:
        yield SceneSolid(name="stones", triangles=joined(stones), color=STONE, layer="terrain")


def _covers(thing: Terrain, point: Array) -> bool:
    """Return True if the drawn part of a terrain extends below a point; height fields are drawn up to their edges."""
    shape = thing.shape
    if not isinstance(shape, HeightField):
        return True
    x, y, _ = thing.origin.R.T @ (point - np.array(thing.origin.xyz))
    return bool(shape.x[0] <= x <= shape.x[-1] and shape.y[0] <= y <= shape.y[-1])


def _size(scene: Scene) -> float:
    low, high = scene.bounds(0)
    return float(np.linalg.norm(high - low))


def propellers(model: Model, scene: Scene, actuators: Collection[str]) -> list[tuple[MovingFrame, str]]:
    """Return the propeller frames of a scene with the names of their actuators; an actuator has the name of its model frame."""
    frames = [frame for frame in scene.frames if frame.parent]
    found = [(frame, _frame_at(model.bodies[model.body_index(frame.parent)], frame.position[0])) for frame in frames]
    return [(frame, name) for frame, name in found if name in actuators]


class LivePage(Page):
    """Page with a scene whose bodies are moved by a simulation through `pose`.

    Args:
        model: The simulated model.
        scene: Scene of the model, from `live_scene`.
        environment: Environment with waves, for the moving water surface.
        seed: Seed of the waves.
        actuators: Names of actuators, in the order of their forces; propellers on frames with these names turn.
        follow: Index of the body that cameras follow. Defaults to fixed cameras.
        camera: Initial camera. Defaults to a camera that sees all bodies.
        terrain: Terrain above which cameras stay.
    """

    def __init__(
        self,
        model: Model,
        scene: Scene,
        *,
        environment: Environment | None = None,
        seed: int = 0,
        actuators: Sequence[str] = (),
        follow: int | None = None,
        camera: Camera | None = None,
        terrain: Sequence[Terrain] = (),
    ) -> None:
        seen = camera or scene_camera(scene, aspect=1.0)
        super().__init__(scene, camera=seen)
        self.model, self._follow, self._terrain = model, follow, tuple(terrain)
        self.server.gui.main_panel.float()  # empty: the page around the scene hides floating elements
        api = self.server.scene
        self._bodies = [api.get_handle_by_name(self.paths[name]) for name in model.body_names]
        self._propellers = self._find_propellers(list(actuators))
        self._waves: WaveComponents | None = None
        if environment is not None and environment.waves:
            self._waves = wave_components(environment, model.world.gravity, seed)
        self._ghosts: dict[str, list[Any]] = {}
        self._lines: dict[str, Any] = {}
        self._tethers_t: dict[str, float] = {}
        self._angles = np.zeros(len(self._propellers))
        self._t = self._sea_t = self._arrows_t = 0.0
        self._where: dict[int, tuple[float, Array]] = {}
        start = np.zeros(3) if follow is None else scene.upright @ scene.poses(0)[model.body_names[follow]][1]
        self._first = (seen.position - start, seen.target - start)

    def pose(self, t: float, position: Array, wxyz: Array, force: Array, flow: Array) -> None:
        """Show the bodies, propellers, sea and current at a time.

        Args:
            t: Time [s].
            position: Positions of all bodies [m], shape (nb, 3).
            wxyz: Orientations of all bodies, shape (nb, 4).
            force: Actuator forces, which turn the propellers, shape (na,).
            flow: Water velocity, shown by arrows [m/s], shape (3,).
        """
        passed, self._t = max(t - self._t, 0.0), t
        with self.server.atomic():
            _put(self._bodies, position, wxyz)
            self._turn(force, min(passed, 0.2))
            self._move_sea(t)
            self._move_current(t, position, flow)
        if self._follow is not None:
            self._move_cameras(self.scene.upright @ position[self._follow])

    def lamp(self, body: int, position: Array, direction: Array) -> None:
        """Add a lamp to a body; position [m] and direction are in body axes, shape (3,) each."""
        self.server.scene.add_light_spot(
            f"{self.paths[self.model.body_names[body]]}/lamp",
            angle=0.6,
            penumbra=0.8,
            decay=1.0,
            intensity=LAMP,
            position=tuple(position),
            direction=tuple(direction),
        )

    def view_from(self, away: Array, numbers: Collection[int]) -> None:
        """Move the cameras of some clients to a direction from the followed body, shape (3,); their distance is unchanged."""
        for number, client in self.server.get_clients().items():
            if number in numbers:
                camera, aim = client.camera, np.array(client.camera.look_at)
                distance = float(np.linalg.norm(camera.position - aim))
                with client.atomic():
                    camera.position = self.above_ground(aim + distance / float(np.linalg.norm(away)) * away)
                    camera.look_at = aim  # a new position moves the camera
                self._where[number] = (-np.inf, np.full(3, np.inf))  # no longer its initial view

    def tether(self, name: str, points: Array) -> None:
        """Draw a tether of the scene through points in world axes [m], shape (n, 3)."""
        if 0.0 <= self._t - self._tethers_t.get(name, -np.inf) < SEA_EVERY:
            return
        self._tethers_t[name] = self._t
        curve = tether_strand(name, points[None]).points[0]
        handle = self.server.scene.get_handle_by_name(f"{self.paths['']}/{node_name(f'tether {name}')}")
        handle.points = segments(curve)

    def ghost(self, name: str, position: Array, wxyz: Array) -> None:
        """Show a translucent copy of all bodies at positions [m], shape (nb, 3), and orientations, shape (nb, 4)."""
        if name not in self._ghosts:
            self._ghosts[name] = self._make_ghost(f"ghost {name}")
        with self.server.atomic():
            _put(self._ghosts[name], position, wxyz)

    def remove_ghost(self, name: str) -> None:
        """Remove a ghost if it exists."""
        for handle in self._ghosts.pop(name, []):
            handle.remove()

    def line(self, name: str, points: Array, color: tuple[float, float, float]) -> None:
        """Show a line through points in world axes [m], shape (n, 3), n > 1; replace a line with the same name."""
        self.remove_line(name)
        self._lines[name] = self.add_segments(f"line {name}", segments(points), color, 4.0)

    def remove_line(self, name: str) -> None:
        """Remove a line if it exists."""
        handle = self._lines.pop(name, None)
        if handle is not None:
            handle.remove()

    def _make_ghost(self, name: str) -> list[Any]:
        api, handles = self.server.scene, {}
        for body in self.model.body_names:
            handles[body] = api.add_frame(f"{self.paths['']}/{name} {node_name(body)}", show_axes=False)
        for k, solid in enumerate(self.scene.solids):
            if solid.frame in handles and solid.layer == "bodies":
                style = dict(color=(0.2, 0.9, 0.9), opacity=GHOST, cast_shadow=False, receive_shadow=False)
                self.add_mesh(f"{handles[solid.frame].name}/{k}", solid.triangles, **style)
        return list(handles.values())

    def _find_propellers(self, actuators: list[str]) -> list[tuple[Any, int, Array]]:
        """Return the handle, the actuator index and the initial axes of each propeller."""
        handle = self.server.scene.get_handle_by_name
        return [
            (handle(self.paths[frame.name]), actuators.index(name), quaternion_matrix(frame.wxyz[0]))
            for frame, name in propellers(self.model, self.scene, actuators)
        ]

    def _turn(self, force: Array, passed: float) -> None:
        """Turn the propellers at rates proportional to √|force|."""
        if not self._propellers or passed <= 0.0:
            return
        most = max(float(np.abs(force).max(initial=0.0)), 1e-9)
        for k, (handle, at, R) in enumerate(self._propellers):
            speed = FASTEST * np.sign(force[at]) * np.sqrt(abs(force[at]) / most)
            if abs(speed) < 0.05 * FASTEST:
                continue
            self._angles[k] += passed * speed
            handle.wxyz = quaternion_from_matrix(R @ turn_about_z(self._angles[k]))

    def _move_sea(self, t: float) -> None:
        if self._waves is None or not self.scene.surfaces or 0.0 <= t - self._sea_t < SEA_EVERY:
            return
        self._sea_t = t
        surface = self.scene.surfaces[0]
        heights = wave_heights(self._waves, surface.x, surface.y, np.array([t]))[0]
        x, y = np.meshgrid(surface.x, surface.y, indexing="ij")
        down = float(self.model.world.down[2])
        corners = np.stack([x, y, -down * heights], axis=-1).reshape(-1, 3)
        self.server.scene.get_handle_by_name(f"{self.paths['']}/{surface.name}").vertices = corners.astype(np.float32)

    def _move_current(self, t: float, position: Array, flow: Array) -> None:
        if not self.scene.arrows or 0.0 <= t - self._arrows_t < 2.0 * SEA_EVERY:
            return
        self._arrows_t = t
        size = _size(self.scene) * 0.5
        tails = position[self._follow or 0] + size * AROUND
        ends = np.stack([tails, tails + 3.0 * size * flow], axis=1)
        self.server.scene.get_handle_by_name(f"{self.paths['']}/current").points = ends.astype(np.float32)

    def _move_cameras(self, place: Array) -> None:
        """Move cameras with the body that they follow; keep the direction and distance chosen by each user.

        Positions reported by a slow browser are outdated. Direction and distance remain valid, because following does not
        change them.
        """
        now, aim = time.monotonic(), place + self._first[1]
        for number, client in self.server.get_clients().items():
            since, before = self._where.get(number, (now, np.full(3, np.inf)))
            camera = client.camera
            away = self._first[0] - self._first[1] if now - since < COMES else camera.position - camera.look_at
            lags = np.linalg.norm(camera.look_at - aim) > LAG * np.linalg.norm(away)
            seen_from = self.above_ground(aim + away)
            sunk = np.abs(seen_from - (aim + away)).max() > 0.01
            if now - since < COMES or lags or sunk or np.abs(place - before).max() > 1e-3:
                with client.atomic():
                    camera.position = seen_from
                    camera.look_at = aim
                before = place
            self._where[number] = (since, before)

    def above_ground(self, place: Array) -> Array:
        """Return a camera position with z up [m], shape (3,), raised if it is below the ground or too close to the ground."""
        down, p = np.array(self.model.world.down, dtype=float), self.scene.upright.T @ np.asarray(place, dtype=float)
        over = p - SKY_HEIGHT * down
        height = min((float(thing.ray(over, down, down)) for thing in self._terrain), default=np.inf)
        lift = max(SKY_HEIGHT + CLEARANCE - height, 0.0) if np.isfinite(height) else 0.0
        return np.asarray(self.scene.upright @ (p - lift * down))


def _put(handles: Sequence[Any], position: Array, wxyz: Array) -> None:
    for handle, p, o in zip(handles, position, wxyz, strict=True):
        put(handle, p, o, 1e-4)
