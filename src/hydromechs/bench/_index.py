"""Every table and figure of the five papers: its content, our equivalent, and the command that shows it."""

from collections.abc import Iterator
from typing import NamedTuple

COUNTS, LIFT, TREES = "hydromechs papers counts", "hydromechs papers lift", "python -m benchmarks trees"
PEERS = "hydromechs crosscheck"


class Shown(NamedTuple):
    """A table or figure of a paper, and our equivalent."""

    paper: str
    item: str
    what: str
    status: str
    """One of `STATUSES`."""
    command: str
    """Command that shows our equivalent; empty for drawings."""


STATUSES = {
    "compared": "our numbers are printed next to the paper's",
    "flown": "a library mission shows the same",
    "implemented": "the algorithm or model is in the package and tested",
    "drawing": "it is an explanation without results to reproduce",
}

_PAPERS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "McMillan 1994": (
        ("Fig. 1", "hexapod Aquarobot", "implemented", "hydromechs view aquarobot"),
        ("Figs. 2-4", "arms on a load, operational space, frames of a chain", "drawing", ""),
        ("Table 1", "closed-chain algorithm", "implemented", COUNTS),
        ("Table 2", "operations of closed chains", "compared", COUNTS),
        ("Figs. 5-7", "arms side by side", "implemented", LIFT),
        ("Figs. 8-11", "block methods B1PC5, B2PC5, B4PC5", "implemented", LIFT),
        ("Figs. 12, 13", "arms and points in time side by side", "implemented", LIFT),
        ("Table 3", "synchronisations and solutions of the load", "compared", LIFT),
        ("Tables 4-6", "speedups, slowdowns and both together", "compared", LIFT),
        ("Fig. 14", "error over time of serial block methods", "compared", f"{LIFT} --picture blocks.png"),
        ("Fig. 15", "forces on a load held by singular arms", "drawing", ""),
        ("Table 7", "two arms, Methods I and II", "implemented", "hydromechs run dual_arm_through_singularity"),
        ("Tables 8, 9", "operations of both methods", "compared", COUNTS),
        ("Figs. 16, 17", "legged vehicle with frames of its chains", "drawing", ""),
        ("Tables 10, 11", "bias and inertia matrix of a star", "implemented", COUNTS),
        ("Table 12", "operations of a star by composite bodies", "compared", COUNTS),
        ("Figs. 18, 19", "Tiburon with Titan II, Aquarobot", "implemented", "hydromechs view tiburon_titan2"),
        ("Figs. 20, 21", "hydrodynamic forces", "drawing", ""),
        ("Figs. 22, 23", "drag of a general body and of a cylinder", "drawing", ""),
        ("Figs. 24, 25", "rigid and articulated body", "drawing", ""),
        ("Tables 13-15", "articulated bodies of a star in water", "implemented", PEERS),
        ("Table 16", "operations of a star by articulated bodies", "compared", COUNTS),
        ("Tables 17, 18", "articulated bodies of one chain in water", "implemented", PEERS),
        ("Table 19", "operations of one chain, full and decoupled", "compared", COUNTS),
        ("Figs. 26-35", "classes of DynaMechs", "drawing", ""),
        ("Figs. 36, 37", "scenes of Aquarobot and Tiburon", "flown", "hydromechs run aquarobot_rubble"),
        ("Table 20", "run times on a workstation", "compared", TREES),
        ("Fig. 38", "Denavit-Hartenberg frames", "drawing", ""),
        ("Tables 21-24", "operations of congruence transformations", "compared", COUNTS),
        ("Table 25", "inverse dynamics", "implemented", PEERS),
        ("Table 26", "operations of inverse dynamics", "compared", COUNTS),
        ("Table 27", "mass matrix", "implemented", PEERS),
        ("Table 28", "operations of the mass matrix", "compared", COUNTS),
        ("Table 29", "articulated bodies of one chain", "implemented", PEERS),
        ("Table 30", "operations of articulated bodies", "compared", COUNTS),
    ),
    "McMillan, Orin and McGhee 1995": (
        ("Fig. 1", "Tiburon and Titan II", "implemented", "hydromechs view tiburon_titan2"),
        ("Figs. 2-4", "chain, rigid and articulated body", "drawing", ""),
        ("Figs. 5-7", "added mass, drag of a cylinder, buoyancy", "drawing", ""),
        ("Table I", "articulated bodies in water", "implemented", PEERS),
        ("Table II", "operations", "compared", COUNTS),
        ("Sec. V", "run times on a workstation", "compared", TREES),
        ("Fig. 8", "scene of Tiburon", "flown", "hydromechs run pick_and_release"),
    ),
    "McMillan, Orin and McGhee 1996": (
        ("Fig. 1", "hexapod Aquarobot", "implemented", "hydromechs view aquarobot"),
        ("Fig. 2", "eight-legged robot of K2T", "flown", "hydromechs run k2t_walk"),
        ("Figs. 3, 4", "branches, and parameters of their frames", "drawing", ""),
        ("Figs. 5-8", "classes of DynaMechs", "drawing", ""),
        ("Fig. 9", "scene of Aquarobot", "flown", "hydromechs run aquarobot_rubble"),
        ("Sec. 6", "run time of Aquarobot", "compared", TREES),
    ),
    "From, Pettersen and Gravdahl 2010": (("Fig. 1", "frames of vehicle and arm", "drawing", ""),),
    "Razzanelli et al. 2019": (
        ("Figs. 1-5", "frames, forces between bodies, blocks of the simulator", "drawing", ""),
        ("Lemmas 1, 2", "added mass as an external force", "compared", "python -m benchmarks hybrid"),
        ("Fig. 6", "environment of the simulator", "flown", "hydromechs run pick_and_release"),
        ("Fig. 7", "pick and release", "flown", "python -m benchmarks missions"),
        ("Fig. 8", "fast manipulation", "flown", "python -m benchmarks missions"),
        ("Figs. 9, 10", "collision with a pillar", "flown", "python -m benchmarks missions"),
    ),
}


def tables_and_figures() -> Iterator[Shown]:
    """All tables and figures, by paper."""
    for paper, rows in _PAPERS.items():
        for row in rows:
            yield Shown(paper, *row)
