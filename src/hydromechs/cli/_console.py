"""Console used by all commands; text from untrusted files cannot control the terminal."""

from collections.abc import Iterable

from rich import console
from rich.segment import Segment

from hydromechs.files import printable


class Console(console.Console):
    """Console that prints control characters as "�", because they could hide output or write to the clipboard."""

    def render(self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a renderable without control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
