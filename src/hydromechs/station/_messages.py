"""What a browser may say: messages of known types with checked fields, not too large and not too many. All else is refused."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import Counter
from typing import Any

import msgspec

__all__ = ["LARGEST", "LARGEST_PICTURE", "SCENE_TYPES", "Guard", "Refused", "page_message", "scene_message"]

LARGEST = 16_384
"""Size of a message from a page [bytes]."""
LARGEST_PICTURE = 30_000_000
"""Size of a picture that a browser was asked for [bytes]."""
RATE, BURST = 120.0, 240.0
"""Messages per second from one connection, and how many may come at once."""
LOGGED_EVERY = 1.0
"""Time between two lines of the log on refused messages of one kind [s]."""

PAGE_TYPES: dict[str, frozenset[str]] = {
    "operator": frozenset({"mode", "axes", "arm", "arm_mode", "arm_axes", "gripper", "swing"}),
    "start": frozenset(),
    "pause": frozenset(),
    "step": frozenset(),
    "reset": frozenset(),
    "scale": frozenset({"value"}),
    "ask": frozenset(),
    "give": frozenset(),
    "picture": frozenset(),
    "ahead": frozenset(),
    "delay": frozenset({"delay", "message_time", "loss"}),
    "configure": frozenset({"scenario", "changes"}),
    "save": frozenset({"scenario", "changes"}),
}
"""Messages of a page, and the fields that each may have."""
NEEDS: dict[str, frozenset[str]] = {
    "scale": frozenset({"value"}),
    "delay": frozenset({"delay"}),
    "configure": frozenset({"scenario", "changes"}),
    "save": frozenset({"scenario", "changes"}),
}
"""Fields that a message must have."""
SCENE_TYPES = frozenset(
    {
        "ViewerCameraMessage",
        "TransformControlsUpdateMessage",
        "TransformControlsDragStartMessage",
        "TransformControlsDragEndMessage",
        "GetRenderResponseMessage",
    }
)
"""Messages of the viewer in a browser that are passed on."""

ROWS = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
"""Fields of these messages that are rows of numbers, and how many."""

LOG = logging.getLogger(__name__)


class Refused(ValueError):
    """A message that is not taken; its words are for the log."""


class Guard:
    """Counts the messages of one connection, and refuses those that come too fast."""

    def __init__(self) -> None:
        self._left, self._last = BURST, time.monotonic()

    def admit(self) -> None:
        """Take note of a message; raises `Refused` where they come too fast."""
        now = time.monotonic()
        self._left = min(BURST, self._left + RATE * (now - self._last))
        self._last = now
        if self._left < 1.0:
            raise Refused(f"too many messages: more than {RATE:g} per second")
        self._left -= 1.0


class RefusedLog:
    """Counts and logs refused messages, a line per kind and second at most."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Refused messages, by where they came from."""
        self._said: dict[str, float] = {}

    def take(self, where: str, reason: str) -> None:
        """A message was refused.

        Args:
            where: Where it came from.
            reason: Why.
        """
        self.counts[where] += 1
        now = time.monotonic()
        if now - self._said.get(where, -math.inf) >= LOGGED_EVERY:
            self._said[where] = now
            LOG.warning("%s: message refused (%d so far): %s", where, self.counts[where], reason[:200])


def page_message(raw: str | bytes) -> dict[str, Any]:
    """A message of a page with a known type and no unknown fields; raises `Refused` for all others.

    Args:
        raw: What came.
    """
    if not isinstance(raw, str):
        raise Refused("bytes, must be a text")
    if len(raw) > LARGEST:
        raise Refused(f"{len(raw)} characters, may have {LARGEST}")
    try:
        message = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Refused(f"a {type(message).__name__}, must be an object")
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in PAGE_TYPES:
        raise Refused(f"its type is {str(kind)[:40]!r}, must be one of {', '.join(PAGE_TYPES)}")
    extra = set(message) - PAGE_TYPES[kind] - {"type"}
    missing = NEEDS.get(kind, frozenset()) - set(message)
    if extra or missing:
        raise Refused(f"{kind}: unknown {sorted(extra)}, missing {sorted(missing)}")
    if "changes" in message and not isinstance(message["changes"], dict):
        raise Refused(f"{kind}: changes must be an object")
    if "scenario" in message and not isinstance(message["scenario"], str):
        raise Refused(f"{kind}: scenario must be a text")
    return message


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def scene_message(raw: str | bytes) -> str:
    """The type of a message of the viewer in a browser that may be passed on; raises `Refused` for all others.

    Args:
        raw: What came.
    """
    if not isinstance(raw, bytes):
        raise Refused("a text, must be bytes")
    if len(raw) > LARGEST_PICTURE:
        raise Refused(f"{len(raw)} bytes, may have {LARGEST_PICTURE}")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"not msgpack: {error}") from None
    kind = message.get("type") if isinstance(message, dict) else None
    if kind not in SCENE_TYPES:
        raise Refused(f"its type is {str(kind)[:60]!r}, which is not passed on")
    picture = kind == "GetRenderResponseMessage"
    if len(raw) > LARGEST and not picture:
        raise Refused(f"{kind}: {len(raw)} bytes, may have {LARGEST}")
    for name, value in message.items():
        if not _plain(name, value, picture):
            raise Refused(f"{kind}: {str(name)[:40]} is {str(value)[:40]}, must be numbers")
    return str(kind)


def _plain(name: Any, value: Any, picture: bool) -> bool:
    """Whether a field is a short text, a row of finite numbers, one, nothing; or, in a picture, bytes."""
    if name in ("type", "name", "render_uuid"):
        return isinstance(value, str) and len(value) <= 200
    if name in ROWS:
        return isinstance(value, list) and len(value) == ROWS[name] and all(map(_finite, value))
    if isinstance(value, bytes):
        return picture
    return value is None or isinstance(value, bool) or _finite(value)


def _finite(x: Any) -> bool:
    return isinstance(x, int | float) and math.isfinite(x)
