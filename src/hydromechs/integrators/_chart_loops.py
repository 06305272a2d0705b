"""The chart of a large mechanism, joint after joint in a loop: see `dynamics.retract` and `dynamics.chart_rate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, Place, Rolled, Stage, Sweep
from hydromechs.model import Model

__all__ = ["chart_rate_loop", "retract_loop"]


def retract_loop(model: Model) -> Rolled:
    """q ⊕ u of (q, u).

    Args:
        model: The mechanism.
    """
    return _loop(model, "retract", dynamics.retract_steps, ("q", "u"), "q")


def chart_rate_loop(model: Model) -> Rolled:
    """u̇ of (q, u, v).

    Args:
        model: The mechanism.
    """
    return _loop(model, "chart_rate", dynamics.chart_rate_steps, ("q", "u", "v"), "u")


def _loop(model: Model, name: str, function: Callable[..., Any], inputs: tuple[str, ...], like: str) -> Rolled:
    """A function of the steps of each joint, and of its part of the arrays; the result is shaped as one of these."""
    kinds: dict[Any, int] = {}
    stages = []
    rows = []
    for steps, q, v in zip(model.steps, model.q_slices, model.v_slices, strict=True):
        if q.stop == q.start:
            continue
        moving = tuple(s._replace(iq=s.iq - q.start, iv=s.iv - v.start) for s in steps if hasattr(s, "iq"))
        key = tuple((type(s), s.iq, s.iv) for s in moving)
        if key not in kinds:
            kinds[key] = len(kinds)
            sizes = {x: (q.stop - q.start if x == "q" else v.stop - v.start,) for x in inputs}

            def one(_moving: tuple = moving, **given: Any) -> Any:
                return function((_moving,), *given.values())

            stages.append(compiler.trace(one, sizes, name=name, outputs=("out",)))
        rows.append((q.start, v.start, kinds[key]))
    column = {"q": "q", "u": "v", "v": "v"}
    places = (*(Place(x, column[x]) for x in inputs), Place("out", column[like]))
    shapes = {"q": (model.nq,), "u": (model.nv,), "v": (model.nv,)}
    stage = Stage(tuple(stages), (places,) * len(stages), "kind" if len(stages) > 1 else None)
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
