"""What happens to a vehicle in Euler angles when it pitches through 90°?

A small vehicle noses up and over, and stands upright exactly at t = 2 s. Three integrations of the same equations of
motion, by the same Runge-Kutta method with the same steps: ours on the manifold, (24)-(26) of From et al. (2010) with Euler
angles and body velocities, and (27) with Euler angles and their rates. Up to the singularity all three agree. There (27) ends
in NaN; (24) takes a step with angle rates of tens of thousands of rad/s or more, and goes on with an attitude whose error
chance decides; ours does not notice.

python examples/through_pitch_90.py            prints a table and writes pitch_90.png here
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hydromechs as hm
from hydromechs.dynamics import chart_rate, retract
from hydromechs.spatial import planar_rotation, quaternion_from_matrix, quaternion_matrix

UPRIGHT = 2.0
"""Time at which the pitch is 90° [s]."""
TAU = np.array([15.0, 0.0, 0.0, 0.1, 14.0, 0.5])
"""Constant thrust: ahead, and nose up with a little roll and yaw [N, N·m]."""
FORMS = ("on the manifold", "Euler angles, body velocities", "Euler angles and rates")


class Flight(NamedTuple):
    """One vehicle integrated in three ways."""

    t: np.ndarray
    """Time [s], shape (n,)."""
    angles: dict
    """Roll, pitch and yaw by each form [rad], shape (n, 3); NaN after a failure."""
    rate: dict
    """Largest rate of an Euler angle by each form [rad/s], shape (n,)."""
    attitude_error: dict
    """Angle between each form's attitude and the reference's [rad], shape (n,); NaN after a failure."""
    position_error: dict
    """Distance from the reference [m], shape (n,)."""


def vehicle() -> hm.Model:
    """An ellipsoid of 60 kg with its weight 3 cm below its buoyancy, so that the attitude acts back on the motion."""
    axes, mass = (0.5, 0.25, 0.2), 60.0
    tensor = [mass / 5.0 * (axes[i] ** 2 + axes[j] ** 2) for i, j in ((1, 2), (0, 2), (0, 1))]
    hydro = hm.Hydro(
        volume=mass / 1025.0,
        added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=axes)),
        drag=[hm.drag.Damping(linear=(4, 8, 8, 0.3, 1, 1), quadratic=(10, 30, 30, 0.3, 2, 2))],
    )
    inertia = hm.Inertia(mass=mass, com=(0, 0, 0.03), tensor=(*tensor, 0, 0, 0))
    return hm.Model(name="acrobat", bodies=[hm.Body(name="hull", inertia=inertia, hydro=hydro)])


# -- the Euler-angle form, (24) to (27) ---------------------------------------------------------------------------------------


def rotation(angles):
    """R(Θ) = Rz(ψ) Ry(θ) Rx(φ), shape (3, 3)."""
    roll, pitch, yaw = ((np.cos(a), np.sin(a)) for a in angles)
    return planar_rotation(2, *yaw) @ planar_rotation(1, *pitch) @ planar_rotation(0, *roll)


def euler_rates(angles):
    """T(Θ) of (26), with Θ̇ = T ω; not defined at pitch ±90°, shape (3, 3)."""
    (sf, st), (cf, ct) = np.sin(angles[:2]), np.cos(angles[:2])
    return np.array([[1, sf * st / ct, cf * st / ct], [0, cf, -sf], [0, sf / ct, cf / ct]])


def configuration(eta):
    """q of our model at η = (x, y, z, φ, θ, ψ), shape (7,)."""
    return np.concatenate([eta[:3], quaternion_from_matrix(rotation(eta[3:]))])


def body_form(model, state):
    """d/dt (η, ν) by (24) and (25), shape (12,)."""
    eta, nu = state[:6], state[6:]
    etadot = np.concatenate([rotation(eta[3:]) @ nu[:3], euler_rates(eta[3:]) @ nu[3:]])
    return np.concatenate([etadot, hm.forward_dynamics(model, configuration(eta), nu, TAU)])


def rate_form(dyn, state):
    """d/dt (η, η̇) by (27), shape (12,)."""
    eta, etadot = state[:6], state[6:]
    form = dyn.euler_form(eta, etadot)
    rest = form.J_inverse.T @ TAU - form.C @ etadot - form.D - form.N
    return np.concatenate([etadot, np.linalg.solve(form.M, rest)])


# -- integration --------------------------------------------------------------------------------------------------------------


def runge_kutta(rate, x, dt):
    """One step of the classical method of order 4."""
    k1 = rate(x)
    k2 = rate(x + 0.5 * dt * k1)
    k3 = rate(x + 0.5 * dt * k2)
    return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(x + dt * k3))


def manifold_step(model, q, v, dt):
    """The same method in a chart of the manifold around q: no angle is ever large, no point singular."""

    def rate(x):
        at = retract(model, q, x[:6])
        return np.concatenate([chart_rate(model, at, x[:6], x[6:]), hm.forward_dynamics(model, at, x[6:], TAU)])

    x = runge_kutta(rate, np.concatenate([np.zeros(6), v]), dt)
    q = retract(model, q, x[:6])
    q[3:] /= np.linalg.norm(q[3:])
    return q, x[6:]


def march(step, x, n, width):
    """States after 0 … n steps, NaN from the first failure on, shape (n + 1, width)."""
    out = np.full((n + 1, width), np.nan)
    out[0] = np.concatenate(x) if isinstance(x, tuple) else x
    with np.errstate(all="ignore"):
        for i in range(n):
            try:
                x = step(x)
            except (np.linalg.LinAlgError, ValueError):  # a singular matrix, numbers that are not finite
                break
            row = np.concatenate(x) if isinstance(x, tuple) else x
            if not np.isfinite(row).all():
                break
            out[i + 1] = row
    return out


def start(model, dt=0.005):
    """(q, v) at t = 0 from which the vehicle comes to stand exactly upright at UPRIGHT, by integrating back from there."""
    q, v = np.array([0, 0, 0, *quaternion_from_matrix(rotation((0.0, np.pi / 2, 0.0)))]), np.array([0.5, 0, 0, 0.2, 0.7, 0.4])
    for _ in range(round(UPRIGHT / dt)):
        q, v = manifold_step(model, q, v, -dt)
    return q, v


def angles_of(R):
    """Roll, pitch and yaw of a matrix, shape (3,)."""
    return np.array([np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(np.clip(R[2, 0], -1, 1)), np.arctan2(R[1, 0], R[0, 0])])


def run(duration: float = 4.0, dt: float = 0.02) -> Flight:
    """The three integrations with steps of `dt` [s] and a reference with a quarter of it, for `duration` [s]."""
    model = vehicle()
    q, v = start(model)
    n = round(duration / dt)
    dyn = hm.compile(model, lanes=1)
    eta = np.concatenate([q[:3], angles_of(quaternion_matrix(q[3:]))])
    etadot = body_form(model, np.concatenate([eta, v]))[:6]
    ours = march(lambda x: manifold_step(model, *x, dt), (q, v), n, 13)
    fine = march(lambda x: manifold_step(model, *x, dt / 4), (q, v), 4 * n, 13)[::4]
    states = {
        FORMS[1]: march(lambda x: runge_kutta(lambda y: body_form(model, y), x, dt), np.concatenate([eta, v]), n, 12),
        FORMS[2]: march(lambda x: runge_kutta(lambda y: rate_form(dyn, y), x, dt), np.concatenate([eta, etadot]), n, 12),
    }
    R_fine = np.array([quaternion_matrix(x[3:7]) for x in fine])
    rotations = {FORMS[0]: np.array([quaternion_matrix(x[3:7]) for x in ours])}
    rotations |= {name: np.array([rotation(x[3:6]) for x in rows]) for name, rows in states.items()}
    positions = {FORMS[0]: ours[:, :3]} | {name: rows[:, :3] for name, rows in states.items()}
    angles = {FORMS[0]: np.array([angles_of(R) for R in rotations[FORMS[0]]])}
    angles |= {name: rows[:, 3:6] for name, rows in states.items()}
    with np.errstate(all="ignore"):
        rate = {
            FORMS[0]: np.abs(ours[:, 10:]).max(axis=1),
            FORMS[1]: np.array([np.abs(euler_rates(x[3:6]) @ x[9:]).max() for x in states[FORMS[1]]]),
            FORMS[2]: np.abs(states[FORMS[2]][:, 9:]).max(axis=1),
        }
    # |R − R_fine| = 2 √2 |sin(angle / 2)|, exact also for small angles
    size = {name: np.sqrt(((R - R_fine) ** 2).sum(axis=(1, 2))) for name, R in rotations.items()}
    return Flight(
        dt * np.arange(n + 1),
        angles,
        rate,
        {name: 2.0 * np.arcsin(np.minimum(x / np.sqrt(8.0), 1.0)) for name, x in size.items()},
        {name: np.sqrt(((p - fine[:, :3]) ** 2).sum(axis=1)) for name, p in positions.items()},
    )


def check(flight: Flight) -> None:
    """All agree before 90°; after it ours is as accurate as before, one Euler form has lost its accuracy, the other all."""
    ours, body, rates = FORMS
    before, after = flight.t < 0.5 * UPRIGHT, flight.t > UPRIGHT + 0.1
    for name in FORMS:
        assert flight.attitude_error[name][before].max() < 1e-5
    assert abs(flight.angles[ours][:, 1].max() - np.pi / 2) < 1e-3  # it does stand upright
    assert flight.attitude_error[ours].max() < 2e-5
    assert flight.position_error[ours].max() < 2e-5
    # how large its error gets is chance: rounding decides how far from 90° the steps fall
    assert np.nanmax(flight.rate[body]) > 1e3 * flight.rate[ours].max()
    assert not flight.attitude_error[body][after].max() < 30.0 * flight.attitude_error[ours].max()
    assert np.isnan(flight.attitude_error[rates][after]).all()


def errors_by_step(steps) -> dict:
    """Largest attitude error after 90° by each form for each step size [rad]; NaN for a run that did not get through."""
    flights = [run(dt=dt) for dt in steps]
    return {name: [f.attitude_error[name][f.t > UPRIGHT + 0.1].max() for f in flights] for name in FORMS}


def draw(flight: Flight, steps, errors: dict, out: Path) -> None:
    """Attitude, rates and errors over time, and the error by step size."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colors = dict(zip(FORMS, ("#0072b2", "#d55e00", "#009e73"), strict=True))
    style = {"axes.grid": True, "grid.color": "#e3e8eb", "axes.spines.top": False, "axes.spines.right": False, "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.6, 6.6), layout="constrained")
        FigureCanvasAgg(figure)
        (pitch, rate), (error, step) = figure.subplots(2, 2)
        for name in FORMS:
            look = dict(color=colors[name], label=name, lw=2.6 if name == FORMS[0] else 1.4)
            known = np.isfinite(flight.attitude_error[name])
            shown = np.degrees(np.arcsin(np.sin(flight.angles[name][:, 1])))
            for ax, y in (
                (pitch, shown),
                (rate, np.minimum(flight.rate[name], 1e9)),
                (error, np.degrees(np.maximum(flight.attitude_error[name], 1e-12))),
            ):
                ax.plot(flight.t[known][1:], y[known][1:], **look)
                if not known.all():
                    ax.plot(flight.t[known][-1], y[known][-1], "x", color=colors[name], ms=9, mew=2)
            if np.isfinite(errors[name]).any():
                step.plot(steps, np.degrees(errors[name]), marker="o", **look)
        for ax in (rate, error, step):
            ax.set_yscale("log")
        step.set_xscale("log")
        step.set_xticks(steps, [f"{x:g}" for x in steps])
        step.minorticks_off()
        for ax in (pitch, rate, error):
            ax.axvline(UPRIGHT, color="#5b6770", lw=0.8, ls="--")
            ax.set_xlabel("time [s]")
        step.set_xlabel("step [s]")
        for ax, title, label in (
            (pitch, "Pitch: up to 90° and down on the other side", "[°]"),
            (rate, "Rate of the angles (ours: angular velocity), cut at 1e9", "[rad/s]"),
            (error, f"Error of the attitude, step {flight.t[1]:g} s  (×: not a number)", "[°]"),
            (step, "Largest error after 90° (angles and rates: NaN)", "[°]"),
        ):
            ax.set_title(title, loc="left", weight="bold", fontsize=9.5)
            ax.set_ylabel(label)
        pitch.legend(frameon=False, loc="lower right")
        pitch.set_ylim(-115, 100)
        pitch.set_yticks([-45, 0, 45, 90])
        figure.savefig(out, dpi=130)


def main() -> None:
    flight = run()
    check(flight)
    print("form                            attitude error at 1 s   at the end      position error   largest rate [rad/s]")
    i = int(np.argmin(np.abs(flight.t - 1.0)))
    for name in FORMS:
        error = flight.attitude_error[name]
        lost = np.flatnonzero(~np.isfinite(error))
        end = f"lost at {flight.t[lost[0]]:.2f} s" if lost.size else f"{error[-1]:.1e} rad"
        away = "" if lost.size else f"{flight.position_error[name][-1]:.1e} m"
        print(f"{name:30s}  {error[i]:.1e} rad             {end:15s} {away:15s}  {np.nanmax(flight.rate[name]):.1e}")
    steps = (0.005, 0.008, 0.01, 0.02, 0.025, 0.04)
    errors = errors_by_step(steps)
    for name in FORMS:
        by_step = (f"{dt:g}: {x:.1e} " for dt, x in zip(steps, errors[name], strict=True))
        print(f"{name:30s}  largest error after 90° [rad] by step:", *by_step)
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "pitch_90.png")
    draw(flight, steps, errors, out)
    print(out)


if __name__ == "__main__":
    main()
