"""Error-state Kalman filter for one vehicle as nodes of a routine: fuses an IMU with other, possibly delayed sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs.compiler import Argument, Entries, Program, Recipe, Routine, jacobian_program, recipe_of, trace
from hydromechs.equations import identity_of
from hydromechs.model import Model
from hydromechs.sensors import REPORT, Aid, Imu, Noise, Sensor, equations_of, part_of
from hydromechs.spatial import (
    cross,
    nearest_integer,
    quaternion_from_matrix,
    quaternion_matrix,
    quaternion_product,
    skew,
    where,
)
from hydromechs.values import Array, Scalar

from ._covariance import STATES, Believed, Covariance, difference, moved, plus
from ._filter_programs import (
    HUGE,
    NE,
    NX,
    ROW,
    C,
    corrected,
    downdated,
    drawn_error,
    first_covariance,
    innovation,
    propagated,
    raised,
    remembered,
    widened,
)
from ._vehicle import place_on_body, vehicle_of

if TYPE_CHECKING:
    from ._navigation import ErrorStateFilter

SILENT = 3.0
"""Number of periods without a measurement after which the filter reports that it continues without the sensor."""
UNITS = {"position": "m", "velocity": "m/s", "attitude": "rad"}
PRIOR = ("position", "velocity", "tilt", "heading", "gyroscope", "accelerometer", "current")
NOISE = ("pp", "pv", "vv", "q", "bg", "ba", "c", "decay")


class Arrived(NamedTuple):
    """Entries with the readings of an aid."""

    fresh: Entries
    """1 if a reading has arrived, else 0."""
    number: Entries
    """Index of the sample."""
    value: Entries
    """Measured values; NaN for missing values."""


class _See(NamedTuple):
    """Measurement model of an aid."""

    program: Program
    """Program from (delta, x, w) to the expected measurement and its derivative with respect to the error."""
    rows: tuple[tuple[int, ...], ...]
    """Observed errors, among 18, of each channel; empty for channels that the filter cannot use."""


class Fusion:
    """Filter for one vehicle as nodes of a routine.

    The state x̂ is the motion of the IMU frame. The error δ with x = x̂ ⊞ δ has the covariance P. For sensors with latency, the
    filter stores copies of x̂ and of the observed errors at sample times. A late measurement then corrects the estimate at its
    sample time and, through the covariance, the present estimate. Biases of aids are also estimated.

    `sensors`: one `Imu` and any number of `Aid` sensors; other sensors are ignored.
    """

    def __init__(self, settings: ErrorStateFilter, model: Model, sensors: Sequence[Sensor]) -> None:
        self.settings, self.model = settings, model
        self.body = vehicle_of(model, sensors)
        """Index of the free body that carries the IMU."""
        (self.imu,) = [s for s in sensors if isinstance(s, Imu)]
        self.aids = tuple(s for s in sensors if isinstance(s, Aid))
        self.p_BI, self.R_BI = place_on_body(model, self.body, self.imu.frame, self.imu.name)
        self.q_BI = quaternion_from_matrix(self.R_BI)
        self.estimates_current = settings.current > 0.0
        self.expected = [self._see(s) for s in self.aids]
        """Measurement model of each aid."""
        self.biases: list[dict[int, int]] = []
        """For each aid, bias indices keyed by channel."""
        noises: list[Noise] = []
        for s, seen in zip(self.aids, self.expected, strict=True):
            channels = [c.noise for c in s.channels(model)]
            at = [k for k, noise in enumerate(channels) if seen.rows[k] and (noise.bias or noise.walk)]
            self.biases.append({k: len(noises) + i for i, k in enumerate(at)})
            noises += [channels[k] for k in at]
        observed = [sorted({e for row in seen.rows for e in row}) for seen in self.expected]
        slots = [s.in_flight for s in self.aids]
        self.layout = Covariance(current=self.estimates_current, observed=observed, slots=slots, biases=len(noises))
        self.late = [i for i, count in enumerate(slots) if count]
        n, copies, na = self.layout, self.layout.copies, len(self.aids)
        self.state: dict[str, Array] = {
            "filter x": np.zeros(copies * ROW),
            "filter b": np.zeros(max(1, len(noises))),
            "filter P": np.zeros(n.size),
            "filter imu": np.zeros(6),
            "filter started": np.zeros(1),
            "filter heard": np.zeros(max(1, na)),
            "filter refused": np.zeros(max(1, na)),
            "filter silent": np.zeros(max(1, na)),
            "filter numbers": np.full(copies, -1.0),
        }
        """Persistent arrays of the routine, with initial values."""
        self.texts: list[Callable[..., str]] = []
        """Functions that format messages from four values."""
        self._design: dict[str, tuple[int, int]] = {}
        parts: list[Array] = []
        for name, x in self._numbers(noises).items():
            x = np.ravel(np.asarray(x, dtype=float))
            self._design[name] = (sum(part.size for part in parts), x.size)
            parts.append(x)
        self.inputs: dict[str, Array] = {"filter design": np.concatenate(parts)}
        """Input arrays of the routine for a run, with values."""
        for i in [*self.late, *(i for i in range(na) if i not in self.late)]:
            self.texts += [self._widened_text(i), f"{self.aids[i].name!r} is available again after {{0:.3g}} s".format]
        for s in self.aids:
            self.texts.append(
                f"no measurement of {s.name!r} was used since t = {{0:.6g}} s; the filter continues without it".format
            )
        self._own = n.identity

    def _widened_text(self, i: int) -> Callable[..., str]:
        s = self.aids[i]
        return (
            f"{s.name!r} was rejected {self.settings.patience} times in a row; the filter inflates its {s.shows} uncertainty "
            f"by {{0:.2g}} {UNITS[s.shows]} and uses the sensor again"
        ).format

    # -- equations ----------------------------------------------------------------------------------------------------------

    def place(self, sensor: Aid) -> tuple[Array, Array]:
        """Return the pose of a sensor in the IMU frame."""
        p, R = place_on_body(self.model, self.body, sensor.frame, sensor.name)
        return self.R_BI.T @ (p - self.p_BI), self.R_BI.T @ R

    def _see(self, aid: Aid) -> _See:
        p_IS, R_IS = self.place(aid)

        def see(delta: Array, x: Array, w: Array) -> tuple[Array]:
            """Return the expected measurement to first order in δ."""
            e, q = delta, STATES["q"]
            y = np.concatenate([x[:6] + e[:6], x[6:10], x[10:] + e[9:]])
            frame = Believed.at(y, w, p_IS, R_IS)
            turn = quaternion_matrix(x[q]) @ skew(e[6:9])
            more = Believed(
                frame.p + turn @ p_IS, frame.R + turn @ R_IS, frame.v + turn @ cross(w - y[10:13], p_IS), frame.v_water
            )
            return (np.asarray(aid.expected(more, self.model.world)),)

        program = trace(see, {"delta": (NE,), "x": (NX,), "w": (3,)}, name="aid", outputs=("expected",))
        both = jacobian_program(program, ("delta",), with_value=True)
        n = both.outputs[0].size

        def depends(entry: int) -> bool:
            op = both.operations[both.results[1][entry]]
            return op.kind != "const" or op.value != 0.0

        rows = [tuple(e for e in range(NE) if depends(NE * k + e)) for k in range(n)]
        if not self.estimates_current:  # channels that depend on a current that is not estimated carry no information
            rows = [row if not any(e >= C for e in row) else () for row in rows]
        return _See(both, tuple(rows))

    def move(self, x: Array, u: Array, dt: Scalar) -> tuple[Array]:
        """Return the state after one step."""
        return (moved(x, u[:3], u[3:], dt, self.model.world.gravity_vector, 1.0 / self.settings.current_time),)

    @cached_property
    def _slope(self) -> Program:
        def error(delta: Array, x: Array, u: Array, dt: Array) -> tuple[Array]:
            (after,) = self.move(x, u, dt[()])
            turned = quaternion_product(x[6:10], np.array([1.0, *(0.5 * delta[6:9])]))  # x ⊞ δ to first order
            before = np.concatenate([x[:6] + delta[:6], turned, x[10:] + delta[9:]])
            return (difference(self.move(before, u, dt[()])[0], after),)

        program = trace(error, {"delta": (NE,), "x": (NX,), "u": (6,), "dt": ()}, name="strapdown", outputs=("error",))
        return jacobian_program(program, ("delta",))

    def slope(self) -> Recipe:
        """Return the Jacobian of the error after a step with respect to the error before, as a function of (δ, x, u, dt)."""
        w = self.model.world
        given = (Argument("delta", (NE,)), Argument("x", (NX,)), Argument("u", (6,)), Argument("dt", ()))
        wanted = (Argument("d_error_d_delta", (NE, NE)),)
        own = f"strapdown {w.gravity_vector.tolist()} {self.settings.current_time}"
        return Recipe("strapdown_slope", lambda **x: self._slope(*x.values()), given, wanted, own, rolled=lambda: self._slope)

    def noise(self, dt: float) -> dict[str, float]:
        """Return (co)variances that one step adds to the error, and the decay factor of the current."""
        force, rate, s = self.imu.accelerometer, self.imu.gyroscope, self.settings
        a = force.deviation(self.imu.rate) ** 2 + force.resolution**2 / 12.0
        turn = (rate.deviation(self.imu.rate) ** 2 + rate.resolution**2 / 12.0) * dt**2
        current = s.current**2 * -np.expm1(-2.0 * dt / s.current_time)
        values = (0.25 * a * dt**4, 0.5 * a * dt**3, a * dt**2, turn, rate.walk**2 * dt, force.walk**2 * dt, current)
        return dict(zip(NOISE, (*values, np.exp(-dt / s.current_time)), strict=True))

    def _numbers(self, noises: Sequence[Noise]) -> dict[str, Any]:
        from scipy.special import chdtri  # slow to import, and only filters need it

        s, dt = self.settings, self.imu.period
        widest = max((len(a.channels(self.model)) for a in self.aids), default=0)
        out: dict[str, Any] = {"dt": dt, "noise": list(self.noise(dt).values())}
        out["walk"] = [n.walk**2 * dt for n in noises] or [0.0]
        out["bias"] = [n.bias**2 for n in noises] or [0.0]
        out["prior"] = [
            s.position,
            s.velocity,
            s.tilt,
            s.heading,
            self.imu.gyroscope.bias,
            self.imu.accelerometer.bias,
            s.current,
        ]
        out["gates"] = [HUGE, *(float(chdtri(n, 1.0 - s.gate)) for n in range(1, 1 + widest))]
        out["patience"] = float(s.patience)
        out["silence"] = [SILENT * a.period + a.latency for a in self.aids] or [0.0]
        for i, a in enumerate(self.aids):
            out[f"variance {i}"] = a.errors(self.model).variance
        return out

    # -- nodes --------------------------------------------------------------------------------------------------------------

    def design(self, r: Routine, name: str) -> Entries:
        """Return the entries of named design values."""
        return r.part("filter design", *self._design[name])

    def numbers_at(self, name: str) -> tuple[int, int]:
        """Return first index and size of named design values."""
        return self._design[name]

    def start_inputs(self, r: Routine) -> list[Entries]:
        """Return the entries of design values required at the start."""
        return [self.design(r, "prior"), self.design(r, "bias")]

    def started(self, t: Scalar, true: Array, normals: Array, prior: Array, bias: Array) -> tuple[Any, ...]:
        """Return all arrays of the initial state, in order, for a true state with a random error drawn from `normals`."""
        values = dict(zip(PRIOR, prior, strict=True))
        down = quaternion_matrix(true[STATES["q"]]).T @ self.model.world.down
        error = drawn_error(values, down, normals)
        return self.started_at(t, plus(true, np.concatenate([-error, np.zeros(NE - 9)])), prior, bias)

    def started_at(self, t: Scalar, x: Array, prior: Array, bias: Array) -> tuple[Any, ...]:
        """Return all arrays of the initial state, in order, for an initial estimate x̂."""
        n, values = self.layout, dict(zip(PRIOR, prior, strict=True))
        first = first_covariance(values, quaternion_matrix(x[STATES["q"]]).T @ self.model.world.down)
        P = np.zeros((n.n, n.n), dtype=object)
        own = n.present >= 0
        P[np.ix_(n.present[own], n.present[own])] = first[np.ix_(own, own)]
        for k, variance in zip(n.biases, bias, strict=False):
            P[k, k] = variance
        state = dict(self.state)
        rows = np.concatenate([*(np.concatenate([x, np.zeros(3)]) for _ in range(n.copies))])
        state |= {"filter x": rows, "filter P": n.flat(P), "filter started": np.ones(1)}
        state["filter heard"] = np.array([t] * len(self.state["filter heard"]))
        return tuple(state.values())

    def add(
        self, r: Routine, t: Entries, imu: Entries, aids: Sequence[Arrived], reports: Entries, *, moves: bool = True
    ) -> None:
        """Append one tick: propagate, store copies for late sensors, use arrived measurements, and report.

        `t`: time [s]; `imu`: mean specific force and angular rate over the period, NaN without a reading; `aids`: readings
        of the aids; `reports`: destination of reports, five values for each of `texts`; `moves`: False for further readings
        at the same instant.
        """
        n, na = self.layout, len(self.aids)
        x, w = r.part("filter x", 0, NX), r.part("filter x", NX, 3)
        if moves:
            u, flags = r.scratch("filter u", 6), r.scratch("filter moving", 1)
            last, started = r["filter imu"], r["filter started"]
            given: dict[str, tuple[int, ...]] = {"imu": (6,), "last": (6,), "started": ()}
            wanted: dict[str, tuple[int, ...]] = {"u": (6,), "w": (3,), "last": (6,), "started": (), "moving": ()}
            r.call(
                recipe_of("filter_reading", _reading, given, wanted, identity="reading"),
                [imu, last, started],
                [u, w, last, started, flags],
            )
            with r.when(flags):
                self._propagate(r, x, u)
        ready, due = r.scratch("filter ready", max(1, na)), r.scratch("filter due", max(1, na))
        number, one = r.scratch("filter number", max(1, na)), r.scratch("filter one", 1)
        m = max(1, na)
        given = {"t": (), "numbers": (n.copies,), "fresh": (na,), "samples": (na,)} if na else {"t": (), "numbers": (n.copies,)}
        wanted = {"ready": (m,), "due": (m,), "number": (m,), "one": (), "reports": (reports.size,)}
        places: list[Any] = [t, r["filter numbers"]]
        if na:
            places += [[a.fresh for a in aids], [a.number for a in aids]]
        size = reports.size
        r.call(
            recipe_of("filter_due", lambda **k: (*self._due(**k), np.zeros(size)), given, wanted),
            places,
            [ready, due, number, one, reports],
        )
        shared = _Shared(self, r, t, one)
        order = [*self.late, *(i for i in range(na) if i not in self.late)]
        for i in order:
            if i not in self.late:
                continue
            with r.when(part_of(ready, i, 1)):
                self._use(r, shared, i, aids[i].value, part_of(reports, 2 * order.index(i) * REPORT, 2 * REPORT))
        for i in self.late if moves else ():
            with r.when(part_of(due, i, 1)):
                self._remember(r, i, part_of(number, i, 1))
        for i in order:
            if i in self.late:
                continue
            with r.when(part_of(ready, i, 1)):
                self._use(r, shared, i, aids[i].value, part_of(reports, 2 * order.index(i) * REPORT, 2 * REPORT))
        if na:
            shapes: dict[str, tuple[int, ...]] = {"t": (), "heard": (na,), "silent": (na,), "limits": (na,)}
            r.call(
                recipe_of("filter_silence", _silence, shapes, {"silent": (na,), "reports": (REPORT * na,)}, identity="silence"),
                [t, r["filter heard"], r["filter silent"], self.design(r, "silence")],
                [r["filter silent"], part_of(reports, 2 * na * REPORT, na * REPORT)],
            )

    def _due(self, t: Scalar, numbers: Array, fresh: Sequence[Scalar] = (), samples: Sequence[Scalar] = ()) -> tuple[Any, ...]:
        """Return usable readings, late sensors that take a sample at this tick, and sample indices."""
        ready, due, now = [], [], []
        for i, s in enumerate(self.aids):
            clones = self.layout.clones_of(i)
            known = where(numbers[clones[-1].copy] == samples[i], 1.0, 0.0) if clones else 1.0
            ready.append(fresh[i] * known)
            k = nearest_integer(t * s.rate)
            now.append(k)
            due.append(where(abs(t - k * s.period) < 0.5 * self.imu.period, 1.0, 0.0))
        return np.array(ready or [0.0]), np.array(due or [0.0]), np.array(now or [0.0]), 1.0

    def _propagate(self, r: Routine, x: Entries, u: Entries) -> None:
        n = self.layout
        zero, F, dt = r.scratch("filter zero", NE), r.scratch("filter F", NE * NE), self.design(r, "dt")
        r.call(self.slope(), [zero, x, u, dt], [F])
        move = recipe_of("filter_move", self.move, {"x": (NX,), "u": (6,), "dt": ()}, {"after": (NX,)})
        r.call(move, [x, u, dt], [x])
        nb = len(n.biases)

        def propagate(F: Array, dt: Scalar, P: Array, noise: Array, walk: Array) -> tuple[Array]:
            return (propagated(n, F, dt, P, dict(zip(NOISE, noise, strict=True)), walk[:nb]),)

        given = {"F": (NE, NE), "dt": (), "P": (n.size,), "noise": (len(NOISE),), "walk": (max(1, nb),)}
        program = recipe_of("filter_covariance", propagate, given, {"P": (n.size,)}, identity=self._own)
        r.call(program, [F, dt, r["filter P"], self.design(r, "noise"), self.design(r, "walk")], [r["filter P"]])

    def _remember(self, r: Routine, i: int, number: Entries) -> None:
        n = self.layout
        clones = n.clones_of(i)

        def remember(copies: Array, P: Array, numbers: Array, number: Scalar) -> tuple[Array, ...]:
            rows, after = remembered(n, i, copies, P)
            samples = list(numbers)
            for k, clone in enumerate(clones):
                samples[clone.copy] = number if k == 0 else numbers[clones[k - 1].copy]
            return rows, after, np.array(samples)

        given: dict[str, tuple[int, ...]] = {"copies": (n.copies, ROW), "P": (n.size,), "numbers": (n.copies,)}
        places = [r["filter x"], r["filter P"], r["filter numbers"]]
        own = f"remember {i} {self._own}"
        recipe = recipe_of("filter_remember", remember, given | {"number": ()}, given, identity=own)
        r.call(recipe, [*places, number], places)

    def _use(self, r: Routine, shared: _Shared, i: int, value: Entries, reports: Entries) -> None:
        """Append the operations of a measurement: evaluate it, inflate P after many rejections, correct the state."""
        n, aid, seen = self.layout, self.aids[i], self.expected[i]
        clones = n.clones_of(i)
        copy, places = (clones[-1].copy, clones[-1].places) if clones else (0, n.present)
        m = len(seen.rows)
        y, H, zero = r.scratch("filter y", m), r.scratch("filter H", m * NE), r.scratch("filter zero", NE)
        x, w = r.part("filter x", copy * ROW, NX), r.part("filter x", copy * ROW + NX, 3)
        given = seen.program.inputs, seen.program.outputs
        expected = Recipe(
            seen.program.name, lambda **x: seen.program(*x.values()), *given, seen.program.hash, rolled=lambda: seen.program
        )
        r.call(expected, [zero, x, w], [y, H])
        shapes: dict[str, tuple[int, ...]] = {
            "t": (),
            "heard": (),
            "P": (n.size,),
            "expected": (m,),
            "H": (m, NE),
            "value": (m,),
        }
        shapes |= {"b": (r["filter b"].size,), "variance": (m,), "gates": (self._design["gates"][1],)}
        shapes |= {"patience": (), "refused": (), "force": ()}

        def weigh(t: Scalar, heard: Scalar, **more: Any) -> tuple[Any, ...]:
            more["gates"] = more["gates"][: m + 1]
            return innovation(n, aid, seen.rows, places, self.biases[i], more | {"since": t - heard})

        flags, W = r.scratch("filter flags", 2), r.scratch("filter W", m * n.n)
        change, G, M, g = (r.scratch(f"filter {name}", size) for name, size in (("change", n.n), ("G", 9), ("M", 9), ("g", 3)))
        refused = r.part("filter refused", i, 1)
        heard, none = r.part("filter heard", i, 1), part_of(zero, 0, 1)
        equations = identity_of(replace(equations_of(aid), name="aid"))
        own = None if equations is None else f"{equations} {seen.rows} {places.tolist()} {self.biases[i]} {self._own}"
        wanted: dict[str, tuple[int, ...]] = {"flags": (2,), "refused": (), "W": (m, n.n), "change": (n.n,)}
        wanted |= {"G": (3, 3), "M": (3, 3), "g": (3,)}
        recipe = recipe_of("filter_weigh", weigh, shapes, wanted, identity=own)
        before = [shared.t, heard, r["filter P"], y, H, value, r["filter b"], self.design(r, f"variance {i}")]
        before += [self.design(r, "gates"), self.design(r, "patience"), refused]
        after = [flags, refused, W, change, G, M, g]
        r.call(recipe, [*before, none], after)
        with r.when(part_of(flags, 1, 1)):
            J = r.scratch("filter J", 9)
            r.call(shared.raised, [shared.one, G, M, g], [J, part_of(reports, 0, 2)])
            r.call(shared.widened(aid.shows), [J, shared.t, heard, r["filter P"]], [r["filter P"]])
            r.call(recipe, [*before, shared.one], after)
        with r.when(part_of(flags, 0, 1)):
            r.call(shared.corrected, [r["filter x"], r["filter b"], change], [r["filter x"], r["filter b"]])
            for k, row in enumerate(seen.rows):
                if row:
                    r.call(shared.downdated, [r["filter P"], part_of(W, k * n.n, n.n)], [r["filter P"]])
            silent = r.part("filter silent", i, 1)
            r.call(shared.heard, [shared.t, heard, silent], [heard, silent, part_of(reports, REPORT, 2)])


class _Shared:
    """Programs and entries shared by all aids."""

    def __init__(self, fusion: Fusion, r: Routine, t: Entries, one: Entries) -> None:
        n, nb = fusion.layout, len(fusion.layout.biases)
        self.t, self.one, self._layout, self._own = t, one, n, n.identity
        self._widened: dict[str, Recipe] = {}

        def correct(copies: Array, b: Array, change: Array) -> tuple[Array, Array]:
            return corrected(n, copies, change), b + (change[n.n - nb :] if nb else 0.0)

        shapes: dict[str, tuple[int, ...]] = {"copies": (n.copies, ROW), "b": (max(1, nb),)}
        self.corrected = recipe_of(
            "filter_correct", correct, shapes | {"change": (n.n,)}, shapes, identity=f"correct {n.identity}"
        )
        self.downdated = recipe_of(
            "filter_downdate",
            lambda P, w: (downdated(n, P, w),),
            {"P": (n.size,), "w": (n.n,)},
            {"P": (n.size,)},
            identity=f"downdate {n.identity}",
        )
        self.raised = recipe_of(
            "filter_raise",
            _raise,
            {"one": (), "G": (3, 3), "M": (3, 3), "g": (3,)},
            {"J": (3, 3), "report": (2,)},
            identity="raise",
            rarely_called=True,
        )
        self.heard = recipe_of(
            "filter_heard",
            lambda t, heard, silent: (t, 0.0, np.array([silent, t - heard])),
            {"t": (), "heard": (), "silent": ()},
            {"heard": (), "silent": (), "report": (2,)},
            identity="heard",
        )

    def widened(self, shows: str) -> Recipe:
        """Return the program that inflates P."""
        n = self._layout
        if shows not in self._widened:
            self._widened[shows] = recipe_of(
                "filter_widen",
                lambda J, t, heard, P: (widened(n, shows, J, t - heard, P),),
                {"J": (3, 3), "t": (), "heard": (), "P": (n.size,)},
                {"P": (n.size,)},
                identity=f"widen {shows} {self._own}",
                rarely_called=True,
            )
        return self._widened[shows]


def _raise(one: Scalar, G: Array, M: Array, g: Array) -> tuple[Array, Array]:
    J, size = raised(G, M, g)
    return J, np.array([one, size])


def _reading(imu: Array, last: Array, started: Scalar) -> tuple[Any, ...]:
    """Return the IMU reading, or hold the last one; the first reading covers the time before the start."""
    good: Scalar = 1.0
    for y in imu:
        good = good * where(abs(y) <= HUGE, 1.0, 0.0)
    moving = where(started == 2.0, 1.0, 0.0)
    zeros = [where(abs(y) <= HUGE, y, 0.0) for y in imu]
    u = [where(moving, where(good, y, old), zero) for y, old, zero in zip(imu, last, zeros, strict=True)]
    # rate at the end of the period, extrapolated from the last two means
    w = [where(moving, 1.5 * y - 0.5 * old, y) for y, old in zip(u[3:], last[3:], strict=True)]
    return np.array(u), np.array(w), np.array(u), 2.0, moving


def _silence(t: Scalar, heard: Array, silent: Array, limits: Array) -> tuple[Array, Array]:
    """Return silent sensors, and reports about those that just became silent."""
    now = [where(t - since > limit, 1.0, 0.0) * (1.0 - was) for since, was, limit in zip(heard, silent, limits, strict=True)]
    rows = [[on, since, 0.0, 0.0, 0.0] for on, since in zip(now, heard, strict=True)]
    return np.array([was + on for was, on in zip(silent, now, strict=True)]), np.array([x for row in rows for x in row])
