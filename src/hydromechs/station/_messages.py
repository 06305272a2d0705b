"""Checks of messages from a page: type, fields and size; invalid messages are rejected."""

import io
import json
import math
from typing import Any

from hydromechs.viewer import LARGEST, Rejected

HUGE = 1e15
"""Upper bound of numbers in messages; the largest numbers are seeds."""

SCENARIO = frozenset({"scenario", "changes"})
NEEDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("operator", "alive", "start", "pause", "step", "reset"), frozenset()),
    "scale": frozenset({"value"}),
    "view": frozenset({"name"}),
    "aim": frozenset({"camera", "pan", "tilt"}),
    **dict.fromkeys(("ask", "give", "picture", "ahead"), frozenset()),
    "delay": frozenset({"delay"}),
    **dict.fromkeys(("configure", "save"), SCENARIO),
}
"""Required fields of messages from a page, keyed by message type."""
MAY_HAVE: dict[str, frozenset[str]] = {
    "operator": frozenset({"mode", "axes", "arm", "arm_mode", "arm_axes", "gripper", "swing"}),
    "delay": frozenset({"message_time", "loss"}),
}
"""Optional fields of messages, keyed by message type."""
SCENE_TYPES = frozenset(
    {
        "ViewerCameraMessage",
        "TransformControlsUpdateMessage",
        "TransformControlsDragStartMessage",
        "TransformControlsDragEndMessage",
        "GetRenderResponseMessage",
    }
)
"""Types of viser messages from a browser that are forwarded."""


def page_message(raw: str | bytes) -> dict[str, Any]:
    """Decode and check a message from a page.

    Raises:
        Rejected: If the type or a field is unknown, or if a number is not finite or too large.
    """
    if not isinstance(raw, str):
        raise Rejected("message is bytes, not text")
    if len(raw) > LARGEST:
        raise Rejected(f"size {len(raw)} characters exceeds {LARGEST} characters")
    try:
        message = json.loads(raw, parse_constant=_number, parse_int=_number, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Rejected(f"message is a {type(message).__name__}, not an object")
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in NEEDS:
        raise Rejected(f"message type {str(kind)[:40]!r} is not one of {', '.join(NEEDS)}")
    extra = set(message) - NEEDS[kind] - MAY_HAVE.get(kind, frozenset()) - {"type"}
    missing = NEEDS[kind] - set(message)
    if extra or missing:
        raise Rejected(f"{kind}: unknown fields {sorted(extra)}, missing fields {sorted(missing)}")
    if "changes" in message and not isinstance(message["changes"], dict):
        raise Rejected(f"{kind}: field 'changes' must be an object")
    if "scenario" in message and not isinstance(message["scenario"], str):
        raise Rejected(f"{kind}: field 'scenario' must be a string")
    return message


def check_picture(raw: bytes, height: int, width: int) -> None:
    """Check that a picture from a browser is a single PNG image of the requested size, before viser decodes it.

    The decoder of viser accepts all formats. For some formats it starts Ghostscript or FFmpeg, and animated images can
    decompress to gigabytes.

    Args:
        raw: Encoded picture.
        height: Requested height [pixel].
        width: Requested width [pixel].

    Raises:
        Rejected: If the picture is not a PNG image of this size.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(raw), formats=["PNG"]) as image:
            if image.size != (width, height) or getattr(image, "is_animated", False):
                raise Rejected(f"picture is not a single image of {width} by {height} pixels")
            image.load()
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise Rejected(f"picture is not a valid PNG image: {type(error).__name__}") from None


def _number(text: str) -> float:
    """Return a number in a message, as an int if it is written without a decimal point or exponent."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > HUGE:
        raise ValueError(f"{text[:40]} is not a finite number with magnitude up to {HUGE:g}")
    return int(text) if text.lstrip("-").isdigit() else value
