"""Times of forward dynamics of trees on this machine: growth with the links, forms of code, other codes on dry trees.

All times are those of the processor, on one thread: an evaluation of 5,000 links is long enough for others to come between.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import compiler
from hydromechs.bench._dynamics import FastMujoco, Row, measure
from hydromechs.bench._machine import dry_model, machine, random_states, relative_difference, report
from hydromechs.bench.peers import PinocchioPeer
from hydromechs.equations import Form
from hydromechs.library import random_tree, serial_chain, star
from hydromechs.model import Model

from .goals import target, with_targets

__all__ = ["measure_trees"]

PEERS: dict[str, type[PinocchioPeer] | type[FastMujoco]] = {"Pinocchio": PinocchioPeer, "MuJoCo": FastMujoco}
"""Other codes, with dry trees."""
KINDS = ("revolute", "prismatic", "ball")
"""Joints of the random trees."""
PAPERS = (
    ("arm of 6 links on a fixed base, dry", "0.30 ms", "McMillan, Orin and McGhee 1995", "arm fixed dry"),
    ("vehicle with an arm of 6 links, dry", "0.38 ms", "McMillan, Orin and McGhee 1995", "arm dry"),
    ("vehicle with an arm of 6 links, in water", "0.52 ms", "McMillan, Orin and McGhee 1995", "arm"),
    ("the same, another program", "0.7 ms [0.68, 0.73]", "McMillan 1994, Table 20", "arm"),
    ("walker of six legs with four links each, in water", "2.6 ms [2.5, 2.8]", "McMillan 1994, Table 20", "star_6x4_wet"),
    ("Aquarobot with pads and boom, in water", "2.6 ms", "McMillan, Orin and McGhee 1996", "aquarobot"),
)
"""Run times that the papers give for one evaluation, all on `PAPERS_MACHINE`, and what of ours is beside."""
PAPERS_MACHINE = "SGI Indigo² with a 150 MHz MIPS R4400"
"""The machine that the papers name."""
LONGEST = 300
"""Links of the longest chain that other codes get: the memory that Pinocchio sets aside and the time of MuJoCo's factorisation
grow with the cube of a chain's length; for 300 links Pinocchio takes 2 GB."""


def measure_trees(*, quick: bool = False) -> dict[str, Any]:
    """All measurements of `python -m benchmarks trees`; if quick, with few repeats and small trees, to see that it runs."""
    start = machine()
    rounds = 2 if quick else 15
    sizes = (4, 8) if quick else (10, 100, 300, 1000, 5000)
    chains, missing, differences = _chains(sizes, rounds, quick)
    walkers = (star(2, 2),) if quick else (star(6, 4), hm.load("aquarobot"), hm.load("osu_hexapod"))
    forms = [_forms(model, rounds, 64 if quick else 2048) for model in walkers]
    papers = _papers(forms, rounds, quick)
    trees = [] if quick else [_tree(n, rounds) for n in (30, 200)]
    found = report(
        start | {"native_lanes": compiler.native_lanes()},
        quick=quick,
        command="python -m benchmarks trees",
        rounds=rounds,
        chains=chains,
        trees=trees,
        forms=forms,
        papers=papers,
        papers_machine=PAPERS_MACHINE,
        missing=missing,
        relative_difference_to_ours_dry=differences,
    )
    return with_targets(found, (*_targets(chains), *_walker_targets(forms, papers)))


def _ours(key: str, model: Model, n: int, lanes: int, form: Form) -> tuple[Row, float]:
    """Our forward dynamics in a loop over n states, and the seconds until its first result."""
    q, v, tau = random_states(model, n)
    v *= 0.01  # long chains whirl
    out = np.empty((n, model.nv))
    begin = time.process_time()
    dyn = hm.Dynamics(model, lanes=lanes, form=form)
    dyn.forward_dynamics(q, v, tau, out=out)
    return Row(key, "", model.wet, lambda: dyn.forward_dynamics(q, v, tau, out=out), n), time.process_time() - begin


def _peer(key: str, name: str, dry: Model, calls: int) -> tuple[Row, float]:
    """Forward dynamics of one of `PEERS` at one state, called from Python, and its difference from ours."""
    q, v, tau = (x[0] for x in random_states(dry, 1))
    v *= 0.01  # as for ours
    peer = PEERS[name](dry)
    difference = relative_difference(peer.forward_dynamics(q, v, tau), hm.Dynamics(dry).forward_dynamics(q, v, tau))
    if isinstance(peer, FastMujoco):
        call = partial(peer.mujoco.mj_forward, peer.model, peer.data)  # the state is in the data
    else:
        call = partial(peer.pin.aba, peer.model, peer.data, peer.at.q(q), peer.at.v(q, v), peer.at.tau(q, tau))

    def run() -> None:
        for _ in range(calls):
            call()

    return Row(key, "", False, run, calls), difference


