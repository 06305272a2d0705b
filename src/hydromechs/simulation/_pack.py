"""Named arrays in one flat array: what a controller remembers."""

import math
from collections.abc import Mapping

from hydromechs.values import Array


class Pack:
    """Where named arrays are in a flat one.

    Args:
        shapes: Shape of each array, by name.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._places: dict[str, tuple[slice, tuple[int, ...]]] = {}
        at = 0
        for name, shape in shapes.items():
            self._places[name] = (slice(at, at + math.prod(shape)), shape)
            at += math.prod(shape)
        self.size = at
        """Length of the flat array."""

    def views(self, flat: Array) -> dict[str, Array]:
        """The arrays as views into a flat one: writing into them writes there."""
        return {name: flat[at].reshape(shape) for name, (at, shape) in self._places.items()}

    def views_of_rows(self, rows: Array) -> dict[str, Array]:
        """The arrays of several flat ones (n, size), which are contiguous, as views, shape (n, ...) each."""
        return {name: rows[:, at].reshape(len(rows), *shape) for name, (at, shape) in self._places.items()}
