"""Open parameters of the worlds, and their values in each episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hydromechs.equations import parameter_value
from hydromechs.model import Hydro, Model, added_mass_matrix
from hydromechs.model import added_mass as kinds
from hydromechs.scenario import Randomisation
from hydromechs.values import Array

DRAG = ("coefficient", "end_coefficient", "linear", "quadratic", "drag_parallel", "drag_normal", "lift_slope")
"""Numbers of drag elements that a factor scales."""


def with_matrices(model: Model, given: Randomisation) -> Model:
    """The same mechanism with added mass that follows from shapes written as matrices, which a factor can scale."""
    if not given.added_mass:
        return model
    density, bodies = model.world.water_density, []
    for body in model.bodies:
        if isinstance(body.hydro, Hydro) and body.hydro.added_mass:
            plain = [
                e if isinstance(e, kinds.Matrix | kinds.Diagonal) else kinds.Matrix(matrix=_rows(added_mass_matrix(e, density)))
                for e in body.hydro.added_mass
            ]
            body = replace(body, hydro=replace(body.hydro, added_mass=tuple(plain)))
        bodies.append(body)
    return replace(model, bodies=tuple(bodies))


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in 0.5 * (matrix + matrix.T))


def opened(model: Model, given: Randomisation) -> dict[str, tuple[str, float, float]]:
    """Parameters that stay open, each with the name of the factor that it shares and the range of that factor."""
    for name in given.bodies:
        model.body_index(name)
    out: dict[str, tuple[str, float, float]] = {}

    def add(name: str, factor: str, share: float) -> None:
        if np.any(parameter_value(model, name)):
            out[name] = (factor, 1.0 - share, 1.0 + share)

    for body in model.bodies:
        if given.bodies and body.name not in given.bodies:
            continue
        if given.mass:
            add(f"{body.name}.inertia.mass", f"{body.name} mass", given.mass)
            add(f"{body.name}.inertia.tensor", f"{body.name} mass", given.mass)
        water = body.hydro
        if not isinstance(water, Hydro):
            continue
        for k, element in enumerate(water.added_mass if given.added_mass else ()):
            field_name = "matrix" if isinstance(element, kinds.Matrix) else "diagonal"
            add(f"{body.name}.hydro.added_mass.{k}.{field_name}", f"{body.name} added mass", given.added_mass)
        for k, drag in enumerate(water.drag if given.drag else ()):
            for name in DRAG:
                if getattr(drag, name, None) is not None:
                    add(f"{body.name}.hydro.drag.{k}.{name}", f"{body.name} drag", given.drag)
    for kind in ("mass", "added_mass", "drag"):
        if getattr(given, kind) and not any(f.endswith(kind.replace("_", " ")) for f, _, _ in out.values()):
            raise ValueError(f"Randomisation.{kind} is {getattr(given, kind):g}, but no body of {model.name} has any")
    for name, (low, high) in given.parameters:
        parameter_value(model, name)  # a KeyError that says what there is
        out[name] = (name, float(low), float(high))
    return out


def drawn_parameters(
    names: Mapping[str, tuple[str, float, float]], own: Mapping[str, Array], random: Sequence[np.random.Generator]
) -> dict[str, Array]:
    """Values of open parameters, shape (len(random), ...) each; one factor for all that share its name."""
    ranges = {factor: (low, high) for factor, low, high in names.values()}
    low, high = (np.array([r[k] for r in ranges.values()]) for k in (0, 1))
    drawn = np.stack([low + (high - low) * g.random(len(ranges)) for g in random]) if ranges else np.zeros((len(random), 0))
    column = {factor: k for k, factor in enumerate(ranges)}
    return {
        name: own[name] * drawn[:, column[factor]].reshape(-1, *(1,) * np.ndim(own[name]))
        for name, (factor, _, _) in names.items()
    }
