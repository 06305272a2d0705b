"""Model-predictive control: in a current the tool of a vehicle with an arm follows a goal that moves, planned every 0.2 s.

The equations come from `hm.to_casadi`; IPOPT solves for the next 3 s by direct multiple shooting, with all eight thrusts and
three torques within their limits and the joints within theirs:

    min Σ w |p_tool − goal(t)|² + xᵀ Q x + (u − u_0)ᵀ R (u − u_0)    so that x_{k+1} = step(x_k, u_k),  |u| ≤ limit

Its first input is applied to the simulated vehicle, whose thrusters lag by 150 ms, which the plan knows nothing of.

python examples/mpc_reach.py            draws mpc_reach.png
"""

import time

import casadi
import numpy as np

import hydromechs as hm
from hydromechs.actuation import allocation_matrix, ideal_curve
from hydromechs.hydro import Current, Environment

CURRENT = np.array([-0.3, 0.2, 0.0])
"""Velocity of the water [m/s]."""
PERIOD, STEPS = 0.2, 15
"""Time between two plans, which is the step of a plan [s]; steps of a plan."""
THRUST, TORQUE = 1500.0, 1500.0
"""Limits of the inputs [N, N·m]."""


def goal(t):
    """Where the tool is to be [m]: from (2.5, 0, 0.6), its start, along a line, then around a circle of 0.6 m in 20 s."""
    angle = 2.0 * np.pi * np.maximum(t - 4.0, 0.0) / 20.0
    way = np.clip(t / 4.0, 0.0, 1.0)
    smooth = way * way * (3.0 - 2.0 * way)
    centre = np.stack([2.5 + 0.3 * smooth, 0.0 * t, 0.6 - 0.6 * smooth], axis=-1)
    return centre + np.stack([0.0 * t, 0.6 * np.sin(angle), 0.6 * (1.0 - np.cos(angle))], axis=-1)


class Mpc:
    """The problem, built once; every plan starts from the last."""

    def __init__(self):
        self.model = model = hm.load("workclass_arm3")
        self.frames = [name for name in model.frames if name.startswith("thruster")]
        self.joints = [body.name for body in model.bodies if body.joint.kind == "revolute"]
        curve = ideal_curve(THRUST, THRUST)
        self.thrusters = [hm.Thruster(name=f, frame=f, curve=curve, time_constant=0.15) for f in self.frames]
        self.to_tau = np.zeros((model.nv, 11))
        self.to_tau[:6, :8] = allocation_matrix(model, self.thrusters, "vehicle")
        self.to_tau[6:, 8:] = np.eye(3)
        q0, still = model.initial().q, np.zeros(model.nv)
        self.u0 = np.linalg.pinv(self.to_tau) @ hm.inverse_dynamics(model, q0, still, still, fluid_velocity=CURRENT)
        self.seconds, self.iterations = [], []
        self._build(q0)

    def _step(self):
        """x' of (x, u): two half steps of the semi-implicit Euler method, as a CasADi function."""
        nq, nv = self.model.nq, self.model.nv
        f = hm.to_casadi(self.model, ["forward_dynamics", "integrate"], inputs=["fluid_velocity"])
        x, u = casadi.SX.sym("x", nq + nv), casadi.SX.sym("u", 11)
        q, v, h = x[:nq], x[nq:], 0.5 * PERIOD
        for _ in range(2):
            v = v + h * f["forward_dynamics"](q, v, self.to_tau @ u, CURRENT)
            q = f["integrate"](q, v, h)
        return casadi.Function("step", [x, u], [casadi.vertcat(q, v)])

    def _tool(self):
        """Place of the tool of x, as a CasADi function."""
        nq, nv = self.model.nq, self.model.nv
        body, p, _ = self.model.locate("tool")
        x = casadi.SX.sym("x", nq + nv)
        X = hm.to_casadi(self.model, ["kinematics"])["kinematics"](x[:nq], x[nq:])[0][4 * body : 4 * body + 3, :]
        return casadi.Function("tool", [x], [X[:, 3] + X[:, :3] @ np.asarray(p, dtype=float)])

    def _build(self, q0):
        nq, n = self.model.nq, self.model.nq + self.model.nv
        step, self.tool = self._step(), self._tool()
        X, U = casadi.MX.sym("X", n, STEPS + 1), casadi.MX.sym("U", 11, STEPS)
        first, goals = casadi.MX.sym("first", n), casadi.MX.sym("goals", 3, STEPS + 1)
        # one over the square of what is acceptable: quaternion (x, y of it are the tilt), joints, speeds, inputs
        posture = np.r_[[np.inf] * 4, 0.1, 0.1, 0.3, [0.8] * 3] ** -2.0
        Q = np.r_[posture, np.r_[[1.0] * 3, [0.3] * 3, [0.6] * 3] ** -2.0]
        R = np.r_[[500.0] * 8, [150.0] * 3] ** -2.0
        rest, miss = X - np.r_[q0, np.zeros(n - nq)], self.tool.map(STEPS + 1)(X) - goals
        cost = casadi.sum1(casadi.sum2(Q * rest**2)) + casadi.sumsqr(miss) / 0.05**2
        cost += casadi.sum1(casadi.sum2(R * (U - self.u0) ** 2))
        gaps = casadi.horzcat(X[:, 0] - first, X[:, 1:] - step.map(STEPS)(X[:, :-1], U))
        problem = {
            "x": casadi.vertcat(casadi.vec(X), casadi.vec(U)),
            "f": cost,
            "g": casadi.vec(gaps),
            "p": casadi.vertcat(first, casadi.vec(goals)),
        }
        quiet = {"print_level": 0, "sb": "yes", "max_iter": 60, "tol": 1e-5, "warm_start_init_point": "yes", "mu_init": 1e-3}
        self.solver = casadi.nlpsol("mpc", "ipopt", problem, {"ipopt": quiet, "print_time": False})
        low, high = np.full((STEPS + 1, n), -np.inf), np.full((STEPS + 1, n), np.inf)
        for name in self.joints:
            part = self.model.joint_part(name)
            low[1:, part.q], high[1:, part.q] = part.joint.limits
        bound = np.tile(np.r_[[THRUST] * 8, [TORQUE] * 3], STEPS)
        self.low, self.high = np.r_[low.ravel(), -bound], np.r_[high.ravel(), bound]
        self.guess, self.duals = np.r_[np.tile(np.r_[q0, np.zeros(n - nq)], STEPS + 1), np.tile(self.u0, STEPS)], {}

    def __call__(self, state):
        """Commands by name, from a plan that begins at a state."""
        n = self.model.nq + self.model.nv
        goals = goal(state.t + PERIOD * np.arange(STEPS + 1))
        start = time.perf_counter()
        found = self.solver(
            x0=self.guess, lbx=self.low, ubx=self.high, lbg=0.0, ubg=0.0, p=np.r_[state.q, state.v, goals.ravel()], **self.duals
        )
        self.seconds.append(time.perf_counter() - start)
        stats = self.solver.stats()
        self.iterations.append(stats["iter_count"])
        if not stats["success"]:
            raise RuntimeError(f"t = {state.t:g} s: IPOPT says {stats['return_status']}")
        z = np.array(found["x"]).ravel()
        x, u = z[: n * (STEPS + 1)].reshape(-1, n), z[n * (STEPS + 1) :].reshape(-1, 11)
        self.guess = np.r_[np.vstack([x[1:], x[-1:]]).ravel(), np.vstack([u[1:], u[-1:]]).ravel()]  # a step later
        self.duals = {"lam_g0": found["lam_g"], "lam_x0": found["lam_x"]}
        return dict(zip([*self.frames, *self.joints], u[0], strict=True))


