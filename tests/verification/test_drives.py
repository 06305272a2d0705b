"""Joint drives, friction and stops against closed forms and energy balances."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import hydromechs as hm
from hydromechs.actuation.drives import Hydraulic, JointFriction, JointStops, Motor, Servo, Torque
from hydromechs.compiler import trace

EPS = np.finfo(float).eps
MOTOR = dict(resistance=1.3, torque_constant=0.045, gear_ratio=120.0, voltage_limit=48.0, rotor_inertia=3e-5)
HYDRAULIC = dict(supply_pressure=2e7, displacement=4e-5, flow_coefficient=2.2e-8, bulk_modulus=7e8, chamber_volume=1e-4)


def solve(rates, end, start, **options):
    """An accurate run; each of its some hundred steps is within 1e-10 of the size of the result."""
    return solve_ivp(rates, (0.0, end), start, **({"method": "LSODA", "rtol": 1e-10, "atol": 1e-12} | options))


def test_ideal_torque_is_cut_at_its_limit():
    assert Torque(joint="j", limit=5.0).force(4.0, 0.1, 0.2, ()) == 4.0
    assert Torque(joint="j", limit=5.0).force(-40.0, 0.1, 0.2, ()) == -5.0
    assert Torque(joint="j").force(1e6, 0.1, 0.2, ()) == 1e6
    assert [Torque(joint="j", limit=5.0).saturated(c, 0.1, 0.2, ()) for c in (-6.0, 4.9, 5.0)] == [1.0, 0.0, 1.0]


def test_torque_with_a_speed_limit():
    """Full torque up to 9/10 of the speed, none at it in the direction of motion, all of it against the motion; odd in both."""
    drive = Torque(joint="j", limit=5.0, speed=2.0)
    assert drive.force(4.0, 0.0, 1.8 * (1 - 1e-12), ()) == 4.0
    np.testing.assert_allclose(
        [drive.force(9.0, 0.0, v, ()) for v in (1.7, 1.85, 1.9, 1.95, 2.0, 5.0)], [5, 3.75, 2.5, 1.25, 0, 0], atol=1e-14
    )
    assert [drive.force(-9.0, 0.0, v, ()) for v in (0.0, 2.0, 5.0)] == [-5.0, -5.0, -5.0]
    for command, speed in ((9.0, 1.9), (3.0, 1.95), (-4.0, 1.0), (-6.0, 3.0)):
        assert drive.force(-command, 0.0, -speed, ()) == -drive.force(command, 0.0, speed, ())
    assert [drive.saturated(c, 0.0, v, ()) for c, v in ((4.0, 1.0), (5.0, 1.0), (4.0, 1.95), (-4.0, 1.95))] == [
        0.0,
        1.0,
        1.0,
        0.0,
    ]
    with pytest.raises(ValueError, match="Torque.speed is 2.*must be omitted without a torque limit"):
        Torque(joint="j", speed=2.0)


def test_a_joint_settles_at_the_speed_limit():
    """A joint with viscous friction c, driven with more than c times its speed limit, turns where the fading torque is c ω."""
    hub = hm.Body(name="hub", joint=hm.joints.Revolute(damping=0.5), inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0)))
    sim = hm.Simulation(hm.Model(bodies=[hub]), components=[Torque(joint="hub", limit=5.0, speed=2.0)], commands={"hub": 5.0})
    run = sim.run(3.0)
    # 5 (2 − ω)/0.2 = 0.5 ω, reached with a time constant of 1/25.5 s
    np.testing.assert_allclose(run.recording.v[-1, 0], 50.0 / 25.5, rtol=1e-10)
    assert float(run.recording.v.max()) < 2.0
    assert float(abs(run.recording.energy_residual).max()) < 1e-6


def test_servo():
    """k (c − q) − d q̇, cut at the limit."""
    servo = Servo(joint="j", stiffness=50.0, damping=4.0, limit=10.0)
    assert abs(servo.force(0.3, 0.2, 0.5, ()) - (50.0 * 0.1 - 4.0 * 0.5)) <= 50 * EPS
    assert servo.force(3.0, 0.2, 0.5, ()) == 10.0
    assert servo.force(-3.0, 0.2, 0.5, ()) == -10.0
    assert [servo.saturated(c, 0.2, 0.5, ()) for c in (-3.0, 0.3, 3.0)] == [1.0, 0.0, 1.0]
    assert servo.limits == (-math.inf, math.inf)


@pytest.mark.parametrize("inductance", [0.0, 2e-3])
def test_motor_torque_speed_line(inductance):
    """τ(q̇) = (1 − q̇/q̇_0) τ_0 with stall torque τ_0 = N K_t V/R and speed without load q̇_0 = V/(K_e N)."""
    motor = Motor(joint="j", **MOTOR, inductance=inductance, back_emf=0.05)
    V = 24.0
    stall, free = 120.0 * 0.045 * V / 1.3, V / (0.05 * 120.0)
    for part in (-0.5, 0.0, 0.25, 1.0, 1.5):
        qd = part * free
        current = (V - 0.05 * 120.0 * qd) / 1.3
        x = (current,) if inductance else ()
        assert abs(motor.force(V, 0.0, qd, x) - (1.0 - part) * stall) <= 16 * EPS * stall
        rates = motor.rates(V, 0.0, qd, x)
        assert len(rates) == len(motor.state_names) == (1 if inductance else 0)
        assert all(abs(r) <= 16 * EPS * V / inductance for r in rates)


def test_motor_runs_up_with_its_time_constant():
    """q̇ = q̇_0 (1 − exp(−t/T)), T = R J/(N² K_t K_e), with a load and the rotor's inertia N² J_r."""
    motor = Motor(joint="j", **MOTOR)
    J = 0.8 + motor.armature
    assert abs(motor.armature - 120.0**2 * 3e-5) <= 4 * EPS
    T = 1.3 * J / (120.0**2 * 0.045**2)
    t = np.linspace(0.0, 3 * T, 20)
    run = solve(lambda t, y: [motor.force(24.0, 0.0, y[0], ()) / J], t[-1], [0.0], t_eval=t)
    np.testing.assert_allclose(run.y[0], 24.0 / (0.045 * 120.0) * (1 - np.exp(-t / T)), atol=1e-7)