def _chains(sizes: Sequence[int], rounds: int, quick: bool) -> tuple[list[dict[str, Any]], list[str], dict[str, float]]:
    """General chains on a vehicle: ours rolled in water and dry, others dry."""
    lanes = compiler.native_lanes()
    rows: list[Row] = []
    compiling: dict[int, float] = {}
    missing: dict[str, None] = {}
    differences: dict[str, float] = {}
    for links in sizes:
        wet = serial_chain(links)
        dry, n = dry_model(wet), max(lanes, (64 if quick else 20_000) // links // lanes * lanes)
        ours, compiling[links] = _ours(f"{links} one", wet, n, 1, "rolled")
        rows += [ours, _ours(f"{links} lanes", wet, n, lanes, "rolled")[0], _ours(f"{links} dry", dry, n, 1, "rolled")[0]]
        for name in PEERS if links <= LONGEST else ():
            try:
                row, differences[f"{name}, {links} links"] = _peer(f"{links} {name}", name, dry, max(2, n // 10))
                rows.append(row)
            except ModuleNotFoundError:
                missing[name] = None
    times = _minima(rows, rounds)
    columns = {"one_lane_ns": "one", "lanes_ns": "lanes", "dry_ns": "dry", "pinocchio_ns": "Pinocchio", "mujoco_ns": "MuJoCo"}
    found = [
        {
            "links": links,
            **{name: times.get(f"{links} {key}") for name, key in columns.items()},
            "one_lane_ns_per_link": times[f"{links} one"] / links,
            "lanes_ns_per_link": times[f"{links} lanes"] / links,
            "compile_s": compiling[links],
            "lanes": lanes,
        }
        for links in sizes
    ]
    return found, list(missing), differences


def _minima(rows: Sequence[Row], rounds: int) -> dict[str, float]:
    """Least time of an evaluation of each row [ns]."""
    return {key: times["minimum_ns"] for key, times in measure(rows, rounds, time.process_time).items()}


def _tree(bodies: int, rounds: int) -> dict[str, Any]:
    """A random tree: ours rolled in water and dry, and others dry."""
    rng = np.random.default_rng(bodies)
    wet = random_tree(rng, max_bodies=bodies, kinds=KINDS)
    while wet.nb < 0.8 * bodies:
        wet = random_tree(rng, max_bodies=bodies, kinds=KINDS)
    dry, n = dry_model(wet), max(8, 20_000 // wet.nb)
    ours, seconds = _ours("one", wet, n, 1, "rolled")
    rows = [ours, _ours("dry", dry, n, 1, "rolled")[0]]
    for name in PEERS:
        with suppress(ModuleNotFoundError):
            rows.append(_peer(name.lower(), name, dry, max(2, n // 10))[0])
    found = {f"{key}_ns": time for key, time in _minima(rows, rounds).items()}
    return {"bodies": wet.nb, "degrees_of_freedom": wet.nv, "compile_s": seconds, **found}


def _forms(model: Model, rounds: int, n: int) -> dict[str, Any]:
    """One walker as straight-line code, as a loop over its bodies, and with its legs on lanes; one state at a time."""
    forms: tuple[Form, ...] = ("specialised", "rolled", "branches")
    seconds: dict[str, float] = {}
    rows: list[Row] = []
    for form in forms:
        row, seconds[form] = _ours(form, model, n, 1, form)
        rows.append(row)
    dry = dry_model(model)
    rows.append(_ours("dry", dry, n, 1, "branches")[0])
    with suppress(ModuleNotFoundError):
        rows.append(_peer("mujoco", "MuJoCo", dry, max(2, n // 10))[0])
    times = _minima(rows, rounds)
    return {
        "model": model.name,
        "bodies": model.nb,
        "degrees_of_freedom": model.nv,
        "in_water": model.wet,
        "times": [{"form": form, "minimum_ns": times[form], "compile_s": seconds[form]} for form in forms],
        "dry_ns": times["dry"],
        "mujoco_ns": times.get("mujoco"),
    }


def _papers(forms: list[dict[str, Any]], rounds: int, quick: bool) -> list[dict[str, Any]]:
    """The papers' times with ours beside, in the fastest form, one state at a time; if quick, without the arms."""
    arms = {"arm fixed dry": ("fixed", False), "arm dry": ("free", False), "arm": ("free", True)}
    chains = {} if quick else {key: serial_chain(6, base=base, wet=wet) for key, (base, wet) in arms.items()}
    rows = [_ours(name, model, 2048, 1, "specialised")[0] for name, model in chains.items()]
    found = _minima(rows, rounds) | {f["model"]: min(x["minimum_ns"] for x in f["times"]) for f in forms}
    return [{"what": w, "time": t, "source": s, "ours_ns": found.get(key)} for w, t, s, key in PAPERS]


def _walker_targets(forms: list[dict[str, Any]], papers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The goals for Aquarobot: 2 µs where the vehicle with an arm takes 0.3 µs, and four times as fast as MuJoCo."""
    walker = next((f for f in forms if f["model"] == "aquarobot"), None)
    if walker is None:
        return []
    arm = next(row["ours_ns"] for row in papers if row["what"] == "vehicle with an arm of 6 links, in water")
    best = min(x["minimum_ns"] for x in walker["times"]) / arm
    ratio = None if walker["mujoco_ns"] is None else walker["mujoco_ns"] / walker["dry_ns"]
    return [
        target("Aquarobot in water over the vehicle with an arm of 6 links", "< 6.67", best),
        target("Aquarobot dry, faster than MuJoCo mj_forward", "≥ 4", ratio),
    ]


def _targets(chains: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The goals of the project for this command, and whether they were met."""
    long = [c["one_lane_ns_per_link"] for c in chains if c["links"] >= 100]
    spread = max(long) / min(long) - 1.0 if len(long) > 1 else None
    slowest = max(c["compile_s"] for c in chains)
    out = [
        target("cost per link from 100 to 5,000 links: spread", "≤ 0.2", spread),
        target("from the model to the first result, longest [s]", "< 2", slowest),
    ]
    for name, key in (("Pinocchio aba", "pinocchio_ns"), ("MuJoCo mj_forward", "mujoco_ns")):
        ratios = [c[key] / c["dry_ns"] for c in chains if c[key] is not None and c["links"] >= 100]
        out.append(target(f"dry, faster than {name}, at least", "≥ 1", min(ratios) if ratios else None))
    return out
