"""Checks of messages from a browser to a scene: type, fields, size and rate; invalid messages are rejected."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import msgspec

LARGEST = 16_384
"""Maximum size of a message from a page [byte]."""
LARGEST_PICTURE = 6_000_000
"""Maximum size of a requested picture [byte]: 1280 by 720 uncompressed pixels, plus a margin."""
FARTHEST = 1e9
"""Maximum magnitude of a number in a message, such as a position [m] or a window size [pixel]."""
RATE, BURST = 120.0, 240.0
"""Maximum rate of messages from one connection [1/s], and maximum number of messages in a burst."""
LOGGED_EVERY = 1.0
"""Minimum interval between log lines about rejected messages from one source [s]."""

LOG = logging.getLogger(__name__)


class Rejected(ValueError):
    """Error that rejects a message; its text is written to the log."""


class Guard:
    """Rate limiter for the messages of one connection."""

    def __init__(self) -> None:
        self._left, self._last = BURST, time.monotonic()

    def admit(self) -> None:
        """Count a message.

        Raises:
            Rejected: If the rate limit is exceeded.
        """
        now = time.monotonic()
        self._left = min(BURST, self._left + RATE * (now - self._last))
        self._last = now
        if self._left < 1.0:
            raise Rejected(f"message rate exceeds {RATE:g} per second")
        self._left -= 1.0


class RejectedLog:
    """Counter and log of rejected messages, with at most one line per source and second."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Number of rejected messages, keyed by source."""
        self._logged: dict[str, float] = {}

    def take(self, source: str, reason: str) -> None:
        """Count and log a rejected message."""
        self.counts[source] += 1
        now = time.monotonic()
        if now - self._logged.get(source, -math.inf) >= LOGGED_EVERY:
            self._logged[source] = now
            LOG.warning("%s: message rejected (%d so far): %r", source, self.counts[source], reason[:200])


def scene_message(raw: str | bytes, types: Collection[str]) -> dict[str, Any]:
    """Decode and check a message from a browser to a viser server.

    Raises:
        Rejected: If the type is not in `types`, or if a field is invalid.
    """
    if not isinstance(raw, bytes):
        raise Rejected("message is text, not bytes")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(f"not msgpack: {error}") from None
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in types or kind not in FIELDS:
        raise Rejected(f"message type {str(kind)[:60]!r} is not forwarded")
    most = LARGEST_PICTURE if kind == "GetRenderResponseMessage" else LARGEST
    if len(raw) > most:
        raise Rejected(f"{kind}: size {len(raw)} bytes exceeds {most} bytes")
    fields = FIELDS[kind]
    for name, value in message.items():
        if name != "type" and not (name in fields and fields[name](value)):
            raise Rejected(f"{kind}: field {str(name)[:40]} has the invalid value {str(value)[:40]}")
    missing = sorted(set(fields) - set(message) - OPTIONAL)
    if missing:
        raise Rejected(f"{kind}: missing field {', '.join(missing)}")
    return dict(message)


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= FARTHEST  # False for NaN


def _text(x: Any) -> bool:
    return isinstance(x, str) and len(x) <= 200


def _row(length: int) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, list) and len(x) == length and all(map(_number, x))


def _update(x: Any) -> bool:
    """Return True for a valid new value of a control: a Boolean, a number, a text, or three numbers."""
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
"""Fields of forwarded messages, with a function that checks each."""
OPTIONAL = frozenset({"owner"})
"""Fields that a message may omit."""
