"""An executed notebook as a page of the site."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple


class Rendered(NamedTuple):
    """A notebook as Markdown, and the pictures in it."""

    text: str
    """Markdown."""
    pictures: dict[str, bytes]
    """PNG files by name."""


def _fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _output(output: dict[str, Any], picture: str) -> tuple[str, bytes | None]:
    """Markdown of one output, and the picture in it."""
    if output["output_type"] == "stream":
        return _fenced("".join(output["text"]), "text"), None
    data = output["data"]
    if "image/png" in data:
        return f"![what the cell drew]({picture})\n", base64.b64decode("".join(data["image/png"]))
    return _fenced("".join(data["text/plain"]), "text"), None


def render(file: Path) -> Rendered:
    """Markdown of a notebook with what its cells printed and drew.

    Args:
        file: The notebook, `.ipynb`.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(_fenced(source, "python"))
        for output in cell["outputs"]:
            name = f"{file.stem}_{len(pictures) + 1}.png"
            text, picture = _output(output, name)
            if picture is not None:
                pictures[name] = picture
            parts.append(f'<div class="output" markdown>\n\n{text}\n</div>\n')
    note = f"[This notebook]({file.name}) was executed as shown; download it to change it."
    first, *rest = parts
    title, _, lead = first.partition("\n")
    return Rendered("\n".join([title, "", note, "", lead.strip(), "", *rest]), pictures)
