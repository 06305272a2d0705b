"""The filter in plain NumPy with dense matrices: the reference for the compiled one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import Compiled, Program, Recipe, jacobian_program, trace
from hydromechs.model import Model, State
from hydromechs.navigation import ErrorStateFilter, vehicle_of
from hydromechs.navigation._covariance import ERRORS, STATES, Believed, difference, moved, of_body, plus
from hydromechs.navigation._vehicle import place_on_body
from hydromechs.sensors import Aid, Imu, Noise, Reading, Sensor
from hydromechs.simulation import Pack
from hydromechs.spatial import cross, quaternion_from_matrix, quaternion_matrix
from hydromechs.values import Array, Scalar

Memory: TypeAlias = Mapping[str, Array]
"""Memory of a filter, by the names of its `pack`: views into the caller's array."""
NX, NE = 19, 18
FLOOR = 1e-12
"""Least variance of a measurement [unit²]: nothing counts as perfect, so that P stays positive definite."""
SILENT = 3.0
"""Periods without a measurement after which a filter reports that it continues without."""


class Estimate(NamedTuple):
    """Estimated state of the vehicle's body."""

    position: Array
    """Of the body's origin, in world axes [m], shape (3,)."""
    orientation: Array
    """Quaternion (w, x, y, z), body to world, shape (4,)."""
    velocity: Array
    """In body axes at the body's origin [m/s, rad/s], shape (6,)."""
    current: Array
    """Velocity of the water in world axes [m/s], shape (3,)."""
    position_sigma: Array
    """Standard deviations at the IMU, in world axes [m], shape (3,)."""
    attitude_sigma: Array
    """Standard deviations of rotations about the axes of the IMU [rad], shape (3,)."""
    velocity_sigma: Array
    """Standard deviations at the IMU, in world axes [m/s], shape (3,)."""


