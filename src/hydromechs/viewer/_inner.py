"""Viser servers that only the gate can reach: each connection needs a ticket from this process."""

from __future__ import annotations

import contextlib
import io
import logging
import secrets
import threading
from contextvars import ContextVar
from typing import Any

from websockets.http11 import Request, Response

TICKET = "X-HydroMechs-Ticket"
"""Header that contains the ticket of a connection. Web pages cannot set headers of websockets."""

_STARTING = threading.Lock()
_HOLDER: ContextVar[str] = ContextVar("holder")
"""Holder of the ticket of the current connection."""


class Tickets:
    """Random tickets, each valid for one connection to a viser server."""

    def __init__(self) -> None:
        self._valid: dict[str, str] = {}
        self.holders: dict[int, str] = {}
        """Ticket holders of viser clients, keyed by client ID."""

    def issue(self, holder: str = "") -> str:
        """Return a new ticket, issued to `holder`."""
        ticket = secrets.token_hex(16)
        self._valid[ticket] = holder
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Return the holder of a ticket and invalidate the ticket; return None if it is not valid."""
        return self._valid.pop(ticket, None)


def viser_server(tickets: Tickets) -> Any:
    """Start a viser server on a free port of this machine; it drops connections without a ticket or with an `Origin`.

    Viser has no hook for the handshake of its websocket. Therefore the function `serve` that it calls is replaced during the
    start.

    Raises:
        RuntimeError: If this version of viser starts its server differently, so that connections are not checked.
    """
    import viser
    import websockets.asyncio.server as module

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # closing a tab is normal
    serve: Any = module.serve
    checked: list[bool] = []

    def guarded(handler: Any, *args: Any, **options: Any) -> Any:
        if not str(handler.__module__).startswith("viser"):
            return serve(handler, *args, **options)

        def admit(connection: Any, request: Request) -> Response | None:
            headers = request.headers
            ticket = headers.get_all(TICKET)
            holder = tickets.redeem(ticket[0]) if "Origin" not in headers and len(ticket) == 1 else None
            if holder is None:
                connection.transport.abort()
                return Response(404, "Not Found", type(headers)())
            connection.holder = holder
            return None

        async def admitted(connection: Any) -> None:
            _HOLDER.set(connection.holder)
            await handler(connection)

        checked.append(True)
        return serve(admitted, *args, **{**options, "process_request": admit})

    with _STARTING, contextlib.redirect_stdout(io.StringIO()):  # viser prints its address, which is useless without a ticket
        module.serve = guarded  # type: ignore[assignment,misc]
        try:
            server = viser.ViserServer(host="127.0.0.1", port=0, label="HydroMechs", verbose=False)
        finally:
            module.serve = serve  # type: ignore[misc]
    if not checked:
        server.stop()
        raise RuntimeError(
            f"connections to viser {viser.__version__} cannot be checked; install the version that hydromechs requires"
        )

    async def remember(client: Any) -> None:  # a coroutine: viser calls functions in threads, without this variable
        tickets.holders[client.client_id] = _HOLDER.get()

    server.on_client_connect(remember)

    async def forget(client: Any) -> None:
        tickets.holders.pop(client.client_id, None)

    server.on_client_disconnect(forget)
    return server
