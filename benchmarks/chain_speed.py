"""Growth of the time of forward dynamics with the links of general chains on a vehicle in water."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from hydromechs import compiler
from hydromechs.bench._dynamics import Row, batch_row, measure, with_room
from hydromechs.cli._tables import table_of
from hydromechs.library import serial_chain

__all__ = ["measure_chains", "print_chains"]

CHAINS, SHORT = (6, 12, 24, 48), (2, 4)
"""Links of the chains, and of those that only show that it runs."""


def measure_chains(*, quick: bool = False) -> list[dict[str, Any]]:
    """A row for each chain; if quick, of short ones with few repeats."""
    lengths, n, rounds = (SHORT, 64, 2) if quick else (CHAINS, 4096, 80)
    times = measure([row for links in lengths for row in _chain_rows(links, n)], rounds)
    return [_chain(links, times, compiler.native_lanes()) for links in lengths]


def _chain_rows(links: int, n: int) -> list[Row]:
    """A general chain on a vehicle in water as it is compiled by default, on one lane and on the machine's lanes.

    And on lanes as a loop over the bodies, as chains from `equations.LARGER` bodies on are.
    """
    chain, lanes = serial_chain(links), compiler.native_lanes()
    states = with_room(chain, n)
    rows = [batch_row(f"{links} {k}", "", chain, states, k) for k in (1, lanes)]
    return [*rows, batch_row(f"{links} rolled", "", chain, states, lanes, form="rolled")]


def _chain(links: int, times: dict[str, dict[str, Any]], lanes: int) -> dict[str, Any]:
    """The report's line of a chain."""
    one, many, rolled = (times[f"{links} {k}"] for k in (1, lanes, "rolled"))
    return {
        "links": links,
        "batch": one["batch"],
        "one_lane_ns": one["minimum_ns"],
        "one_lane_median_ns": one["median_ns"],
        "one_lane_ns_per_link": one["minimum_ns"] / links,
        "lanes": lanes,
        "lanes_ns": many["minimum_ns"],
        "lanes_ns_per_link": many["minimum_ns"] / links,
        "rolled_lanes_ns_per_link": rolled["minimum_ns"] / links,
    }


def print_chains(chains: list[dict[str, Any]], console: Console) -> None:
    """Print what `measure_chains` has found."""
    lanes = chains[0]["lanes"]
    keys = ("one_lane_ns", "one_lane_ns_per_link", "lanes_ns", "lanes_ns_per_link", "rolled_lanes_ns_per_link")
    rows = [(c["links"], *(f"{c[key]:.1f}" for key in keys)) for c in chains]
    columns = (">links", ">one lane\nns", ">per link\nns", f">{lanes} lanes\nns", ">per link\nns", ">as a loop,\nper link")
    console.print(Text(f"\nGeneral chains on a vehicle in water, batch {chains[0]['batch']}"))
    console.print(table_of(*columns, rows=rows))
