"""Energy of bodies that tumble at the free surface, from the state by the definition: it never rises.

`python tests/verification/test_tumbling_energy.py` prints the largest rise of ten random bodies and the raft over 300 s at three steps.
"""

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.hydro import Environment, FreeSurface

G, RHO = 9.81, 1025.0
ROUNDING = 0.02
"""Rounding of edges over the smallest half size, as documented."""


def mean(f, kinks, low=-1.0, high=1.0):
    """∫ f(u) du from low to high, by Gauss's rule between kinks (..., m), where f is smooth; f takes shape (..., m + 1, 20)."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.sort(np.clip(kinks, low, high), axis=-1)
    ends = np.concatenate([np.full_like(ends[..., :1], low), ends, np.full_like(ends[..., :1], high)], axis=-1)
    half = 0.5 * np.diff(ends)
    u = (0.5 * (ends[..., 1:] + ends[..., :-1]))[..., None] + half[..., None] * nodes
    return np.sum(half * (f(u) @ weights), axis=-1)


def wet(y, a):
    """E[y + a u > 0] of u uniform in −1..1."""
    return np.clip(0.5 + 0.5 * y / a, 0.0, 1.0)


def depth(y, a):
    """E[max(y + a u, 0)] of u uniform in −1..1."""
    return np.where(y > a, y, np.maximum(y + a, 0.0) ** 2 / (4 * a))


def expected(part, shape, n, x):
    """Wet part (part = wet) or mean wet depth (depth) of a shape with its centre at depth x and n down in its axes.

    With ξ uniform in the shape, E[x + n·ξ > 0] and E[max(x + n·ξ, 0)]. n·ξ is a sum of independent numbers: one of them is
    taken in closed form, the others by quadrature.
    """
    both = np.array([-1.0, 1.0])
    if isinstance(shape, hm.geometry.Box):
        half = 0.5 * np.array(shape.size)
        a, b, c = np.sqrt((half * n) ** 2 + (ROUNDING * half.min()) ** 2)

        def inner(y):
            kinks = (-y[..., None] + both * c) / b
            return 0.5 * mean(lambda u: part(y[..., None, None] + b * u, c), kinks)

        return 0.5 * mean(lambda u: inner(x + a * u), (-x + np.add.outer(both * b, both * c).ravel()) / a)
    if isinstance(shape, hm.geometry.Cylinder):
        r, half = shape.radius, 0.5 * shape.length
        small = (ROUNDING * min(r, half)) ** 2
        a, b = math.sqrt((half * n[2]) ** 2 + small), math.sqrt(r * r * (n[0] ** 2 + n[1] ** 2) + small)
        kinks = np.arcsin(np.clip((-x + both * a) / b, -1.0, 1.0))
        across = lambda angle: 2 / math.pi * np.cos(angle) ** 2 * part(x + b * np.sin(angle), a)  # noqa: E731
        return mean(across, kinks, -math.pi / 2, math.pi / 2)
    b = np.linalg.norm(np.array(shape) * n)  # an ellipsoid, by its half axes
    return mean(lambda u: 0.75 * (1 - u * u) * part(x + b * u, 1e-300), np.array([-x / b]))


def energy(body, shape, M_A, q, v):
    """½ m |v_c|² + ½ ωᵀ I ω + ½ w Vᵀ M_A V − m g z_c + ρ g V P of a body whose shape has its centre at the origin [J]."""
    w, x, y, z = q[3:7] / np.linalg.norm(q[3:7])
    down = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])  # of the world, in body axes
    m, com = body.inertia.mass, np.array(body.inertia.com)
    xx, yy, zz, xy, xz, yz = body.inertia.tensor
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    v_c = v[:3] + np.cross(v[3:], com)
    kinetic = 0.5 * m * v_c @ v_c + 0.5 * v[3:] @ inertia @ v[3:] + 0.5 * expected(wet, shape, down, q[2]) * v @ M_A @ v
    return kinetic - m * G * (q[2] + com @ down) + RHO * G * body.hydro.volume * expected(depth, shape, down, q[2])


def random_body(seed):
    """A box, cylinder or ellipsoid that floats, its weight aside, with a full added mass, and that turns."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.3, 1.2, size=3)
    if seed % 3 == 0:
        shape, volume = hm.geometry.Box(size=tuple(size)), math.prod(size)
    elif seed % 3 == 1:
        shape, volume = hm.geometry.Cylinder(radius=size[0] / 2, length=size[1]), math.pi * size[0] ** 2 / 4 * size[1]
    else:
        r = float(size[0] / 2)  # without shapes a hull is a sphere of its volume
        shape, volume = (r, r, r), 4 / 3 * math.pi * r**3
    mass = rng.uniform(0.4, 0.8) * RHO * volume
    length = volume ** (1 / 3)
    B = rng.normal(size=(6, 6)) * np.repeat([1.0, 0.4 * length], 3)[:, None]
    M_A = 0.15 * mass * B @ B.T
    body = hm.Body(
        name="body",
        joint=hm.joints.Free(
            position=(0, 0, rng.uniform(-0.4, 0.0)), orientation=(0.6, 0.8, 0, 0), velocity=tuple(rng.normal(size=6))
        ),
        inertia=hm.Inertia(
            mass=mass,
            com=tuple(0.08 * length * rng.normal(size=3)),
            tensor=tuple(mass * length**2 * np.array([0.2, 0.16, 0.13, 0.01, -0.01, 0.02])),
        ),
        hydro=hm.Hydro(volume=volume, added_mass=hm.added_mass.Matrix(M_A)),
        shapes=[shape] if isinstance(shape, hm.geometry.Shape) else [],
    )
    return body, shape, M_A


