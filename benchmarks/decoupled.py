"""`python -m benchmarks decoupled`: what does it cost to leave the arm's reaction on the vehicle out of the model?

The experiment that the thesis asks for in 7.5.2. A vehicle of the kind of Tiburón, scaled to a given multiple of its arm's
mass, hovers in still water. The arm swings to another posture under computed torques with feedback. The same controllers
run on the full model and on the decoupled one, and the two are compared: where the tool is, and how the vehicle lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hydromechs import equations
from hydromechs.compiler import Argument, Compiled, Recipe, native_lanes
from hydromechs.equations import decoupled_dynamics, forward_dynamics, frame_pose, inverse_dynamics, mass_matrix
from hydromechs.library import load
from hydromechs.model import Body, Hydro, Model, Origin, added_mass, drag, joints
from hydromechs.spatial import quaternion_matrix, quaternion_product

__all__ = [
    "FULL_DECOUPLED",
    "QUICK_DECOUPLED",
    "DecoupledCases",
    "decoupled_parts",
    "error_text",
    "measure_decoupled",
    "plot_decoupled",
    "scaled_vehicle",
]


ONE_ARM_HZ = 0.5
"""Bandwidth of the arm's control while that of the vehicle is varied [Hz]."""
START = (-0.5, 0.2, -0.6, 0.0, 0.0, 0.0)
"""Posture of the arm at the start [rad]."""
SWING = (1.0, 0.4, 0.3, 0.0, 0.0, 0.0)
"""Amplitude of the joints [rad]."""
MOTION = 10.0
"""Simulated time times the arm's bandwidth [rad]: the arm has arrived to within 0.3 % of its way."""


class DecoupledCases(NamedTuple):
    """Parameters of the study; by default the whole study."""

    ratios: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 20.0, 47.5, 100.0)
    """Masses of the vehicle over that of the arm; 47.5 is `tiburon_titan2` itself."""
    arm_hz: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0)
    """Bandwidths of the arm's control [Hz], each with a vehicle that floats freely."""
    vehicle_hz: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    """Bandwidths of station keeping [Hz], each with the arm at `ONE_ARM_HZ`; 0 for a vehicle that floats freely."""
    steps: int = 2000
    """Steps of the Runge-Kutta method from the start of the motion to its end."""


FULL_DECOUPLED = DecoupledCases()
"""The whole study."""
QUICK_DECOUPLED = DecoupledCases(ratios=(5.0, 47.5), arm_hz=(0.5,), vehicle_hz=(0.0, 0.5), steps=300)
"""A few runs, to see that it works."""


def scaled_vehicle(ratio: float, *, with_arm: bool) -> Model:
    """`tiburon_titan2` with a vehicle of `ratio` times the arm's mass, similar in shape, and floating level.

    Lengths scale with λ = (mass ratio)^(1/3): inertia λ^5, added mass λ^3 to λ^5, damping λ^2 to λ^5. The volume and the centre
    of buoyancy make the mechanism neutral and level at the start.

    Args:
        ratio: Mass of the vehicle over that of the arm.
        with_arm: Whether the arm's weight counts in the trim, as it must for the full model; the vehicle of the
            decoupled model floats level on its own.
    """
    model = load("tiburon_titan2")
    vehicle, *arm = model.bodies
    water = _water_of(vehicle)
    arm_mass = sum(b.inertia.mass for b in arm)
    s = (ratio * arm_mass / vehicle.inertia.mass) ** (1.0 / 3.0)
    powers = np.array([3.0] * 3 + [5.0] * 3)
    exponent = 0.5 * (powers[:, None] + powers[None, :])
    added, damping = water.added_mass[0], water.drag[0]
    assert isinstance(added, added_mass.Matrix) and isinstance(damping, drag.Damping)
    M_A = np.array(added.matrix) * s**exponent
    linear = np.array(damping.linear) * s ** np.array([2.5] * 3 + [4.5] * 3)
    quadratic = np.array(damping.quadratic) * s ** np.array([2.0] * 3 + [5.0] * 3)
    mass, com = vehicle.inertia.mass * s**3, s * np.array(vehicle.inertia.com)
    shoulder = arm[0].joint
    assert isinstance(shoulder, joints.Joint) and isinstance(shoulder.placement, Origin)
    mount = Origin(tuple(s * x for x in shoulder.placement.xyz), shoulder.placement.rpy)
    arm[0] = replace(arm[0], joint=replace(shoulder, placement=mount))
    inertia = replace(vehicle.inertia, mass=mass, com=com, tensor=tuple(s**5 * x for x in vehicle.inertia.tensor))

    def made(volume: float, center: tuple[float, float, float]) -> Model:
        hydro = replace(
            water,
            volume=volume,
            buoyancy_center=center,
            added_mass=(added_mass.Matrix(M_A),),
            drag=(drag.Damping(linear=tuple(linear), quadratic=tuple(quadratic)),),
        )
        body = Body(name="vehicle", joint=vehicle.joint, inertia=inertia, hydro=hydro)
        return Model(name=f"tiburon_{ratio:g}", bodies=(body, *arm), world=model.world)

    height = s * water.buoyancy_center[2]
    density = model.world.water_density
    volume, center = mass / density, (com[0], com[1], com[2] + height)
    plain = made(volume, center)
    if not with_arm:
        return plain
    q = np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], START])
    excess, moment = mass, mass * com  # of mass over displaced mass, and its first moment, all but the vehicle's volume
    poses = equations.kinematics(plain, q, np.zeros(plain.nv)).X_WB
    for X, b in zip(poses[1:], arm, strict=True):
        displaced = density * _water_of(b).volume
        excess = excess + b.inertia.mass - displaced
        at = [X[:3, :3] @ np.array(p) + X[:3, 3] for p in (b.inertia.com, _water_of(b).buoyancy_center)]
        moment = moment + b.inertia.mass * at[0] - displaced * at[1]
    return made(excess / density, (moment[0] / excess, moment[1] / excess, com[2] + height))


