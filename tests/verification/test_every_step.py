"""A sliding box, a ball that rolls over the edges of every kind of terrain, an overrun hydraulic drive: with every method, at every step.

Each ends where an independent plain ODE does (SciPy), or the run says before its start that the step is too long: no wrong result
comes without a word. `python tests/verification/test_every_step.py` prints the whole table (minutes).
"""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import BSpline

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import drives
from hydromechs.contact import DryFriction, LinearContact, Material, Terrain

STEPS = (1e-4, 1e-3, 5e-3, 0.02, 0.05, 0.1)
METHODS = (
    "euler",
    "semi_implicit_euler",
    "rk4",
    "linearly_implicit",
    "dormand_prince",
    "b1pc5",
    "b2pc5",
    "b4pc5",
    "b4pc7",
)
G = 9.81
DOWN = np.array([0.0, 0.0, 1.0])

# -- the ball: an ODE of its own ------------------------------------------------------------------------------------------

MASS, RADIUS, INERTIA = 8.0, 0.1, 0.03
K, C = 2e4, 200.0
MU_S, MU_K, K_T, C_T, V_S = 0.6, 0.5, 1e4, 150.0, 0.01
ROUGH = Material(
    law=LinearContact(stiffness=K, damping=C),
    friction=DryFriction(static=MU_S, kinetic=MU_K, stiffness=K_T, damping=C_T, stribeck_speed=V_S),
)
SINK = MASS * G / K
"""Depth at which the ground carries the ball [m]."""


def plane(point, normal):
    n = np.array(normal) / np.linalg.norm(normal)
    return lambda p: n @ (p - np.array(point))


def ball(radius, center):
    return lambda p: np.linalg.norm(p - np.array(center)) - radius


def prism(profile, origin):
    """Signed distance of a solid from that of its rounded profile in its own axes."""
    return lambda p: profile(origin.R.T @ (p - np.array(origin.xyz)))


def corner(over):
    over = np.array(over)
    return np.linalg.norm(np.maximum(over, 0.0)) + min(over.max(), 0.0)


def field(x, heights):
    """Height over x alone: cubic B-splines through the heights, straight at the ends for one cell, level beyond."""
    n, h = len(x), np.array(heights)
    A = (
        np.diag(np.r_[6.0, [4.0] * (n - 2), 6.0])
        + np.diag(np.r_[[1.0] * (n - 2), 0.0], -1)
        + np.diag(np.r_[0.0, [1.0] * (n - 2)], 1)
    )
    c = np.linalg.solve(A, 6.0 * h)
    c = np.r_[[2 * c[0] - c[1]] * 4, c, [2 * c[-1] - c[-2]] * 4]
    d = x[1] - x[0]
    spline = BSpline(x[0] + d * (np.arange(n + 12) - 6.0), c, 3)

    def distance(p):
        u = np.clip(p[0], x[0] - 2 * d, x[-1] + 2 * d)
        return (-p[2] - spline(u)) / np.sqrt(1.0 + spline(u, 1) ** 2)

    return distance


def rolled(solids, start, velocity, time):
    """State of the ball after a time, by SciPy: p, v, ω in world axes and an anchored spring for each solid."""

    def rate(t, y):
        p, v, w, S = y[:3], y[3:6], y[6:9], y[9:].reshape(-1, 3)
        f, m, out = MASS * G * DOWN, np.zeros(3), []
        for phi, s in zip(solids, S, strict=True):
            e = 1e-6
            grad = np.array([(phi(p + e * x) - phi(p - e * x)) / (2 * e) for x in np.eye(3)])
            size = np.linalg.norm(grad)
            n = grad / size
            arm = -RADIUS * n
            v_x = v + np.cross(w, arm)
            v_t = v_x - (n @ v_x) * n
            depth = RADIUS - phi(p)
            N = size * max(K * depth - C * size * (n @ v_x), 0.0) if depth > 0 else 0.0
            flat = s - (n @ s) * n
            trial = K_T * flat + C_T * v_t
            limit = N * (MU_K + (MU_S - MU_K) / (1 + v_t @ v_t / V_S**2))
            grip = trial * min(1.0, limit / max(np.linalg.norm(trial), 1e-300))
            out.append((grip - K_T * flat) / C_T - K_T / C_T * (n @ s) * n)
            f = f + N * n - grip
            m = m - np.cross(arm, grip)
        return np.concatenate([v, f / MASS, m / INERTIA, *out])

    y = np.concatenate([start, velocity, np.zeros(3 + 3 * len(solids))])
    return solve_ivp(rate, (0.0, time), y, method="LSODA", rtol=1e-8, atol=1e-10, max_step=2e-3).y[:3, -1]


