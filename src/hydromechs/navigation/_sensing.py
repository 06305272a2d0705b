"""Sensors and filter as nodes of a routine: all operations of one tick of the fastest sensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.compiler import Entries, Routine, draw, recipe_of
from hydromechs.contact import Terrain
from hydromechs.sensors import REPORT, PlainSensing, Readings, Sensor, part_of
from hydromechs.simulation import Plant, SensingPlaces
from hydromechs.spatial import positive_part, quaternion_matrix, where
from hydromechs.values import Array, Scalar

from ._covariance import ERRORS, STATES, of_body
from ._filter_programs import NX, ROW, start_of
from ._fusion import Arrived, Fusion

if TYPE_CHECKING:
    from ._navigation import Navigation

AXES, TURNS, RATES = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("u", "v", "w", "p", "q", "r")
ESTIMATED = {
    **dict.fromkeys(AXES, "m"),
    **dict.fromkeys(TURNS, "rad"),
    **dict.fromkeys(RATES[:3], "m/s"),
    **dict.fromkeys(RATES[3:], "rad/s"),
    **{f"current_{x}": "m/s" for x in AXES},
    **{f"sigma_{x}": "m" for x in AXES},
    **{f"sigma_{x}": "rad" for x in TURNS},
    **{f"sigma_{x}": "m/s" for x in RATES[:3]},
    **{f"error_{x}": "m" for x in AXES},
    **{f"error_{x}": "rad" for x in TURNS},
    **{f"error_{x}": "m/s" for x in RATES[:3]},
}
"""Units of filter signals, keyed by the name after "navigation."."""
NEVER = -1.0
"""Time value for "no tick yet"."""


class Sensing(PlainSensing):
    """Sensors of a plant and a navigation filter as nodes of a routine.

    `navigation`: filter and input of controllers, None for true states and encoder readings; `terrain`: visible ground in
    addition to the terrain of the plant; `step`: integration step [s]; `controlled`: True if a controller reads the
    sensors.
    """

    def __init__(
        self,
        plant: Plant,
        sensors: Sequence[Sensor],
        navigation: Navigation | None,
        terrain: Sequence[Terrain],
        step: float,
        *,
        controlled: bool = True,
    ) -> None:
        self.navigation = navigation
        self.fusion = None if navigation is None else Fusion(navigation.filter, plant.model, sensors)
        super().__init__(plant, sensors, terrain, step, controlled=controlled)

    def _prepare(self, controlled: bool) -> None:
        if self.fusion is None:
            super()._prepare(controlled)
            return
        self.state |= self.fusion.state | {"filter asked": np.full(1, NEVER)}
        self.inputs |= self.fusion.inputs
        self.signals |= {f"navigation.{name}": unit for name, unit in ESTIMATED.items()}
        self.signals |= {f"{s.name}.age": "s" for s in self.fusion.aids}
        self.texts.append("the filter was not updated since t = {0:g} s and is reset".format)
        self.texts += self.fusion.texts

    @property
    def _reads_truth(self) -> bool:
        return self.navigation is not None and self.navigation.read == "truth"

    def _encoded(self) -> list[tuple[int, list[int], list[int]]]:
        return [] if self._reads_truth else super()._encoded()

    def _identity(self) -> str:
        f, model, own = self.fusion, self.plant.model, f"{super()._identity()} {self._reads_truth}"
        if f is not None:
            own += f" {f.layout.identity} {f.p_BI.tolist()} {f.q_BI.tolist()} {model.q_slices[f.body]} {model.v_slices[f.body]}"
        return own

    def _add_filter(self, r: Routine, at: SensingPlaces, got: Readings, reports: Entries) -> None:
        """Append the filter, which starts at its first tick and is reset after a pause."""
        if self.fusion is None:
            super()._add_filter(r, at, got, reports)
            return
        f = self.fusion
        model, period, start = self.plant.model, self.period, r.scratch("filter start", 1)

        def restart(t: Scalar, asked: Scalar, started: Scalar) -> tuple[Any, ...]:
            late = where(started > 0.0, where(t - asked - period > 0.5 * period, 1.0, 0.0), 0.0)
            return t, where(started > 0.0, late, 1.0), np.array([late, asked, 0.0, 0.0, 0.0])

        r.call(
            recipe_of(
                "filter_restart",
                restart,
                {"t": (), "asked": (), "started": ()},
                {"asked": (), "start": (), "report": (REPORT,)},
            ),
            [at.t, r["filter asked"], r["filter started"]],
            [r["filter asked"], start, part_of(reports, 0, REPORT)],
        )

        def begin(
            t: Scalar, pose: Array, velocity: Array, seed: Scalar, world: Scalar, prior: Array, bias: Array
        ) -> tuple[Any, ...]:
            true = start_of(f.q_BI, f.p_BI, pose, velocity)
            return f.started(t, true, draw(9, seed, world, "navigation", 0.0), prior, bias)

        q, v = model.q_slices[f.body], model.v_slices[f.body]
        numbers = f.start_inputs(r)
        given: dict[str, tuple[int, ...]] = {"t": (), "pose": (7,), "velocity": (6,), "seed": (), "world": ()}
        given |= {"prior": (numbers[0].size,), "bias": (numbers[1].size,)}
        places = [at.t, part_of(at.q, q.start, 7), part_of(at.x, v.start, 6), at.seed, at.world, *numbers]
        with r.when(start):
            recipe = recipe_of("filter_start", begin, given, {name: x.shape for name, x in f.state.items()}, rarely_called=True)
            r.call(recipe, places, [r[name] for name in f.state])
        m = self.sampling
        index = {s.name: k for k, s in enumerate(m.sensors)}

        def values(k: int) -> Entries:
            return part_of(got.received, m.places[k].start, m.places[k].stop - m.places[k].start)

        aids = [
            Arrived(part_of(got.fresh, k, 1), part_of(got.number, k, 1), values(k)) for k in (index[s.name] for s in f.aids)
        ]
        k = index[f.imu.name]
        f.add(r, at.t, values(k), aids, part_of(reports, REPORT, REPORT * len(f.texts)))

    def _estimate_inputs(self, r: Routine) -> dict[str, Entries]:
        if self.fusion is None:
            return {}
        return {"x": r.part("filter x", 0, ROW), "P": r["filter P"], "heard": r["filter heard"]}

    def _estimate(self, t: Scalar, q: Array, v: Array, last: Array, **more: Any) -> tuple[Array, ...]:
        model, f, truth = self.plant.model, self.fusion, self._reads_truth
        seen = super()._estimate(t, q, v, last)
        if f is None:
            return seen
        (seen_q, seen_v), (x, P, heard) = seen, (more[name] for name in ("x", "P", "heard"))
        position, orientation, velocity = of_body(x[:NX], x[NX:], f.p_BI, f.q_BI)
        iq, iv = model.q_slices[f.body], model.v_slices[f.body]
        pose, V = q[iq], v[iv]
        if not truth:
            seen_q[iq], seen_v[iv] = np.concatenate([position, orientation]), velocity
        sigma = [np.sqrt(positive_part(P[f.layout.at(k, k)])) for k in range(9)]
        R, R_true = quaternion_matrix(orientation), quaternion_matrix(pose[3:])
        E = R.T @ R_true
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        order = ("p", "q", "v")
        shown = [position, _roll_pitch_yaw(R), velocity, x[STATES["c"]], *(sigma[ERRORS[name]] for name in order)]
        shown += [pose[:3] - position, turn, V[:3] - velocity[:3]]
        ages = [t - heard[k] for k in range(len(f.aids))]
        return seen_q, seen_v, np.concatenate([*shown, ages])


def _roll_pitch_yaw(R: Array) -> Array:
    """Return roll, pitch and yaw of a rotation matrix [rad], shape (3,); roll is 0 at pitch ±90°."""
    across = np.sqrt(R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0])
    steep = across < 1e-12
    roll = where(steep, 0.0, np.arctan2(R[2, 1], R[2, 2]))
    yaw = np.arctan2(where(steep, -R[0, 1], R[1, 0]), where(steep, R[1, 1], R[0, 0]))
    return np.array([roll, np.arctan2(-R[2, 0], across), yaw])
