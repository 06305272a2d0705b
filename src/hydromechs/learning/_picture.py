"""Pictures of the worlds of an arena, and one of them in a browser."""

from dataclasses import replace

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.geometry import Triangles
from hydromechs.spatial import quaternion_from_matrix
from hydromechs.values import Array
from hydromechs.viewer import Camera, LivePage, MovingFrame, Scene, SceneSolid, camera_for, live_scene, raster

from ._arena import Arena

SIZE = (480, 360)
"""Width and height of pictures [pixels]."""
GOAL = (0.95, 0.35, 0.15)
"""Colour of the goal."""


class Picture:
    """Draws worlds of an arena, with their goals."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._page: LivePage | None = None

    def _bodies(self, world: int) -> tuple[Array, Array]:
        X = self.arena.poses()[world]
        return X[:, :3, 3], quaternion_from_matrix(X[:, :3, :3])

    def _scene(self, world: int) -> Scene:
        arena = self.arena
        position, wxyz = self._bodies(world)
        water = arena.plant.environment
        ends = water.surface is not None or water.waves  # elsewhere there is water without end
        shown = water if ends else None
        scene = live_scene(arena.plant.model, position, wxyz, terrain=arena.scenario.parts(Terrain), environment=shown)
        low, high = scene.bounds(0)
        ball = _octahedron(0.04 * float(np.linalg.norm(high - low)))
        goal = MovingFrame(name="goal", position=arena.task.goals()[world][None], wxyz=np.array([[1.0, 0.0, 0.0, 0.0]]))
        mark = SceneSolid(name="goal/mark", frame="goal", triangles=ball, color=GOAL)
        return replace(scene, frames=(*scene.frames, goal), solids=(*scene.solids, mark), arrows=())

    def rgb(self, world: int) -> Array:
        """Return a picture of a world, shape (height, width, 3), integers from 0 to 255."""
        scene = self._scene(world)
        names = [f.name for f in scene.frames]
        low, high = scene.bounds(0, frames=names)
        seen: Camera = camera_for(low, high, aspect=SIZE[0] / SIZE[1])
        picture = np.asarray(raster(scene, size=SIZE, camera=seen))[..., :3]
        return picture if picture.dtype == np.uint8 else (255.0 * np.clip(picture, 0.0, 1.0)).round().astype(np.uint8)

    def show(self, world: int) -> None:
        """Show a world in a browser; the first call starts the page and prints its URL."""
        arena, model = self.arena, self.arena.plant.model
        if self._page is None:
            self._page = LivePage(
                model, self._scene(world), environment=arena.plant.environment, actuators=arena.worlds.commands
            )
            self._page.open()
            print(f"the world is at {self._page.url}")
        t, command = float(arena.worlds.t[world]), np.asarray(arena.worlds.command[world])
        self._page.pose(t, *self._bodies(world), command, np.zeros(3))

    @property
    def url(self) -> str | None:
        """URL of the page; None if there is none."""
        return None if self._page is None else self._page.url

    def close(self) -> None:
        """Close the page."""
        if self._page is not None:
            self._page.close()
            self._page = None


def _octahedron(radius: float) -> Triangles:
    corners = radius * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    return Triangles(corners, faces)
