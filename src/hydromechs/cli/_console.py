"""The console of all commands: texts of untrusted files do not control the terminal."""

from collections.abc import Iterable

from rich import console
from rich.segment import Segment

from hydromechs.files import CONTROL


class Console(console.Console):
    """Prints control characters as "�": those of a name in a file could hide output or write into the clipboard."""

    def render(self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of printed text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


def plain(text: str) -> str:
    """Return a text without control characters."""
    return CONTROL.sub("�", text)