def test_motor_current_step():
    """i = V/R (1 − exp(−t R/L)) at a locked joint; the voltage is cut at its limit."""
    motor = Motor(joint="j", **MOTOR, inductance=2e-3)
    t = np.linspace(0.0, 6e-3, 20)
    run = solve(lambda t, x: motor.rates(100.0, 0.0, 0.0, x), t[-1], [0.0], t_eval=t)
    np.testing.assert_allclose(run.y[0], 48.0 / 1.3 * (1 - np.exp(-t * 1.3 / 2e-3)), atol=1e-6)
    assert motor.saturated(100.0, 0.0, 0.0, (1.0,)) == 1.0
    assert motor.saturated(47.0, 0.0, 0.0, (1.0,)) == 0.0
    plain = Motor(joint="j", **MOTOR)
    assert plain.force(-100.0, 0.0, 0.1, ()) == plain.force(-48.0, 0.0, 0.1, ())


def test_motor_energy_balance():
    """∫ V i = ∫ τ q̇ + ∫ R i² + ½ L i², for a varying voltage: K_e and K_t are one constant."""
    motor = Motor(joint="j", **MOTOR, inductance=5e-3)

    def rates(t, y):
        i, qd = y[0], y[1]
        V = 20.0 * np.sin(9.0 * t) + 5.0
        tau = motor.force(V, 0.0, qd, y[:1])
        return [*motor.rates(V, 0.0, qd, y[:1]), (tau - 2.0 * qd) / 1.2, V * i, tau * qd, 1.3 * i * i]

    i, _, electric, mechanical, heat = solve(rates, 2.0, np.zeros(5)).y[:, -1]
    assert electric > 10.0
    assert abs(electric - mechanical - heat - 0.5 * 5e-3 * i * i) <= 1e-7 * electric


def test_gearbox_always_loses():
    """τ q̇ = η of the rotor's power forwards and 1/η of it backwards; never a gain, and continuous."""
    motor = Motor(joint="j", **MOTOR, inductance=1e-3, efficiency=0.7, efficiency_speed=0.02)
    ideal = 120.0 * 0.045
    for i in (-3.0, 2.0):
        for qd in (-1.0, -0.5, 0.5, 1.0):  # tanh(0.5/0.02) is 1 to the last digit
            factor = 0.7 if i * qd > 0 else 1 / 0.7
            assert abs(motor.force(0.0, 0.0, qd, (i,)) - factor * ideal * i) <= 8 * EPS * ideal * 3
    for i in np.linspace(-3.0, 3.0, 13):
        for qd in np.linspace(-0.05, 0.05, 41):
            assert (ideal * i - motor.force(0.0, 0.0, qd, (i,))) * qd >= -4 * EPS
    assert motor.force(0.0, 0.0, 0.0, (2.0,)) == pytest.approx(2.0 * ideal, rel=4 * EPS)
    jump = motor.force(0.0, 0.0, 0.01, (1e-12,)) - motor.force(0.0, 0.0, 0.01, (-1e-12,))
    assert abs(jump) <= 3e-12 * ideal


