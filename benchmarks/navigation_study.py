"""Does the navigation filter know how wrong it is? Normalised errors over many seeds, with all sensors and through gaps.

A small vehicle flies a curved path, pushed by sines of several frequencies, as a compiled mission in many worlds. Each seed
draws its own errors of the sensors and of the start. The filter's errors δ are compared with its covariance P:

    ε = δᵀ P⁻¹ δ,    the mean of ε over N seeds times N is χ² with N·n degrees of freedom, n the size of δ
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import Thruster, ideal_curve
from hydromechs.compiler import compile_function, draw
from hydromechs.contact import LinearContact, Material, Terrain
from hydromechs.model import State
from hydromechs.navigation import ErrorStateFilter, Navigation, Navigator
from hydromechs.navigation._covariance import difference
from hydromechs.scenario import ModelStart
from hydromechs.sensors import Aid, Compass, DepthGauge, Dvl, Imu, Noise, Reading, Sensor, Usbl
from hydromechs.simulation import Plant, PythonBlock, Site, Tick, TracedBlock, Update, components_of
from hydromechs.values import Array

from .instruments import Instruments

__all__ = [
    "BLOCKS",
    "FULL_NAVIGATION",
    "QUICK_NAVIGATION",
    "Flight",
    "Flown",
    "NavigationCases",
    "measure_navigation",
    "plot_navigation",
    "small_vehicle",
]

RATE = 25.0
"""Of the IMU [Hz]."""
BLOCKS = {
    "position": slice(0, 3),
    "velocity": slice(3, 6),
    "attitude": slice(6, 9),
    "gyroscope bias": slice(9, 12),
    "accelerometer bias": slice(12, 15),
    "all": slice(0, 15),
}
"""Parts of the error δ."""
FLOOR = Terrain(
    name="floor",
    material=Material(law=LinearContact(stiffness=1e4)),
    shape=geometry.Plane.through((0, 0, 30.0), (0, 0, -1)),  # type: ignore[arg-type]  # a placed shape has its origin
)
"""The seabed."""
THRUSTERS = tuple(Thruster(name=f"t{k}", frame=f"t{k}", curve=ideal_curve(50.0, 50.0), time_constant=0.2) for k in range(4))
"""Disturbances of the vehicle."""
PUSHES = {"t0": (15.0, 10.0, 0.7), "t1": (15.0, -9.0, 0.9), "t2": (0.0, 8.0, 0.5), "t3": (0.0, 6.0, 1.1)}
"""Of each thruster, mean and amplitude [N] and frequency [rad/s]."""
IMU = Imu(
    name="imu",
    frame="imu",
    rate=RATE,
    accelerometer=Noise(density=2e-3, bias=0.03, walk=3e-4),
    gyroscope=Noise(density=2e-4, bias=2e-3, walk=2e-5),
)
"""An industrial IMU."""
SENSORS: tuple[Sensor, ...] = (
    IMU,
    Dvl(name="dvl", frame="dvl", rate=5.0, latency=0.2, noise=Noise(sigma=0.01, bias=0.002), range=60.0),
    DepthGauge(name="depth", frame="hull", rate=5.0, noise=Noise(sigma=0.03, bias=0.05, walk=0.002)),
    Compass(name="compass", frame="imu", rate=5.0, noise=Noise(sigma=0.03, bias=0.01)),
    Usbl(name="usbl", frame="hull", rate=1.0, latency=0.6, transceiver=(20.0, -10, 0), range_sigma=0.1, bearing_sigma=0.01),
)
"""All sensors, at their own rates, two of them late, three with a bias."""
FILTER = ErrorStateFilter(position=0.5, velocity=0.1, tilt=0.02, heading=0.06)
"""The filter."""
STEP = 0.01
"""Of the integrator [s]."""
ROWS = 240
"""Times at which errors are compared."""


def small_vehicle(*others: hm.Body) -> hm.Model:
    """A hull of 20 kg with an IMU and a DVL that are mounted misaligned, and four thrusters.

    Args:
        others: More bodies.
    """
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(position=(0, 0, 10.0)),
        inertia=hm.Inertia(mass=20.0, tensor=(0.5, 0.8, 0.9, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=20.0 / 1025.0,
            buoyancy_center=(0, 0, -0.05),
            added_mass=(hm.added_mass.Diagonal((10, 15, 20, 0.3, 0.4, 0.4)),),
            drag=(hm.drag.Damping(linear=(20, 25, 30, 2, 3, 3), quadratic=(30, 40, 60, 2, 3, 3)),),
        ),
        frames=(
            hm.Frame("imu", hm.Origin((0.2, -0.1, 0.05), (0.1, -0.05, 0.3))),
            hm.Frame("dvl", hm.Origin((-0.3, 0.1, 0.15), (0, 0, 0.5))),
            hm.Frame("t0", hm.Origin((0, 0.2, 0.02), (0, 0, 0))),
            hm.Frame("t1", hm.Origin((0.01, -0.2, 0.03), (0, 0, 0))),
            hm.Frame("t2", hm.Origin((0.1, 0, 0), (0, -1.57, 0))),
            hm.Frame("t3", hm.Origin((0.2, 0, 0), (0, 0, 1.57))),
        ),
    )
    return hm.Model(name="vehicle", bodies=(hull, *others))


class Flown(NamedTuple):
    """One flight of the filter, a row for every period of the IMU."""

    errors: Array
    """δ, shape (n, 15)."""
    covariances: Array
    """P, shape (n, 15, 15)."""
    messages: list[str]
    """Messages of the filter."""
    memory: dict[str, Array]
    """Memory at the end."""

    def normalised(self, block: slice) -> Array:
        """ε = δᵀ P⁻¹ δ of a part of δ, shape (n,)."""
        d, P = self.errors[:, block], self.covariances[:, block, block]
        return np.einsum("ti,ti->t", d, np.linalg.solve(P, d[..., None])[..., 0])


class Flight:
    """A curved flight of the small vehicle, simulated once, and the filter for it.

    Args:
        duration: How long [s].
    """

    def __init__(self, duration: float) -> None:
        model = small_vehicle()
        plant = Plant(model=model, components=components_of(model, THRUSTERS))
        rows: list[State] = []

        def pushed(state: State) -> dict[str, float]:
            rows.append(state)
            return {name: mean + size * math.sin(w * state.t) for name, (mean, size, w) in PUSHES.items()}

        self.simulation = hm.Simulation(plant, controller=pushed, period=1.0 / RATE, step=STEP, record=1.0 / RATE)
        self.simulation.run(duration)
        self.rows = rows
        """The true states at each period of the IMU."""
        self.times = np.array([s.t for s in rows])
        """Their times [s], shape (n,)."""
        self.navigator: Navigator = FILTER.on(model, SENSORS)
        """The filter."""
        self.truth = np.array([self.navigator.true(s) for s in rows])
        """True values of the estimates, but for the biases, shape (n, 19)."""

    def instruments(self, gaps: Mapping[str, tuple[float, float]]) -> Instruments:
        """The sensors, compiled.

        Args:
            gaps: Times between which a sensor measures nothing [s], by its name.
        """
        sensors = [replace(s, outages=(gaps[s.name],)) if s.name in gaps else s for s in SENSORS]
        return Instruments(self.simulation.plant, sensors, self.simulation.step_size, [FLOOR])

    def fly(
        self,
        instruments: Instruments,
        seed: int,
        spoil: Callable[[Reading], Reading] = lambda reading: reading,
        disturb: Callable[[int, dict[str, Array]], None] = lambda period, memory: None,
    ) -> Flown:
        """The filter along the flight, with the errors of a seed.

        Args:
            instruments: The sensors.
            seed: Of the errors of sensors and start.
            spoil: Changes readings of aids on their way; their `sensor` counts among the aids.
            disturb: Changes what the filter remembers, before each period of the IMU, which are counted.
        """
        sensing, nav = instruments.seeded(seed), self.navigator
        i, m = sensing.pack.views(sensing.start()), nav.pack.views(np.zeros(nav.pack.size))
        root = np.linalg.cholesky(nav.first_covariance(self.truth[0])[:9, :9])
        nav.start(m, nav.moved(self.truth[0], -root @ draw(9, float(seed), 0.0, "start", 0.0)), 0.0)
        aids = {k: n for n, k in enumerate(k for k, s in enumerate(sensing.sensors) if isinstance(s, Aid))}
        n = len(self.rows)
        errors, covariances, said = np.zeros((n, 15)), np.zeros((n, 15, 15)), []
        for k, (state, true) in enumerate(zip(self.rows, self.truth, strict=True)):
            got = sensing.sample(i, state)
            disturb(k, m)
            imu = next(r.value for r in got if r.sensor == 0)
            said += nav.tick(m, state.t, imu, [spoil(r._replace(sensor=aids[r.sensor])) for r in got if r.sensor])
            bias = i["sensor bias"][:6]
            errors[k] = nav.error(m, np.concatenate([true[:10], bias[3:], bias[:3], true[16:]]))[:15]
            covariances[k] = nav.covariance(m)[:15, :15]
        return Flown(errors, covariances, said, m)


class NavigationCases(NamedTuple):
    """Extent of the study."""

    seeds: int
    """Number of seeds."""
    duration: float
    """Duration of the flight [s]."""
    gaps: dict[str, dict[str, tuple[float, float]]]
    """Of each case, times between which a sensor measures nothing [s], by its name."""


FULL_NAVIGATION = NavigationCases(
    seeds=500,
    duration=90.0,
    gaps={"all sensors": {}, "20 s without DVL": {"dvl": (20.0, 40.0)}, "60 s without USBL": {"usbl": (20.0, 80.0)}},
)
"""The study of the documentation."""
QUICK_NAVIGATION = NavigationCases(seeds=100, duration=8.0, gaps={"all sensors": {}, "2 s without DVL": {"dvl": (2.0, 4.0)}})
"""A short flight, to check that it works."""


class _Pushed(TracedBlock):
    """Thrusts that are sines of time."""

    period = 1.0 / RATE

    def prepare(self, site: Site) -> None:
        self.commanded = tuple(PUSHES)

    def update(self, tick: Tick) -> Update:
        return Update(commands={name: mean + size * np.sin(w * tick.t) for name, (mean, size, w) in PUSHES.items()})


class _Flights(NamedTuple):
    """The filter in many worlds, at some times."""

    times: Array
    """Times [s], shape (n,)."""
    errors: Array
    """δ, shape (n, worlds, 15)."""
    covariances: Array
    """P, shape (n, worlds, 15, 15)."""
    messages: int
    """Worlds in which the filter had something to say."""

    def mean(self, block: slice) -> Array:
        """Mean over the worlds of ε = δᵀ P⁻¹ δ of a part of δ, shape (n,)."""
        d, P = self.errors[..., block], self.covariances[..., block, block]
        return np.einsum("twi,twi->t", d, np.linalg.solve(P, d[..., None])[..., 0]) / d.shape[1]


def _flights(cases: NavigationCases, gaps: Mapping[str, tuple[float, float]], progress: Callable[[float], None]) -> _Flights:
    """Fly the compiled mission, sensors and filter included, with the errors of all seeds. The motion is the same in all."""
    sensors = [replace(s, outages=(gaps[s.name],)) if s.name in gaps else s for s in SENSORS]
    blocks = (*sensors, Navigation(filter=FILTER, read="truth"), PythonBlock(controller=_Pushed()))
    timing = dict(step=STEP, record=1.0 / RATE, duration=cases.duration)
    start = ModelStart(model=small_vehicle())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="nothing can touch terrain 'floor'")  # it is there for the DVL
        scenario = hm.Scenario(name="navigation", models=[start], components=(*THRUSTERS, FLOOR), blocks=blocks, **timing)
        worlds: Any = hm.Worlds(scenario, cases.seeds, seed=list(range(cases.seeds)), watch=(), samples=False, threads=2)
    navigator = FILTER.on(scenario.plant.model, SENSORS)
    layout = navigator.fusion.layout
    places = layout.matrix(np.arange(layout.size))[:15, :15].astype(int)
    shapes = {"true": (19,), "believed": (19,)}
    error = compile_function("error", lambda true, believed: (difference(true, believed),), shapes, {"error": (18,)})
    ticks = np.unique(np.linspace(0, round(cases.duration * RATE) - 1, ROWS).astype(int))
    errors, covariances = np.zeros((len(ticks), cases.seeds, 15)), np.zeros((len(ticks), cases.seeds, 15, 15))
    for k, tick in enumerate(ticks):
        if tick:
            worlds.run(tick / RATE)
        true = np.tile(navigator.true(State(t=tick / RATE, q=worlds.q[0], v=worlds.v[0])), (cases.seeds, 1))
        worlds.run(tick / RATE + STEP)  # the filter has run at the tick, too
        bias = worlds.target.all("sensor bias")
        true[:, 10:16] = np.concatenate([bias[:, 3:6], bias[:, :3]], axis=1)
        errors[k] = error([true, worlds.target.all("filter x")[:, :19].copy()])[0][:, :15]
        covariances[k] = worlds.target.all("filter P")[:, places]
        progress(tick / RATE)
    assert (worlds.q == worlds.q[0]).all()
    return _Flights(ticks / RATE, errors, covariances, len({m.world for m in worlds.messages}))


def measure_navigation(cases: NavigationCases, progress: Callable[[float], None] = lambda t: None) -> dict[str, Any]:
    """Normalised errors by part of δ with the 95 % bounds of their mean over the seeds, and errors in metres and degrees.

    Args:
        cases: How much of it.
        progress: Called with the time flown so far, of all cases [s].
    """
    out: list[dict[str, Any]] = []
    for k, (name, gaps) in enumerate(cases.gaps.items()):
        flown = _flights(cases, gaps, lambda t, k=k: progress(k * cases.duration + t))  # type: ignore[misc]
        out.append({"case": name, **_case(flown, gaps, cases.seeds), "flights_with_messages": flown.messages})
    return {
        "seeds": cases.seeds,
        "duration": cases.duration,
        "times": [round(float(t), 4) for t in flown.times],
        "bounds": {block: list(_bounds(at, cases.seeds)) for block, at in BLOCKS.items()},
        "cases": out,
        "passed": all(row["low"] < row["mean"] < row["high"] for case in out for row in case["blocks"]),
    }


def _bounds(block: slice, seeds: int) -> tuple[float, float]:
    """Between which the mean of ε over the seeds is with a probability of 95 %."""
    low, high = chdtri((block.stop - block.start) * seeds, np.array([0.975, 0.025])) / seeds
    return float(low), float(high)


def _case(flown: _Flights, gaps: Mapping[str, tuple[float, float]], seeds: int) -> dict[str, Any]:
    """One case of the report."""
    means = {block: flown.mean(at) for block, at in BLOCKS.items()}
    blocks = []
    for block, at in BLOCKS.items():
        low, high = _bounds(at, seeds)
        mean = means[block]
        inside = float(np.mean((low < mean) & (mean < high)))
        blocks.append({"block": block, "mean": float(mean.mean()), "low": low, "high": high, "inside": inside})
    errors, sigmas = flown.errors[..., :9], np.sqrt(np.diagonal(flown.covariances, axis1=2, axis2=3)[..., :9])
    distance = np.linalg.norm(errors[..., :3], axis=-1)
    believed = np.linalg.norm(sigmas[..., :3], axis=-1)
    gap = next(iter(gaps.values()), None)
    within = slice(None) if gap is None else (flown.times >= gap[0]) & (flown.times < gap[1])

    def rms(x: Array) -> float:
        return float(np.sqrt(np.mean(np.sum(x**2, axis=-1))))

    def curve(x: Array) -> list[float]:
        return [float(f"{value:.4g}") for value in x]

    return {
        "gap": None if gap is None else list(gap),
        "blocks": blocks,
        "position_rms": rms(errors[..., :3]),
        "velocity_rms": rms(errors[..., 3:6]),
        "attitude_rms_deg": math.degrees(rms(errors[..., 6:9])),
        "gap_position_rms": rms(errors[within, :, :3]),
        "largest_distance": float(distance.max()),
        "largest_in_sigmas": float(np.abs(errors / sigmas)[..., :3].max()),
        "curves": {
            "all": curve(means["all"]),
            "position": curve(means["position"]),
            "position_rms": curve(np.sqrt(np.mean(distance**2, axis=1))),
            "position_sigma": curve(np.sqrt(np.mean(believed**2, axis=1))),
        },
    }


def plot_navigation(report: Mapping[str, Any], out: str | Path) -> Path:
    """Draw normalised errors with their bounds, and errors of the position with what the filter believes of them.

    Args:
        report: What `measure_navigation` returns.
        out: File to write.

    Returns:
        The file.
    """
    from hydromechs.viewer import figure

    out, t = Path(out), report["times"]
    with figure(out, height=4.6, width=4.2 * len(report["cases"])) as fig:
        axes = np.atleast_2d(fig.subplots(2, len(report["cases"]), sharex=True, sharey="row", squeeze=False))
        for (top, bottom), case in zip(axes.T, report["cases"], strict=True):
            for axis in (top, bottom):
                if case["gap"] is not None:
                    axis.axvspan(*case["gap"], color="#eeeeee", linewidth=0)
            for block, label in (("all", "all 15"), ("position", "position")):
                (line,) = top.plot(t, case["curves"][block], label=label, linewidth=1.0)
                for bound in report["bounds"][block]:
                    top.axhline(bound, color=line.get_color(), linewidth=0.8, linestyle=":")
            top.set(title=case["case"], ylim=(0, 1.5 * report["bounds"]["all"][1]))
            bottom.plot(t, case["curves"]["position_rms"], label="error", linewidth=1.0)
            bottom.plot(t, case["curves"]["position_sigma"], label="believed", linewidth=1.0, linestyle="--")
            bottom.set(xlabel="time [s]")
            bottom.set_ylim(bottom=0.0)
        axes[0, 0].set_ylabel(f"mean of $\\epsilon$ over {report['seeds']} seeds")
        axes[1, 0].set_ylabel("position, rms [m]")
        axes[0, 0].legend(fontsize=8, loc="upper right")
        axes[1, 0].legend(fontsize=8, loc="upper right")
    return out
