"""Thrusters against closed forms and against the measured table that ships with the package."""

from importlib.resources import files

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hydromechs.actuation import (
    ForceCurve,
    Thruster,
    ideal_curve,
    linear_curve,
    t200_curve,
)
from hydromechs.compiler import trace

EPS = np.finfo(float).eps
G = 9.80665
TABLE = np.loadtxt(str(files("hydromechs.actuation") / "t200.csv"), delimiter=",", skiprows=4)
BENT = ForceCurve(commands=(-3.0, -1.0, 0.5, 1.0, 4.0), forces=(-7.0, -7.0, 0.0, 0.0, 11.0), unit="V")


def thruster(**fields):
    return Thruster(**({"name": "port", "frame": "port", "curve": linear_curve(40.0, 30.0)} | fields))


@pytest.mark.parametrize(
    ("pwm", "kgf"),
    [
        (1100, -4.0694762266666666),
        (1460, -6.8038799999999997e-2),
        (1472, 0.0),
        (1528, 0.0),
        (1532, 4.0823279999999997e-2),
        (1900, 5.245035493333333),
    ],
)
def test_t200_has_the_manufacturers_values_at_16_volts(pwm, kgf):
    # the shipped table is rounded to 1e-6 kgf
    assert abs(t200_curve().steady(pwm) - G * kgf) <= 0.5e-6 * G + 10 * EPS


@pytest.mark.parametrize("column", range(1, 7))
def test_t200_follows_the_table_but_never_falls(column):
    voltage, kgf = 8.0 + 2.0 * column, TABLE[:, column]
    force = t200_curve(voltage).steady(TABLE[:, 0])
    fall = max(0.0, -np.diff(kgf).min())
    assert fall < 0.014  # what the docstring says, 0.14 N
    assert np.abs(force - G * kgf).max() <= G * (0.5 * fall + 4 * EPS * 7.0)
    assert np.diff(force).min() >= 0.0


def test_t200_between_voltages_is_the_mean():
    np.testing.assert_allclose(t200_curve(15.0).steady(1900), G * 0.5 * (4.5238242133 + 5.2450354933), atol=0.5e-6 * G)
    with pytest.raises(ValueError, match="voltage is 24 V, must be in the measured range of the T200, 10 to 20"):
        t200_curve(24.0)


def test_dead_band_and_saturation():
    curve = linear_curve(40.0, 30.0, dead_band=0.1)
    given = curve.steady(np.array([-5.0, -1.0, -0.55, -0.1, 0.0, 0.1, 0.325, 1.0, 2.0]))
    np.testing.assert_allclose(given, [-30.0, -30.0, -15.0, 0.0, 0.0, 0.0, 10.0, 40.0, 40.0], atol=40 * 4 * EPS)
    assert ideal_curve(40.0, 30.0).steady(-31.0) == -30.0
    assert ideal_curve(40.0, 30.0).steady(12.5) == 12.5


@pytest.mark.parametrize(
    "curve", [BENT, linear_curve(40.0, 30.0), linear_curve(40.0, 0.0, 0.2), ideal_curve(4, 3), t200_curve(12)]
)
def test_inverse_of_the_curve(curve):
    low, high = curve.limits
    forces = np.concatenate([np.linspace(low, high, 1001), curve.forces])
    steepest = np.max(np.diff(curve.forces) / np.diff(curve.commands))
    # rounding of a command times the steepest slope
    tolerance = 8 * EPS * (steepest * np.abs(curve.commands).max() + max(-low, high))
    np.testing.assert_allclose(curve.steady(curve.inverse(forces)), forces, rtol=0, atol=tolerance)
    np.testing.assert_allclose(curve.steady(curve.inverse([2 * low - 1, 2 * high + 1])), [low, high], atol=tolerance)


def test_inverse_of_zero_is_the_middle_of_the_dead_band():
    assert BENT.inverse(0.0) == 0.75
    assert t200_curve().inverse(0.0) == 1500.0
    assert linear_curve(40.0, 30.0, 0.1).inverse(0.0) == 0.0


def test_step_response():
    """x = f (1 − exp(−t/T))."""
    th = thruster(time_constant=0.2)
    assert [s.name for s in th.states(None)] == ["thrust"]
    t = np.linspace(0.0, 1.0, 11)
    run = solve_ivp(lambda t, x: [th.rate(x[0], 25.0)], (0, 1), [0.0], t_eval=t, rtol=1e-10, atol=1e-10)
    # a hundred steps or so, each with an error within rtol of 25 N
    np.testing.assert_allclose(run.y[0], 25.0 * (1 - np.exp(-t / 0.2)), atol=1e-7)


def test_no_lag_has_no_state():
    assert thruster().states(None) == []
    with pytest.raises(ValueError, match="'port' has no lag"):
        thruster().rate(1.0, 2.0)


