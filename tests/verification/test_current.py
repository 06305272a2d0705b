"""Currents over time and depth, gusts, and all motions of the water together."""

import math
import tracemalloc

import numpy as np
import pytest

from hydromechs.compiler import jacobian_program, trace
from hydromechs.hydro import (
    Current,
    DepthTable,
    Environment,
    Gusts,
    PowerLaw,
    RegularWave,
    Uniform,
    UniformFlow,
    fluid_motion,
    profile_factor,
    profile_slope,
    wave_components,
)

EPS = np.finfo(float).eps
DOWN = np.array([0.0, 0.0, 1.0])
TABLE = Current(times=(10.0, 20.0, 25.0), velocities=((1.0, 0.0, 0.2), (0.0, 2.0, 0.2), (0.5, 2.0, 0.0)))
GUSTS = Gusts(sigma=(0.3, 0.2, 0.0), time_constant=5.0, interval=0.5)
PROFILES = [
    Uniform(),
    PowerLaw(depth=40.0),
    PowerLaw(depth=40.0, exponent=1.7),
    DepthTable(depths=(2, 5, 9), factors=(1, 0.4, 0.7)),
]


def test_still_water_and_steady_current():
    for env, velocity in ((Environment(), np.zeros(3)), (Environment(current=Current(velocity=(1, 2, 3))), [1, 2, 3])):
        begin, end, v, slope = UniformFlow(env, 0).segment(12.0)
        assert begin <= 12.0 and end == math.inf
        np.testing.assert_array_equal(v, velocity)
        np.testing.assert_array_equal(slope, np.zeros(3))


@pytest.mark.parametrize(
    ("t", "begin", "end", "velocity"),
    [
        (-5.0, None, 10.0, (1.0, 0.0, 0.2)),
        (3.0, None, 10.0, (1.0, 0.0, 0.2)),
        (10.0, 10.0, 20.0, (1.0, 0.0, 0.2)),
        (14.0, 10.0, 20.0, (0.6, 0.8, 0.2)),
        (20.0, 20.0, 25.0, (0.0, 2.0, 0.2)),
        (24.0, 20.0, 25.0, (0.4, 2.0, 0.04)),
        (99.0, 25.0, math.inf, (0.5, 2.0, 0.0)),
    ],
)
def test_table_of_velocities(t, begin, end, velocity):
    flow = UniformFlow(Environment(current=TABLE), 0)
    part = flow.segment(t)
    assert part.t_end == end and part.t_begin <= t < part.t_end
    assert begin is None or part.t_begin == begin
    np.testing.assert_allclose(flow.velocity(t), velocity, rtol=0, atol=4 * EPS)


def test_segments_join():
    """From segment to segment current and gusts together are continuous, and no time is omitted."""
    flow = UniformFlow(Environment(current=TABLE, gusts=GUSTS), 4)
    t = 0.0
    for _ in range(80):
        part = flow.segment(t)
        assert part.t_begin == t or t == 0.0
        following = flow.segment(part.t_end)
        assert following.t_begin == part.t_end
        at_end = part.velocity + part.slope * (part.t_end - part.t_begin)
        np.testing.assert_allclose(following.velocity, at_end, rtol=0, atol=40 * EPS)
        t = part.t_end
    assert t > 39.0


@pytest.mark.parametrize("interval", [0.1, 0.3, 1 / 3])
def test_sample_times_belong_to_the_segment_that_starts(interval):
    flow = UniformFlow(Environment(gusts=Gusts(sigma=(1, 1, 1), time_constant=2.0, interval=interval)), 0)
    for k in range(500):
        part = flow.segment(k * interval)
        assert part.t_begin == k * interval < part.t_end


def test_gusts_are_a_function_of_time_and_seed():
    """The order of calls does not matter; the seed does."""
    env = Environment(gusts=GUSTS)
    times = np.random.default_rng(0).uniform(-3.0, 900.0, 60)
    forward, backward, far_first = UniformFlow(env, 9), UniformFlow(env, 9), UniformFlow(env, 9)
    far_first.segment(5000.0)
    first = [forward.velocity(t) for t in np.sort(times)]
    second = [backward.velocity(t) for t in np.sort(times)[::-1]][::-1]
    third = [far_first.velocity(t) for t in np.sort(times)]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)
    other = [UniformFlow(env, 10).velocity(t) for t in np.sort(times)]
    assert np.abs(np.array(first) - other)[:, :2].min() > 1e-9


