"""Layout of a filter's covariance: its errors, and the storage of its entries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.values import Array

from ._equations import ERRORS


class Clone(NamedTuple):
    """Copies of errors at the time of a sample in transit."""

    aid: int
    """Number of the sensor."""
    copy: int
    """Number of the copy of the state; 0 is the present."""
    places: Array
    """For each of 18 errors its number in the covariance; -1 if the sensor does not observe it."""


class Covariance:
    """The upper triangle of P as a flat array.

    Errors are, in this order: present ones (position, velocity, attitude, current if it is estimated, biases of
    gyroscopes and accelerometers), clones of those that sensors with latency observe, biases of aids. The triangle of the
    present comes first, then for each other error its covariances with the present, then the rest.

    Args:
        current: True if the current is estimated.
        observed: For each sensor, numbers of the errors among 18 that it observes.
        slots: For each sensor, maximum number of samples in transit.
        biases: Number of biases of aids.
    """

    def __init__(self, *, current: bool, observed: Sequence[Sequence[int]], slots: Sequence[int], biases: int) -> None:
        self.present = np.full(18, -1)
        """For each of 18 errors its number, -1 if the filter does not have it."""
        names = [name for name in ("p", "v", "q", "c", "bg", "ba") if name != "c" or current]
        order = [k for name in names for k in range(18)[ERRORS[name]]]
        self.present[order] = np.arange(len(order))
        self.head = n = len(order)
        """Number of present errors."""
        self.moving = 12 if current else 9
        """Number of those that change from step to step."""
        self.clones: list[Clone] = []
        copy = 1
        for aid, (seen, count) in enumerate(zip(observed, slots, strict=True)):
            for _ in range(count):
                places = np.full(18, -1)
                places[list(seen)] = n + np.arange(len(seen))
                self.clones.append(Clone(aid, copy, places))
                n, copy = n + len(seen), copy + 1
        self.copies = copy
        """Number of copies of the state."""
        self.biases = np.arange(n, n + biases)
        """Numbers of the biases of aids."""
        self.n = n + biases
        """Number of errors."""
        self.size = self.n * (self.n + 1) // 2
        """Number of entries of the flat array."""

    @property
    def identity(self) -> str:
        """Text that determines the layout."""
        return f"{self.present.tolist()} {[(c.aid, c.copy, c.places.tolist()) for c in self.clones]} {self.n} {self.copies}"

    def at(self, i: int, j: int) -> int:
        """Return the place of an entry of P."""
        i, j = min(i, j), max(i, j)
        h = self.head
        corner = h * (h + 1) // 2
        if j < h:
            return i * h - i * (i - 1) // 2 + j - i
        if i < h:
            return corner + (j - h) * h + i
        i, j, m = i - h, j - h, self.n - h
        return corner + h * m + i * m - i * (i - 1) // 2 + j - i

    def matrix(self, flat: Array) -> Array:
        """Return P, shape (n, n), of floats or symbols."""
        return np.array([[flat[self.at(i, j)] for j in range(self.n)] for i in range(self.n)]).reshape(self.n, self.n)

    def flat(self, P: Array) -> Array:
        """Return the flat array of P, shape (size,)."""
        out = np.zeros(self.size, dtype=np.asarray(P).dtype)
        for i in range(self.n):
            for j in range(i, self.n):
                out[self.at(i, j)] = P[i, j]
        return out

    def clones_of(self, aid: int) -> list[Clone]:
        """Return the clones of a sensor, that of the newest sample first."""
        return [c for c in self.clones if c.aid == aid]
