"""Compiled form of a model's equations: straight-line code of all bodies, a loop over them, or branches on lanes."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model

from ._branches_on_lanes import BranchesOnLanes

Form: TypeAlias = Literal["specialised", "rolled", "branches"]
"""Compiled form of equations: straight-line code of all bodies; a loop over them; straight-line code in which forward dynamics
of one state at a time has equal branches side by side on lanes."""
LARGE = 40
"""Bodies from which trees are rolled by default: LLVM takes seconds for straight-line code of more."""
LARGER = 64
"""Bodies from which batches are rolled, too: below, they take a quarter less time as straight-line code, compiled once."""

ROLLED = ("forward_dynamics", "inverse_dynamics", "kinematics", "inertia_times")
"""Equations that can be rolled."""
STRAIGHT = ("forward_dynamics", "inverse_dynamics")
"""Those of which batches are straight-line code below `LARGER` bodies."""


def form_of(model: Model, form: Form | None, parameters: Sequence[str]) -> Form:
    """Return the compiled form of a model: as the caller wants, or by its size and shape if that is None."""
    if form not in (None, "specialised", "rolled", "branches"):
        raise ValueError(f"form is {form!r}, must be 'specialised', 'rolled' or 'branches', or omitted")
    if form in ("rolled", "branches") and parameters:
        raise UnsupportedFeature(
            f"{model.name}: open parameters ({', '.join(parameters)}) need form='specialised'; "
            "other programs have the numbers of their bodies in a table"
        )
    if form == "branches":
        BranchesOnLanes(model).check()
    if form is not None or parameters:
        return form or "specialised"
    return "rolled" if model.nb >= LARGE else "branches" if _branched(model) else "specialised"


def _branched(model: Model) -> bool:
    """True if one state at a time is faster with branches on lanes: from two equal ones with two bodies on."""
    try:
        star = BranchesOnLanes(model)
        star.check()
    except UnsupportedFeature:
        return False
    return len(star.groups[0]) >= 2