def _water_of(body: Body) -> Hydro:
    """The hydrodynamics of a body of the library, which is given by numbers."""
    assert isinstance(body.hydro, Hydro)
    return body.hydro


def _rates(
    model: Model, dynamics: Callable[..., np.ndarray], q: Any, v: Any, time: Any, arm_rate: Any, vehicle_rate: Any
) -> tuple[np.ndarray, np.ndarray]:
    """q̇ and v̇ under both controllers.

    Arm: computed torques for q̈ = r̈ + 2 ω (ṙ − q̇) + ω² (r − q), of a base that does not accelerate; the reference r is a
    step through three equal lags of bandwidth ω. Vehicle: station keeping M (−2 ω ν − ω² e) with its own inertia M.
    """
    x = arm_rate * time
    decay, swing = np.exp(-x), np.array(SWING)
    r = np.array(START) + swing * (1.0 - decay * (1.0 + x + 0.5 * x * x))
    r_dot = swing * (arm_rate * decay * 0.5 * x * x)
    r_ddot = swing * (arm_rate * arm_rate * decay * (x - 0.5 * x * x))
    wanted = r_ddot + 2.0 * arm_rate * (r_dot - v[6:]) + arm_rate * arm_rate * (r - q[7:])
    tau_arm = inverse_dynamics(model, q, v, np.concatenate([np.zeros(6), wanted]))[6:]
    R = quaternion_matrix(q[3:7])
    error = np.concatenate([R.T @ q[:3], 2.0 * q[3] * q[4:7]])
    M = mass_matrix(Model(bodies=model.bodies[:1], world=model.world), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    tau_base = -(M @ (2.0 * vehicle_rate * v[:6] + vehicle_rate * vehicle_rate * error))
    vdot = dynamics(model, q, v, np.concatenate([tau_base, tau_arm]))
    turning = quaternion_product(q[3:7], np.array([0.0, *(0.5 * v[3:6])]))
    return np.concatenate([R @ v[:3], turning, v[6:]]), vdot


def _simulated(
    model: Model, dynamics: Callable[..., np.ndarray], arm_hz: Sequence[float], vehicle_hz: Sequence[float], steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Tool positions (steps + 1, n, 3) and orientations of the vehicle (steps + 1, n, 4) of n runs at once."""
    n = len(arm_hz)
    inputs = [Argument(name, (size,)) for name, size in (("q", model.nq), ("v", model.nv))]
    inputs += [Argument(name, ()) for name in ("time", "arm_rate", "vehicle_rate")]
    outputs = (Argument("q_dot", (model.nq,)), Argument("v_dot", (model.nv,)))
    recipe = Recipe("rates", lambda **given: _rates(model, dynamics, **given), tuple(inputs), outputs, None)
    rates = Compiled(recipe, native_lanes(), 1)
    position = Recipe("tool", lambda q: frame_pose(model, q, "tool")[:3, 3], tuple(inputs[:1]), (Argument("p", (3,)),), None)
    tool = Compiled(position, native_lanes(), 1)
    q = np.tile(np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], START]), (n, 1))
    v = np.zeros((n, model.nv))
    arm_rate, vehicle_rate = (2.0 * np.pi * np.asarray(x, dtype=float) for x in (arm_hz, vehicle_hz))
    path, dt = [q], MOTION / steps / arm_rate
    step = dt[:, None]
    for k in range(steps):

        def at(q: np.ndarray, v: np.ndarray, fraction: float, k: int = k) -> Sequence[np.ndarray]:
            return rates([q, v, (k + fraction) * dt, arm_rate, vehicle_rate])

        a, b = at(q, v, 0.0)
        c, d = at(q + 0.5 * step * a, v + 0.5 * step * b, 0.5)
        e, f = at(q + 0.5 * step * c, v + 0.5 * step * d, 0.5)
        g, h = at(q + step * e, v + step * f, 1.0)
        q, v = q + step / 6.0 * (a + 2.0 * c + 2.0 * e + g), v + step / 6.0 * (b + 2.0 * d + 2.0 * f + h)
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        path.append(q)
    states = np.array(path)
    return tool([states])[0], states[..., 3:7]


def measure_decoupled(cases: DecoupledCases = FULL_DECOUPLED) -> dict[str, Any]:
    """Errors of the decoupled model against the full one, while the arm moves.

    Args:
        cases: What to vary.

    Returns:
        The settings, and under "arm" and "vehicle" the largest differences over time: "tool" [m] and "attitude" [deg], each of
        shape (bandwidths, ratios). The decoupled vehicle does not move at all, so the attitude's is the full model's own.
    """
    ratios, arm_hz, vehicle_hz, steps = cases
    runs_arm = [*arm_hz, *(ONE_ARM_HZ for _ in vehicle_hz)]
    runs_vehicle = [*(0.0 for _ in arm_hz), *vehicle_hz]
    columns = []
    for ratio in ratios:
        paths = [
            _simulated(scaled_vehicle(ratio, with_arm=with_arm), dynamics, runs_arm, runs_vehicle, steps)
            for dynamics, with_arm in ((forward_dynamics, True), (decoupled_dynamics, False))
        ]
        (tool, turned), (tool_dec, turned_dec) = paths
        columns.append((np.linalg.norm(tool - tool_dec, axis=-1).max(axis=0), _degrees_between(turned, turned_dec)))
    tool_error, attitude_error = (np.stack(rows, axis=1) for rows in zip(*columns, strict=True))
    n = len(arm_hz)
    named = dict(tool=tool_error, attitude=attitude_error)
    return {
        "ratios": list(ratios),
        "arm_hz": list(arm_hz),
        "vehicle_hz": list(vehicle_hz),
        "arm_hz_of_vehicle_runs": ONE_ARM_HZ,
        "steps": steps,
        "arm": {name: rows[:n].tolist() for name, rows in named.items()},
        "vehicle": {name: rows[n:].tolist() for name, rows in named.items()},
    }


def _degrees_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest angle over time between two orientations given by quaternions (time, n, 4) [deg], shape (n,)."""
    xyz = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(a[..., 1:], b[..., 1:])
    w = (a * b).sum(axis=-1)
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(xyz, axis=-1), np.abs(w))).max(axis=0)