TURNED = hm.Origin((0.0, 0.0, 0.4), (0.0, 0.0, 0.4))
LYING = hm.Origin((0, 0, 0.5), (np.pi / 2, 0, 0.3))
GRID = np.linspace(-0.6, 0.6, 4)
HILL = 0.25 * np.array([0.0, 0.3, 0.7, 1.0])
ON = (0.0, 0.0, -RADIUS + SINK)
FLOOR = (
    Terrain(name="floor", material=ROUGH, shape=geometry.Plane.through((0, 0, 0.7), (0, 0, -1))),
    plane((0, 0, 0.7), (0, 0, -1)),
)
A = dict(name="a", material=ROUGH)
EDGES = {
    "plane": (
        [(Terrain(shape=geometry.Plane.through((0, 0, 0), (0.2, 0.1, -1.0)), **A), plane((0, 0, 0), (0.2, 0.1, -1.0)))],
        (-0.4, 0.0, -0.18),
    ),
    "foot of a slope": (
        [
            (Terrain(shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)), **A), plane((0, 0, 0), (0, 0, -1))),
            (
                Terrain(name="b", material=ROUGH, shape=geometry.Plane.through((0.4, 0, 0), (-0.5, 0.1, -1))),
                plane((0.4, 0, 0), (-0.5, 0.1, -1)),
            ),
        ],
        ON,
    ),
    "edge of a box": (
        [
            (
                Terrain(origin=TURNED, shape=geometry.Box(size=(1.0, 1.4, 0.8)), **A),
                prism(lambda x: corner(np.abs(x) - [0.5, 0.7, 0.4]), TURNED),
            ),
            FLOOR,
        ],
        ON,
    ),
    "corner of a box": (
        [
            (
                Terrain(origin=TURNED, shape=geometry.Box(size=(0.6, 0.6, 0.8)), **A),
                prism(lambda x: corner(np.abs(x) - [0.3, 0.3, 0.4]), TURNED),
            ),
            FLOOR,
        ],
        (0.0, 0.03, -RADIUS + SINK),
    ),
    "rim of a cylinder": (
        [
            (
                Terrain(origin=TURNED, shape=geometry.Cylinder(radius=0.4, length=0.8), **A),
                prism(lambda x: corner([np.hypot(x[0], x[1]) - 0.4, abs(x[2]) - 0.4]), TURNED),
            ),
            FLOOR,
        ],
        (-0.1, 0.1, -RADIUS + SINK),
    ),
    "lying cylinder": (
        [
            (
                Terrain(origin=LYING, shape=geometry.Cylinder(radius=0.5, length=2.0), **A),
                prism(lambda x: corner([np.hypot(x[0], x[1]) - 0.5, abs(x[2]) - 1.0]), LYING),
            ),
            FLOOR,
        ],
        (-0.2, 0.0, -0.06),
    ),
    "sphere": (
        [(Terrain(shape=geometry.Sphere(radius=0.5).at((0, 0, 0.5)), **A), ball(0.5, (0, 0, 0.5))), FLOOR],
        (-0.2, 0.02, -0.06),
    ),
    "onto a height field": (
        [
            (
                Terrain(shape=geometry.HeightField(x=GRID, y=GRID, heights=np.repeat(HILL[:, None], 4, 1)), **A),
                field(GRID, HILL),
            )
        ],
        (-1.2, 0.0, -0.06),
    ),
    "off a height field": (
        [
            (
                Terrain(shape=geometry.HeightField(x=GRID, y=GRID, heights=np.repeat(HILL[::-1, None], 4, 1)), **A),
                field(GRID, HILL[::-1]),
            )
        ],
        (-0.2, 0.0, -0.28),
    ),
}
SPEED = (1.2, 0.3, 0.0)
TIME = 1.0


