"""Experiment of McMillan's thesis, sec. 3.5: four PUMA 560 robots lift a load of 4 kg by 0.8 m in 1 s.

Computed torques along a smooth path are represented by Chebyshev series of time, and applied without feedback. The arms are
placed around the load at intervals of 90°, so that all use equal torques. They are evaluated sequentially or on SIMD lanes,
with several arms and several points in time per call (Figs. 12 and 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

import hydromechs as hm
from hydromechs import compiler, contact, dynamics, equations
from hydromechs.control import Waypoints
from hydromechs.dynamics import Balance, Holding, Kinematics
from hydromechs.integrators import BlockSteps, SlidingBlock, Stepper, Stretch
from hydromechs.spatial import Ldl, Path, Turn, ldl
from hydromechs.values import Array, Scalar

from ._machine import timed
from ._mechanisms import rigid_balance

DURATION = 1.0
"""Duration of the lift [s]."""
LIFT = 0.8
"""Height of the lift [m]."""
TERMS = 48
"""Number of terms of the Chebyshev series of a torque; omitted terms change the final load position by less than 1e-10 m."""
ARMS, JOINTS = 4, 6


class Partition(NamedTuple):
    """Numbers of parallel tasks (m̃ and p̃ of the thesis): arms, and points in time."""

    arms: int
    points: int

    @property
    def lanes(self) -> int:
        """Number of lanes used by one call."""
        return self.arms * self.points


class Lift:
    """Mechanism of the experiment, with torques and accelerations."""

    def __init__(self) -> None:
        sim = hm.load_scenario("four_puma_lift").simulation()
        self.model = model = sim.model
        self.grasps = [c for c in sim.plant.components if isinstance(c, contact.Grasp)]
        self.load = model.body_index("load.load")
        self.load_v = model.v_slices[self.load]
        place = model.q_slices[self.load].start
        self.load_place = slice(place, place + 3)
        start = sim.state.q[self.load_place]
        self.end = start + np.array([0.0, 0.0, LIFT])
        """Final position of the load on the path [m], shape (3,)."""
        self._path = Waypoints([0.0, DURATION], [start, self.end])
        self.q, self.v, _ = self._on_path(sim.state.q, 0.0)

    # -- torques ------------------------------------------------------------------------------------------------------------

    def _on_path(self, q: Array, t: float) -> tuple[Array, Array, Array]:
        """Return q with closed grasps near `q`, v, and arm torques (4, 6) [N·m] for the load on its path at time t [s]."""
        model, at, q, v, vdot = self.model, self.load_v, q.copy(), np.zeros(self.model.nv), np.zeros(self.model.nv)
        q[self.load_place], v[at][:3], vdot[at][:3] = self._path(t)
        arms = [slice(JOINTS * k, JOINTS * (k + 1)) for k in range(ARMS)]
        for _ in range(20):  # Newton's method converges in a few steps
            rows = self._rows(q, v)
            steps = [np.linalg.solve(g.J[:, dofs], g.error) for g, dofs in zip(rows, arms, strict=True)]
            q[: ARMS * JOINTS] -= np.concatenate(steps)
            if np.abs(steps).max() < 1e-14:
                break
        for g, dofs in zip(self._rows(q, v), arms, strict=True):
            v[dofs] = -np.linalg.solve(g.J[:, dofs], g.J[:, at] @ v[at])
        rows = self._rows(q, v)
        for g, dofs in zip(rows, arms, strict=True):
            vdot[dofs] = -np.linalg.solve(g.J[:, dofs], g.J[:, at] @ vdot[at] + g.bias)
        tau = hm.inverse_dynamics(model, q, v, vdot)
        share = np.linalg.lstsq(np.concatenate([g.J[:, at] for g in rows]).T, tau[at])[0].reshape(ARMS, 6)
        return q, v, np.array([tau[dofs] - g.J[:, dofs].T @ f for g, dofs, f in zip(rows, arms, share, strict=True)])

    def _rows(self, q: Array, v: Array) -> list[dynamics.JoinedRows]:
        kin = dynamics.kinematics(self.model, q, v)
        return [dynamics.joined_rows(self.model, kin, g) for g in self.grasps]

    @cached_property
    def series(self) -> Array:
        """Chebyshev coefficients of the torques of one arm over the lift [N·m], shape (TERMS, 6)."""
        x = -np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)
        q, rows = self.q, []
        for t in 0.5 * DURATION * (x + 1.0):
            q, _, tau = self._on_path(q, t)
            rows.append(tau)
        found = np.array(rows)
        np.testing.assert_allclose(found, found[:, :1].repeat(ARMS, axis=1), atol=1e-8)  # equal arms around the load
        return np.polynomial.chebyshev.chebfit(x, found[:, 0], TERMS - 1)

    def torques(self, t: Scalar) -> Array:
        """Return the torques of each arm at time t [N·m], shape (6,)."""
        x = 2.0 / DURATION * t - 1.0
        terms = [1.0, x]
        while len(terms) < TERMS:
            terms.append(2.0 * x * terms[-1] - terms[-2])
        return np.array(terms) @ self.series

    # -- accelerations ------------------------------------------------------------------------------------------------------

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        """Return v̇ with sequential evaluation of the arms, shape (nv,)."""
        tau = np.concatenate([np.tile(self.torques(t), ARMS), np.zeros(6)])
        return equations.closed_chain_dynamics(self.model, q, v, tau, load="load.load", grasps=self.grasps).vdot

    def accelerations(self, times: Array, Q: Array, V: Array, tasks: Partition) -> Array:
        """Return v̇ at several points in time, with arms and points in parallel according to `tasks`, shape (points, nv)."""
        n, width = len(times), ARMS * JOINTS
        tau = np.array([self.torques(t) for t in times])
        load_q, load_v = Q[:, width:], V[:, width:]
        spin = np.array([[turn.R.T @ v[3:] for turn in self._turns] for v in load_v])
        chains: list[Any] = [None] * (n * ARMS)
        groups = [
            [(j, k) for j in range(j0, j0 + tasks.points) for k in range(k0, k0 + tasks.arms)]
            for j0 in range(0, n, tasks.points)
            for k0 in range(0, ARMS, tasks.arms)
        ]

        def of(a: Array, group: Sequence[tuple[int, int]]) -> Array:
            return np.array([a[j, JOINTS * k : JOINTS * (k + 1)] for j, k in group])

        for group in groups:
            spins = np.array([spin[j, k] for j, k in group])
            results = compiler.call_on_lanes(
                self.open_chain, of(Q, group), of(V, group), np.array([tau[j] for j, _ in group]), spins
            )
            for i, (j, k) in enumerate(group):
                chains[j * ARMS + k] = [r[i] for r in results]
        seen = [np.array([[c[i] for c in chains[j * ARMS : (j + 1) * ARMS]] for j in range(n)]) for i in range(2)]
        loads = []
        for j in range(0, n, tasks.points):
            at = slice(j, j + tasks.points)
            loads.append(compiler.call_on_lanes(self.carried_load, load_q[at], load_v[at], seen[0][at], seen[1][at]))
        vdot_load, a = (np.concatenate(rows) for rows in zip(*loads, strict=True))
        out = np.empty((n, self.model.nv), dtype=object)
        out[:, width:] = vdot_load
        for group in groups:
            carry = [np.array([chains[j * ARMS + k][i] for j, k in group]) for i in range(2, 8)]
            (vdot,) = compiler.call_on_lanes(self.closed_chain, np.array([a[j, k] for j, k in group]), *carry)
            for (j, k), row in zip(group, vdot, strict=True):
                out[j, JOINTS * k : JOINTS * (k + 1)] = row
        return out

    def program(self, points: int, tasks: Partition) -> compiler.Program:
        """Return `accelerations` as a compiled program."""
        shapes = {"times": (points,), "Q": (points, self.model.nq), "V": (points, self.model.nv)}
        return compiler.trace(partial(self.accelerations, tasks=tasks), shapes, name="lift", outputs=("vdot",))

    def arm_times(self, repeat: int) -> dict[int, float]:
        """Return the minimum time of the open chains of 1, 4 and 8 arms in one call, over `repeat` runs [s]."""
        out, calls = {}, 1000
        for n in (1, ARMS, 2 * ARMS):

            def one(q: Array, n: int = n) -> Array:
                given = np.zeros((n, 6)), self.series[:1].repeat(n, axis=0), np.zeros((n, 3))
                return q + 1e-9 * compiler.call_on_lanes(self.open_chain, q, *given)[-2]

            state = (compiler.Argument("q", (n, 6)),)
            march = compiler.March(compiler.Recipe("arms", one, state, state, None), 1, 1)
            start = [self.q[None, None, :JOINTS].repeat(n, axis=1)]
            out[n] = min(timed(partial(march, start, [], calls, stride=calls), repeat)) / calls
        return out

    @cached_property
    def _turns(self) -> list[Turn]:
        """Rotations from load axes to axes in which each arm takes the place of the first arm."""
        R = [self.model.locate(g.held)[2] for g in self.grasps]
        return [Turn(np.round(r @ R[0].T), np.zeros(3)) for r in R]  # quarter turns

    @cached_property
    def _pair(self) -> tuple[hm.Model, Holding]:
        """First arm with the load, and the holding of the load."""
        bodies = tuple(b for b in self.model.bodies if b.name.startswith(("puma1.", "load.")))
        model, grasp = hm.Model(name="pair", world=self.model.world, bodies=bodies), self.grasps[0]
        (holder, p, R), (_, p_load, R_load) = model.locate(grasp.holder), model.locate(grasp.held)
        return model, dynamics.Holding(holder, Path([Turn(R, p)]), Path([Turn(R_load, p_load)]))

    def _opened(self, q: Array, v: Array, tau: Array) -> tuple[Kinematics, Balance, Any]:
        """Return kinematics of the first arm and the load, force balance and open chains."""
        model, holding = self._pair
        b = rigid_balance(model, q, v)
        return b.kin, b, dynamics.open_chains(model, b, tau, model.nb - 1, [holding])

    @cached_property
    def open_chain(self) -> compiler.Program:
        """Program of the open-chain dynamics of one arm: effect on the load, and intermediate results for the closed chain."""

        def one(q: Array, v: Array, tau: Array, spin: Array) -> tuple[Array, ...]:
            q, v = np.concatenate([q, [0.0, 0, 0, 1, 0, 0, 0]]), np.concatenate([v, np.zeros(3), spin])
            (c,) = self._opened(q, v, np.concatenate([tau, np.zeros(6)]))[2][0]
            Lambda, X = dynamics.inverse(c.mobility), self._pair[1].load_path
            seen = X.inertia_back(Lambda)
            lower = np.concatenate([np.array(row) for row in c.factor.lower[1:]])
            rest = (Lambda, c.acceleration, lower, np.array(c.factor.inverse_diagonal), c.pushed, c.W)
            return seen, X.force_back(Lambda @ c.acceleration), *rest

        return compiler.trace(one, {"q": (6,), "v": (6,), "tau": (6,), "spin": (3,)}, name="open_chain")

    @cached_property
    def carried_load(self) -> compiler.Program:
        """Program of the load acceleration: v̇ of the load joint, and a'_r as seen by each arm."""

        def one(q: Array, v: Array, seen: Array, force: Array) -> tuple[Array, Array]:
            model, n = self._pair[0], self._pair[0].nv - 6
            q, v = np.concatenate([np.zeros(n), q]), np.concatenate([np.zeros(n), v])
            kin, b, (_, A, rhs) = self._opened(q, v, np.zeros(n + 6))
            for turn, I, F in zip(self._turns, seen, force, strict=True):
                A, rhs = A + Path([turn]).inertia_back(I), rhs + Path([turn]).force_back(F)
            a = ldl(A).solve(rhs)
            own = dynamics.accelerations(model, kin, b.bias, np.zeros(n + 6), dynamics.world_acceleration(model))[-1]
            return a - own, np.array([Path([turn]).motion(a) for turn in self._turns])

        return compiler.trace(one, {"q": (7,), "v": (6,), "seen": (ARMS, 6, 6), "force": (ARMS, 6)}, name="load")

    @cached_property
    def closed_chain(self) -> compiler.Program:
        """Program of the closed-chain dynamics of one arm: q̈ from the acceleration of the load."""

        def one(a: Array, Lambda: Array, open_: Array, lower: Array, d: Array, pushed: Array, W: Array) -> Array:
            rows, at = [], 0
            for i in range(JOINTS):
                rows.append(tuple(lower[at : at + i]))
                at += i
            factor = Ldl(tuple(rows), tuple(d))
            f = Lambda @ (open_ - self._pair[1].load_path.motion(a))
            return factor.back((pushed - W @ f) * d)[::-1]  # open chains count joints from the tip

        shapes = {"a": (6,), "Lambda": (6, 6), "open_": (6,), "lower": (15,), "d": (6,), "pushed": (6,), "W": (6, 6)}
        return compiler.trace(one, shapes, name="closed_chain")