def test_inflow_follows_the_open_water_diagram():
    """T = ρ D⁴ (K_0 n|n| − K_1 |n| u/D) of a propeller with K_T = K_0 − K_1 J, ahead and astern, at any speed."""
    density, D, K0, K1, n_max = 1025.0, 0.076, 0.45, 0.38, 55.0
    F = density * D**4 * K0 * n_max**2
    th = thruster(curve=ideal_curve(F, F), zero_thrust_speed=K0 / K1 * n_max * D)
    for n in (-55.0, -20.0, 8.0, 30.0, 55.0):
        for u in (-1.5, -0.2, 0.0, 0.7, 2.4):
            x = density * D**4 * K0 * n * abs(n)
            loss = density * D**3 * K1 * abs(n) * u
            # the blend of 1e-4 F changes the loss by the part 0.5e-4 (F/|x| − 1), rounding aside
            tolerance = 0.5e-4 * (F / abs(x) - 1.0) * abs(loss) + 20 * EPS * F
            assert abs(th.thrust(x, u) - (x - loss)) <= tolerance


def test_thrust_vanishes_at_its_speed_and_at_rest():
    th = thruster(zero_thrust_speed=2.5)
    assert abs(th.thrust(40.0, 2.5)) <= 4 * EPS * 40.0
    assert th.thrust(0.0, 3.0) == 0.0
    assert thruster().thrust(40.0, 3.0) == 40.0
    slope = (th.thrust(1e-9, 1.0) - th.thrust(-1e-9, 1.0)) / 2e-9
    assert abs(slope - 1.0) < 1e-6  # |x| has no slope at 0, x has 1


@pytest.mark.parametrize("u", [-1.0, 0.0, 0.01, 0.3, 2.5, 4.0])
def test_thrust_at_rest_is_the_inverse_of_thrust_in_moving_water(u):
    moved = thruster(zero_thrust_speed=3.0)
    for T in (-60.0, -3.0, -1e-3, 0.0, 1e-12, 1e-3, 3.0, 60.0):
        x = moved.at_rest(T, u)
        assert x * T >= 0.0 and (x == 0.0) == (T == 0.0)
        assert moved.thrust(x, u) == pytest.approx(T, rel=1e-12, abs=8 * EPS * abs(x))
        assert thruster().at_rest(T, u) == T


def test_traced_equals_floats():
    th = thruster(zero_thrust_speed=2.5, time_constant=0.3)
    curves = (BENT, th.curve, t200_curve(13.0))

    def equations(x, u, c):
        x, u = x[0], u[0]
        steady = [curve.steady(c[k]) for k, curve in enumerate(curves)]
        return np.array([th.thrust(x, u), th.rate(x, steady[0]), *steady])

    program = trace(equations, {"x": (1,), "u": (1,), "c": (3,)})
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, u = rng.normal(size=1) * 20.0, rng.normal(size=1) * 2.0
        c = rng.uniform((-4.0, -1.5, 1050.0), (5.0, 1.5, 1950.0))
        (ours,) = program(x, u, c)
        # place in the T200 table: rounding of 1950 µs times 0.2 N/µs
        np.testing.assert_allclose(ours, equations(x, u, c), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForceCurve(commands=(0, 1, 1), forces=(0, 1, 2), unit="N"), r"commands\[2\] is 1 after 1, must increase"),
        (
            lambda: ForceCurve(commands=(0, 1), forces=(0, -1), unit="N"),
            r"forces\[1\] is -1 N after 0 N.*reverse the frame of the thruster",
        ),
        (lambda: ForceCurve(commands=(0, 1), forces=(0,), unit="N"), "2 commands and 1 forces"),
        (lambda: ForceCurve(commands=(0, np.inf), forces=(0, 1), unit="N"), "commands contains inf, must be finite"),
        (lambda: linear_curve(10, -5), "reverse -5 N, must be finite, at least 0"),
        (lambda: linear_curve(10, 5, dead_band=1), "dead_band is 1, must be at least 0 and below 1"),
        (lambda: thruster(time_constant=-0.1), "Thruster.time_constant is -0.1, must be finite and at least 0"),
        (lambda: thruster(zero_thrust_speed=0.0), "Thruster.zero_thrust_speed is 0, must be finite and > 0"),
        (lambda: thruster(zero_thrust_speed=1.0, curve=linear_curve(0, 5)), "no forward thrust"),
        (lambda: thruster(frame=""), "Thruster.frame is ''"),
        (lambda: thruster(curve=5.0), "Thruster.curve is 5.0, must be a ForceCurve"),
        (lambda: thruster(time_constant="soon"), "Thruster.time_constant is 'soon', must be a number"),
    ],
)
def test_errors_name_field_value_and_remedy(make, message):
    with pytest.raises(ValueError, match=message):
        make()
