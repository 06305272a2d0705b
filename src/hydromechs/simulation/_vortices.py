"""Reynolds and Strouhal numbers of bodies in a recorded flow, and modes that may lock in with vortex shedding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs.geometry import Cylinder, Placed, Sphere
from hydromechs.model import Hydro, Model, drag
from hydromechs.values import Array

if TYPE_CHECKING:
    import xarray

    from ._modes import Mode

LOCK_IN = (4.0, 8.0)
"""Range of reduced velocities U/(f D) for lock-in of a cylinder in water with a cross-flow mode [-] (Blevins 1990, ch. 3;
DNV-RP-C205, sec. 9)."""
SHEDDING = 47.0
"""Reynolds number at the onset of vortex shedding [-] (Williamson 1996)."""
OF_A_SPHERE = 0.19
"""Strouhal number of a sphere [-] (Sakamoto and Haniu 1990)."""


class FlowNumbers(NamedTuple):
    """Flow past one shape of a body."""

    body: str
    """Name of the body."""
    shape: str
    """Kind of the shape, "cylinder" or "sphere"."""
    width: float
    """Width D across the flow [m]."""
    speed: Array
    """Speed U of the water relative to the shape; for a cylinder, normal to its axis [m/s], shape (time,)."""
    viscosity: float
    """Kinematic viscosity ν [m²/s]."""

    @property
    def reynolds(self) -> float:
        """Maximum Reynolds number U D/ν [-]."""
        return float(np.nanmax(self.speed)) * self.width / self.viscosity

    @property
    def strouhal(self) -> float:
        """Strouhal number f D/U at the maximum speed [-]; 0 without vortex shedding."""
        return strouhal_number(self.reynolds, self.shape)

    @property
    def frequency(self) -> float:
        """Frequency f of vortex shedding at the maximum speed [Hz]."""
        return self.strouhal * float(np.nanmax(self.speed)) / self.width


def strouhal_number(reynolds: float, shape: str = "cylinder") -> float:
    """Return the Strouhal number f D/U of a smooth cylinder after Roshko (1954), or of a sphere, which is constant [-].

    For a cylinder, it is 0.212 (1 − 21.2/Re) up to Re = 180, and 0.212 (1 − 12.7/Re) above. Measured frequencies scatter above
    Re = 2·10⁵, where the formula is extrapolated.
    """
    if reynolds < SHEDDING:
        return 0.0
    if shape == "sphere":
        return OF_A_SPHERE
    return 0.212 * (1.0 - (21.2 if reynolds < 180.0 else 12.7) / reynolds)


def flow_numbers(model: Model, recording: xarray.Dataset | Mapping[str, Array]) -> tuple[FlowNumbers, ...]:
    """Return the flow past cylinders and spheres with drag in a recording, in descending order of Reynolds number.

    `recording`: recording, of which velocity, fluid_velocity and orientation are used.
    """
    if "fluid_velocity" not in recording:
        return ()
    out = []
    for i, body in enumerate(model.bodies):
        for solid, radius in _round_shapes(body.hydro):
            v = _relative_velocity(recording, i, np.array(solid.origin.xyz))
            if isinstance(solid.shape, Cylinder):
                axis = solid.origin.R[:, 2]
                v = v - np.outer(v @ axis, axis)
            width = 2.0 * radius
            speed = np.linalg.norm(v, axis=1)
            out.append(FlowNumbers(body.name, solid.shape.word, width, speed, model.world.kinematic_viscosity))
    return tuple(sorted(out, key=lambda n: -n.reynolds))


def _round_shapes(hydro: object) -> Iterator[tuple[Placed, float]]:
    """Yield the cylinders and spheres with drag, and their radii [m]."""
    for element in hydro.drag if isinstance(hydro, Hydro) else ():
        if isinstance(element, drag.ShapeDrag) and isinstance(shape := element.solid.shape, Cylinder | Sphere):
            yield element.solid, shape.radius


def _relative_velocity(recording: xarray.Dataset | Mapping[str, Array], i: int, p: Array) -> Array:
    """Return the velocity of a point of a body relative to the water in body axes [m/s], shape (time, 3)."""
    V, water, turned = (np.asarray(recording[x], dtype=float)[:, i] for x in ("velocity", "fluid_velocity", "orientation"))
    w, u = turned[:, :1], -turned[:, 1:]
    across = np.cross(u, water)
    return V[:, :3] + np.cross(V[:, 3:], p) - (water + 2.0 * (w * across + np.cross(u, across)))


def lock_in(model: Model, modes: Sequence[Mode], flow: Sequence[FlowNumbers]) -> tuple[str, ...]:
    """Return a warning for each mode that may lock in with vortex shedding from a cylinder that moves in this mode."""
    out = []
    shedding = [(n, _velocities_of(model, n.body)) for n in flow if n.shape == "cylinder" and n.reynolds >= SHEDDING]
    for mode in (m for m in modes if m.frequency > 0.0):
        where = [(_inside(n, mode.natural_frequency), n.body) for n, moving in shedding if moving & {*mode.who}]
        share, body = max(where, key=lambda x: x[0], default=(0.0, ""))
        if share:
            out.append(
                f"vortex shedding of body {body!r} may lock in with the mode of {', '.join(mode.who)} at "
                f"{mode.natural_frequency:.3g} Hz: the reduced velocity is from {LOCK_IN[0]:g} to {LOCK_IN[1]:g} in "
                f"{100.0 * share:.3g} % of the samples; add damping, stiffness or strakes"
            )
    return tuple(out)


def _inside(numbers: FlowNumbers, frequency: float) -> float:
    """Return the fraction of samples with a reduced velocity in the lock-in range of a frequency [Hz]."""
    reduced = numbers.speed / (frequency * numbers.width)
    return float(np.mean((reduced >= LOCK_IN[0]) & (reduced <= LOCK_IN[1])))


def _velocities_of(model: Model, name: str) -> set[str]:
    """Return the names of the velocity coordinates that move a body."""
    out: set[str] = set()
    i = model.body_index(name)
    while i >= 0:
        at = model.v_slices[i]
        out |= {*model.coordinate_names[1][at]}
        i = model.parent[i]
    return out
