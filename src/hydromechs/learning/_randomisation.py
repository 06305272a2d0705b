"""Open parameters of the worlds, and their values in each episode."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hydromechs import registry
from hydromechs.model import Hydro, Model, added_mass_matrix
from hydromechs.model import added_mass as kinds
from hydromechs.scenario import Randomisation
from hydromechs.simulation import Plant
from hydromechs.values import Array

DRAG = ("coefficient", "end_coefficient", "linear", "quadratic", "drag_parallel", "drag_normal", "lift_slope")
"""Numbers of drag elements that a factor scales."""
SCALED = {
    "mass": ("inertia.mass", "inertia.tensor"),
    "added_mass": ("hydro.added_mass.*.matrix", "hydro.added_mass.*.diagonal"),
    "drag": tuple(f"hydro.drag.*.{name}" for name in DRAG),
}
"""Paths from a body to the numbers that fractions of `Randomisation` scale."""


def with_matrices(model: Model, given: Randomisation) -> Model:
    """Return the same mechanism with added mass from shapes written as matrices, which a factor can scale."""
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


def opened(plant: Plant, given: Randomisation) -> dict[str, tuple[str, float, float]]:
    """Return the paths of numbers that stay open, each with the name of the factor that it shares and the factor's range."""
    model, out = plant.model, dict[str, tuple[str, float, float]]()
    for name in given.bodies:
        model.body_index(name)
    for kind, paths in SCALED.items():
        share, found = getattr(given, kind), False
        for body in (given.bodies or model.body_names) if share else ():
            for path in (f"{body}.{rest}" for rest in paths):
                if _is_set(plant, path):
                    out[path], found = (f"{body} {kind}", 1.0 - share, 1.0 + share), True
        if share and not found:
            raise ValueError(f"Randomisation.{kind} is {share:g}, but no body of {model.name} has any")
    for path, (low, high) in given.parameters:
        registry.value(plant, path)  # a KeyError that lists the known ones
        out[path] = (path, float(low), float(high))
    return out


def _is_set(plant: Plant, path: str) -> bool:
    try:
        places = registry.located(plant, path)
    except KeyError:
        return False
    return any(np.any(registry.follow(plant, keys)) for keys in places)


def drawn_parameters(
    names: Mapping[str, tuple[str, float, float]], own: Mapping[str, Array], random: Sequence[np.random.Generator]
) -> dict[str, Array]:
    """Return values of open parameters, shape (len(random), ...) each; one factor for all that share its name."""
    ranges = {factor: (low, high) for factor, low, high in names.values()}
    low, high = (np.array([r[k] for r in ranges.values()]) for k in (0, 1))
    drawn = np.stack([low + (high - low) * g.random(len(ranges)) for g in random]) if ranges else np.zeros((len(random), 0))
    column = {factor: k for k, factor in enumerate(ranges)}
    return {
        name: own[name] * drawn[:, column[factor]].reshape(-1, *(1,) * np.ndim(own[name]))
        for name, (factor, _, _) in names.items()
    }