# -- showing it -----------------------------------------------------------------------------------------------------------


def decoupled_parts(report: Mapping[str, Any]) -> list[tuple[str, str, list[float], dict[str, Any]]]:
    """(title, label of the rows, rows, errors) of the two experiments."""
    fixed = report["arm_hz_of_vehicle_runs"]
    return [
        ("Vehicle floats freely", "bandwidth of the arm [Hz]", report["arm_hz"], report["arm"]),
        (f"Station keeping, arm at {fixed:g} Hz", "bandwidth of the vehicle [Hz]", report["vehicle_hz"], report["vehicle"]),
    ]


def error_text(x: float) -> str:
    """An error with two figures, or whole."""
    if not np.isfinite(x):
        return "diverged"
    return f"{x:.0f}" if x >= 9.95 else f"{x:.1f}" if x >= 0.995 else f"{x:.2f}"


def plot_decoupled(report: Mapping[str, Any], out: str | Path) -> Path:
    """Draw the errors as four heat maps.

    Args:
        report: What `measure_decoupled` returns.
        out: File to write.

    Returns:
        The file.
    """
    from matplotlib.colors import LogNorm

    from hydromechs.viewer import figure

    out = Path(out)
    kinds = (("tool", "Error of the tool's position [mm]", 1000.0), ("attitude", "Error of the vehicle's attitude [deg]", 1.0))
    with figure(out, height=7.4, width=9.6) as fig:
        axes = fig.subplots(2, 2)
        for row, (name, what, scale) in zip(axes, kinds, strict=True):
            every = [scale * np.array(errors[name]) for _, _, _, errors in decoupled_parts(report)]
            finite = np.concatenate([e[np.isfinite(e)] for e in every])
            norm = LogNorm(max(finite.min(), 1e-3 * finite.max()), finite.max())
            for ax, (title, label, bandwidths, _), values in zip(row, decoupled_parts(report), every, strict=True):
                image = ax.imshow(values, norm=norm, cmap="YlOrRd", aspect="auto", origin="lower")
                ax.grid(False)
                ax.set_xticks(range(len(report["ratios"])), [f"{x:g}" for x in report["ratios"]])
                ax.set_yticks(range(len(bandwidths)), ["free" if x == 0.0 else f"{x:g}" for x in bandwidths])
                ax.set(xlabel="mass of the vehicle / mass of the arm", ylabel=label, title=f"{what}\n{title}")
                for i, line in enumerate(values):
                    for j, x in enumerate(line):
                        dark = np.isfinite(x) and norm(max(x, norm.vmin)) > 0.58
                        ax.text(j, i, error_text(x), ha="center", va="center", fontsize=8, color="white" if dark else "#333b41")
            fig.colorbar(image, ax=list(row), shrink=0.9, pad=0.02)
    return out
