"""Gate of the station, which serves the page, its link and the scenes at one URL with a random token."""

import asyncio
import contextlib
import json
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any, Protocol

import websockets
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Response

from hydromechs.viewer import Gate, Guard, Page, Rejected, answer, page_asset, viewer_html

from ._messages import SCENE_TYPES, page_message


class Seats:
    """Seats of a station. Initially the first seat has the controls; any seat may take free controls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, str] = {}
        self._asking: list[str] = []
        self._pilot: str | None = None
        self._count = 0

    def join(self, seat: str) -> str:
        """Add a seat; return its name."""
        with self._lock:
            self._count += 1
            self._all[seat] = f"operator {self._count}"
            if self._pilot is None:
                self._pilot = seat
            return self._all[seat]

    def leave(self, seat: str) -> None:
        """Remove a seat; its controls pass to the first seat that requested them, or become free."""
        with self._lock:
            self._all.pop(seat, None)
            self._asking = [s for s in self._asking if s != seat]
            self._hand_over(seat)

    def _hand_over(self, seat: str) -> None:
        """Pass the controls of a seat to the first seat that requested them, or release them."""
        if self._pilot == seat:
            self._pilot = self._asking.pop(0) if self._asking else None

    def steers(self, seat: str) -> bool:
        """Return True if a seat has the controls."""
        return self._pilot == seat

    def ask(self, seat: str) -> None:
        """Take the controls if they are free, otherwise request them."""
        with self._lock:
            if seat not in self._all or seat == self._pilot:
                return
            if self._pilot is None:
                self._pilot = seat
                self._asking = [s for s in self._asking if s != seat]
            elif seat not in self._asking:
                self._asking.append(seat)

    def give(self, seat: str) -> str | None:
        """Pass the controls of a seat to the first seat that requested them, or release them; return the new owner's name."""
        with self._lock:
            self._hand_over(seat)
            return self._all.get(self._pilot or "")

    def view(self, seat: str) -> dict[str, object]:
        """Return information for a seat: name, owner of the controls, pending requests, number of seats."""
        with self._lock:
            return {
                "you": self._all.get(seat, ""),
                "steers": self._pilot == seat,
                "pilot": self._all.get(self._pilot or "", ""),
                "asking": [self._all[s] for s in self._asking],
                "seats": len(self._all),
            }

    @property
    def free(self) -> bool:
        """True if no seat has the controls."""
        return self._pilot is None


STATIC = {
    "": ("station.html", "text/html; charset=utf-8"),
    "station.js": ("station.js", "application/javascript; charset=utf-8"),
    "link.js": ("link.js", "application/javascript; charset=utf-8"),
    "station.css": ("station.css", "text/css; charset=utf-8"),
    "instruments.js": ("instruments.js", "application/javascript; charset=utf-8"),
    "steering.js": ("steering.js", "application/javascript; charset=utf-8"),
    "instruments.css": ("instruments.css", "text/css; charset=utf-8"),
}
"""Names and types of the files of the page, keyed by the path after the token; some files are shared with the viewer."""
LOOK = 0.25 / 30.0
"""Interval between two checks for a new frame [s]."""
IDLE = 0.25
"""Maximum interval between two frames sent to a page [s]."""
SEAT = 16
"""Number of characters in a seat ID."""
MOST_SEATS = 1000
"""Maximum number of seats, including seats stored for pages that reconnect."""
LOG = logging.getLogger(__name__)


