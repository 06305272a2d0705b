"""The door of the station: one address with a random token for the page, its link and the scenes; checks all that comes in."""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
import logging
import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import urlsplit

import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from ._messages import LARGEST_PICTURE, Guard, Refused, RefusedLog, page_message, scene_message

__all__ = ["Gate", "House"]

STATIC = {
    "": ("station.html", "text/html; charset=utf-8"),
    "station.js": ("station.js", "application/javascript; charset=utf-8"),
    "station.css": ("station.css", "text/css; charset=utf-8"),
}
"""Files of the page, by their path behind the token."""
LOOK = 0.25 / 30.0
"""Time between two looks for a new frame [s]."""
IDLE = 0.25
"""Longest time between two frames to a page [s]."""
SEAT = 16
"""Characters of the number of a seat."""
MOST_SEATS = 1000
"""Seats that are remembered, for pages that come back."""
PING = 20.0, 60.0
"""Time between two signs of life that a page is asked for, and time that it has for an answer [s]."""


class House(Protocol):
    """What is behind the gate."""

    def scene_port(self, view: str) -> int | None:
        """Port of the viewer's server of a view on this machine; None where there is none of that name."""

    def enter(self, seat: str) -> Mapping[str, Any]:
        """Somebody opens the page; what they are told first."""

    def exit(self, seat: str) -> None:
        """Somebody has closed the page."""

    def take(self, seat: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A checked message of a page; an answer, or None. May raise `Refused`."""

    def frame(self) -> tuple[int, str]:
        """The newest frame for all: the number of its snapshot, and its text without the last brace."""

    def own(self, seat: str, dropped: int) -> Mapping[str, Any]:
        """What only this seat is told with each frame."""

    def may(self, seat: str, kind: str) -> bool:
        """Whether a seat may send a message of the viewer."""


class Gate:
    """A server of its own thread: the page and its scenes behind an address with a token.

    Without the token nothing is sent: the connection is cut. Who watches slowly gets fewer frames and holds nobody up.

    Args:
        house: What is behind it.
        host: Address to listen on.
        port: Port to listen on.
    """

    def __init__(self, house: House, *, host: str, port: int) -> None:
        self.house, self.host, self.port = house, host, port
        self.token = secrets.token_urlsafe(16)
        """What an address must have in it."""
        self.refused = RefusedLog()
        """Messages that were refused."""
        self.frames = self.dropped = 0
        """Frames sent to pages, and frames that slow pages did not get."""
        self._given: deque[str] = deque(maxlen=MOST_SEATS)
        self._seated: set[str] = set()
        self._ready, self._failed = threading.Event(), ""
        self._thread = threading.Thread(target=self._serve, name="gate", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed:
            raise OSError(self._failed)

    def close(self) -> None:
        """Stop serving."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5.0)

    # -- serving ------------------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        quiet = logging.getLogger("hydromechs.station.websockets")
        quiet.setLevel(logging.CRITICAL)  # a closed tab is no news
        try:
            server = serve(
                self._connected,
                self.host,
                self.port,
                process_request=self._request,
                select_subprotocol=lambda _, offered: next((p for p in offered if p.startswith("viser-v")), None),
                compression=None,
                max_size=LARGEST_PICTURE,
                max_queue=16,
                write_limit=65_536,
                ping_interval=PING[0],
                ping_timeout=PING[1],
                logger=quiet,
            )
            async with server as running:
                self.port = running.sockets[0].getsockname()[1] if running.sockets else self.port
                self._ready.set()
                await self._stop.wait()
        except OSError as error:
            self._failed = f"cannot listen on {self.host}:{self.port}: {error}; give another port with --port"
            self._ready.set()

    def _path(self, path: str) -> list[str] | None:
        """Parts of a path behind the token; None where the token is wrong."""
        parts = urlsplit(path).path.lstrip("/").split("/")
        if not secrets.compare_digest(parts[0].encode(), self.token.encode()):
            return None
        return parts[1:]

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer what is no websocket; let websockets with the token through; drop all else without a word."""
        parts = self._path(request.path)
        if parts is None:
            self.refused.take("address", "no token, or a wrong one")
            connection.transport.abort()  # not even a refusal
            return _nothing()
        upgrade = request.headers.get("Upgrade", "").lower() == "websocket"
        if upgrade:
            origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
            if origin is not None and urlsplit(origin).netloc != host:
                self.refused.take("address", f"the page of another site: {origin}")
                return _nothing()
            known = parts[0] == "link" or self.house.scene_port(parts[0]) is not None
            return None if known and len(parts) == 2 else _nothing()
        text = "/".join(parts)
        if text in STATIC:
            name, kind = STATIC[text]
            return _answer(self._static(name), kind)
        if len(parts) == 2 and self.house.scene_port(parts[0]) is not None:
            return _answer(self._viewer, "text/html; charset=utf-8")
        return _nothing()

    def _static(self, name: str) -> bytes:
        return (files(__package__) / "page" / name).read_bytes()

    @cached_property
    def _viewer(self) -> bytes:
        """The viewer's page, without its panels, and with a rest between two pictures."""
        text = (files("viser") / "client" / "build" / "index.html").read_text(encoding="utf-8")
        style, script = (self._static(name).decode() for name in ("scene.css", "scene.js"))
        return text.replace("<head>", f"<head><style>{style}</style><script>{script}</script>", 1).encode()

    async def _connected(self, connection: ServerConnection) -> None:
        request = connection.request
        parts = self._path(request.path) if request is not None else None
        if not parts:
            return
        try:
            if parts[0] == "link":
                await self._link(connection, parts[1])
            else:
                await self._scene(connection, parts[0], parts[1])
        except websockets.ConnectionClosed:
            pass

    # -- the page's link ----------------------------------------------------------------------------------------------------

    async def _link(self, connection: ServerConnection, seat: str) -> None:
        """One page: frames to it, messages from it. A page that comes back has its seat again."""
        guard = Guard()
        if seat in self._seated or not (seat in self._given and len(seat) == SEAT):
            seat = secrets.token_hex(SEAT // 2)
            self._given.append(seat)
        self._seated.add(seat)
        hello = self.house.enter(seat)
        frames = asyncio.create_task(self._frames(connection, seat))
        try:
            await connection.send(json.dumps({"type": "hello", "seat": seat, **hello}))
            async for raw in connection:
                try:
                    guard.admit()
                    answer = await self._work(self.house.take, seat, page_message(raw))
                except Refused as reason:
                    self.refused.take("page", str(reason))
                    continue
                if answer is not None:
                    await connection.send(json.dumps(answer))
        finally:
            frames.cancel()
            self._seated.discard(seat)
            self.house.exit(seat)

    async def _work(self, do: Callable[..., Any], seat: str, message: Mapping[str, Any]) -> Any:
        """Do what a message asks for; what may take long in another thread, so that no other page waits."""
        if message["type"] in ("configure", "save", "picture", "ahead"):
            return await asyncio.to_thread(do, seat, message)
        return do(seat, message)

    async def _frames(self, connection: ServerConnection, seat: str) -> None:
        """Send the newest frame whenever the page has taken the one before."""
        last, said, dropped, number = "", 0.0, 0, -1
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                now = self._loop.time()
                count, text = self.house.frame()
                if text is not last or now - said >= IDLE:
                    missed = max(0, count - number - 1) if number >= 0 else 0
                    dropped, number, last, said = dropped + missed, count, text, now
                    own = json.dumps(dict(self.house.own(seat, dropped)))
                    await connection.send(f"{text}, {own[1:]}")
                    self.frames += 1
                    self.dropped += missed
                await asyncio.sleep(LOOK)

    # -- the viewer ---------------------------------------------------------------------------------------------------------

    async def _scene(self, connection: ServerConnection, view: str, seat: str) -> None:
        """Pass on what the viewer's server sends, and of what the browser sends what it may."""
        port = self.house.scene_port(view)
        protocols = [Subprotocol(connection.subprotocol)] if connection.subprotocol else None
        async with connect(
            f"ws://127.0.0.1:{port}", subprotocols=protocols, compression=None, max_size=None, max_queue=4, proxy=None
        ) as inner:
            tasks = [asyncio.create_task(self._out(inner, connection)), asyncio.create_task(self._in(connection, inner, seat))]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _out(self, inner: Any, connection: ServerConnection) -> None:
        async for raw in inner:
            await connection.send(raw)

    async def _in(self, connection: ServerConnection, inner: Any, seat: str) -> None:
        guard = Guard()
        async for raw in connection:
            try:
                guard.admit()
                if self.house.may(seat, scene_message(raw)):
                    await inner.send(raw)
            except Refused as reason:
                self.refused.take("scene", str(reason))


def _answer(body: bytes, kind: str) -> Response:
    headers = {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Connection": "close",
    }
    return Response(http.HTTPStatus.OK.value, "OK", Headers(headers), body)


def _nothing() -> Response:
    return Response(http.HTTPStatus.NOT_FOUND.value, "Not Found", Headers({"Content-Length": "0", "Connection": "close"}), b"")
