"""Airy waves: dispersion, continuity, boundary conditions, material acceleration; heights and periods of seas."""

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.compiler import trace
from hydromechs.hydro import (
    Environment,
    JonswapSea,
    PiersonMoskowitzSea,
    RegularWave,
    sea_spectrum,
    wave_components,
    wave_motion,
    wavenumber,
)

EPS = np.finfo(float).eps
G = 9.81
NED, ENU = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])
CROSSING = (
    RegularWave(height=1.2, period=6.0, direction=0.4, phase=0.3),
    RegularWave(height=0.7, period=4.5, direction=-1.1, phase=1.9),
    JonswapSea(significant_height=0.9, peak_period=7.0, direction=2.0, components=5),
)


def crossing(water_depth=12.0):
    return wave_components(Environment(waves=CROSSING, water_depth=water_depth), G, seed=3)


def scale(components, power):
    """Σ a ω k^power, a bound on the velocity (power 0) and its derivatives in space in deep water."""
    return float(np.sum(components.amplitude * components.omega * components.wavenumber**power))


@pytest.mark.parametrize("kh", [1e-3, 0.1, 1.0, 5.0, 50.0, 1e4])
def test_dispersion(kh):
    """k comes back from ω² = g k tanh kh. ω² has a few roundings; the relation is between linear and square root in k."""
    h = 7.0
    omega = math.sqrt(G * kh / h * math.tanh(kh))
    assert wavenumber(omega, G, h) == pytest.approx(kh / h, rel=8 * EPS)


def test_dispersion_limits():
    """Deep: ω²/g; shallow: ω/√(gh), off by (kh)²/6."""
    assert wavenumber(1.1, G) == 1.1**2 / G
    h = 0.05
    k = 0.3 / math.sqrt(G * h)
    assert wavenumber(0.3, G, h) == pytest.approx(k, rel=(k * h) ** 2)
    assert wavenumber(0.3, G, h) != pytest.approx(k, rel=0.01 * (k * h) ** 2)


def test_waves_need_gravity():
    model = hm.Model(
        bodies=[hm.Body(name="b", inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))], world=hm.World(gravity=0.0)
    )
    with pytest.raises(ValueError, match=r"gravity is 0 m/s².*remove the waves"):
        hm.Simulation(model, environment=hm.Environment(waves=(hm.hydro.RegularWave(height=1.0, period=5.0),)))


@pytest.mark.parametrize("water_depth", [12.0, None])
@pytest.mark.parametrize("down", [NED, ENU])
def test_water_is_neither_made_nor_spun(water_depth, down):
    """The gradient is that of the velocity by central differences; its trace and its skew part vanish."""
    components = crossing(water_depth)
    p, t, step = np.array([3.0, -2.0, 0.0]) + 4.0 * down, 2.3, 1e-4
    difference = np.column_stack(
        [
            (wave_motion(components, down, p + e, t).velocity - wave_motion(components, down, p - e, t).velocity) / (2 * step)
            for e in step * np.eye(3)
        ]
    )
    # truncation step²/6 |v'''|, rounding eps |v|/step; depth effects at most double the velocity here (kh > 0.9)
    tolerance = 2 * (step**2 / 6 * scale(components, 3) + 2 * EPS * scale(components, 0) / step)
    gradient = wave_motion(components, down, p, t).gradient
    np.testing.assert_allclose(gradient, difference, rtol=0, atol=tolerance)
    assert np.abs(gradient).max() > 1e3 * tolerance
    assert abs(np.trace(difference)) < 3 * tolerance
    np.testing.assert_allclose(difference, difference.T, rtol=0, atol=2 * tolerance)


@pytest.mark.parametrize("water_depth", [12.0, None])
@pytest.mark.parametrize("down", [NED, ENU])
def test_conditions_at_surface_and_bed(water_depth, down):
    """∂η/∂t = w and ∂u/∂t = −g ∂η/∂x at the mean surface, the second only with the right dispersion; w = 0 at the bed."""
    components = crossing(water_depth)
    p, t, step = np.array([3.0, -2.0, 0.0]), 2.3, 1e-4

    def rate(function, h):
        return (function(h) - function(-h)) / (2 * step)

    curvature = float(np.sum(components.amplitude * components.omega**3))
    tolerance = step**2 * curvature + 4 * EPS / step
    here = wave_motion(components, down, p, t)
    eta_rate = rate(lambda h: wave_motion(components, down, p, t + h).elevation, step)
    assert eta_rate == pytest.approx(-down @ here.velocity, abs=tolerance)
    for axis in np.eye(3)[:2]:
        u_rate = rate(lambda h, axis=axis: axis @ wave_motion(components, down, p, t + h).velocity, step)
        slope = rate(lambda h, axis=axis: wave_motion(components, down, p + h * axis, t).elevation, step)
        assert u_rate == pytest.approx(-G * slope, abs=G * tolerance)
    if water_depth:
        assert abs(down @ wave_motion(components, down, p + water_depth * down, t).velocity) < 10 * EPS * scale(components, 0)