class LiftRunner:
    """Compiled block method with constant steps for the lift, serial or with tasks on lanes."""

    def __init__(self, lift: Lift, points: int, tasks: Partition | None = None) -> None:
        model, nv = lift.model, lift.model.nv

        def ydot(t: Any, q: Any, y: Any) -> np.ndarray:
            here = dynamics.retract(model, q, y[:nv])
            return np.concatenate([dynamics.chart_rate(model, here, y[:nv], y[nv:]), lift.acceleration(t, here, y[nv:])])

        method = SlidingBlock(points=points, tasks=None if tasks else 1)
        options: dict[str, Any] = dict(name="lift", identity=None, lanes=1, threads=1)
        options["at_points"] = partial(lift.accelerations, tasks=tasks) if tasks else None
        self.lift, self.blocks = lift, BlockSteps(Stepper(model, ydot, 0, (), method, **options))

    def run(self, n: int) -> np.ndarray:
        """Return the position of the load after a lift in n steps [m], shape (3,)."""
        lift = self.lift
        path = self.blocks.march(Stretch(0.0, 0, lift.q[None], lift.v[None], [], DURATION / n, n, n))
        return path.q[0, -1, lift.load_place]

    def seconds(self, n: int, repeat: int) -> float:
        """Return the minimum wall time of a lift in n steps [s]."""
        return min(timed(partial(self.run, n), repeat))