def raft():
    """The box of 615 kg with an added mass of 0.2, 0.6 and 1.5 of its own."""
    shape = hm.geometry.Box(size=(2.0, 1.0, 0.6))
    M_A = np.diag([0.2 * 615, 0.6 * 615, 1.5 * 615, 20, 100, 60])
    r = 615.0 * 1.2 ** (2 / 3) / 6
    body = hm.Body(
        name="raft",
        joint=hm.joints.Free(position=(0, 0, -0.3), velocity=(0.5, 0.3, 0.2, 1.0, 0.8, 0.4)),
        inertia=hm.Inertia(mass=615.0, tensor=(1.3 * r, r, 0.8 * r, 0, 0, 0)),
        hydro=hm.Hydro(volume=1.2, added_mass=hm.added_mass.Matrix(M_A)),
        shapes=[shape],
    )
    return body, shape, M_A


def energies(case, step, duration, record):
    """Energy of each sample by our own formula, and the recorded energies [J], shape (n,)."""
    body, shape, M_A = case
    model = hm.Model(name=body.name, bodies=[body], world=hm.World(water_density=RHO, gravity=G))
    sim = hm.Simulation(model, environment=Environment(surface=FreeSurface()), step=step, record=record)
    ds = sim.run(duration).recording
    own = np.array([energy(body, shape, M_A, q, v) for q, v in zip(ds.q.values, ds.v.values, strict=True)])
    return own, (ds.kinetic_energy_body + ds.kinetic_energy_fluid + ds.potential_energy).values


CASES = {"raft": raft} | {f"body {seed}": lambda seed=seed: random_body(seed) for seed in (0, 3, 6, 9)}


@pytest.mark.parametrize("name", CASES)
def test_energy_of_the_state_never_rises(name):
    """From sample to sample; the error of integration at an edge that meets the water is h² and more, 1e-6 of what is turned over."""
    own, recorded = energies(CASES[name](), 0.002, 60.0, 0.2)
    lost = own[0] - own[-1]
    assert lost > 10.0
    assert np.diff(own).max() < 1e-6 * lost
    np.testing.assert_allclose(recorded, own, rtol=0, atol=1e-9 * np.abs(own).max())


def main():
    """Print the largest rise between two samples over 300 s, at three steps."""
    for name, make in CASES.items():
        rows = []
        for step in (0.005, 0.002, 0.001):
            own, recorded = energies(make(), step, 300.0, 0.5)
            off = np.abs(own - recorded).max()
            rows.append(
                f"{own[0]:.0f} to {own[-1]:.0f} J, rises by {np.diff(own).max():.1e} J, recorded energy off by {off:.0e} J"
            )
        print(f"{name:8s}", " | ".join(rows), flush=True)


if __name__ == "__main__":
    main()