def test_hydraulic_speed_without_load():
    """q̇ = y C √p_s / D, for an opening y."""
    drive = Hydraulic(joint="j", **HYDRAULIC, spool_time_constant=0.02)
    assert drive.state_names == ("opening", "pressure")
    for y in (-1.0, 0.4, 1.0):
        qd = y * 2.2e-8 * math.sqrt(2e7) / 4e-5
        spool, pressure = drive.rates(y, 0.0, qd, (y, 0.0))
        assert spool == 0.0
        # rounding of the flow times the stiffness 4β/V of the oil
        assert abs(pressure) <= 8 * EPS * 2.8e13 * 4e-5 * abs(qd)
    t = np.linspace(0.0, 0.1, 8)
    run = solve(lambda t, x: drive.rates(7.0, 0.0, 0.0, x), 0.1, [0.2, 0.0], t_eval=t)
    np.testing.assert_allclose(run.y[0], 1.0 - 0.8 * np.exp(-t / 0.02), atol=1e-7)  # the command is cut at 1


@pytest.mark.parametrize("command", [-1.0, 0.3])
def test_hydraulic_stall_at_supply_pressure(command):
    drive = Hydraulic(joint="j", **HYDRAULIC)
    assert drive.state_names == ("pressure",)
    far = math.copysign(5.0, command)  # the opening is cut at ±1
    assert drive.rates(far, 0.0, 0.1, (1e6,)) == drive.rates(math.copysign(1.0, command), 0.0, 0.1, (1e6,))
    run = solve(lambda t, x: drive.rates(command, 0.0, 0.0, x), 2.0, [0.0], atol=1e-3)
    p = math.copysign(2e7, command)
    # towards the end it approaches with a rate of some 1000/s: nothing is left after 2 s but the tolerance of the run
    assert abs(run.y[0, -1] - p) <= 1e-7 * 2e7
    assert drive.force(command, 0.0, 0.0, (p,)) == 4e-5 * p


def test_hydraulic_leakage_and_load():
    """Steady with a load: C √(p_s − p) = D q̇ + c p; the laminar part changes the flow by 0.5e-3 (p_s/Δ − 1)."""
    drive = Hydraulic(joint="j", **HYDRAULIC, leakage=1e-12)
    p = 1.1e7
    flow = 2.2e-8 * math.sqrt(2e7 - p)
    qd = (flow - 1e-12 * p) / 4e-5
    (rate,) = drive.rates(1.0, 0.0, qd, (p,))
    assert abs(rate) / 2.8e13 <= 0.5e-3 * (2e7 / (2e7 - p) - 1.0) * flow
    (rate,) = drive.rates(0.0, 0.0, 0.0, (p,))  # a closed valve: leakage alone
    assert abs(rate + 2.8e13 * 1e-12 * p) <= 8 * EPS * 2.8e13 * 1e-12 * p


def test_closed_valve_is_an_oil_spring():
    """ω² = 4β D²/(V J)."""
    drive = Hydraulic(joint="j", **HYDRAULIC)
    J = 3.0
    w = math.sqrt(2.8e13 * (4e-5) ** 2 / J)
    t = np.linspace(0.0, 4.0, 30)

    def rates(t, y):
        return [y[1], drive.force(0.0, y[0], y[1], y[2:]) / J, *drive.rates(0.0, y[0], y[1], y[2:])]

    run = solve(rates, 4.0, [0.0, 0.1, 0.0], t_eval=t, method="DOP853", atol=1e-9)
    np.testing.assert_allclose(run.y[1], 0.1 * np.cos(w * t), atol=1e-7)


