"""Single vehicles with published numbers: what their equations, solved here, say beside what was published of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydromechs import geometry
from hydromechs.equations import inverse_dynamics
from hydromechs.formats import from_fossen
from hydromechs.model import Model, State, added_mass, added_mass_matrix
from hydromechs.simulation import Mode, Plant, Simulation, modes

__all__ = ["Beside", "published_vehicles", "remus_100"]

FOSSEN = "remus100 of the Python Vehicle Simulator (Fossen)"
WU = "Wu 2018, Flinders University"
CLOSED = "closed form"
BENZON = "von Benzon et al. 2022, J. Mar. Sci. Eng. 10(12) 1898, table A1"


class Beside(NamedTuple):
    """One number, published and found."""

    vehicle: str
    """Name of the vehicle."""
    quantity: str
    """Quantity."""
    unit: str
    """Its unit."""
    published: float
    """As published, or as follows from published numbers in closed form."""
    found: float
    """As found here."""
    kind: str
    """Source of the published number."""
    source: str
    """Whose it is."""


def published_vehicles() -> list[Beside]:
    """All comparisons."""
    return [*_remus(), *_blue_rov_2()]


# -- REMUS 100 --------------------------------------------------------------------------------------------------------------

LENGTH, DIAMETER, DENSITY, BELOW = 1.6, 0.19, 1026.0, 0.02
"""Of the spheroid that its simulator takes the vehicle for [m], water [kg/m³], centre of mass under that of buoyancy [m]."""
ADDED = (0.8389085933377652, 29.43763661573727, 29.43763661573727, 0.03360482392879167, 3.4262101147236135, 3.4262101147236135)
"""Added mass [kg, kg·m²]."""
ROLL, PITCH = (6.206727283960466, 0.3), (0.9029853726567426, 0.8)
"""Natural frequency [rad/s] and damping ratio, each of one axis on its own."""
TIMES = {"surge": 20.0, "sway": 20.0, "heave": 20.0, "yaw": 1.0}
"""Time constants of the others [s]."""


def remus_100() -> Model:
    """The vehicle at rest, with the damping that gives its published frequencies, ratios and times axis by axis."""
    a, b = 0.5 * LENGTH, 0.5 * DIAMETER
    mass = 4.0 / 3.0 * math.pi * DENSITY * a * b * b
    weight = mass * 9.81
    S = mass * BELOW
    M = np.diag([mass] * 3 + [mass / 5.0 * 2.0 * b * b, *[mass / 5.0 * (a * a + b * b)] * 2])
    M[3, 3] += S * BELOW
    M[4, 4] += S * BELOW
    M[0, 4] = M[4, 0] = S
    M[1, 3] = M[3, 1] = -S
    total = np.diag(M) + ADDED
    D = np.zeros(6)
    D[[0, 1, 2, 5]] = total[[0, 1, 2, 5]] / list(TIMES.values())
    for axis, (frequency, ratio) in ((3, ROLL), (4, PITCH)):
        D[axis] = 2.0 * ratio * frequency * total[axis]
    below, origin = (0.0, 0.0, BELOW), (0.0, 0.0, 0.0)
    return from_fossen(M, np.diag(ADDED), D, np.zeros(6), below, origin, weight, weight, water_density=DENSITY)


def _remus() -> list[Beside]:
    """Added mass of its shape, and all six of its modes together."""
    shape = added_mass.ShapeAddedMass(shape=geometry.Ellipsoid(axes=(0.5 * LENGTH, 0.5 * DIAMETER, 0.5 * DIAMETER)).at())
    lamb = np.diag(np.array(added_mass_matrix(shape, DENSITY), dtype=float))
    name = "REMUS 100"
    rows = [
        Beside(name, f"added mass in {axis}", unit, ADDED[k], float(lamb[k]), "published", FOSSEN)
        for k, axis, unit in ((0, "surge", "kg"), (1, "sway", "kg"), (5, "yaw", "kg·m²"))
    ]
    found = [m for m in modes(Plant(model=remus_100())).modes if not m.neutral]

    def mode_of(coordinate: str) -> Mode:
        return max(found, key=lambda m: m.share.get(coordinate, 0.0))

    for axis, rate, (frequency, ratio) in (("roll", "p", ROLL), ("pitch", "q", PITCH)):
        mode = mode_of(f"vehicle.{rate}")
        rows.append(Beside(name, f"natural frequency of {axis}", "rad/s", frequency, abs(mode.eigenvalue), "published", FOSSEN))
        rows.append(Beside(name, f"damping ratio of {axis}", "–", ratio, mode.damping_ratio, "published", FOSSEN))
    for (axis, time), rate in zip(TIMES.items(), "uvwr", strict=True):
        rows.append(
            Beside(name, f"time constant of {axis}", "s", time, mode_of(f"vehicle.{rate}").time_constant, "published", FOSSEN)
        )
    return rows


# -- BlueROV2 ---------------------------------------------------------------------------------------------------------------


class Sheet(NamedTuple):
    """Published numbers of a vehicle; x forward, z down."""

    source: str
    mass: float  # [kg]
    weight: float  # [N]
    buoyancy: float  # [N]
    density: float  # of the water [kg/m³]
    cog: tuple[float, float, float]  # [m]
    cob: tuple[float, float, float]  # [m]
    inertia: tuple[float, ...]  # [kg·m²], shape (3,)
    added: tuple[float, ...]  # [kg, kg·m²], shape (6,)
    linear: tuple[float, ...]  # [N·s/m, N·m·s], shape (6,)
    quadratic: tuple[float, ...]  # [N·s²/m², N·m·s²], shape (6,)


SHEETS = (
    Sheet(
        WU, 11.5, 112.8, 114.8, 1000.0, (0.0, 0.0, 0.02), (0.0, 0.0, 0.0), (0.16, 0.16, 0.16),
        (5.5, 12.7, 14.57, 0.12, 0.12, 0.12), (4.03, 6.22, 5.18, 0.07, 0.07, 0.07), (18.18, 21.66, 36.99, 1.55, 1.55, 1.55),
    ),
    Sheet(
        BENZON, 13.5, 13.5 * 9.82, 1000.0 * 0.0134 * 9.82, 1000.0, (0.0, 0.0, 0.0), (0.0, 0.0, -0.01), (0.26, 0.23, 0.37),
        (6.36, 7.12, 18.68, 0.189, 0.135, 0.222), (13.7, 0.0, 33.0, 0.0, 0.8, 0.0), (141.0, 217.0, 190.0, 1.19, 0.47, 1.5),
    ),
)  # fmt: skip


def _vehicle(s: Sheet) -> Model:
    x, y, z = s.cog
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    M = np.block([[s.mass * np.eye(3), -s.mass * S], [s.mass * S, np.diag(s.inertia) - s.mass * S @ S]])
    damping = np.array(s.linear), np.array(s.quadratic)
    return from_fossen(M, np.diag(s.added), *damping, s.cog, s.cob, s.weight, s.buoyancy, water_density=s.density)


def _blue_rov_2() -> list[Beside]:
    """Passive sinking and rising speeds of vehicles, and the effort to move them at half a metre a second."""
    rows = []
    for s in SHEETS:
        model, name = _vehicle(s), "BlueROV2"
        net, l, k = s.weight - s.buoyancy, s.linear[2], s.quadratic[2]
        steady = math.copysign((-l + math.sqrt(l * l + 4.0 * k * abs(net))) / (2.0 * k), net)
        q, v = (np.array(x, dtype=float) for x in model.neutral())
        run = Simulation(Plant(model=model), step=0.02, record=1.0, state=State(q=q, v=v)).run(30.0).recording
        what = "sinks" if net > 0.0 else "rises"
        speed = abs(float(run.v.values[-1, 2]))
        rows.append(Beside(name, f"speed at which it {what}", "m/s", abs(steady), speed, CLOSED, s.source))
        v[0] = 0.5
        force = float(inverse_dynamics(model, q, v, np.zeros(6))[0])
        drag = s.linear[0] * 0.5 + s.quadratic[0] * 0.25
        rows.append(Beside(name, "drag at 0.5 m/s ahead", "N", drag, force, CLOSED, s.source))
    return rows
