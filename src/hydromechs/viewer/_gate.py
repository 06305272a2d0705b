"""Gate of a page: one URL with a random token, the only access to the viser servers behind it. All input is checked."""

import asyncio
import base64
import contextlib
import hashlib
import http
import ipaddress
import logging
import re
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import cache, cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from ._inner import TICKET, Tickets
from ._messages import LARGEST_PICTURE, Guard, Rejected, RejectedLog, scene_message

LOG = logging.getLogger(__name__)
LOCAL = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
"""Addresses on which a gate listens: this machine only, or all networks."""
PING = 20.0, 60.0
"""Interval between pings to a browser, and time allowed for an answer [s]."""
CONTROLS = frozenset({"ViewerCameraMessage", "GuiUpdateMessage"})
"""Types of messages that the page of a model or a recording may send."""


def free_port(port: int) -> int:
    """Return the first free port on this machine from `port` upwards, or any free port if `port` is 0."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port {port} is outside 1 to 65535; choose a port in this range, or 0 for any free port")
    for candidate in range(port, min(port + 100, 65536)) if port else (0,):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return int(trial.getsockname()[1])
    raise OSError(f"ports {port} to {min(port + 99, 65535)} are all in use; choose another port with --port")


class Gate(ABC):
    """Web server in its own thread, behind a URL with a random token.

    The server drops a connection without a response if the token is missing or wrong, or if `Host` does not name this machine
    (DNS rebinding by another site). It rejects websockets whose `Origin` is another site. Subclasses handle all other requests.

    Args:
        port: Port to listen on; if it is in use, the next free port is used; 0 selects any free port.
        share: True to accept connections from other machines.
    """

    def __init__(self, *, port: int = 0, share: bool = False) -> None:
        self.host, self.port, self._share = EVERYWHERE if share else LOCAL, free_port(port), share
        self.token = secrets.token_urlsafe(16)
        """Random token, the first part of the path of every request."""
        self.rejected = RejectedLog()
        """Log of rejected requests and messages."""
        self._names = {"localhost"} | ({name.lower() for name in _own_names()} if share else set())
        self._ready, self._failed = threading.Event(), ""
        self._thread = threading.Thread(target=self._serve, name="gate", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed:
            raise OSError(self._failed)

    @property
    def url(self) -> str:
        """URL of the page on this machine."""
        return f"http://{LOCAL}:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop serving."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5.0)

    # -- for subclasses -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def respond(self, parts: list[str]) -> Response | None:
        """Return the response to an HTTP request, or None if the path is unknown."""

    @abstractmethod
    def serves(self, parts: list[str]) -> bool:
        """Return True if a path serves a websocket."""

    @abstractmethod
    async def connected(self, connection: ServerConnection, parts: list[str]) -> None:
        """Serve a websocket until it is closed."""

    async def relay(
        self,
        connection: ServerConnection,
        port: int,
        tickets: Tickets,
        types: Collection[str],
        admit: Callable[[dict[str, Any]], bool] = lambda _: True,
        holder: str = "",
    ) -> None:
        """Connect a browser to a viser server until one of them closes the connection.

        All messages of the server are forwarded. Messages of the browser are forwarded if their type is in `types`, their
        fields are valid and `admit` accepts them.

        Args:
            connection: Websocket of the browser.
            port: Port of the viser server.
            tickets: Tickets of the viser server.
            types: Message types that the browser may send.
            admit: Function that accepts or rejects a message of the browser. Defaults to accepting all.
            holder: Name to which the ticket of the connection is issued.
        """
        protocols = [Subprotocol(connection.subprotocol)] if connection.subprotocol else None
        options: dict[str, Any] = dict(compression=None, max_size=None, max_queue=4, proxy=None)
        options |= {"subprotocols": protocols, "additional_headers": {TICKET: tickets.issue(holder)}}
        async with connect(f"ws://{LOCAL}:{port}", **options) as inner:

            async def outwards() -> None:
                async for raw in inner:
                    await connection.send(raw)

            async def inwards() -> None:
                guard = Guard()
                async for raw in connection:
                    try:
                        guard.admit()
                        forward = admit(scene_message(raw, types))
                    except Rejected as reason:
                        self.rejected.take("scene", str(reason))
                    except Exception:  # an error must not end the connection
                        LOG.exception("failed to handle a message from a scene")
                    else:
                        if forward:
                            await inner.send(raw)

            tasks = [asyncio.create_task(outwards()), asyncio.create_task(inwards())]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    # -- serving ------------------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        quiet = logging.getLogger("hydromechs.viewer.websockets")
        quiet.setLevel(logging.CRITICAL)  # closing a tab is normal
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
            self._failed = f"cannot listen on {self.host}:{self.port}: {error}; choose another port with --port"
            self._ready.set()

    def _path(self, path: str) -> list[str] | None:
        """Return the parts of a path after the token, or None if the token is wrong."""
        try:
            parts = urlsplit(path).path.lstrip("/").split("/")
        except ValueError:  # for example "//["
            return None
        given = parts[0].encode(errors="surrogateescape")  # non-ASCII bytes arrive as surrogates
        if not secrets.compare_digest(given, self.token.encode()):
            return None
        return parts[1:]

    def _names_this_machine(self, host: str) -> bool:
        """Return True if a `Host` header names this machine; names that other sites resolve to this machine are rejected."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._share or address.is_loopback

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer HTTP requests and admit websockets that have the token; drop other connections without a response."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        parts = self._path(request.path)
        problem = ""
        if parts is None:
            problem = "missing or wrong token"
        elif len(hosts) != 1 or not self._names_this_machine(hosts[0]):
            problem = f"Host {', '.join(hosts)} is not this machine"
        if parts is None or problem:
            self.rejected.take("address", problem)
            connection.transport.abort()
            return _not_found()
        if any(value.lower() == "websocket" for value in request.headers.get_all("Upgrade")):
            if any(_netloc(origin) != hosts[0] for origin in origins):
                self.rejected.take("address", f"websocket of another site: {', '.join(origins)}")
                return _not_found()
            return None if self.serves(parts) else _not_found()
        return self.respond(parts) or _not_found()

    async def _connected(self, connection: ServerConnection) -> None:
        request = connection.request
        parts = self._path(request.path) if request is not None else None
        if parts is not None:
            with contextlib.suppress(websockets.ConnectionClosed):
                await self.connected(connection, parts)