class Navigator:
    """A filter for one vehicle. What it remembers is in an array that the caller keeps; see `pack`.

    The state x̂ is the motion of the IMU's frame; the error δ with x = x̂ ⊞ δ has the covariance P. A sensor with latency gets
    copies of x̂ and δ at the times of its measurements, so that a late one corrects what was believed then, and through the
    covariance between then and now what is believed now. Biases of aids are estimated, too: the last entries of P are those of
    their errors, one for each channel that has a bias.

    Args:
        sensors: One `Imu`, and others; those that are no `Aid` are not used.
    """

    def __init__(self, settings: ErrorStateFilter, model: Model, sensors: Sequence[Sensor]) -> None:
        self.settings, self.model = settings, model
        self.body = vehicle_of(model, sensors)
        """Index of the body with the free joint that carries the IMU."""
        (self.imu,) = [s for s in sensors if isinstance(s, Imu)]
        self.aids = tuple(s for s in sensors if isinstance(s, Aid))
        self._p_BI, self._R_BI = place_on_body(model, self.body, self.imu.frame, self.imu.name)
        slots = [s.in_flight for s in self.aids]
        self._first = [1 + sum(slots[:i]) for i in range(len(slots))]
        copies = 1 + sum(slots)
        self._motion = NE * copies
        self._bias_noise = self._find_biases()
        size = self._motion + len(self._bias_noise)
        self.pack = Pack(
            {
                "started": (),
                "x": (copies, NX),
                "w": (copies, 3),
                "b": (len(self._bias_noise),),
                "P": (size, size),
                "measured": (6,),
                "heard": (len(slots),),
                "refused": (len(slots),),
                "silent": (len(slots),),
            }
        )
        self._compile()

    def _find_biases(self) -> list[Noise]:
        """Errors of all channels with a bias; where those of each aid are: `_biased` among its channels, `_bias` in P."""
        found: list[Noise] = []
        self._biased: list[Array] = []
        self._bias: list[Array] = []
        for s in self.aids:
            noises = [c.noise for c in s.channels(self.model)]
            at = [k for k, n in enumerate(noises) if n.bias or n.walk]
            self._biased.append(np.array(at, dtype=int))
            self._bias.append(self._motion + len(found) + np.arange(len(at)))
            found += [noises[k] for k in at]
        return found

    # -- equations ----------------------------------------------------------------------------------------------------------

    def _compile(self) -> None:
        gravity, decay = self.model.world.gravity_vector, 1.0 / self.settings.current_time
        places = [self._place(s) for s in self.aids]

        def move(delta: Array, x: Array, u: Array, dt: Scalar) -> tuple[Array, Array]:
            after = moved(x, u[:3], u[3:], dt, gravity, decay)
            return difference(moved(plus(x, delta), u[:3], u[3:], dt, gravity, decay), after), after

        def see(delta: Array, x: Array, w: Array) -> tuple[Array]:
            believed = [Believed.at(plus(x, delta), w, *place) for place in places]
            rows = [np.asarray(s.expected(b, self.model.world)) for s, b in zip(self.aids, believed, strict=True)]
            return (np.concatenate(rows) if rows else np.zeros(0),)

        program = trace(move, {"delta": (NE,), "x": (NX,), "u": (6,), "dt": ()}, name="strapdown", outputs=("error", "after"))
        self._move = _compiled(program)
        self._F = _compiled(jacobian_program(program, ("delta",), output="error"))
        self._plus = _compiled(trace(lambda x, error: (plus(x, error),), {"x": (NX,), "error": (NE,)}, name="plus"))
        q_BI = quaternion_from_matrix(self._R_BI)
        of = trace(
            lambda x, w: of_body(x, w, self._p_BI, q_BI), {"x": (NX,), "w": (3,)}, name="of_body", outputs=("p", "q", "V")
        )
        self._of_body = _compiled(of)
        sizes = [len(s.channels(self.model)) for s in self.aids]
        self._rows = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
        program = trace(see, {"delta": (NE,), "x": (NX,), "w": (3,)}, name="aids", outputs=("expected",))
        self._h = _compiled(program)
        self._H = _compiled(jacobian_program(program, ("delta",)))
        self._errors = [s.errors(self.model) for s in self.aids]
        self._zero = np.zeros(NE)
        self._Q = self._noise(self.imu.period)
        self._walk = np.array([n.walk**2 * self.imu.period for n in self._bias_noise])
        from scipy.special import chdtri  # slow to import, and only filters need it

        self._gates = np.array(
            [np.inf, *(float(chdtri(n, 1.0 - self.settings.gate)) for n in range(1, 1 + max(sizes, default=0)))]
        )

    def _place(self, sensor: Aid) -> tuple[Array, Array]:
        """Place of a sensor in the IMU's frame."""
        p, R = place_on_body(self.model, self.body, sensor.frame, sensor.name)
        return self._R_BI.T @ (p - self._p_BI), self._R_BI.T @ R

    def _noise(self, dt: float) -> Array:
        """Covariance of what one step adds to the error, shape (18, 18)."""
        force, rate = self.imu.accelerometer, self.imu.gyroscope
        s = self.settings
        Q = np.zeros((NE, NE))
        variance = force.deviation(self.imu.rate) ** 2 + force.resolution**2 / 12.0
        for i in range(3):
            p, v = ERRORS["p"].start + i, ERRORS["v"].start + i
            Q[p, p], Q[v, v] = 0.25 * variance * dt**4, variance * dt**2
            Q[p, v] = Q[v, p] = 0.5 * variance * dt**3
        for name, value in (
            ("q", (rate.deviation(self.imu.rate) ** 2 + rate.resolution**2 / 12.0) * dt**2),
            ("bg", rate.walk**2 * dt),
            ("ba", force.walk**2 * dt),
            ("c", s.current**2 * -np.expm1(-2.0 * dt / s.current_time)),
        ):
            Q[ERRORS[name], ERRORS[name]] = value * np.eye(3)
        return Q

    # -- a filter at work ---------------------------------------------------------------------------------------------------

    def start(self, m: Memory, believed: Array, t: float) -> None:
        """Begin with the state x̂, shape (19,)."""
        for x in m.values():
            x[...] = 0.0
        m["started"][...] = 1.0
        m["x"][:] = believed
        m["heard"][:] = t
        m["P"][:NE, :NE] = self.first_covariance(believed)
        of_biases = np.arange(self._motion, len(m["P"]))
        m["P"][of_biases, of_biases] = [n.bias**2 for n in self._bias_noise]

    def first_covariance(self, x: Array) -> Array:
        """Initial covariance, shape (18, 18); the attitude has `tilt` about horizontal axes, `heading` about the vertical."""
        s = self.settings
        force, rate = self.imu.accelerometer, self.imu.gyroscope
        down = quaternion_matrix(x[STATES["q"]]).T @ self.model.world.down
        P = np.zeros((NE, NE))
        for name, sigma in (
            ("p", s.position),
            ("v", s.velocity),
            ("q", s.tilt),
            ("bg", rate.bias),
            ("ba", force.bias),
            ("c", s.current),
        ):
            P[ERRORS[name], ERRORS[name]] = sigma**2 * np.eye(3)
        P[ERRORS["q"], ERRORS["q"]] += (s.heading**2 - s.tilt**2) * np.outer(down, down)
        return P

    def tick(self, m: Memory, t: float, imu: Array, arrived: Sequence[Reading]) -> list[str]:
        """One period of the IMU: move on, keep what late sensors need, use what has arrived; what there is to say.

        Args:
            t: Time, a multiple of the period [s].
            imu: Reading of the IMU, shape (6,); NaN if there is none.
            arrived: Readings of aids that are there now; `sensor` counts among `aids`.
        """
        said = []
        if m["started"] == 1.0:  # the first reading: what it integrated was before
            m["started"][...] = 2.0
            m["measured"][:] = np.nan_to_num(imu)
            m["w"][0] = m["measured"][3:]
        else:
            self.propagate(m, imu)
        arrived = sorted(arrived, key=lambda r: (r.sensor, r.number))  # whichever way they came
        for r in arrived:
            if r.time < t - 0.5 * self.imu.period:  # before its place is taken by a new one
                said += self.update(m, r, t)
        for i, s in enumerate(self.aids):
            number = round(t * s.rate)
            if s.in_flight and abs(t - number * s.period) < 0.5 * self.imu.period:
                self.remember(m, i, number)
        for r in arrived:
            if r.time >= t - 0.5 * self.imu.period:
                said += self.update(m, r, t)
        return said + self._listen(m, t)

    def propagate(self, m: Memory, imu: Array) -> None:
        """Move on by one period of the IMU, with the reading at its end: that is the mean over the period.

        Args:
            imu: Specific force and angular velocity [m/s², rad/s], shape (6,); where there are none (NaN), the last ones count
                on.
        """
        u = imu if np.isfinite(imu).all() else m["measured"].copy()
        m["w"][0] = 1.5 * u[3:] - 0.5 * m["measured"][3:]  # the rate at the end, on a line through the last two means
        m["measured"][:] = u
        x, P, dt = m["x"], m["P"], np.asarray(self.imu.period)
        F = self._F.single_results(self._zero, x[0], u, dt)[0]
        x[0] = self._move.single_results(self._zero, x[0], u, dt)[1]
        P[:NE, NE:] = F @ P[:NE, NE:]
        P[NE:, :NE] = P[:NE, NE:].T
        here = F @ P[:NE, :NE] @ F.T + self._Q
        P[:NE, :NE] = 0.5 * (here + here.T)
        if self._walk.any():
            P[self._motion :, self._motion :] += np.diag(self._walk)

    def remember(self, m: Memory, aid: int, number: int) -> None:
        """Keep what is believed now, for a measurement of now that comes later.

        Args:
            aid: Number of the sensor.
            number: Number of its sample.
        """
        k = self._copy(aid, number)
        at, P = slice(NE * k, NE * k + NE), m["P"]
        m["x"][k], m["w"][k] = m["x"][0], m["w"][0]
        P[at, :] = P[:NE, :]
        P[:, at] = P[:, :NE]

    def _copy(self, aid: int, number: int) -> int:
        """Number of the copy for a sample of a sensor; 0, the present, without latency."""
        slots = self.aids[aid].in_flight
        return self._first[aid] + number % slots if slots else 0

    def update(self, m: Memory, reading: Reading, t: float) -> list[str]:
        """Correct by a measurement, unless it is far off; what there is to say.

            K = P Hᵀ (H P Hᵀ + R)⁻¹,   δ = K (y − h(x̂) − b),   P ← (1 − K H) P (1 − K H)ᵀ + K R Kᵀ

        b is the bias of the sensor; H has a 1 for it. After `patience` rejections in a row `_widen` makes P fit first.

        Args:
            reading: The measurement; `sensor` counts among `aids`.
            t: Time of now [s].
        """
        aid, number, _, value = reading
        sensor, said = self.aids[aid], []
        k = self._copy(aid, number)
        at = slice(NE * k, NE * k + NE)
        given = (self._zero, m["x"][k], m["w"][k])
        H = self._H.single_results(*given)[0][self._rows[aid]]
        good = np.isfinite(value)
        if not self.settings.current:  # what depends on a current that is not estimated tells nothing
            good &= ~H[:, ERRORS["c"]].any(axis=1)
        there = np.flatnonzero(good)
        if not len(there):
            return []
        y, H = self._h.single_results(*given)[0][self._rows[aid]][there], H[there]
        R = sensor.covariance(value, self._errors[aid])[np.ix_(there, there)] + FLOOR * np.eye(len(there))
        biased = np.flatnonzero(good[self._biased[aid]])  # of its biases, those that are in this measurement
        cols, bias = np.searchsorted(there, self._biased[aid][biased]), self._bias[aid][biased]
        r = value[there] - y
        r[cols] -= m["b"][bias - self._motion]
        if sensor.angular:
            r = (r + np.pi) % (2.0 * np.pi) - np.pi
        P = m["P"]

        def seen(rows: Array) -> Array:
            """rows Hᵀ of rows of a matrix as long as P is, shape (n, channels)."""
            out = rows[:, at] @ H.T
            out[:, cols] += rows[:, bias]
            return out

        PH = seen(P)
        S = seen(PH.T) + R
        solved = np.linalg.solve(S, np.column_stack([r, PH.T]))
        if r @ solved[:, 0] > self._gates[len(there)]:
            if m["refused"][aid] < self.settings.patience:
                m["refused"][aid] += 1.0
                return []
            said.append(self._widen(m, aid, H, S, r, t))
            PH = seen(P)
            solved = np.linalg.solve(seen(PH.T) + R, np.column_stack([r, PH.T]))
        m["refused"][aid] = 0.0
        K = solved[:, 1:].T
        change = K @ r
        m["x"][:] = self._plus([m["x"], change[: self._motion].reshape(-1, NE)])[0]
        m["b"][:] += change[self._motion :]
        left = P - K @ PH.T  # (1 − K H) P, then the same from the right
        after = left - seen(left) @ K.T + K @ R @ K.T
        P[:] = 0.5 * (after + after.T)
        return said + self._heard(m, aid, t)

    def _widen(self, m: Memory, aid: int, H: Array, S: Array, r: Array, t: float) -> str:
        """Make P fit a measurement that was rejected for long: something jumped, and nothing saw it; what there is to say.

            P ← P + c J Jᵀ,   c such that rᵀ (S + c H J Jᵀ Hᵀ)⁻¹ r is what is expected, the number of directions it is seen in

        The process noise is raised until the innovation fits (Bar-Shalom, Li and Kirubarajan 2001). J has the
        directions of position, velocity or attitude that the sensor shows, in the present and in all copies; what jumped did
        so when it was last used, and a velocity has moved the position since then.

        Args:
            aid: Number of the sensor.
            H: Derivative of its measurement by δ, shape (n, 18).
            S: Covariance of r, shape (n, n).
            r: Measurement less what was expected, shape (n,).
            t: Time of now [s].
        """
        shows = self.aids[aid].shows
        block = ERRORS[{"position": "p", "velocity": "v", "attitude": "q"}[shows]]
        _, sizes, directions = np.linalg.svd(H[:, block])
        J = np.zeros((NE, NE))
        for d in directions[: len(sizes)][sizes > 1e-6 * sizes[0]]:
            J[block, block] += np.outer(d, d)
        if shows == "velocity":
            J[ERRORS["p"], block] = (t - float(m["heard"][aid])) * J[block, block]
        whiten = np.linalg.inv(np.linalg.cholesky(S))
        U, spread, _ = np.linalg.svd(whiten @ H @ J)
        squares, spread = (U.T @ (whiten @ r))[: len(spread)] ** 2, spread**2
        seen = spread > 1e-12 * spread[0]
        squares, spread = squares[seen], spread[seen]
        low, high = 0.0, float(np.max(squares / spread))
        for _ in range(60):  # the sum falls with c, and is below its number of terms at `high`
            c = 0.5 * (low + high)
            low, high = (c, high) if np.sum(squares / (1.0 + c * spread)) > len(squares) else (low, c)
        everywhere = np.concatenate([np.tile(J, (self._motion // NE, 1)), np.zeros((len(self._bias_noise), NE))])
        m["P"][:] += high * (everywhere @ everywhere.T)
        name, unit = self.aids[aid].name, {"position": "m", "velocity": "m/s", "attitude": "rad"}[shows]
        return (
            f"{name!r} was rejected {self.settings.patience} times in a row; the filter inflates its {shows} uncertainty by "
            f"{np.sqrt(high):.2g} {unit} and uses the sensor again"
        )

    def _heard(self, m: Memory, aid: int, t: float) -> list[str]:
        since, m["heard"][aid] = float(m["heard"][aid]), t
        if not m["silent"][aid]:
            return []
        m["silent"][aid] = 0.0
        return [f"{self.aids[aid].name!r} is available again after {t - since:.3g} s"]

    def _listen(self, m: Memory, t: float) -> list[str]:
        """Sensors that have fallen silent, in words."""
        said = []
        for i, s in enumerate(self.aids):
            since = float(m["heard"][i])
            if not m["silent"][i] and t - since > SILENT * s.period + s.latency:
                m["silent"][i] = 1.0
                said.append(f"no measurement of {s.name!r} was used since t = {since:.6g} s; the filter continues without it")
        return said

    # -- what it believes ---------------------------------------------------------------------------------------------------

    def estimate(self, m: Memory) -> Estimate:
        """Return the estimated state of the vehicle's body."""
        position, orientation, velocity = self._of_body.single_results(m["x"][0], m["w"][0])
        sigma = np.sqrt(np.maximum(np.diagonal(m["P"])[:NE], 0.0))
        return Estimate(
            position=position,
            orientation=orientation,
            velocity=velocity,
            current=m["x"][0, STATES["c"]].copy(),
            position_sigma=sigma[ERRORS["p"]],
            attitude_sigma=sigma[ERRORS["q"]],
            velocity_sigma=sigma[ERRORS["v"]],
        )

    def covariance(self, m: Memory) -> Array:
        """Covariance of the error δ, shape (18, 18)."""
        return m["P"][:NE, :NE].copy()

    @staticmethod
    def moved(x: Array, error: Array) -> Array:
        """x ⊞ δ, shape (19,), of the first entries of δ (n,): position, velocity, attitude, ...; the others are 0."""
        return plus(x, np.concatenate([error, np.zeros(NE - len(error))]))

    def true(self, state: State, bias: Array | None = None, current: Array | None = None) -> Array:
        """x of a true motion, shape (19,).

        Args:
            bias: Biases of the IMU, of specific force and rate [m/s², rad/s], shape (6,); none by default.
            current: Velocity of the water in world axes [m/s], shape (3,); still by default.
        """
        kin = dynamics.kinematics(self.model, state.q, state.v)
        R, p, V = (np.asarray(x[self.body], dtype=float) for x in (kin.R_WB, kin.p_WB, kin.V))
        b = np.zeros(6) if bias is None else bias
        q = quaternion_from_matrix(R @ self._R_BI)
        v = R @ (V[:3] + cross(V[3:], self._p_BI))
        return np.concatenate([p + R @ self._p_BI, v, q, b[3:], b[:3], np.zeros(3) if current is None else current])

    def error(self, m: Memory, true: Array) -> Array:
        """δ of a true x (19,), shape (18,); see `true`."""
        return difference(true, m["x"][0])


def _compiled(program: Program) -> Compiled:
    code = Compiled(Recipe.of(program), 1, 1, program)
    code.code(1)
    return code
