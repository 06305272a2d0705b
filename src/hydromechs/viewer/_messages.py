"""Messages from a browser to a scene: known types with checked fields, limited in size and rate. Others are rejected."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import msgspec

LARGEST = 16_384
"""Maximum size of a message from a page [bytes]."""
LARGEST_PICTURE = 6_000_000
"""Maximum size of a requested picture [bytes]: 1280 by 720 pixels, uncompressed, plus a margin."""
FARTHEST = 1e9
"""Maximum magnitude of a number in a message: positions in metres, window sizes in pixels."""
RATE, BURST = 120.0, 240.0
"""Maximum messages per second from one connection, and maximum burst."""
LOGGED_EVERY = 1.0
"""Minimum interval between log lines about rejected messages of one source [s]."""

LOG = logging.getLogger(__name__)


class Rejected(ValueError):
    """A message was rejected; the text is for the log."""


class Guard:
    """Limits the message rate of one connection."""

    def __init__(self) -> None:
        self._left, self._last = BURST, time.monotonic()

    def admit(self) -> None:
        """Count a message.

        Raises:
            Rejected: The rate limit is exceeded.
        """
        now = time.monotonic()
        self._left = min(BURST, self._left + RATE * (now - self._last))
        self._last = now
        if self._left < 1.0:
            raise Rejected(f"too many messages: more than {RATE:g} per second")
        self._left -= 1.0


class RejectedLog:
    """Counts and logs rejected messages, at most one line per source and second."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Number of rejected messages by source."""
        self._logged: dict[str, float] = {}

    def take(self, source: str, reason: str) -> None:
        """Count a rejected message."""
        self.counts[source] += 1
        now = time.monotonic()
        if now - self._logged.get(source, -math.inf) >= LOGGED_EVERY:
            self._logged[source] = now
            LOG.warning("%s: message rejected (%d so far): %r", source, self.counts[source], reason[:200])


def scene_message(raw: str | bytes, types: Collection[str]) -> dict[str, Any]:
    """Decode a message from the viewer in a browser to a viser server.

    Raises:
        Rejected: The message has another type or an invalid field.
    """
    if not isinstance(raw, bytes):
        raise Rejected("it is text, must be bytes")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(f"not msgpack: {error}") from None
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in types or kind not in FIELDS:
        raise Rejected(f"its type is {str(kind)[:60]!r}, which is not forwarded")
    most = LARGEST_PICTURE if kind == "GetRenderResponseMessage" else LARGEST
    if len(raw) > most:
        raise Rejected(f"{kind}: {len(raw)} bytes, limit {most}")
    fields = FIELDS[kind]
    for name, value in message.items():
        if name != "type" and not (name in fields and fields[name](value)):
            raise Rejected(f"{kind}: {str(name)[:40]} is {str(value)[:40]}")
    missing = sorted(set(fields) - set(message) - OPTIONAL)
    if missing:
        raise Rejected(f"{kind}: {', '.join(missing)} is missing")
    return dict(message)


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= FARTHEST  # False for NaN


def _text(x: Any) -> bool:
    return isinstance(x, str) and len(x) <= 200


def _row(length: int) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, list) and len(x) == length and all(map(_number, x))


def _update(x: Any) -> bool:
    """True for the new value of a control: a switch, a number, a text, or a short row of numbers."""
    if not isinstance(x, dict) or list(x) != ["value"]:
        return False
    value = x["value"]
    return isinstance(value, bool) or _number(value) or _text(value) or (isinstance(value, list) and _row(3)(value))


FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "ViewerCameraMessage": {
        "wxyz": _row(4),
        "position": _row(3),
        "look_at": _row(3),
        "up_direction": _row(3),
        **dict.fromkeys(("fov", "near", "far", "image_height", "image_width"), _number),
    },
    "TransformControlsUpdateMessage": {"name": _text, "owner": _text, "wxyz": _row(4), "position": _row(3)},
    "TransformControlsDragStartMessage": {"name": _text, "owner": _text},
    "TransformControlsDragEndMessage": {"name": _text, "owner": _text},
    "GetRenderResponseMessage": {"payload": lambda x: isinstance(x, bytes), "render_uuid": _text},
    "GuiUpdateMessage": {"uuid": _text, "updates": _update},
}
"""Fields of the messages that are forwarded, with the check of each."""
OPTIONAL = frozenset({"owner"})
"""Fields that a message may omit."""
