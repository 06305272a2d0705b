"""Success rates of campaigns and sweeps: what is printed of checks, with confidence intervals and the worst worlds or runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from hydromechs.sweeps import CheckOutcome, Rate

WORST = 3
"""Worst worlds that are listed of each check."""


def rate_text(rate: Rate) -> str:
    """Return a rate and its 95 % confidence interval in percent."""
    return f"{100.0 * rate.share:.1f} % ({100.0 * rate.interval[0]:.1f} to {100.0 * rate.interval[1]:.1f})"


def print_rates(success: Rate, checks: Sequence[CheckOutcome], what: str, console: Console) -> None:
    """Print the success rate, then rate, values and worst worlds of each check; `what` is "worlds" or "runs"."""
    console.print(Text(f"{success.count} of {success.worlds} {what} passed: {rate_text(success)}"))
    for c in checks:
        good = sorted(x for x in c.values if math.isfinite(x))
        parts = [good[round(part * (len(good) - 1))] if good else math.nan for part in (0.0, 0.5, 1.0)]
        worst = ", ".join(f"{world} ({value:.3g})" for world, value in c.worst(WORST))
        text = Text(f"  {c.name}: {rate_text(c.rate)}\n", "" if c.rate.count == c.rate.worlds else "yellow")
        text.append(f"    values {parts[0]:.3g} to {parts[2]:.3g}, median {parts[1]:.3g}, must be ", "dim")
        console.print(text.append(f"{c.limit}; worst {what} {worst}", "dim"), soft_wrap=True)