@functools.cache
def rolled_to(edge):
    solids, start = EDGES[edge]
    return rolled([phi for _, phi in solids], start, SPEED, TIME)


def rolling_ball(edge, **options):
    solids, start = EDGES[edge]
    body = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=start, velocity=(*SPEED, 0, 0, 0)),
        inertia=hm.Inertia(mass=MASS, tensor=(INERTIA,) * 3 + (0,) * 3),
        shapes=[hm.geometry.Sphere(radius=RADIUS)],
    )
    return hm.Simulation(hm.Model(name="ball", bodies=[body]), components=[*[ground for ground, _ in solids]], **options)


# -- the sliding box and the overrun drive -----------------------------------------------------------------------------------


def sliding_box(**options):
    """8 kg on four corners from its rest depth, at 1 m/s along the floor."""
    grip = DryFriction(static=0.5, kinetic=0.5, stiffness=5e4, damping=300.0)
    box = hm.Body(
        name="box",
        joint=hm.joints.Free(position=(0, 0, -0.1 + 8.0 * G / 4e5), velocity=(1.0, 0, 0, 0, 0, 0)),
        inertia=hm.Inertia(mass=8.0, tensor=(0.05, 0.12, 0.13, 0, 0, 0)),
        shapes=[hm.geometry.Box(size=(0.4, 0.3, 0.2))],
    )
    floor = Terrain(
        name="floor",
        material=Material(law=LinearContact(stiffness=1e5, damping=300.0), friction=grip),
        shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)),
    )
    return hm.Simulation(hm.Model(name="box", bodies=[box]), components=[floor], **options)


@functools.cache
def slid_to():
    """Place of the box by SciPy: in the plane y = 0, with pitch θ and a spring and an anchor at the front and rear edges."""
    k, c, mu, kt, ct = 2e5, 600.0, 0.5, 1e5, 600.0  # two corners each
    # corners of a box that pitches: front and rear, bottom and top (the top ones never touch)

    def rate(t, y):
        _, z, th, vx, vz, w = y[:6]
        out, fx, fz, m = [], 0.0, 8.0 * G, 0.0
        for sx, s in ((0.2, y[6]), (-0.2, y[7])):
            # z down, pitch about y turns x towards -z
            rx, rz = sx * np.cos(th) + 0.1 * np.sin(th), -sx * np.sin(th) + 0.1 * np.cos(th)
            px, pz = vx + w * rz, vz - w * rx
            depth = z + rz
            N = max(k * depth + c * pz, 0.0) if depth > 0 else 0.0
            trial = kt * s + ct * px
            f = trial * min(1.0, mu * N / max(abs(trial), 1e-300))
            out.append((f - kt * s) / ct)
            fx, fz, m = fx - f, fz - N, m + rz * -f + rx * N
        return [vx, vz, w, fx / 8.0, fz / 8.0, m / 0.12, *out]

    y = [0.0, -0.1 + 8.0 * G / 4e5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    return solve_ivp(rate, (0.0, 1.0), y, method="Radau", rtol=1e-9, atol=1e-11, max_step=1e-2).y[:2, -1]


SUPPLY, VOLUME, FLOW, BULK, CHAMBER, SPOOL = 2e7, 4e-5, 2.2e-8, 1e9, 2e-4, 0.01
ARM = 5.0 + 10.0 * 0.3**2


def overrun_drive(**options):
    """An arm that swings at 20 rad/s against its valve, which opens the other way."""
    drive = drives.Hydraulic(
        joint="arm",
        supply_pressure=SUPPLY,
        displacement=VOLUME,
        flow_coefficient=FLOW,
        bulk_modulus=BULK,
        chamber_volume=CHAMBER,
        spool_time_constant=SPOOL,
    )
    body = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 0, 1), velocity=20.0),
        inertia=hm.Inertia(mass=10.0, com=(0.3, 0, 0), tensor=(0.5, 5.0, 5.0, 0, 0, 0)),
    )
    return hm.Simulation(hm.Model(name="arm", bodies=[body]), components=[drive], commands={"arm": -0.5}, **options)


