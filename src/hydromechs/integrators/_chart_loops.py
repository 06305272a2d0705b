"""The chart of a large mechanism, step after step in a loop: see `dynamics.retract` and `dynamics.chart_rate`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Address, Argument, Rolled, Stage, Sweep
from hydromechs.model import Model


def retract_loop(model: Model) -> Rolled:
    """q ⊕ u of (q, u)."""
    return _loop(model, "retract", ("q", "u"), "q")


def chart_rate_loop(model: Model) -> Rolled:
    """u̇ of (q, u, v)."""
    return _loop(model, "chart_rate", ("q", "u", "v"), "u")


def _loop(model: Model, name: str, inputs: tuple[str, ...], like: str) -> Rolled:
    """A method of all moving steps, of their parts of the arrays; the result is shaped as one of these."""
    kinds: dict[Any, int] = {}
    programs, rows = [], []
    for step in dynamics.moving_steps(model):
        key = step.chart_key
        if key not in kinds:
            kinds[key] = len(kinds)
            sizes = {x: (step.nq if x == "q" else step.nv,) for x in inputs}
            method = getattr(step, name)
            traced = compiler.trace(
                lambda _m=method, **given: np.asarray(_m(*given.values())), sizes, name=name, outputs=("out",)
            )
            programs.append(traced)
        rows.append((step.iq, step.iv, kinds[key]))
    column = {"q": "q", "u": "v", "v": "v"}
    places = (*(Address(x, column[x]) for x in inputs), Address("out", column[like]))
    shapes = {"q": (model.nq,), "u": (model.nv,), "v": (model.nv,)}
    stage = Stage(tuple(programs), (places,) * len(programs), "kind" if len(programs) > 1 else None)
    return Rolled(
        name,
        tuple(Argument(x, shapes[x]) for x in inputs),
        (Argument("out", shapes[like]),),
        ("q", "v", "kind"),
        np.array(rows, dtype=int).reshape(-1, 3),
        np.zeros(0),
        {},
        (Sweep((stage,)),),
    )