def test_hydraulic_valve_never_gives_energy_and_is_symmetric():
    drive = Hydraulic(joint="j", **HYDRAULIC)
    for y in (-1.0, -0.3, 0.3, 1.0):
        for p in np.linspace(-3e7, 3e7, 25):  # a load may push beyond the supply
            (rate,) = drive.rates(y, 0.0, 0.3, (p,))
            assert rate == -drive.rates(-y, 0.0, -0.3, (-p,))[0]
            flow = rate / 2.8e13 + 4e-5 * 0.3
            assert (math.copysign(2e7, y) - p) * flow >= -1e-9


FRICTION = JointFriction(joint="j", viscous=0.3, coulomb=4.0, stick_deflection=1e-3, relaxation=0.005)


def run_friction(friction, torque, end, start, inertia=0.5, **options):
    """(angle, speed, deflection) of an inertia under a constant torque."""

    def rates(t, y):
        out = friction.force(y[1], y[2])
        return [y[1], (torque + out.tau) / inertia, out.s_rate]

    return solve(rates, end, start, **options).y[:, -1]


def test_friction_holds_below_its_limit_without_creep():
    """A load of half the limit put on at once, and one just below it put on slowly (at once it would overshoot and slip)."""
    for torque, start in ((2.0, 0.0), (3.999, 3.999e-3 / 4.0)):
        for end in (5.0, 100.0):
            at = run_friction(FRICTION, torque, end, [start, 0.0, start])
            np.testing.assert_allclose(at, [torque * 1e-3 / 4.0, 0.0, torque * 1e-3 / 4.0], atol=1e-9)
    moved = run_friction(FRICTION, 4.001, 100.0, [1e-3, 0.0, 1e-3])
    assert moved[0] > 0.1  # and just above it slips, at (4.001 − 4)/0.3 rad/s in the end


def test_friction_slips_above_its_limit():
    """Without viscous friction the speed rises by (τ − τ_c)/J once the stick phase has yielded."""
    dry = JointFriction(joint="j", coulomb=4.0)
    early, late = (run_friction(dry, 4.5, end, np.zeros(3)) for end in (1.0, 3.0))
    assert abs((late[1] - early[1]) - 2.0 * 0.5 / 0.5) <= 1e-7
    assert abs(late[2] - 1e-3) <= 1e-9


def test_coast_down_stops_where_the_energy_is_spent():
    """½ J v² = τ_c x: it stops at x, within the deflection of the stick phase, and stays."""
    x, v, _ = run_friction(JointFriction(joint="j", coulomb=4.0), 0.0, 5.0, [0.0, 3.0, 0.0])
    assert abs(x - 0.5 * 0.5 * 9.0 / 4.0) <= 2e-3
    assert abs(v) <= 1e-9


def test_friction_power_is_loss_and_storage():
    rng = np.random.default_rng(2)
    k = 4.0 / 1e-3
    slipped = 0
    for _ in range(300):
        qd, s = rng.normal() * 0.5, rng.uniform(-1e-3, 1e-3)
        tau, rate, loss, stored = FRICTION.force(qd, s)
        assert loss >= 0.0
        assert abs(stored - 0.5 * k * s * s) <= 4 * EPS * stored
        assert abs(tau * qd + loss + k * s * rate) <= 16 * EPS * (abs(loss) + 4.0 * abs(qd) + 4.0 * abs(rate))
        slipped += abs(rate - qd) > 1e-9
    assert 30 < slipped < 270  # both phases were met


def test_viscous_friction_alone_has_no_state():
    friction = JointFriction(joint="j", viscous=0.3)
    assert friction.state_names == () and FRICTION.state_names == ("deflection",)
    assert friction.force(2.0, 0.0) == (-0.6, 0.0, 1.2, 0.0)


STOPS = JointStops(joint="j", lower=-0.7, upper=1.1, stiffness=900.0, damping=12.0)


def test_stops_push_back_and_never_pull():
    assert STOPS.force(1.0, 5.0) == STOPS.force(-0.69, -5.0) == 0.0
    np.testing.assert_allclose(STOPS.force(1.1 + 0.02, 0.5), -(900.0 * 0.02 + 12.0 * 0.5), rtol=1e-13)
    np.testing.assert_allclose(STOPS.force(-0.7 - 0.02, 0.5), 900.0 * 0.02 - 12.0 * 0.5, rtol=1e-13)
    assert STOPS.force(1.12, -3.0) == 0.0  # leaves faster than the stop follows
    assert JointStops(joint="j", lower=0.0, stiffness=1.0).force(5.0, 1.0) == 0.0


