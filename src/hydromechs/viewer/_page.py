"""Page that shows a scene in a browser through a viser server."""

import contextlib
import io
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import numpy as np

from hydromechs.geometry import Triangles, grid
from hydromechs.spatial import quaternion_from_matrix
from hydromechs.values import Array

from ._gate import PageGate
from ._inner import Tickets, viser_server
from ._looks import Color
from ._raster import AIR, FOV, WATER, Camera, scene_camera
from ._scene import HIDDEN, Scene

ROOT = "/world"
SKY, GROUND = (235, 245, 255), (120, 130, 120)
"""Colours of the ambient light from above and from below, in addition to the light that casts shadows."""
ARRAYS_EVERY = 0.09
"""Interval between two updates of arrows and surfaces [s]."""


class Page:
    """Page with a scene on a viser server that only gates of this process can reach; `open` assigns a URL.

    Args:
        scene: Scene to show.
        camera: Initial camera. Defaults to a camera that sees all bodies.
    """

    def __init__(self, scene: Scene, *, camera: Camera | None = None) -> None:
        self.scene = scene
        self.tickets = Tickets()
        """Tickets for connections to the viser server."""
        self.server: Any = viser_server(self.tickets)
        """Viser server; controls are added to its `gui`."""
        self._gate: PageGate | None = None
        self.shown = {layer: layer not in HIDDEN for layer in scene.layers}
        """Visibility of each layer, keyed by name."""
        self.k = 0
        """Index of the displayed time."""
        self.paths = {"": ROOT}
        """Names of nodes on the server, keyed by frame."""
        self._parts: dict[str, list[Any]] = {layer: [] for layer in scene.layers}
        self._moving: list[Callable[[int], None]] = []
        self._surroundings(camera or scene_camera(scene, aspect=1.5))
        self._build()

    def open(self, port: int = 0) -> None:
        """Serve the page on this machine at a URL with a random token, on the first free port from `port` (0 for any)."""
        self._gate = PageGate(self.server, self.tickets, port=port)

    @property
    def gate(self) -> PageGate:
        """Gate in front of the page."""
        if self._gate is None:
            raise ValueError("the page has no URL yet; call open() first")
        return self._gate

    @property
    def url(self) -> str:
        """URL of the page."""
        return self.gate.url

    def close(self) -> None:
        """Stop serving."""
        if self._gate is not None:
            self._gate.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def switch(self, layer: str, on: bool) -> None:
        """Show or hide a layer."""
        self.shown[layer] = on
        show(self._parts[layer], on)
        self.show(self.k)

    def show(self, k: int) -> None:
        """Show the scene at the time with index `k`."""
        self.k = k
        with self.server.atomic():
            for move in self._moving:
                move(k)

    def layer_switches(self) -> None:
        """Add a checkbox for each layer to the page."""
        with self.server.gui.add_folder("Show", expand_by_default=True):
            for layer in self.scene.layers:
                box = self.server.gui.add_checkbox(layer, self.shown[layer])
                box.on_update(lambda event, layer=layer: self.switch(layer, event.target.value))

    # -- building -----------------------------------------------------------------------------------------------------------

    def _surroundings(self, camera: Camera) -> None:
        server = self.server
        far = float(np.linalg.norm(camera.position - camera.target))
        server.initial_camera.position = tuple(camera.position)
        server.initial_camera.look_at = tuple(camera.target)
        server.initial_camera.fov = FOV * 1.25
        server.initial_camera.near = 0.01 * far
        server.initial_camera.far = 200.0 * far
        top, bottom = WATER if self.scene.wet else AIR
        part = np.linspace(0.0, 1.0, 128)[:, None, None]
        image = np.broadcast_to((1.0 - part) * top + part * bottom, (128, 4, 3))
        server.scene.set_background_image((255.0 * image).astype(np.uint8), format="png")
        server.scene.world_axes.visible = False
        server.scene.configure_environment_map(None)  # its light is pale, and takes ten seconds without a GPU
        server.scene.add_light_hemisphere("/light", sky_color=SKY, ground_color=GROUND, intensity=1.5)
        if self.scene.wet:  # water absorbs light: distant objects fade
            shade = 0.3 * top + 0.7 * bottom  # colour at depth, darker than the surface
            fog = tuple((255.0 * ((shade + 0.055) / 1.055) ** 2.4).astype(int).tolist())  # viser interprets fog as linear light
            server.scene.configure_fog(1.5 * far, 14.0 * far, color=fog)
        server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        server.gui.main_panel.dock_right()

    def _build(self) -> None:
        scene, api = self.scene, self.server.scene
        api.add_frame(ROOT, show_axes=False, wxyz=quaternion_from_matrix(scene.upright))
        for frame in scene.frames:
            self.paths[frame.name] = f"{self.paths[frame.parent]}/{node_name(frame.name)}"
            handle = api.add_frame(self.paths[frame.name], show_axes=False)
            self._moving.append(_mover(handle, frame.position, frame.wxyz))
        for solid in scene.solids:
            handle = self.add_mesh(
                f"{self.paths[solid.frame]}/{node_name(solid.name)}",
                solid.triangles,
                color=solid.color,
                opacity=solid.opacity if solid.opacity < 1.0 else None,
                side="front" if solid.frame else "double",
                cast_shadow=solid.opacity >= 1.0 and bool(solid.frame),
            )
            self._keep(solid.layer, handle)
        for line in scene.lines:
            if len(line.points) > 1:
                self._keep(line.layer, self.add_segments(line.name, segments(line.points), line.color, 2.0))
        for strand in scene.strands:
            pairs = segments(strand.points)
            handle = self.add_segments(strand.name, pairs[0], strand.color, 3.0)
            self._keep(strand.layer, handle)
            self._moving.append(self._setter(strand.layer, handle, "points", pairs))
        for arrows in scene.arrows:
            handle = api.add_arrows(
                f"{ROOT}/{node_name(arrows.name)}",
                arrows.ends[0].astype(np.float32),
                _bytes(arrows.color),
                shaft_radius=arrows.width,
                head_radius=2.5 * arrows.width,
                head_length=5.0 * arrows.width,
            )
            self._keep(arrows.layer, handle)
            self._moving.append(self._setter(arrows.layer, handle, "points", arrows.ends.astype(np.float32)))
        for surface in scene.surfaces:
            first = grid(surface.x, surface.y, surface.z[0])
            handle = self.add_mesh(
                f"{ROOT}/{node_name(surface.name)}",
                first,
                color=surface.color,
                opacity=surface.opacity,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
            self._keep(surface.layer, handle)
            corners = np.broadcast_to(first.vertices, (len(surface.z), *first.vertices.shape)).astype(np.float32)
            corners[..., 2] = surface.z.reshape(len(surface.z), -1)
            self._moving.append(self._setter(surface.layer, handle, "vertices", corners))
        self.show(0)

    def add_mesh(self, path: str, triangles: Triangles, **style: Any) -> Any:
        """Add a surface to the scene on the server; return the handle of the new node."""
        vertices, faces = triangles.vertices.astype(np.float32), triangles.faces.astype(np.uint32)
        return self.server.scene.add_mesh_simple(path, vertices, faces, **style)

    def add_segments(self, name: str, ends: Array, color: Color, thickness: float) -> Any:
        """Add line segments in world axes with a thickness [pixel]; return the handle of the new node."""
        path, style = f"{ROOT}/{node_name(name)}", dict(thickness=thickness, thickness_units="screen")
        return self.server.scene.add_line_segments(path, ends, _bytes(color), **style)

    def _setter(self, layer: str, handle: Any, name: str, values: Array) -> Callable[[int], None]:
        """Return a function that updates an array of a handle for a time index while its layer is visible.

        Updates are limited to a few per second, because browsers process new arrays slowly.
        """
        times, last = self.scene.times, [0]

        def move(k: int) -> None:
            if self.shown[layer] and (k < last[0] or times[k] - times[last[0]] >= ARRAYS_EVERY) and k != last[0]:
                setattr(handle, name, values[k])
                last[0] = k

        return move

    def _keep(self, layer: str, handle: Any) -> None:
        handle.visible = self.shown[layer]
        self._parts[layer].append(handle)


def heading(title: str, text: str = "") -> str:
    """Return escaped HTML of a title and a text from a file; the Markdown of viser would execute HTML in them."""
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())
    return f'<div style="font-size:0.85em;padding:0 1em"><h3 style="margin:0.3em 0">{escape(title)}</h3>{paragraphs}</div>'


def show(handles: Iterable[Any], on: bool) -> None:
    """Show or hide nodes of the scene."""
    for handle in handles:
        handle.visible = on


def node_name(name: str) -> str:
    """Return a name as one part of the path of a scene node, with slashes replaced by spaces."""
    return name.replace("/", " ")


def segments(points: Array) -> Array:
    """Return the end points of segments, shape (..., n − 1, 2, 3), between consecutive points, shape (..., n, 3)."""
    return np.stack([points[..., :-1, :], points[..., 1:, :]], axis=-2).astype(np.float32)


def put(handle: Any, position: Array, wxyz: Array, least: float) -> None:
    """Set the pose of a node if the change exceeds `least`; small updates would slow down browsers."""
    if np.abs(handle.position - position).max() > least:
        handle.position = position
    if np.abs(handle.wxyz - wxyz).max() > least:
        handle.wxyz = wxyz


def _bytes(color: Color) -> tuple[int, ...]:
    return tuple(round(255.0 * c) for c in color)


def _mover(handle: Any, position: Array, wxyz: Array) -> Callable[[int], None]:
    return lambda k: put(handle, position[k], wxyz[k], 1e-6)
