"""Added mass as an external force in other engines, and its cost. Razzanelli et al. 2019: Lemmas 1 and 2, eq. 51; and limits.

A ball of 10 kg, neutral in water, with any added mass, is pushed along x; nothing else acts. Mechanisms of the library drift
from a tilted start with random velocities. All engines that are installed take part.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hydromechs as hm
from hydromechs.hybrid import ENGINES, Causal, Exact, Filtered, Hybrid, Iterated, Scheme, added_masses, ratios
from hydromechs.library import load
from hydromechs.model import State, added_mass, joints
from hydromechs.model.component import Action, Component, Now, Slot, Values, Wrench
from hydromechs.simulation import Plant, Simulation, evaluate
from hydromechs.spatial import quaternion_product
from hydromechs.values import Array

__all__ = ["FULL_HYBRID", "QUICK_HYBRID", "HybridCases", "measure_hybrid", "plot_hybrid"]

MASS = 10.0
"""Of the ball [kg]."""
OPEN = "ball.hydro.added_mass.0.diagonal"
"""Its added mass, an open parameter: one program for all."""
FAST = 1e6
"""Speed at which a run in an engine counts as diverged [m/s]."""
SCHEMES: tuple[Scheme, ...] = (Exact(), Iterated(), Causal(), Filtered(weight=0.3), Filtered(weight=0.1))
"""Ways in which added mass acts."""


class HybridCases(NamedTuple):
    """Extent of the study."""

    steps: tuple[float, ...]
    """Steps T of eq. 51 [s]."""
    frequencies: tuple[float, ...]
    """Frequencies ω of eq. 51 [rad/s]."""
    ratios: tuple[float, ...]
    """Mass ratios of eq. 51."""
    grid: tuple[float, ...]
    """Mass ratios of the growth of errors."""
    models: tuple[str, ...]
    """Mechanisms of the library."""
    halvings: tuple[float, ...]
    """Steps of the convergence [s]."""
    drift: float
    """Duration of the drift [s]."""
    long: float
    """Duration of the run of the ball with three times its mass of water [s]."""
    bisections: int
    """Of each stability limit."""
    engines: tuple[str, ...] = tuple(ENGINES)
    """Engines that take part if they are installed."""


FULL_HYBRID = HybridCases(
    steps=(1 / 240, 1 / 60, 1 / 30),
    frequencies=(1.0, 2.0, 5.0),
    ratios=(0.2, 0.5, 0.9),
    grid=tuple(0.5 * k for k in range(21)),
    models=("workclass_arm3", "bluerov2_heavy_alpha5"),
    halvings=(8e-3, 4e-3, 2e-3, 1e-3),
    drift=0.4,
    long=60.0,
    bisections=10,
)
"""The study of the documentation."""
QUICK_HYBRID = HybridCases(
    steps=(1 / 60,),
    frequencies=(5.0,),
    ratios=(0.5,),
    grid=(0.5, 3.0),
    models=("bluerov2_heavy_alpha5",),
    halvings=(4e-3, 2e-3),
    drift=0.04,
    long=0.5,
    bisections=5,
)
"""A few runs, to check that it works."""


@dataclass(frozen=True, kw_only=True)
class Shaker(Component):
    """A force F sin(ω t + φ) along x on the first body."""

    name: str = "shaker"
    """Its name."""

    def inputs(self, model: hm.Model) -> list[Slot]:
        """F [N], ω [rad/s], φ [rad]."""
        return [Slot(name, setting=True) for name in ("force", "frequency", "phase")]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """The force at this time."""
        force = u["force"] * np.sin(u["frequency"] * now.t + u["phase"])
        return Action(forces=[Wrench(0, np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))])


class BallPath(NamedTuple):
    """A path of the ball."""

    t: Array
    """Times [s], shape (n,)."""
    v: Array
    """Velocity along x [m/s], shape (n,)."""
    remembered: Array
    """Acceleration that the scheme remembers [m/s²], shape (n,)."""
    finished: bool
    """True if it did not diverge."""


class Ball:
    """The ball in one engine with one scheme and step.

    Args:
        engine: Name of the engine.
        scheme: The scheme.
        step: T [s].
    """

    def __init__(self, engine: str, scheme: Scheme, step: float) -> None:
        hydro = hm.Hydro(volume=MASS / 1025.0, added_mass=(added_mass.Diagonal((MASS,) * 3 + (0.04,) * 3),))
        body = hm.Body(
            name="ball",
            joint=joints.Free(),
            inertia=hm.Inertia(mass=MASS, com=(0, 0, 0), tensor=(0.04, 0.04, 0.04, 0, 0, 0)),
            hydro=hydro,
        )
        model = hm.Model(name="ball", world=hm.World(water_density=1025.0), bodies=(body,))
        plant = Plant(model=model, components=(Shaker(),), parameters=(OPEN,))
        self.step = step
        self.sim = Hybrid(engine=engine, scheme=scheme, accept_unstable=True).simulation(plant, step=step, record=step)

    def run(self, ratio: float, steps: int, force: float = 1.0, frequency: float = 0.0) -> BallPath:
        """Push it for some steps: with F sin(ω t), or with F where ω is 0."""
        self.sim.reset()
        self.sim.parameters[OPEN] = np.array([MASS * ratio] * 3 + [0.04 * ratio] * 3)
        phase = 0.0 if frequency else 0.5 * math.pi
        self.sim.held = {"shaker.force": force, "shaker.frequency": frequency, "shaker.phase": phase}
        finished = True
        try:
            rec = self.sim.run(steps * self.step).recording
        except hm.SimulationDiverged as diverged:
            rec, finished = diverged.recording, False
        names = [str(name) for name in rec.internal.values]
        a = rec.internal_state.values[:, names.index("engine.acceleration.ball.u")]
        return BallPath(rec.time.values, rec.v.sel(dof="ball.u").values, a, finished)


def growth(ball: Ball, ratio: float) -> float:
    """Factor by which a step multiplies the error of the acceleration; 0 where it is rounding at once."""
    path = ball.run(ratio, 40)
    a = 1.0 / (MASS * (1.0 + ratio))
    error = np.abs(path.remembered[1:] - a)
    seen = error > 1e-9 * a
    error = error[: int(np.argmin(seen))] if not seen.all() else error  # up to where it is rounding
    if len(error) < 2:
        return 0.0
    back = min(len(error) - 1, 8)
    return float((error[-1] / error[-1 - back]) ** (1.0 / back))


def limit(found: Callable[[float], float], low: float, high: float, bisections: int) -> float:
    """Point at which a growth reaches 1, by bisection."""
    for _ in range(bisections):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if found(middle) < 1.0 else (low, middle)
    return 0.5 * (low + high)


# -- the parts --------------------------------------------------------------------------------------------------------------


def _lemma_2(engines: list[str]) -> Iterator[dict[str, Any]]:
    """τ' + M_A (a_k − a_{k−1}) against (M_RB + M_A) a_k over a forced motion: the largest difference over the largest force."""
    for engine in engines:
        for ratio in (0.3, 0.8):
            ball = Ball(engine, Causal(), 0.01)
            path = ball.run(ratio, 200, frequency=7.0)
            a = np.diff(path.v) / ball.step
            force = np.sin(7.0 * path.t[:-1])
            disturbance = MASS * (1.0 + ratio) * a - force
            jerk = np.diff(a) / ball.step
            predicted = MASS * ratio * ball.step * jerk
            off = np.abs(disturbance[1:] - predicted).max()
            yield {"engine": engine, "ratio": ratio, "relative": float(off / np.abs(predicted).max())}


