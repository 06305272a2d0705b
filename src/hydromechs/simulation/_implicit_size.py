"""Estimated length of the program of a linearly implicit step, before tracing."""

from hydromechs.compiler import longest_program
from hydromechs.contact import Pair
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import Integrator, LinearlyImplicit

from ._plant import Plant

LIMIT = 500_000
"""Default maximum number of lines of LLVM IR of a linearly implicit step. LLVM's memory and time grow with the square of the
number of lines; tracing adds to that."""

# measured on chains of 1 to 12 bodies with 1 to 48 frictional contacts on a plane; other contacts need more operations
BODY, CONTACT = 300, 114
"""Operations of the derivative per body in water and per contact."""
COLUMN = 1.25
"""Operations of the Jacobian over those of the derivative, per degree of freedom."""
SQUARE, LINE = 9, 200
"""Lines of the rest of the step per entry of the Jacobian, and per row."""


def implicit_length(plant: Plant) -> int:
    """Estimate the lines of LLVM IR of a linearly implicit step of a plant from its bodies, contacts and states."""
    nv, layout = plant.model.nv, plant.layout
    n = 2 * nv + layout.nz - len(layout.causes)
    rates = BODY * plant.model.nb + CONTACT * sum(isinstance(c, Pair) for c in plant.components)
    return int(COLUMN * nv * rates + SQUARE * n * n + LINE * n)


def check_length(plant: Plant, method: Integrator) -> None:
    """Raise `UnsupportedFeature` if the program of a linearly implicit step is too long to compile."""
    if not isinstance(method, LinearlyImplicit):
        return
    lines, limit = implicit_length(plant), longest_program(LIMIT)
    if lines > limit:
        contacts = sum(isinstance(c, Pair) for c in plant.components)
        states = plant.layout.nz - len(plant.layout.causes)
        raise UnsupportedFeature(
            f"integrator linearly_implicit: its program has about {lines:,} lines for {plant.model.nv} degrees of freedom, "
            f"{contacts} contacts and {states} internal states, more than {limit:,}; use rk4 with a shorter step, fewer "
            "contacts, frictionless contacts, or a larger HYDROMECHS_LONGEST_PROGRAM"
        )


def other_method(plant: Plant, method: Integrator) -> str:
    """Return advice to use another method for a stiff plant; empty if there is none, or if the plant is too large for it."""
    return method.other if implicit_length(plant) <= longest_program(LIMIT) else ""


def advice(plant: Plant, method: Integrator, step: float) -> str:
    """Return advice for a run that has diverged, or whose energy has."""
    return method.remedy(step) if not method.other or other_method(plant, method) else f"use a step below {step:g} s"
