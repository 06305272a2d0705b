"""Differentiability of a plant's equations: routines that they call are held constant where they are derived."""

from dataclasses import replace

from hydromechs import compiler
from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array, Scalar

from ._evaluate import derivative
from ._plant import Plant


def check_derivable(who: str, plant: Plant, rates: compiler.Program) -> None:
    """Reject a plant whose equations have parts without derivatives, with the names of their components.

    `who`: caller that needs derivatives, for the message; `rates`: its equations as a program.
    """
    if not rates.calls:
        return
    named = [f"{c.name!r} ({c.kind})" for c in plant.components if _calls(replace(plant, components=(c,)))]
    raise UnsupportedFeature(
        f"{who}: the plant's equations have parts without derivatives, as grasps and tables of heights do"
        + (f": {', '.join(named)}; remove these components" if named else "; remove these")
    )


def _calls(plant: Plant) -> bool:
    """True if the equations of a plant call tables, solvers or other programs."""
    model, layout = plant.model, plant.layout

    def rates(t: Scalar, q: Array, u: Array, v: Array, z: Array, inputs: Array) -> Array:
        return derivative(plant, t, q, u, v, z, inputs)

    shapes = {"t": (), "q": (model.nq,), "u": (model.nv,), "v": (model.nv,), "z": (layout.nz,), "inputs": (layout.size,)}
    return bool(compiler.trace(rates, shapes, name="rates", outputs=("ydot",)).calls)
