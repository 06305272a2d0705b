"""Replay of a recording in a browser: scene, timeline and plots on one page, as a file or from a server on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Response

from ._client import PageContent, page_html, plots_section, stage, time_marks
from ._gate import Gate, answer
from ._scene import Scene

if TYPE_CHECKING:
    import xarray


class ReplayPage(Gate):
    """Server of a replay page at `url`; `close()` stops it.

    Args:
        page: HTML of the page.
        port: Port to listen on; if it is in use, the next free port is used; 0 selects any free port.
    """

    def __init__(self, page: str, *, port: int = 0) -> None:
        self._page = page.encode()
        super().__init__(port=port)

    def respond(self, parts: list[str]) -> Response | None:
        return answer(self._page, "text/html; charset=utf-8") if parts == [""] else None

    def serves(self, parts: list[str]) -> bool:
        return False

    async def connected(self, connection: ServerConnection, parts: list[str]) -> None:
        """Return immediately, because a replay page uses no websocket; see `Gate`."""


def replay(scene: Scene, ds: xarray.Dataset, messages: Iterable[str] = (), *, port: int = 0) -> ReplayPage:
    """Serve the replay of a recording on this machine at the `url` of the returned page.

    Args:
        scene: Scene of the recording, from `recording_scene`.
        ds: Recording to plot.
        messages: Messages of the run; messages with a time become marks on the timeline.
        port: Port to listen on; if it is in use, the next free port is used; 0 selects any free port.
    """
    return ReplayPage(replay_html(scene, ds, messages), port=port)


def replay_html(scene: Scene, ds: xarray.Dataset | None = None, messages: Iterable[str] = ()) -> str:
    """Return a self-contained HTML page that replays a scene without a server or a network.

    Args:
        scene: Scene of a recording; use at most `SCENE_SAMPLES` samples to keep the file small.
        ds: Recording to plot. Defaults to no plots.
        messages: Messages of the run; messages with a time become marks on the timeline.
    """
    marks, _ = time_marks(messages)
    content = PageContent(scene=scene, recordings=[] if ds is None else [("", ds)], marks=marks)
    body = f"<header><h1>{escape(scene.title)}</h1></header>{stage(content)}<aside>{plots_section(content)}</aside>"
    return page_html(scene.title, body, content=content, kind="replay")
