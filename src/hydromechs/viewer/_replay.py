"""A recording in a browser: scene, timeline and plots as one page, from a file or from a server on this machine."""

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
    """Serves the page of a replay at its `url`; `close()` ends it.

    `port`: port to listen on; the next free one if it is in use, any for 0.
    """

    def __init__(self, page: str, *, port: int = 0) -> None:
        self._page = page.encode()
        super().__init__(port=port)

    def respond(self, parts: list[str]) -> Response | None:
        return answer(self._page, "text/html; charset=utf-8") if parts == [""] else None

    def serves(self, parts: list[str]) -> bool:
        return False

    async def connected(self, connection: ServerConnection, parts: list[str]) -> None:
        """See `Gate`."""


def replay(scene: Scene, ds: xarray.Dataset, messages: Iterable[str] = (), *, port: int = 0) -> ReplayPage:
    """Serve the replay of a recording on this machine, at the `url` of the returned page.

    `scene`: the scene of the recording, from `recording_scene`; `ds`: the recording, for the plots; `messages`: messages of the
    run; those that name a time are marks on the timeline; `port`: port to listen on; the next free one if it is in use, any for
    0.
    """
    return ReplayPage(replay_html(scene, ds, messages), port=port)


def replay_html(scene: Scene, ds: xarray.Dataset | None = None, messages: Iterable[str] = ()) -> str:
    """Return one HTML file that replays a scene, without a server or a network.

    `scene`: the scene of a recording; up to `SCENE_SAMPLES` samples keep the file small; `ds`: the recording, for linked plots;
    defaults to no plots; `messages`: messages of the run; those that name a time are marks on the timeline.
    """
    marks, _ = time_marks(messages)
    content = PageContent(scene=scene, recordings=[] if ds is None else [("", ds)], marks=marks)
    body = f"<header><h1>{escape(scene.title)}</h1></header>{stage(content)}<aside>{plots_section(content)}</aside>"
    return page_html(scene.title, body, content=content, kind="replay")