def test_regular_wave_by_hand():
    """Under the crest the water runs with the wave, a quarter period before the crest it rises; e^(−kd) below."""
    env = Environment(waves=(RegularWave(height=1.0, period=8.0, direction=np.pi / 2),))
    components = wave_components(env, G)
    omega = 2 * np.pi / 8.0
    k = omega**2 / G
    for down in (NED, ENU):
        crest = wave_motion(components, down, 5.0 * down, 0.0)
        np.testing.assert_allclose(crest.velocity, [0, 0.5 * omega * math.exp(-5 * k), 0], rtol=0, atol=4 * EPS)
        assert crest.elevation == 0.5
        rising = wave_motion(components, down, 5.0 * down, -2.0)
        np.testing.assert_allclose(rising.velocity, -down * 0.5 * omega * math.exp(-5 * k), rtol=0, atol=4 * EPS)
        # the crest comes to y = one eighth of the length after an eighth of the period
        later = wave_motion(components, down, np.array([9.0, 2 * np.pi / k / 8, 0.0]), 1.0)
        assert later.elevation == pytest.approx(0.5, rel=4 * EPS)


def test_very_deep_water_is_deep_water():
    """A bed at kh = 20 to 10⁵ changes nothing but e^(−2kh), and nothing overflows."""
    env = dict(waves=(RegularWave(height=1.0, period=5.0),))
    p, t = np.array([1.0, 2.0, 3.0]), 0.7
    deep = wave_motion(wave_components(Environment(**env), G), NED, p, t)
    for h in (124.2, 1e4, 6e5):
        finite = wave_motion(wave_components(Environment(**env, water_depth=h), G), NED, p, t)
        for ours, theirs in zip(finite, deep, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=20 * EPS)
        bottom = wave_motion(wave_components(Environment(**env, water_depth=h), G), NED, np.array([0, 0, 2 * h]), t)
        assert np.isfinite(bottom.velocity).all() and np.abs(bottom.velocity).max() < 3e-9


@pytest.mark.parametrize("depth", [4.0, 0.3, -0.5, 13.0])
@pytest.mark.parametrize("down", [NED, ENU])
def test_acceleration_is_that_of_a_water_particle(depth, down):
    """Dv/Dt by differences along the path p + v δ; also above the surface, and below the bed, where the field is held."""
    components = crossing()
    p, t, step = np.array([3.0, -2.0, 0.0]) + depth * down, 2.3, 1e-4
    here = wave_motion(components, down, p, t)

    def later(h):
        return wave_motion(components, down, p + h * here.velocity, t + h).velocity

    # the third derivative along the path is below Σ aω (ω + k|v|)³, |v| < 2
    third = np.sum(components.amplitude * components.omega * (components.omega + 2 * components.wavenumber) ** 3)
    tolerance = 2 * (step**2 / 6 * third + 2 * EPS * scale(components, 0) / step)
    np.testing.assert_allclose(here.acceleration, (later(step) - later(-step)) / (2 * step), rtol=0, atol=tolerance)
    convective = here.gradient @ here.velocity
    assert np.abs(convective).max() > 1e3 * tolerance  # the test sees the convective part