def _eq_51(engines: list[str], cases: HybridCases) -> Iterator[dict[str, Any]]:
    """Amplitude of the equivalent disturbance over that of all forces, measured over one period, beside eq. 51."""
    for k, engine in enumerate(engines):
        for T in cases.steps[:1] if k else cases.steps:
            ball = Ball(engine, Causal(), T)
            for omega in cases.frequencies:
                for ratio in cases.ratios:
                    settle, period = 120, math.ceil(2.0 * math.pi / (omega * T))
                    path = ball.run(ratio, settle + period, frequency=omega)
                    a = np.diff(path.v) / T
                    t, a = path.t[:-1][settle:], a[settle:]
                    whole = MASS * (1.0 + ratio) * a
                    basis = np.stack([np.sin(omega * t), np.cos(omega * t)], axis=1)
                    fit = lambda y, basis=basis: float(np.hypot(*np.linalg.lstsq(basis, y, rcond=None)[0]))  # noqa: E731
                    measured = fit(whole - np.sin(omega * t)) / fit(whole)
                    predicted = ratio / (1.0 + ratio) * T * omega
                    yield dict(engine=engine, T=T, omega=omega, ratio=ratio, measured=measured, predicted=predicted)


def _stability(engines: list[str], cases: HybridCases) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Growth of errors over mass ratios, and the limits where it reaches 1."""
    curves, limits = [], []
    for engine in engines:
        for scheme in SCHEMES:
            ball = Ball(engine, scheme, 0.01)
            measured = [growth(ball, ratio) for ratio in cases.grid]
            predicted = np.abs(scheme.growth(np.array(cases.grid))).tolist()
            curves.append(dict(engine=engine, scheme=scheme.words, measured=measured, predicted=predicted))
            if np.isfinite(scheme.limit):
                found = limit(partial(growth, ball), 0.5 * scheme.limit, 1.5 * scheme.limit, cases.bisections)
                limits.append(dict(engine=engine, scheme=scheme.words, measured=found, predicted=scheme.limit))
    return curves, limits


def tilted(model: hm.Model) -> State:
    """A start off its axes, with random velocities."""
    rng, state = np.random.default_rng(5), model.initial()
    q, v = np.array(state.q), 0.1 * rng.normal(size=model.nv)
    turn = np.array([1.0, 0.2, -0.3, 0.4])
    q[3:7] = quaternion_product(q[3:7], turn / np.linalg.norm(turn))
    return State(t=0.0, q=q, v=v)


def _mechanism_limit(name: str, engine: str, cases: HybridCases) -> dict[str, Any]:
    """The factor on the vehicle's added mass at which the causal scheme turns unstable, predicted and found."""
    model = load(name)
    start, first = tilted(model), model.bodies[0]
    assert isinstance(first.hydro, hm.Hydro)
    kind = "matrix" if isinstance(first.hydro.added_mass[0], added_mass.Matrix) else "diagonal"
    path = f"{first.name}.hydro.added_mass.0.{kind}"
    own = np.array(getattr(first.hydro.added_mass[0], kind))
    nothing = np.zeros(model.nv)

    def largest(factor: float) -> float:
        M_A = added_masses(model)
        M_A[0] *= factor
        return float(ratios(model, start.q, M_A, nothing, nothing).values[0])

    plant = Plant(model=model, parameters=(path,))
    sim = Hybrid(engine=engine, scheme=Causal(), accept_unstable=True).simulation(plant, state=start, step=1e-3)
    at = [sim.plant.layout.states.index(f"engine.acceleration.{n}") for n in model.coordinate_names[1]]

    def measured(factor: float) -> float:
        sim.reset()
        sim.parameters[path] = factor * own
        seen: list[Array] = []
        try:
            for _ in range(50):
                seen.append(sim.step().internal[at])
        except hm.SimulationDiverged:
            return math.inf
        change = np.linalg.norm(np.diff(np.array(seen), 2, axis=0), axis=1)
        return float(change[-1] / change[-11]) ** 0.1

    predicted = limit(largest, 0.01, 2.0, 40)
    found = limit(measured, 0.7 * predicted, 1.3 * predicted, cases.bisections)
    return dict(model=name, engine=engine, predicted=predicted, measured=found, ratio=largest(1.0))


