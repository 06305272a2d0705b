"""A recording in a browser: timeline, play, speed, loop, following camera, layers, synchronised plots."""

from __future__ import annotations

import time
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.values import Array

from ._gate import page_policy
from ._page import Page, heading
from ._panels import Panel, panels, panels_html
from ._plots import free_bodies
from ._raster import scene_camera
from ._scene import Scene
from ._style import COLOURS, RED

if TYPE_CHECKING:
    import xarray

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10", "50")
"""Selectable ratios of simulated to real time."""
MOST_HTML = 900
"""Samples of a replay in one HTML file; more are thinned."""


class ReplayPage(Page):
    """A page that replays a recording; see `replay`."""

    def __init__(self, scene: Scene, ds: xarray.Dataset, *, port: int = 0) -> None:
        super().__init__(scene)
        gui, times = self.server.gui, scene.times
        gui.add_html(heading(scene.title))
        self.playing = gui.add_checkbox("Play", True)
        """True while playing."""
        self.line = gui.add_slider(
            "Time [s]", float(times[0]), max(float(times[-1]), float(times[0]) + 1e-3), 1e-3, float(times[0])
        )
        """The timeline."""
        self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
        """Simulated over real time."""
        self.loop = gui.add_checkbox("Loop", True)
        """True if it restarts at the end."""
        bodies = [frame.name for frame in scene.frames if not frame.parent]
        self.follow = gui.add_dropdown(
            "Camera follows", ("nothing", *bodies), initial_value=(free_bodies(ds) or ["nothing"])[0]
        )
        """Name of the body that the camera follows."""
        self.layer_switches()
        if scene.arrows:
            gui.add_html(_legend(scene))
        self._plots = _plots(self.server, ds)
        self._where = {frame.name: frame.position @ scene.upright.T for frame in scene.frames if not frame.parent}
        self._before: dict[int, Array] = {}
        self._t, self._clock, self._drawn = float(times[0]), time.perf_counter(), 0.0
        self.line.on_update(self._moved)
        self.open(port)

    def _moved(self, event: Any) -> None:
        """Show the time selected on the timeline."""
        if event.client is not None:
            self._t = float(event.target.value)

    @property
    def t(self) -> float:
        """The displayed time [s]."""
        return self._t

    def tick(self) -> None:
        """Advance by the time since the last call, and draw."""
        now = time.perf_counter()
        passed, self._clock = now - self._clock, now
        times = self.scene.times
        if self.playing.value:
            self._t += passed * float(self.speed.value)
            if self._t > times[-1]:
                self._t = float(times[0] if self.loop.value else times[-1])
                self.playing.value = bool(self.loop.value)
        k = min(int(np.searchsorted(times, self._t)), len(times) - 1)
        if k != self.k:
            self.show(k)
            self.line.value = float(times[k])
            self._move_cameras(k)
            if now - self._drawn > 0.25:
                self._drawn = now
                for plot, panel in self._plots:
                    plot.data = _with_cursor(panel, self._t)

    def _move_cameras(self, k: int) -> None:
        """Move all viewers' cameras with the body that they follow."""
        path = self._where.get(self.follow.value)
        for number, client in self.server.get_clients().items():
            if path is None:
                self._before.pop(number, None)
                continue
            shift = path[k] - self._before.get(number, path[k])
            self._before[number] = path[k]
            if np.abs(shift).max() > 1e-4 and np.linalg.norm(shift) < 1e3:
                with client.atomic():
                    client.camera.position = client.camera.position + shift  # the camera target moves too


def _plots(server: Any, ds: xarray.Dataset) -> list[tuple[Any, Panel]]:
    """Plots beside the scene, with their curves."""
    import viser.uplot as uplot

    out = []
    with server.gui.add_folder("Plots", expand_by_default=False):
        for panel in panels(ds):
            series = [uplot.Series(label="t")]
            series += [uplot.Series(label=n, stroke=COLOURS[i], width=1.5) for i, n in enumerate(panel.curves)]
            series.append(uplot.Series(label="now", stroke=RED, width=2))
            scales = {"x": uplot.Scale(time=False), "y": uplot.Scale(auto=True, dir=-1 if panel.down else 1)}
            data = _with_cursor(panel, float(panel.times[0]))
            out.append((server.gui.add_uplot(data, tuple(series), title=panel.title, scales=scales, aspect=2.0), panel))
    return out


def _with_cursor(panel: Panel, now: float) -> tuple[Array, ...]:
    """Return curves over time with a marker at one time."""
    k = int(np.clip(np.searchsorted(panel.times, now), 1, len(panel.times) - 1))
    mark = np.full(len(panel.times), np.nan)
    mark[k - 1], mark[k] = panel.span
    return (panel.times, *panel.curves.values(), mark)


def _legend(scene: Scene) -> str:
    """Return the names of a scene's arrows in their colours."""
    names = "".join(
        f'<span style="white-space:nowrap"><b style="color:rgb{tuple(round(255 * c) for c in a.color)}">➔</b> '
        f"{escape(a.layer.removeprefix('force: '))}</span> "
        for a in scene.arrows
    )
    return f'<div style="font-size:0.8em;padding:0 1em 0.6em">{names}</div>'


def replay(scene: Scene, ds: xarray.Dataset, *, port: int = 0) -> ReplayPage:
    """Show a recording in a browser, at the `url` of the returned page.

    Time advances while `tick()` is called, some 30 times per second; `close()` ends it.

    Args:
        scene: The scene of the recording, from `recording_scene`.
        ds: The recording.
        port: Port to listen on; the next free one if it is in use, any for 0.
    """
    return ReplayPage(scene, ds, port=port)


def replay_html(scene: Scene, ds: xarray.Dataset | None = None) -> str:
    """Return one HTML file that replays a scene, without a server or a network.

    Args:
        scene: The scene of a recording; up to `MOST_HTML` samples keep the file small.
        ds: The recording, for synchronised plots. Defaults to no plots.
    """
    moments = np.linspace(0, len(scene.times) - 1, 12).astype(int)
    page = Page(scene, camera=scene_camera(scene, moments.tolist(), aspect=1.5))
    try:
        text = page.html()
    finally:
        page.close()
    plots = panels_html(ds) if ds is not None else ""
    before, end, after = text.rpartition("</body>")
    whole = f"{before}{plots}{end}{after}"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{page_policy(whole.encode())}">'
    return whole.replace("<head>", f"<head>{policy}", 1)
