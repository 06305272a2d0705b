"""What was guessed when a robot was put into water, with how much it may be off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """One quantity of one body that nobody gave."""

    body: str
    """Name of the body."""
    quantity: str
    """What it is: volume, centre of buoyancy, added mass, added inertia, drag area."""
    value: tuple[float, ...]
    """Its value, one number or one for each axis of the body, in `unit`."""
    uncertainty: tuple[float, ...]
    """Likely error of each number, in `unit`: two of three times the truth is within."""
    unit: str
    """Unit of both."""
    how: str
    """How it was found."""

    @property
    def numbers(self) -> str:
        """Value and uncertainty, as text."""
        return ", ".join(f"{v:.4g} ± {u:.2g}" for v, u in zip(self.value, self.uncertainty, strict=True)) + f" {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterReport:
    """All that `add_water` guessed, kept and left out. It prints as a table."""

    guesses: tuple[Guess, ...]
    """What was guessed."""
    kept: tuple[str, ...]
    """Bodies whose hydrodynamics were there already and stayed."""
    dry: tuple[str, ...]
    """Bodies that move and stay dry, since nothing says how large they are."""
    notes: tuple[str, ...]
    """What deserves a look."""

    def of(self, body: str) -> tuple[Guess, ...]:
        """Guesses about one body, by its name."""
        return tuple(guess for guess in self.guesses if guess.body == body)

    def __str__(self) -> str:
        rows = [("body", "guessed", "value", "how"), *((g.body, g.quantity, g.numbers, g.how) for g in self.guesses)]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=True)), row[3]]) for row in rows]
        if self.kept:
            lines.append(f"kept as they were: {', '.join(self.kept)}")
        if self.dry:
            lines.append(f"dry, since they have no shapes: {', '.join(self.dry)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