def _lemma_1(name: str, engine: str) -> dict[str, Any]:
    """Accelerations of the iterated and the exact scheme against ours along a short path, relative to the largest."""
    model = load(name)
    start = tilted(model)
    plant = Plant(model=model)
    out: dict[str, Any] = dict(model=name, engine=engine)
    for scheme in (Iterated(), Exact()):
        sim = Hybrid(engine=engine, scheme=scheme).simulation(plant, state=start, step=1e-3)
        at = [sim.plant.layout.states.index(f"engine.acceleration.{n}") for n in model.coordinate_names[1]]
        worst = 0.0
        for _ in range(5):
            now = sim.state
            ours = np.array(evaluate(sim.plant, now.t, now.q, now.v, now.internal, np.zeros(0)).vdot, dtype=float)
            theirs = sim.step().internal[at]
            worst = max(worst, float(np.abs(theirs - ours).max() / np.abs(ours).max()))
        out[scheme.name] = worst
    return out


def _convergence(name: str, engines: list[str], cases: HybridCases) -> list[dict[str, Any]]:
    """Largest error of velocities at the end of a drift, over steps, against ours by rk4 with half the shortest step."""
    model = load(name)
    start, plant = tilted(model), Plant(model=load(name))
    exact = Simulation(plant, state=start, step=0.5 * min(cases.halvings), record=cases.drift).step(duration=cases.drift)

    def error(sim: Simulation) -> float | None:
        try:
            return float(np.abs(sim.step(duration=cases.drift).v - exact.v).max())
        except hm.SimulationDiverged:
            return None

    ours = [
        error(Simulation(plant, state=start, step=h, record=cases.drift, integrator="semi_implicit_euler"))
        for h in cases.halvings
    ]
    out = [dict(model=name, engine="hydromechs", scheme="semi_implicit_euler", errors=ours, order=_order(ours, cases))]
    for engine in engines:
        for scheme in SCHEMES:
            hybrid = Hybrid(engine=engine, scheme=scheme, accept_unstable=True)
            errors = [error(hybrid.simulation(plant, state=start, step=h, record=cases.drift)) for h in cases.halvings]
            out.append(dict(model=name, engine=engine, scheme=scheme.words, errors=errors, order=_order(errors, cases)))
    return out