def test_gusts_are_the_recursion_however_they_are_drawn():
    """Over many blocks, to the last bit alike for one that came there and for one that starts late; hours away in little memory."""
    gusts = Gusts(sigma=(0.3, 0.2, 0.0), time_constant=5.0, interval=0.5)
    phi, n = math.exp(-0.1), 20_000
    drive = np.array(gusts.sigma) * math.sqrt(-math.expm1(-0.2))
    w = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(0,))).standard_normal((n, 3))
    x = [gusts.sigma * w[0]]
    for row in w[1:]:
        x.append(phi * x[-1] + drive * row)
    came, back = UniformFlow(Environment(gusts=gusts), 7), UniformFlow(Environment(gusts=gusts), 7)
    got = [came.velocity(0.5 * k) for k in range(n)]
    np.testing.assert_allclose(got, x, rtol=0.0, atol=1e-14)  # a sum in another order
    for k in (n - 1, 16_384, 8_191, 8_192, 16_383, 0):
        np.testing.assert_array_equal(back.velocity(0.5 * k), got[k])
    tracemalloc.start()
    late = UniformFlow(Environment(gusts=gusts), 7).velocity(5e5)
    assert tracemalloc.get_traced_memory()[1] < 8e6  # a million samples would be 24 MB
    tracemalloc.stop()
    np.testing.assert_array_equal(late, came.velocity(5e5))


@pytest.mark.parametrize(("interval", "n"), [(0.5, 100_000), (4.0, 20_000)])
def test_gusts_have_the_statistics(interval, n):
    """Variance σ² and correlation e^(−τ/T) from the first sample on; four standard errors of Bartlett's formula."""
    gusts = Gusts(sigma=(0.3, 0.2, 0.5), time_constant=5.0, interval=interval)
    flow = UniformFlow(Environment(gusts=gusts), 1)
    flow.segment(n * interval)
    x = np.array([flow.velocity(k * interval) for k in range(n)]) / gusts.sigma
    phi = math.exp(-interval / 5.0)
    error = math.sqrt(2 / n * (1 + phi**2) / (1 - phi**2))
    assert 4 * error < 0.06
    for lag in (0, 1, 3, 20):
        correlation = np.mean(x[: n - lag] * x[lag:], axis=0)
        np.testing.assert_allclose(correlation, phi**lag, rtol=0, atol=4 * error)
    cross = np.mean(x[:, [0, 1, 2]] * x[:, [1, 2, 0]], axis=0)
    np.testing.assert_allclose(cross, 0.0, rtol=0, atol=4 * error)
    first = np.array([UniformFlow(Environment(gusts=gusts), seed).velocity(0.0) for seed in range(400)]) / gusts.sigma
    np.testing.assert_allclose(np.mean(first**2, axis=0), 1.0, rtol=0, atol=4 * math.sqrt(2 / 400))


def test_profiles_by_hand():
    power = PowerLaw(depth=40.0, exponent=0.5)
    assert [profile_factor(power, d) for d in (-2.5, 0.0, 30.0, 40.0, 41.0)] == [math.sqrt(1.0625), 1.0, 0.5, 0.0, 0.0]
    table = DepthTable(depths=(2.0, 5.0, 9.0), factors=(1.0, 0.4, 0.8))
    for depth, factor in ((-3, 1.0), (2, 1.0), (3, 0.8), (5, 0.4), (7, 0.6), (9, 0.8), (20, 0.8)):
        assert profile_factor(table, float(depth)) == pytest.approx(factor, rel=4 * EPS)
    assert profile_factor(Uniform(), 7.0) == 1.0
    assert profile_factor(DepthTable(depths=(3.0,), factors=(0.3,)), 9.0) == 0.3


@pytest.mark.parametrize("profile", PROFILES)
def test_slope_is_that_of_the_factor(profile):
    step = 1e-6
    for depth in (-1.0, 0.5, 3.3, 7.1, 20.0, 39.9, 39.99, 50.0):
        difference = (profile_factor(profile, depth + step) - profile_factor(profile, depth - step)) / (2 * step)
        slope = profile_slope(profile, depth)
        # rounding of factor and depth over the step, truncation step²/6 f''' with f''' < 100 at 39.9
        assert slope == pytest.approx(difference, abs=(2 + 40 * abs(slope)) * EPS / step + 100 * step**2 / 6)


