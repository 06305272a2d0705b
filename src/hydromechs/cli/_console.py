"""The console of all commands: texts of untrusted files do not control the terminal."""

from collections.abc import Iterable

from rich import console
from rich.segment import Segment

from hydromechs.files import printable


class Console(console.Console):
    """Prints control characters as "�": those of a name in a file could hide output or write into the clipboard."""

    def render(self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of printed text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
