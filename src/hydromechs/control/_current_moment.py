"""The moment by which a current turns a vehicle away from its attitude, beside the stiffness of a pose controller."""

from __future__ import annotations

import math

import numpy as np

from hydromechs.equations import inverse_dynamics
from hydromechs.hydro import Environment, profile_factor
from hydromechs.model import Model
from hydromechs.spatial import matrix_from_rpy, quaternion_exp, quaternion_from_matrix, quaternion_matrix, quaternion_product

from ._reference import Waypoints
from ._vehicle import WAYS, Vehicle

TURN = 1e-4
"""Angle of the differences [rad]."""
SLOW = 1e-6
"""Speed of the water that counts as none [m/s]."""
DIGITS = 3
"""Decimals of the water's velocity in the vehicle's axes by which waypoints count as alike."""


def current_notes(
    vehicle: Vehicle,
    model: Model,
    environment: Environment,
    path: Waypoints,
    inertia: np.ndarray,
    gains: tuple[float, float, float],
) -> list[str]:
    """Warn if the moment of the current exceeds the attitude stiffness of a pose controller, which cancels the righting moment.

    A rotation obeys θ̈ = λ θ − ω_0² θ − 2 ζ ω_0 θ̇ − (ω_0³/k) ∫θ dt, where λ is due to the current. It is stable if
    λ < ω_0² (1 − 1/(2 ζ k)). The controller compensates the moment of its own path speed, so λ is that of the velocity relative
    to the water minus that of the path speed.

    Args:
        model: The mechanism; its other joints count as held in the initial configuration.
        environment: The water; only its mean current is used.
        path: Position and roll, pitch, heading [m, rad]; waypoints and the fastest instant of each leg are checked.
        inertia: Inertia M of the controller, shape (6, 6).
        gains: ω_0², 2 ζ ω_0 and ω_0³/k of the attitude.
    """
    turns = [k - 3 for k in vehicle.axes if k >= 3]
    current = environment.current
    if current is None or not turns:
        return []
    instants = sorted({*path.times, *(0.5 * (path.times[:-1] + path.times[1:]))})
    seen: dict[tuple[float, ...], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for pose, rate, _ in map(path, instants):
        factor = float(profile_factor(current.profile, float(pose[:3] @ model.world.down)))
        R, own = np.array(matrix_from_rpy(pose[3:]), dtype=float), rate[:3]
        for row in current.velocities or (current.velocity,):
            flow = factor * np.array(row, dtype=float)
            alike = np.round([R.T @ flow, R.T @ own], DIGITS).ravel() + 0.0
            seen.setdefault(tuple(alike.tolist()), (quaternion_from_matrix(R), flow, own))
    worst, speed, along, axis = 0.0, 0.0, 0.0, turns[0]
    for turn, flow, own in seen.values():
        if np.linalg.norm(flow) <= SLOW:
            continue
        away = turning_rates(model, vehicle.body, inertia, turn, flow - own)
        if np.linalg.norm(own) > SLOW:
            away = away - turning_rates(model, vehicle.body, inertia, turn, -own)
        away = away[np.ix_(turns, turns)]
        if np.isfinite(away).all():
            rates, ways = np.linalg.eig(away)
            k = int(rates.real.argmax())
            if rates[k].real > worst:
                worst, speed, along = float(rates[k].real), float(np.linalg.norm(flow)), float(np.linalg.norm(own))
                axis = turns[int(np.abs(ways[:, k]).argmax())]
    stiffness, damping, integral = gains
    left = 1.0 - integral / (damping * stiffness)  # 1 − 1/(2 ζ k)
    if left <= 0.0 or worst < left * stiffness:
        return []
    J = inertia[3 + axis, 3 + axis]
    enough = math.ceil(10.0 * math.sqrt(2.0 * worst / left)) / 10.0
    there = f" on a path at {along:.2g} m/s" if along > SLOW else ""
    return [
        f"the current of {speed:.2g} m/s destabilises {vehicle.name!r} in {WAYS[3 + axis]} by {J * worst:.2g} N·m/rad{there}, "
        f"too much for the control stiffness of {J * stiffness:.2g} N·m/rad (righting moment is cancelled): it may capsize; "
        f"increase attitude_frequency from {math.sqrt(stiffness):.3g} to {enough:g} rad/s or more"
    ]


def turning_rates(model: Model, body: int, inertia: np.ndarray, turn: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Angular acceleration that a current adds per angle of a turn, at rest in body axes [1/s²], shape (3, 3).

    Positive leads away. Most of it is the Munk moment: water that flows past a body turns it across.

    Args:
        body: Index of the vehicle's body.
        inertia: Its inertia with all that it carries, shape (6, 6).
        turn: Its attitude, a quaternion, shape (4,).
        flow: Velocity of the water in world axes [m/s], shape (3,).
    """
    at, q, rest = model.v_slices[body], model.initial().q, np.zeros(model.nv)
    initial = quaternion_matrix(q[model.q_slices[body]][3:])

    def needed(angle: np.ndarray) -> np.ndarray:
        """Wrench that holds it there, shape (6,).

        The water is turned the other way instead of the vehicle: then the weight is the same in all differences.
        """
        turned = quaternion_matrix(quaternion_product(turn, quaternion_exp(angle)))
        around = initial @ turned.T @ flow
        return np.array(inverse_dynamics(model, q, rest, rest, fluid_velocity=around), dtype=float)[at]

    columns = [(needed(TURN * e) - needed(-TURN * e)) / (2.0 * TURN) for e in np.eye(3)]
    return -np.linalg.solve(inertia, np.array(columns).T)[3:]