@pytest.mark.parametrize("profile", PROFILES)
def test_acceleration_is_that_of_a_water_particle(profile):
    """Dv/Dt by differences along the path, in a current that changes over time and depth, and waves."""
    current = Current(times=(0.0, 10.0), velocities=((0.6, -0.3, 0.05), (0.1, 0.4, -0.1)), profile=profile)
    waves = (RegularWave(height=1.2, period=6.0, direction=0.4), RegularWave(height=0.7, period=4.5, direction=-1.1))
    env = Environment(current=current, waves=waves, water_depth=40.0)
    components, flow = wave_components(env, 9.81), UniformFlow(env, 0)

    def motion(p, t):
        return fluid_motion(env.profile, components, DOWN, p, t, flow.velocity(t), flow.segment(t).slope)

    p, t, step = np.array([3.0, -2.0, 3.3]), 4.0, 1e-4
    here = motion(p, t)
    difference = (motion(p + step * here.velocity, t + step).velocity - motion(p - step * here.velocity, t - step).velocity) / (
        2 * step
    )
    # step²/6 times a third derivative below Σ aω (ω + k|v|)³ < 10, rounding eps/step
    np.testing.assert_allclose(here.acceleration, difference, rtol=0, atol=step**2 / 6 * 10 + 4 * EPS / step)
    assert np.abs(here.acceleration).max() > 0.1


@pytest.mark.parametrize("profile", PROFILES)
def test_traced_is_the_same_and_has_finite_slopes(profile):
    """Also at the surface, at the bed and below it, where a power of zero has no slope."""
    components = wave_components(Environment(waves=(RegularWave(height=1.0, period=6.0),), water_depth=40.0), 9.81)

    def function(p, t, velocity, rate):
        return tuple(fluid_motion(profile, components, DOWN, p, t[0], velocity, rate))

    program = trace(function, {"p": (3,), "t": (1,), "velocity": (3,), "rate": (3,)})
    slopes = jacobian_program(program, ("p",))
    for depth in (-1.0, 0.0, 3.3, 39.999, 40.0, 45.0):
        arguments = (np.array([3.0, -2.0, depth]), np.array([4.0]), np.array([0.6, -0.3, 0.1]), np.array([0.1, 0.2, 0.3]))
        for ours, floats in zip(program(*arguments), function(*arguments), strict=True):
            np.testing.assert_allclose(ours, floats, rtol=0, atol=100 * EPS)
        assert np.isfinite(np.ravel(slopes(*arguments)[0]).astype(float)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Current(velocity=(1.0, 2.0)), "current.velocity is .*, must have 3 numbers"),
        (lambda: Current(velocity=(1.0, 2.0, math.inf)), r"current.velocity is \[1.0, 2.0, inf\], must be finite"),
        (
            lambda: Current(times=(0.0, 1.0), velocities=((0, 0, 0),)),
            "must have one row for each of 2 current.times, but has 1",
        ),
        (
            lambda: Current(times=(1.0, 1.0), velocities=((0, 0, 0),) * 2),
            "current.times is .* must increase, but has 1 after 1",
        ),
        (lambda: Current(velocity=(1, 0, 0), times=(1.0,), velocities=((0, 0, 0),)), "remove one of them"),
        (lambda: Current(velocity=(1, 0, 0), profile="log"), "current.profile is 'log'"),
        (lambda: PowerLaw(depth=0.0), "profile.depth is 0"),
        (lambda: DepthTable(depths=(), factors=()), r"profile.depths is \[\]"),
        (lambda: DepthTable(depths=(1.0, 2.0), factors=(1.0,)), "profile.factors is .*, must have 2 numbers"),
        (lambda: Gusts(sigma=(0.1, -0.1, 0.0), time_constant=1.0, interval=0.1), "gusts.sigma is"),
        (lambda: Gusts(sigma=(0.1, 0.1, 0.0), time_constant=1.0, interval=0.0), "gusts.interval is 0"),
        (lambda: Environment(current=(1.0, 0.0, 0.0)), "environment.current is"),
        (lambda: UniformFlow(Environment(), 0).segment(math.nan), "t is nan"),
    ],
)
def test_bad_data_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