def _order(errors: list[float | None], cases: HybridCases) -> float | None:
    """Slope of the error over the two shortest steps; None if a run diverged."""
    long, short = errors[-2:]
    if long is None or short is None:
        return None
    return math.log(long / short) / math.log(cases.halvings[-2] / cases.halvings[-1])


def _long(engines: list[str], cases: HybridCases) -> list[dict[str, Any]]:
    """The ball with three times its mass of water, pushed by a slow sine: error against the closed form, or when it ended."""
    out = []
    ratio, h, omega = 3.0, 0.01, 1.0
    for engine in engines:
        for scheme in (Exact(), Iterated(), Causal()):
            path = Ball(engine, scheme, h).run(ratio, round(cases.long / h), frequency=omega, force=10.0)
            wanted = 10.0 / (MASS * (1.0 + ratio) * omega) * (1.0 - np.cos(omega * path.t))
            error = float(np.abs(path.v - wanted).max()) if path.finished else None
            predicted = _ends(ratio, h, omega, 10.0) if isinstance(scheme, Causal) else None
            until = float(path.t[-1])
            out.append(
                dict(engine=engine, scheme=scheme.name, until=until, finished=path.finished, error=error, predicted=predicted)
            )
    return out


def _ends(ratio: float, h: float, omega: float, force: float) -> float:
    """Time at which the causal scheme passes the speed of a diverged run, by its recursion a_k = F_k/M_RB − μ a_{k−1} [s]."""
    a = v = 0.0
    k = 0
    while abs(v) < FAST:
        a = force * math.sin(omega * k * h) / MASS - ratio * a
        v += h * a
        k += 1
    return (k - 1) * h