def run(duration=0.6):
    """Fly: the recording and the controller."""
    mpc = Mpc()
    sim = hm.Simulation(
        mpc.model,
        environment=Environment(current=Current(velocity=tuple(CURRENT))),
        components=[*mpc.thrusters, *(hm.drives.Torque(joint=joint, limit=TORQUE) for joint in mpc.joints)],
        controller=mpc,
        period=PERIOD,
        step=0.0025,
        record=0.05,
    )
    return sim.run(duration).recording, mpc


def path(recording, mpc):
    """Places of the tool [m], shape (n, 3), and distances from its goal [m], shape (n,)."""
    pairs = zip(recording.q.values, recording.v.values, strict=True)
    tool = np.array([np.array(mpc.tool(np.r_[q, v])).ravel() for q, v in pairs])
    return tool, np.linalg.norm(tool - goal(recording.time.values), axis=1)


def check(result):
    """The tool stays within 1 cm of its goal, every plan within the limits."""
    _, miss = path(*result)
    assert miss.max() < 0.01
    assert np.abs(result[0].actuator_force.values).max() <= THRUST


def main():
    """Fly, print and draw."""
    recording, mpc = run(24.0)
    tool, miss = path(recording, mpc)
    print(f"tool from its goal: {1e3 * miss.max():.0f} mm at most, {1e3 * np.sqrt(np.mean(miss**2)):.0f} mm rms")
    typical, longest = 1e3 * np.median(mpc.seconds), 1e3 * max(mpc.seconds)
    print(f"{len(mpc.seconds)} plans: {typical:.0f} ms and {np.median(mpc.iterations):.0f} iterations each (median), ", end="")
    print(f"{longest:.0f} ms at most; the period is {1e3 * PERIOD:.0f} ms, and the simulation waits")
    draw(recording, tool, miss, mpc, "mpc_reach.png")


def draw(recording, tool, miss, mpc, picture):
    """Path of the tool, distance from the goal, thrusts, times of the plans."""
    import matplotlib.pyplot as plt

    t = recording.time.values
    fig, axes = plt.subplots(2, 2, figsize=(9, 6.5), constrained_layout=True)
    wanted = goal(t)
    axes[0, 0].plot(wanted[:, 1], -wanted[:, 2], "k", lw=0.8, label="goal")
    axes[0, 0].plot(tool[:, 1], -tool[:, 2], "--", label="tool")
    axes[0, 0].set_aspect("equal")
    axes[0, 0].legend()
    axes[0, 0].set_title("from behind: starboard and up [m]", loc="left")
    axes[0, 1].plot(t, 1e3 * miss)
    axes[0, 1].set_title("distance of the tool from its goal [mm]", loc="left")
    axes[1, 0].plot(t, recording.actuator_force.sel(actuator=mpc.frames), lw=0.8)
    axes[1, 0].set_title("thrust [N]", loc="left")
    axes[1, 1].plot(PERIOD * np.arange(len(mpc.seconds)), 1e3 * np.array(mpc.seconds), ".")
    axes[1, 1].set_title("time of a plan [ms]", loc="left")
    for ax in axes.flat[1:]:
        ax.set_xlabel("time [s]")
    fig.savefig(picture, dpi=110)
    print(f"drawn: {picture}")


if __name__ == "__main__":
    main()