@functools.cache
def swung_to():
    """Angle of the arm by SciPy; flow through the valve as its root, linear within a thousandth of the supply."""

    def rate(t, y):
        _, v, opening, p = y
        left = SUPPLY - (p if opening >= 0 else -p)
        Q = FLOW * opening * left * np.sqrt(1.001 / (abs(left) + 1e-3 * SUPPLY))
        return [v, VOLUME * p / ARM, (-0.5 - opening) / SPOOL, 4 * BULK / CHAMBER * (Q - VOLUME * v)]

    return solve_ivp(rate, (0.0, 1.0), [0.0, 20.0, 0.0, 0.0], method="LSODA", rtol=1e-9, atol=1e-9).y[:1, -1]


# name: simulation, its truth, coordinates that are compared
CASES = {"sliding box": (sliding_box, slid_to, [0, 2]), "overrun drive": (overrun_drive, swung_to, [0])}
CASES |= {edge: (functools.partial(rolling_ball, edge), functools.partial(rolled_to, edge), [0, 1, 2]) for edge in EDGES}


def right(method, h):
    """Error that is right, of ways and angles of about 1 [m or rad].

    A method that controls its error keeps 1e-3 of the speed in every part of a step. The others are let off with 3 % up to their
    limit of stability, where force jumps cost them their order; and those of order 1 with h ω²/2 a second at the 10 rad/s and
    more with which the ball turns.
    """
    method = hm.integrators.method_named(method)
    return 2e-4 if method.controlled else 0.03 if method.order > 1 else 0.03 + 120.0 * h


def outcome(case, method, h):
    """Error at the end, and outcome of the run: empty, "rejected" before the start, or "diverged"."""
    make, truth, entries = CASES[case]
    sim = make(integrator=method, step=h, record=0.1)
    try:
        state = sim.run(TIME).state
    except hm.SimulationDiverged:
        return np.inf, "diverged"
    except ValueError as error:
        assert "too stiff" in str(error)
        return np.inf, "refused"
    return float(np.abs(state.q[entries] - truth()).max()), ""


@pytest.mark.parametrize("case", ["sphere", "onto a height field"])
@pytest.mark.parametrize("method", ["linearly_implicit", "dormand_prince"])
def test_methods_that_control_their_error_are_right_at_every_step(case, method):
    for h in STEPS[1:]:
        off, word = outcome(case, method, h)
        assert not word
        assert off < right(method, h), h


@pytest.mark.parametrize("case", ["overrun drive", "sphere"])
@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rk4", "b2pc5"])
def test_no_wrong_result_that_is_not_rejected(case, method):
    for h in STEPS[1:]:
        off, word = outcome(case, method, h)
        assert word == "refused" or off < right(method, h), h


def main():
    """Print the error at the end of each case, by method and step; ! marks a wrong result that was not rejected."""
    print("steps", *STEPS)
    for case, (_, truth, _) in CASES.items():
        print(f"\n{case}: ends at {np.round(truth(), 6)}")
        for method in METHODS:
            cells = []
            for h in STEPS:
                off, word = outcome(case, method, h)
                bad = "!" if off > right(method, h) and word != "refused" else ""
                cells.append(f"{off:.0e}{bad} {word[:6]}")
            print(f"  {method:20s}", *(f"{c:>14s}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
