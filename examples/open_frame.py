"""How much water does an open frame carry along?

A frame of bars, tubes and foam with the outer dimensions of a BlueROV2 gets water from its shapes, is compared with what others
published for that vehicle, and gets the ballast that levels it.

python examples/open_frame.py
"""

from dataclasses import dataclass

import numpy as np

import hydromechs as hm
from hydromechs import geometry, naval

PUBLISHED = {
    "von Benzon et al. 2022": (6.36, 7.12, 18.68, 0.189, 0.135, 0.222),
    "Wu 2018": (5.5, 12.7, 14.57, 0.12, 0.12, 0.12),
    "ViktorNfa/bluerov2_dynamics": (2.6, 18.5, 13.3, 0.054, 0.0173, 0.28),
    "HippoCampusRobotics/uvms": (10.0, 14.0, 18.0, 0.15, 0.15, 0.2),
}
"""Diagonals of the added mass of BlueROV2s, light and heavy [kg, kg·m²]; they disagree by factors of two to nine."""


def frame() -> hm.Model:
    """The dry robot, FRD axes: two sides of bars, foam on top, two tubes, six thrusters as solid cylinders [m, kg]."""

    def box(size, xyz):
        return geometry.Box(size=size).at(xyz)

    def tube(radius, length, xyz, yaw=0.0):
        return geometry.Cylinder(radius=radius, length=length).at(xyz, (0.0, np.pi / 2, yaw))

    parts = [tube(0.057, 0.30, (0, 0, -0.01)), tube(0.045, 0.26, (0, 0, 0.08))]
    parts += [box((0.05, 0.31, 0.006), (x, 0, 0.03)) for x in (-0.1, 0.1)]
    for side in (-1.0, 1.0):
        parts += [box((0.457, 0.006, 0.04), (0, side * 0.155, z)) for z in (-0.107, 0.0, 0.107)]
        parts += [box((0.04, 0.006, 0.254), (x, side * 0.155, 0)) for x in (-0.2, 0.2)]
        parts += [box((0.36, 0.109, 0.058), (0, side * 0.1145, -0.098))]
        parts += [tube(0.03, 0.08, (x, side * 0.11, 0.02), np.sign(x) * side * np.pi / 4) for x in (-0.15, 0.15)]
        parts += [geometry.Cylinder(radius=0.03, length=0.08).at((0, side * 0.11, 0))]
    inertia = hm.Inertia(mass=11.3, com=(0.004, 0.001, 0.012), tensor=(0.16, 0.16, 0.16, 0, 0, 0))
    return hm.Model(name="open frame", bodies=[hm.Body(name="vehicle", inertia=inertia, shapes=tuple(parts))])


@dataclass
class Result:
    added: np.ndarray
    """Diagonal of the added mass [kg, kg·m²], shape (6,)."""
    spread: np.ndarray
    """Its uncertainty, shape (6,)."""
    report: naval.WaterReport
    before: naval.Hydrostatics
    ballast: naval.Ballast


def run(added_mass: naval.AddedMassMethod | None = None) -> Result:
    """Water from shapes, or by boundary elements with `naval.FromPanels()`."""
    model, report = hm.add_water(frame(), added_mass=added_mass)
    _, _, mass, inertia, _ = report.of("vehicle")
    ballast = hm.ballast(model, buoyancy=1.0, stability=0.03)
    return Result(
        np.array(mass.value + inertia.value),
        np.array(mass.uncertainty + inertia.uncertainty),
        report,
        hm.hydrostatics(model),
        ballast,
    )


def check(result: Result) -> None:
    """Within the published spread, give or take its own uncertainty; level, and lighter than water by 1 N, with the ballast."""
    low, high = np.min(list(PUBLISHED.values()), axis=0), np.max(list(PUBLISHED.values()), axis=0)
    assert (result.added > low - result.spread).all() and (result.added < high + result.spread).all()
    assert result.before.tilt > np.radians(2.0)
    assert abs(result.ballast.after.net_weight + 1.0) < 1e-6
    assert result.ballast.after.tilt < 1e-6


def main() -> None:
    result = run()
    check(result)
    print(result.report, "\n")
    for name, values in PUBLISHED.items():
        print(f"{name:30}", *(f"{x:8.4g}" for x in values))
    print(f"{'this':30}", *(f"{x:8.4g}" for x in result.added), "\n")
    print(*result.before.warnings, result.ballast, sep="\n")


if __name__ == "__main__":
    main()