def _netloc(origin: str) -> str:
    """Return the host and port in an `Origin` header, or an empty text if the header is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


class PageGate(Gate):
    """Gate of a page that shows a model or a recording. Anyone with its URL can use the controls of the page."""

    def __init__(self, server: Any, tickets: Tickets, *, port: int = 0) -> None:
        self._inner, self._tickets = int(server.get_port()), tickets
        super().__init__(port=port)

    def respond(self, parts: list[str]) -> Response | None:
        return answer(self._page, "text/html; charset=utf-8") if parts == [""] else None

    @cached_property
    def _page(self) -> bytes:
        return viewer_html()

    def serves(self, parts: list[str]) -> bool:
        return parts in ([], [""])

    async def connected(self, connection: ServerConnection, parts: list[str]) -> None:
        """Connect the browser to the viser server; see `Gate`."""
        await self.relay(connection, self._inner, self._tickets, CONTROLS)


def viewer_html(style: str = "", script: str = "") -> bytes:
    """Return the web page of viser, with an additional style sheet and script."""
    text = (files("viser") / "client" / "build" / "index.html").read_text(encoding="utf-8")
    added = (f"<style>{style}</style>" if style else "") + (f"<script>{script}</script>" if script else "")
    return text.replace("<head>", f"<head>{added}", 1).encode()


@cache
def page_policy(page: bytes) -> str:
    """Return a content security policy that allows only scripts in the page itself and scripts that they load."""
    inline = re.findall(rb"<script\b[^>]*>(.*?)</script>", page, re.DOTALL)
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(body).digest()).decode()}'" for body in inline if body)
    # viser evaluates its scripts; scripts, event handlers and frames in inserted HTML do not run
    scripts = f"{hashes} 'strict-dynamic' 'unsafe-eval'" if any(inline) else "'self'"
    return (
        f"default-src 'self'; script-src {scripts}; worker-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'"
    )


def answer(body: bytes, kind: str) -> Response:
    """Return an HTTP response with a body of a content type `kind`."""
    headers = {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Connection": "close",
    }
    if kind.startswith("text/html"):
        headers["Content-Security-Policy"] = f"{page_policy(body)}; frame-ancestors 'self'"
    return Response(http.HTTPStatus.OK.value, "OK", Headers(headers), body)


def _not_found() -> Response:
    return Response(http.HTTPStatus.NOT_FOUND.value, "Not Found", Headers({"Content-Length": "0", "Connection": "close"}), b"")


def _own_names() -> set[str]:
    name = socket.gethostname()
    return {name, f"{name}.local", socket.getfqdn()}