def measure_hybrid(cases: HybridCases) -> dict[str, Any]:
    """All measurements, as plain data.

    Args:
        cases: How much of it.
    """
    engines = [name for name in cases.engines if importlib.util.find_spec(ENGINES[name].module)]
    if not engines:
        raise ModuleNotFoundError("no other engine is installed: pip install 'hydromechs[mujoco]', or [dart], or [bullet]")
    curves, limits = _stability(engines, cases)
    return {
        "engines": engines,
        "missing": [name for name in cases.engines if name not in engines],
        "lemma_1": [_lemma_1(name, engine) for name in cases.models for engine in engines],
        "lemma_2": list(_lemma_2(engines)),
        "eq_51": list(_eq_51(engines, cases)),
        "ratios": list(cases.grid),
        "growth": curves,
        "limits": limits,
        "mechanisms": [_mechanism_limit(name, engine, cases) for name in cases.models for engine in engines],
        "halvings": list(cases.halvings),
        "convergence": [row for name in cases.models for row in _convergence(name, engines, cases)],
        "long": _long(engines, cases),
    }


def plot_hybrid(report: Mapping[str, Any], out: str | Path) -> Path:
    """Draw growth of errors, eq. 51 and convergence.

    Args:
        report: What `measure_hybrid` returns.
        out: File to write.

    Returns:
        The file.
    """
    from hydromechs.viewer import figure

    out = Path(out)
    marks = dict(zip(("mujoco", "dart", "bullet"), ("o", "s", "^"), strict=True))
    with figure(out, height=4.2, width=12.6) as fig:
        left, middle, right = fig.subplots(1, 3)
        colors: dict[str, Any] = {}
        for row in report["growth"]:
            label = row["scheme"].replace(" added mass", "").replace(" of weight", "")
            if label not in colors:
                colors[label] = left.plot(report["ratios"], row["predicted"], label=label)[0].get_color()
            look = dict(marker=marks[row["engine"]], linestyle="none", markersize=4, markerfacecolor="none")
            left.plot(report["ratios"], row["measured"], color=colors[label], **look)
        left.axhline(1.0, color="#888888", linewidth=0.8)
        left.set(
            xlabel="$M_A / M_{RB}$",
            ylabel="growth of an error per step",
            title="Lines predicted, marks measured",
            ylim=(-0.2, 4),
        )
        left.legend(fontsize=8)
        for row in report["eq_51"]:
            middle.loglog(
                row["predicted"], row["measured"], marks[row["engine"]], color="#1f6f8b", markersize=4, markerfacecolor="none"
            )
        ends = [min(r["predicted"] for r in report["eq_51"]), max(r["predicted"] for r in report["eq_51"])]
        middle.loglog(ends, ends, color="#888888", linewidth=0.8)
        middle.set(
            xlabel="$T\\omega\\, M_A/(M_{RB}+M_A)$", ylabel="measured", title="Disturbance of the causal scheme over all forces"
        )
        name = report["convergence"][0]["model"] if report["convergence"] else "no mechanism"
        for row in report["convergence"]:
            if row["model"] != name or row["order"] is None:
                continue
            label = row["scheme"].replace(" added mass", "").replace(" of weight", "")
            line = right.loglog(
                report["halvings"],
                row["errors"],
                marker=marks.get(row["engine"], "."),
                markersize=4,
                color=colors.get(label, "#000000"),
            )
            line[0].set_markerfacecolor("none")
        right.set(xlabel="step [s]", ylabel="error of velocities at the end", title=f"{name} (black: ours, first order)")
    return out