class Backend(Protocol):
    """Interface of the station behind the gate."""

    def page(self, view: str) -> Page | None:
        """Return the scene of a named view, or None if the name is unknown."""

    def enter(self, seat: str) -> Mapping[str, Any]:
        """Assign a seat to a new page; return the first message to the page."""

    def exit(self, seat: str) -> None:
        """Release the seat of a closed page."""

    def take(self, seat: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Handle a checked message from a page; return an answer, or None. May raise `Rejected`."""

    def frame(self) -> tuple[int, str]:
        """Return the latest frame for all pages: snapshot number, and JSON text without the closing brace."""

    def own(self, seat: str, dropped: int) -> Mapping[str, Any]:
        """Return the data that are added to each frame for a seat."""

    def on_scene_message(self, seat: str, view: str, message: Mapping[str, Any]) -> bool:
        """Handle a checked message from a scene; return True to forward it to the viewer. May raise `Rejected`."""


class StationGate(Gate):
    """Gate of the page and its scenes, at a URL with a token. A slow page receives fewer frames and does not delay others."""

    def __init__(self, backend: Backend, *, port: int = 0, share: bool = False) -> None:
        self.backend = backend
        self.frames = self.dropped = 0
        """Numbers of frames sent to pages, and of frames that slow pages did not receive."""
        self._given: list[str] = []
        self._seated: set[str] = set()
        super().__init__(port=port, share=share)

    def respond(self, parts: list[str]) -> Response | None:
        text = "/".join(parts)
        if text in STATIC:
            name, kind = STATIC[text]
            return answer(_static(name), kind)
        if len(parts) == 2 and self.backend.page(parts[0]) is not None:
            return answer(self._viewer, "text/html; charset=utf-8")
        return None

    def serves(self, parts: list[str]) -> bool:
        if len(parts) != 2:
            return False
        return parts[0] == "link" or (self.backend.page(parts[0]) is not None and parts[1] in self._given)

    async def connected(self, connection: ServerConnection, parts: list[str]) -> None:
        """Serve the link of a page, or connect the page to a scene; see `Gate`."""
        view, seat = parts
        if view == "link":
            await self._link(connection, seat)
            return
        page = self.backend.page(view)
        if page is not None:
            port = int(page.server.get_port())
            await self.relay(
                connection, port, page.tickets, SCENE_TYPES, lambda m: self.backend.on_scene_message(seat, view, m), holder=seat
            )

    @cached_property
    def _viewer(self) -> bytes:
        """Page of viser without panels, with a pause between frames."""
        return viewer_html(_static("scene.css").decode(), _static("scene.js").decode())

    # -- the page's link ----------------------------------------------------------------------------------------------------

    async def _link(self, connection: ServerConnection, seat: str) -> None:
        """Serve one page: send frames and handle messages. A page that reconnects keeps its seat."""
        guard = Guard()
        if seat in self._seated or not (seat in self._given and len(seat) == SEAT):
            if len(self._given) >= MOST_SEATS:
                free = next((s for s in self._given if s not in self._seated), None)  # never the seat of an open page
                if free is None:
                    await connection.close(1013, "all seats are taken; close other pages")
                    return
                self._given.remove(free)
            seat = secrets.token_hex(SEAT // 2)
            self._given.append(seat)
        self._seated.add(seat)
        hello = self.backend.enter(seat)
        frames = asyncio.create_task(self._frames(connection, seat))
        try:
            await connection.send(json.dumps({"type": "hello", "seat": seat, **hello}))
            async for raw in connection:
                try:
                    guard.admit()
                    reply = await self._work(self.backend.take, seat, page_message(raw))
                except Rejected as reason:
                    self.rejected.take("page", str(reason))
                    continue
                except Exception:  # must not close the link: the pilot would lose the controls
                    LOG.exception("failed to handle a message from a page")
                    continue
                if reply is not None:
                    await connection.send(json.dumps(reply))
        finally:
            frames.cancel()
            self._seated.discard(seat)
            self.backend.exit(seat)

    async def _work(self, do: Callable[..., Any], seat: str, message: Mapping[str, Any]) -> Any:
        """Handle a message; slow requests run in another thread, so that no other page waits."""
        if message["type"] in ("configure", "save", "picture", "ahead"):
            return await asyncio.to_thread(do, seat, message)
        return do(seat, message)

    async def _frames(self, connection: ServerConnection, seat: str) -> None:
        """Send the newest frame whenever the page has received the previous frame."""
        last, sent, dropped, number = "", 0.0, 0, -1
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                now = asyncio.get_running_loop().time()
                count, text = self.backend.frame()
                if text is not last or now - sent >= IDLE:
                    missed = max(0, count - number - 1) if number >= 0 else 0
                    dropped, number, last, sent = dropped + missed, count, text, now
                    own = json.dumps(dict(self.backend.own(seat, dropped)))
                    await connection.send(f"{text}, {own[1:]}")
                    self.frames += 1
                    self.dropped += missed
                await asyncio.sleep(LOOK)


def _static(name: str) -> bytes:
    own = files(__package__) / "page" / name
    return own.read_bytes() if own.is_file() else page_asset(name).encode()
