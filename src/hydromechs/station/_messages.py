"""Messages of a page: known types with checked fields, limited in size. All others are rejected."""

import io
import json
import math
from typing import Any

from hydromechs.viewer import LARGEST, Rejected

HUGE = 1e15
"""Upper bound of numbers in messages; seeds are the largest."""

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
"""Messages of a page, and the fields that each must have."""
MAY_HAVE: dict[str, frozenset[str]] = {
    "operator": frozenset({"mode", "axes", "arm", "arm_mode", "arm_axes", "gripper", "swing"}),
    "delay": frozenset({"message_time", "loss"}),
}
"""Optional fields of messages."""
SCENE_TYPES = frozenset(
    {
        "ViewerCameraMessage",
        "TransformControlsUpdateMessage",
        "TransformControlsDragStartMessage",
        "TransformControlsDragEndMessage",
        "GetRenderResponseMessage",
    }
)
"""Messages of the viewer in a browser that are forwarded."""


def page_message(raw: str | bytes) -> dict[str, Any]:
    """Decode a message of a page.

    Raises:
        Rejected: Its type or a field is unknown, or a number is not finite or too large.
    """
    if not isinstance(raw, str):
        raise Rejected("it is bytes, must be text")
    if len(raw) > LARGEST:
        raise Rejected(f"{len(raw)} characters, limit {LARGEST}")
    try:
        message = json.loads(raw, parse_constant=_number, parse_int=_number, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Rejected(f"it is a {type(message).__name__}, must be an object")
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in NEEDS:
        raise Rejected(f"its type is {str(kind)[:40]!r}, must be one of {', '.join(NEEDS)}")
    extra = set(message) - NEEDS[kind] - MAY_HAVE.get(kind, frozenset()) - {"type"}
    missing = NEEDS[kind] - set(message)
    if extra or missing:
        raise Rejected(f"{kind}: unknown fields {sorted(extra)}, missing fields {sorted(missing)}")
    if "changes" in message and not isinstance(message["changes"], dict):
        raise Rejected(f"{kind}: changes must be an object")
    if "scenario" in message and not isinstance(message["scenario"], str):
        raise Rejected(f"{kind}: scenario must be a text")
    return message


def check_picture(raw: bytes, height: int, width: int) -> None:
    """Check that a picture from a browser is one PNG image of the requested size, before viser decodes it.

    Viser's decoder tries all formats: for some it starts Ghostscript or FFmpeg, and animated images unpack to gigabytes.

    Raises:
        Rejected: It is not a PNG of that size.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(raw), formats=["PNG"]) as image:
            if image.size != (width, height) or getattr(image, "is_animated", False):
                raise Rejected(f"the picture is not one image of {width} by {height} pixels")
            image.load()
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise Rejected(f"the picture is not PNG: {type(error).__name__}") from None


def _number(text: str) -> float:
    """Return a number of a message; an int if written as one."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > HUGE:
        raise ValueError(f"{text[:40]} is not a number below {HUGE:g}")
    return int(text) if text.lstrip("-").isdigit() else value