def test_velocity_is_held_for_points_that_stay_below():
    components = crossing()
    above, at = (wave_motion(components, NED, np.array([3.0, -2.0, z]), 2.3, above=False) for z in (-1.5, 0.0))
    np.testing.assert_array_equal(above.velocity, at.velocity)
    assert above.elevation == at.elevation
    for ours, theirs in zip(
        *(wave_motion(components, NED, np.array([3.0, -2.0, 4.0]), 2.3, above=x) for x in (True, False)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("water_depth", [12.0, None])
@pytest.mark.parametrize("down", [NED, ENU])
def test_motion_is_smooth_at_the_mean_surface(water_depth, down):
    """Velocity and acceleration and three derivatives of the velocity by depth are the same from above and from below.

    One-sided differences of third order; the velocity's fourth derivative jumps by (1 − E)⁴ → 4! k⁴.
    """
    components, step = crossing(water_depth), 1e-3
    weights = {0: [1, 0, 0, 0], 1: [-11 / 6, 3, -3 / 2, 1 / 3], 2: [2, -5, 4, -1], 3: [-1, 3, -3, 1]}

    def derivatives(name, side):
        points = [np.array([3.0, -2.0, 0.0]) + side * (k * step + 1e-12) * down for k in range(4)]
        rows = np.array([np.ravel(getattr(wave_motion(components, down, p, 2.3), name)) for p in points])
        return [side**n * np.array(w) @ rows / step**n for n, w in weights.items()]

    for name, orders in (("velocity", 4), ("acceleration", 3), ("gradient", 3)):
        for n, (below, over) in enumerate(zip(derivatives(name, 1), derivatives(name, -1), strict=True)):
            if n == orders:
                break
            # truncation 6 step^(4 − n) of the fourth derivative and its jump, rounding 20 eps/step^n
            size = scale(components, 4) * (1 + scale(components, 0)) * 60
            tolerance = size * step ** (3 - n + (name == "velocity")) + 200 * EPS * scale(components, 0) / step**n + 1e-11
            np.testing.assert_allclose(over, below, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kd", [-0.3, -2.0, -50.0])
def test_motion_above_the_mean_surface(kd):
    """In a crest nearly Airy's formula, higher up nearly the linear extrapolation, far up never more than 4 times the surface's."""
    components = wave_components(Environment(waves=(RegularWave(height=0.1, period=2.0),)), G)
    k = components.wavenumber[0]
    speed = wave_motion(components, NED, np.array([0.0, 0.0, kd / k]), 0.0).velocity[0] / (0.05 * np.pi)
    assert speed == pytest.approx(
        {-0.3: math.exp(0.3), -2.0: 3.0, -50.0: 4.0}[kd], rel={-0.3: 0.01, -2.0: 0.1, -50.0: 1e-12}[kd]
    )


@pytest.mark.parametrize("sea", [PiersonMoskowitzSea, JonswapSea])
def test_spectrum_has_the_height_and_the_peak(sea):
    """∫S dω = H_s²/16; the peak lies at 2π/T_p (grid of 0.1 %); T_z/T_p is 0.7104 and, from DNV-RP-C205's fit, 0.7775."""
    sea = sea(significant_height=2.5, peak_period=9.0)
    omega_p = 2 * np.pi / 9.0
    omega = omega_p * np.geomspace(0.2, 200.0, 40001)
    S = sea_spectrum(sea, omega)
    # trapezoids in ln ω, step 1.7e-4, against the peak's width 0.07: error of about (1.7e-4/0.07)²; the tail beyond 1e-9
    m0, m2 = (np.trapezoid(S * omega ** (k + 1), np.log(omega)) for k in (0, 2))
    assert 4 * math.sqrt(m0) == pytest.approx(2.5, rel=2e-5)
    assert omega[np.argmax(S)] == pytest.approx(omega_p, rel=1e-3)
    ratio = 0.7775 if isinstance(sea, JonswapSea) else (5 / 4 * np.pi) ** -0.25
    accuracy = 2e-3 if isinstance(sea, JonswapSea) else 5e-5
    assert 2 * np.pi * math.sqrt(m0 / m2) / 9.0 == pytest.approx(ratio, rel=accuracy)


@pytest.mark.parametrize("sea", [PiersonMoskowitzSea, JonswapSea])
def test_components_have_the_height_and_the_spectrum(sea):
    """Σ a²/2 is H_s²/16 exactly; Σ a²ω²/2 over many seeds is ∫ω² S dω over the band that components are drawn from."""
    sea = sea(significant_height=2.5, peak_period=9.0, components=20)
    env = Environment(waves=(sea,))
    omega = 2 * np.pi / 9.0 * np.geomspace(0.3, 6.0, 20001)
    S = sea_spectrum(sea, omega)
    m2 = np.trapezoid(S * omega**2, omega) * (2.5**2 / 16) / np.trapezoid(S, omega)
    samples = []
    for seed in range(200):
        a, w = wave_components(env, G, seed)[:2]
        assert 4 * math.sqrt(np.sum(a**2) / 2) == pytest.approx(2.5, rel=20 * EPS)
        samples.append(np.sum(a**2 * w**2) / 2)
    error = np.std(samples) / math.sqrt(len(samples))
    assert error < 0.015 * m2
    assert np.mean(samples) == pytest.approx(m2, abs=4 * error)


@pytest.mark.parametrize("components", [30, 100])
@pytest.mark.parametrize("sea", [PiersonMoskowitzSea, JonswapSea])
def test_acceleration_does_not_scatter(sea, components):
    """Verify the standard deviations of elevation, velocity and acceleration at the surface of 20 seas against the spectrum.

    A bin of the tail, where ω⁴ S falls with 1/ω, reaches over 2 ln(6)/n of ln ω at most: ω⁴ scatters by 8 ln(6)/(√12 n) in it.
    It has 2/n of the variance at most; n/2 such bins scatter by 5.9 n^(−3/2) of it, its root by half of that: 1.8 % for 30
    waves.
    """
    sea = sea(significant_height=2.5, peak_period=9.0, components=components)
    omega = 2 * np.pi / 9.0 * np.geomspace(0.3, 6.0, 20001)
    S = sea_spectrum(sea, omega)
    S *= 2.5**2 / 16 / np.trapezoid(S, omega)
    for power, scatter in ((0, 1e-12), (1, 0.02), (2, 0.018 * (30 / components) ** 1.5)):
        expected = math.sqrt(np.trapezoid(S * omega ** (2 * power), omega))
        got = []
        for seed in range(20):
            a, w = wave_components(Environment(waves=(sea,)), G, seed)[:2]
            got.append(math.sqrt(np.sum((a * w**power) ** 2) / 2) / expected)
        assert np.std(got) <= scatter, (power, got)
        assert np.abs(np.array(got) - 1).max() <= 3 * scatter, (power, got)


def test_elevation_has_the_significant_height():
    """4 std of the elevation over a long record is H_s; sines that do not repeat, so the mean of η² converges as 1/T."""
    env = Environment(waves=(JonswapSea(significant_height=2.0, peak_period=8.0),))
    components = wave_components(env, G, seed=5)
    t = np.arange(0.0, 20000.0, 0.9)
    eta = np.array([wave_motion(components, NED, np.array([1.0, 2.0, 3.0]), s).elevation for s in t[::4]])
    gaps = np.diff(np.sort(components.omega))
    beat = 2 * np.sum(components.amplitude[:-1] ** 2 / gaps) / 20000.0  # neighbours beat the slowest
    assert np.mean(eta**2) == pytest.approx(0.25, abs=3 * beat)
    assert 3 * beat < 0.1 * 0.25


def test_seeds():
    """One seed gives one sea, whatever other waves there are; another seed another sea."""
    sea = JonswapSea(significant_height=2.0, peak_period=8.0)
    alone = wave_components(Environment(waves=(sea,)), G, 7)
    both = wave_components(Environment(waves=(sea, sea)), G, 7)
    np.testing.assert_array_equal(alone.omega, both.omega[:30])
    np.testing.assert_array_equal(alone.phase, both.phase[:30])
    assert not np.any(np.isin(both.phase[30:], alone.phase))
    assert not np.any(np.isin(wave_components(Environment(waves=(sea,)), G, 8).phase, alone.phase))


@pytest.mark.parametrize("water_depth", [12.0, None])
def test_traced_is_the_same(water_depth):
    components = crossing(water_depth)
    program = trace(lambda p, t: tuple(wave_motion(components, ENU, p, t[0])), {"p": (3,), "t": (1,)})
    for z in (-4.0, 1.0, -20.0):
        p, t = np.array([3.0, -2.0, z]), 2.3
        for ours, floats in zip(program(p, np.array([t])), wave_motion(components, ENU, p, t), strict=True):
            np.testing.assert_allclose(ours, floats, rtol=0, atol=50 * EPS * scale(components, 0))


def test_no_waves_no_motion():
    still = wave_motion(wave_components(Environment(), G), NED, np.ones(3), 1.0)
    assert not np.any(still.velocity) and not np.any(still.acceleration) and still.elevation == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RegularWave(height=0.0, period=5.0), "wave.height is 0"),
        (lambda: RegularWave(height=1.0, period=math.nan), "wave.period is nan"),
        (lambda: JonswapSea(significant_height=1.0, peak_period=5.0, gamma=0.5), "sea.gamma is 0.5"),
        (lambda: JonswapSea(significant_height=1.0, peak_period=5.0, components=0), "sea.components is 0"),
        (lambda: Environment(waves=("swell",)), "environment.waves contains 'swell'"),
        (lambda: Environment(waves=RegularWave(height=1.0, period=5.0)), "environment.waves is .* must be a list"),
        (lambda: Environment(water_depth=-3.0), "environment.water_depth is -3"),
        (lambda: wave_components(Environment(waves=(RegularWave(height=3.0, period=3.0),)), G), "breaks above 2 m"),
        (
            lambda: wave_components(Environment(waves=(JonswapSea(significant_height=5.0, peak_period=4.0),)), G),
            "sea.significant_height is 5 m, but a sea with a peak period of 4 s breaks above about 1.67 m",
        ),
        (
            lambda: wave_components(
                Environment(waves=(PiersonMoskowitzSea(significant_height=1.5, peak_period=8.0),), water_depth=2.0), G
            ),
            "sea.significant_height is 1.5 m",
        ),
    ],
)
def test_bad_data_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