def test_stop_power_is_loss_and_storage():
    rng = np.random.default_rng(3)
    for _ in range(300):
        q, qd = rng.uniform(-1.0, 1.4), rng.normal()
        loss = STOPS.loss(q, qd)
        assert loss >= -4 * EPS
        h = 1e-6
        if min(abs(q + 0.7), abs(q - 1.1)) > 2 * h:
            change = (STOPS.energy(q + h * qd) - STOPS.energy(q - h * qd)) / (2 * h)
            # the difference of a quadratic is exact but for rounding of an energy of at most 100 J over h
            assert abs(STOPS.force(q, qd) * qd + loss + change) <= 8 * EPS * 100.0 / h


@pytest.mark.parametrize(("stops", "side"), [(STOPS, 1.0), (STOPS, -1.0)])
def test_restitution_of_a_damped_stop(stops, side):
    """e = exp(−(β/ω)(π − arctan(2βω/(ω² − β²)))), released where the force is zero (Schwager and Pöschel 2007)."""
    J = 0.4
    beta = 12.0 / (2 * J)
    w = math.sqrt(900.0 / J - beta**2)
    e = math.exp(-(beta / w) * (math.pi - math.atan2(2 * beta * w, w * w - beta * beta)))
    wall = 1.1 if side > 0 else -0.7
    start = [wall, side * 2.0]
    run = solve(lambda t, y: [y[1], stops.force(*y) / J], 0.2, start, method="RK45", max_step=1e-4, rtol=1e-9)
    # it starts on the wall, so only the step on which the force ends (1e-4 s of a force that is small there) is not smooth
    assert abs(run.y[1, -1] + side * 2.0 * e) <= 1e-6
    assert (run.y[0, -1] - wall) * side < 0.0


def test_traced_equals_floats():
    rng = np.random.default_rng(4)
    every = [
        Torque(joint="j", limit=3.0),
        Servo(joint="j", stiffness=50.0, damping=4.0, limit=10.0),
        Motor(joint="j", **MOTOR),
        Motor(joint="j", **MOTOR, inductance=2e-3, efficiency=0.7),
        Hydraulic(joint="j", **HYDRAULIC),
        Hydraulic(joint="j", **HYDRAULIC, spool_time_constant=0.02, leakage=1e-12),
    ]

    def equations(c, q, qd, x):
        c, q, qd = c[0], q[0], qd[0]
        out = []
        for drive in every:
            n = len(drive.state_names)
            scaled = [x[k] * (1e7 if k == n - 1 and isinstance(drive, Hydraulic) else 1.0) for k in range(n)]
            out += [drive.force(c, q, qd, scaled), *drive.rates(c, q, qd, scaled)]
            out += [drive.saturated(c, q, qd, scaled)]
        out += [*FRICTION.force(qd, 1e-3 * x[0])]
        out += [STOPS.force(q, qd), STOPS.energy(q), STOPS.loss(q, qd)]
        return np.array(out)

    program = trace(equations, {"c": (1,), "q": (1,), "qd": (1,), "x": (2,)})
    for _ in range(200):
        values = rng.normal(size=1) * 3.0, rng.normal(size=1), rng.normal(size=1), rng.uniform(-1.0, 1.0, size=2)
        (ours,) = program(*values)
        expected = equations(*values)
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Torque(joint="j", limit=-1), "Torque.limit is -1, must be > 0"),
        (lambda: Servo(joint="j", stiffness=-1, damping=0), "Servo.stiffness is -1, must be finite and at least 0"),
        (lambda: Motor(joint="j", resistance=0, torque_constant=1), "Motor.resistance is 0, must be finite and > 0"),
        (
            lambda: Motor(joint="j", resistance=1, torque_constant=1, efficiency=85),
            "Motor.efficiency is 85, must be finite, > 0 and at most 1; 85 % is 0.85",
        ),
        (
            lambda: Hydraulic(joint="j", **(HYDRAULIC | {"chamber_volume": math.nan})),
            "Hydraulic.chamber_volume is nan, must be finite and > 0",
        ),
        (lambda: JointFriction(joint="j", coulomb=math.inf), "JointFriction.coulomb is inf, must be finite"),
        (
            lambda: JointStops(joint="j", lower=1.0, upper=0.0, stiffness=1.0),
            "JointStops.lower is 1, must be below JointStops.upper, 0",
        ),
    ],
)
def test_errors_name_field_value_and_remedy(make, message):
    with pytest.raises(ValueError, match=message):
        make()
