"""Iterative LQR on compiled derivatives: a vehicle in a current brings the tool of its arm to a point 3 m away.

Vehicle and arm move as one. The plan minimises

    J = Σ h (½ w |p_tool − goal|² + ½ xᵀ Q x + ½ (u − u_0)ᵀ R (u − u_0)) + final terms,    u: eight thrusts and three torques

by steps of the semi-implicit Euler method on the manifold, whose derivatives follow from those of `Dynamics.linearize`:

    v' = v + h v̇(q, v, B u),  q' = q ⊕ h v';      δ' = exp(h K) δ + h φ(h K) δv',   φ(X) = Σ Xᵏ/(k+1)!,  K δ = −v' × δ

Each iteration goes backward once (gains) and forward once for all lengths of a step at the same time, in one batch. Then the
gains fly the simulated vehicle, whose thrusters lag by 150 ms and whose current is a third stronger than planned.

python examples/ilqr_reach.py            draws ilqr_reach.png
"""

import time

import numpy as np

import hydromechs as hm
from hydromechs.actuation import allocation_matrix, ideal_curve
from hydromechs.hydro import Current, Environment

GOAL = np.array([4.0, 1.5, -1.4])
"""Where the tool is to go; it starts at (2.5, 0, 0.6) [m]."""
CURRENT = np.array([-0.3, 0.2, 0.0])
"""Velocity of the water that is planned with [m/s]."""
STRONGER = 4.0 / 3.0
"""What the simulated current is multiplied by."""
H = 0.05
"""Step of the plan [s]."""
LIMIT = 2000.0
"""Largest thrust [N]."""


class Reach:
    """The plan: model, weights, steps and their derivatives."""

    def __init__(self):
        self.model = model = hm.load("workclass_arm3")
        self.dyn, self.nv = hm.compile(model), model.nv
        self.frames = [name for name in model.frames if name.startswith("thruster")]
        self.joints = [body.name for body in model.bodies if body.joint.kind == "revolute"]
        curve = ideal_curve(LIMIT, LIMIT)
        self.thrusters = [hm.Thruster(name=f, frame=f, curve=curve, time_constant=0.15) for f in self.frames]
        self.to_tau = np.zeros((model.nv, len(self.frames) + len(self.joints)))
        self.to_tau[:6, : len(self.frames)] = allocation_matrix(model, self.thrusters, "vehicle")
        self.to_tau[6:, len(self.frames) :] = np.eye(len(self.joints))
        self.q0 = model.initial().q
        holding = self.dyn.inverse_dynamics(self.q0, np.zeros(model.nv), np.zeros(model.nv), fluid_velocity=CURRENT)
        self.u0 = np.linalg.pinv(self.to_tau) @ holding
        # one over the square of what is acceptable: place (any), attitude, joints; speeds; inputs [m, rad, m/s, rad/s, N, N·m]
        self.Q = np.diag(np.r_[[np.inf] * 3, [0.15] * 2, 0.6, [1.0] * 3, [1.0] * 3, [0.3] * 3, [0.6] * 3] ** -2.0)
        self.R = np.diag(np.r_[[500.0] * len(self.frames), [150.0] * len(self.joints)] ** -2.0)
        self.reach, self.final = 0.8**-2.0, 3000.0

    def deviation(self, q, v):
        """x: from the first configuration and from rest, shape (..., 2 nv)."""
        return np.concatenate([self.dyn.difference(np.broadcast_to(self.q0, q.shape), q), v], axis=-1)

    def tool(self, q):
        """Place of the tool [m], shape (..., 3)."""
        X = self.dyn.kinematics(q, np.zeros((*q.shape[:-1], self.nv)))[0]
        body, p, _ = self.model.locate("tool")
        return X[..., body, :3, 3] + X[..., body, :3, :3] @ np.asarray(p, dtype=float)

    def step(self, q, v, u):
        """One step of any number of worlds."""
        fluid = np.broadcast_to(CURRENT, (*q.shape[:-1], 3))
        v = v + H * self.dyn.forward_dynamics(q, v, u @ self.to_tau.T, fluid_velocity=fluid)
        return self.dyn.integrate(q, v, np.full(q.shape[:-1], H)), v

    def cost(self, q, v, u):
        """J of trajectories, shape (...); q and v have one row more than u."""
        x, miss, effort = self.deviation(q, v), self.tool(q) - GOAL, u - self.u0
        each = 0.5 * (np.sum(x @ self.Q * x, axis=-1) + self.reach * np.sum(miss * miss, axis=-1))
        work = 0.5 * np.sum(effort @ self.R * effort, axis=-1)
        return H * (each[..., :-1].sum(-1) + work.sum(-1)) + self.final * each[..., -1]

    def expanded(self, q, v):
        """Gradients (n, 2 nv) and Gauss-Newton Hessians (n, 2 nv, 2 nv) of the cost of instants with respect to (δ, δv)."""
        X = self.dyn.kinematics(q, v)[0]
        body, _, R = self.model.locate("tool")
        J = np.zeros((len(q), 3, 2 * self.nv))
        J[:, :, : self.nv] = X[:, body, :3, :3] @ np.asarray(R, dtype=float) @ self.dyn.jacobian(q, "tool")[:, :3]
        J_T = J.transpose(0, 2, 1)
        miss = (self.tool(q) - GOAL)[:, :, None]
        return self.deviation(q, v) @ self.Q + self.reach * (J_T @ miss)[:, :, 0], self.Q + self.reach * J_T @ J

    def slopes(self, q, v, u):
        """∂(δ', δv')/∂(δ, δv) and ∂(δ', δv')/∂u of all steps, shapes (n, 2 nv, 2 nv) and (n, 2 nv, nu)."""
        nv, one = self.nv, np.eye(self.nv)
        tau = np.vstack([u, u[-1:]]) @ self.to_tau.T
        AB = [self.dyn.linearize(*at, fluid_velocity=CURRENT) for at in zip(q, v, tau, strict=True)]
        A, B = np.array([a for a, _ in AB]), np.array([b for _, b in AB])
        K = H * A[1:, :nv, :nv]
        turned = phi = term = np.broadcast_to(one, K.shape)
        for k in range(1, 9):  # exp(h K) and φ(h K); |h K| is below 0.1
            term = term @ K / k
            turned, phi = turned + term, phi + term / (k + 1)
        F_v = np.concatenate([H * A[:-1, nv:, :nv], one + H * A[:-1, nv:, nv:]], axis=2)
        F_u = H * B[:-1, nv:] @ self.to_tau
        F_d = H * phi @ F_v
        F_d[:, :, :nv] += turned
        return np.concatenate([F_d, F_v], axis=1), np.concatenate([H * phi @ F_u, F_u], axis=1)


def backward(plan, q, v, u, damping):
    """Feedforward and feedback of each step, and the fall of the cost that they promise."""
    F_xs, F_us = plan.slopes(q, v, u)
    l_xs, l_xxs = plan.expanded(q, v)
    g, S = plan.final * l_xs[-1], plan.final * l_xxs[-1]
    open_loop, gains, promise = np.zeros_like(u), [None] * len(u), 0.0
    for k in reversed(range(len(u))):
        F_x, F_u, l_x, l_xx = F_xs[k], F_us[k], H * l_xs[k], H * l_xxs[k]
        Q_u = H * plan.R @ (u[k] - plan.u0) + F_u.T @ g
        Q_uu = H * plan.R * (1.0 + damping) + F_u.T @ S @ F_u
        Q_ux = F_u.T @ S @ F_x
        open_loop[k], gains[k] = -np.linalg.solve(Q_uu, Q_u), -np.linalg.solve(Q_uu, Q_ux)
        promise -= 0.5 * Q_u @ open_loop[k]
        g = l_x + F_x.T @ g + Q_ux.T @ open_loop[k]
        S = l_xx + F_x.T @ S @ F_x + Q_ux.T @ gains[k]
        S = 0.5 * (S + S.T)
    return open_loop, np.array(gains), promise


def forward(plan, q, v, u, open_loop, gains):
    """The best of several lengths of the step: q, v, u and the cost."""
    lengths = 0.5 ** np.arange(8)
    n = len(lengths)
    qs, vs, us = (np.zeros((n, *a.shape)) for a in (q, v, u))
    qs[:, 0], vs[:, 0] = q[0], v[0]
    for k in range(len(u)):
        x = np.concatenate([plan.dyn.difference(np.tile(q[k], (n, 1)), qs[:, k]), vs[:, k] - v[k]], axis=1)
        us[:, k] = u[k] + lengths[:, None] * open_loop[k] + x @ gains[k].T
        qs[:, k + 1], vs[:, k + 1] = plan.step(qs[:, k], vs[:, k], us[:, k])
    with np.errstate(invalid="ignore", over="ignore"):  # a length may be too long
        J = plan.cost(qs, vs, us)
    best = int(np.nanargmin(J))
    return qs[best], vs[best], us[best], float(J[best])


def solve(plan, steps, iterations):
    """The plan: q, v, u, gains, and the cost after each iteration."""
    u = np.tile(plan.u0, (steps, 1))
    q, v = np.tile(plan.q0, (steps + 1, 1)), np.zeros((steps + 1, plan.nv))  # held: it stays where it is
    costs, damping, gains = [float(plan.cost(q, v, u))], 0.0, np.zeros((steps, len(plan.u0), 2 * plan.nv))
    for _ in range(iterations):
        open_loop, tried, promise = backward(plan, q, v, u, damping)
        *found, J = forward(plan, q, v, u, open_loop, tried)
        if costs[-1] > J:
            (q, v, u), gains, damping = found, tried, 0.0 if damping < 0.1 else 0.2 * damping
            costs.append(J)
        else:
            damping = max(10.0 * damping, 1.0)
        if promise < 1e-6 * costs[-1]:
            break
    return q, v, u, gains, costs


def fly(plan, q, v, u, gains, duration):
    """The simulated vehicle with the plan's feedback; after the plan, the last gains hold it."""

    def controller(state):
        k = min(round(state.t / H), len(u) - 1)
        at = min(round(state.t / H), len(u))
        x = np.r_[hm.difference(plan.model, q[at], state.q), state.v - v[at]]
        wanted = np.clip(u[k] + gains[k] @ x, [-LIMIT] * 8 + [-2000.0] * 3, [LIMIT] * 8 + [2000.0] * 3)
        return dict(zip([*plan.frames, *plan.joints], wanted, strict=True))

    sim = hm.Simulation(
        plan.model,
        environment=Environment(current=Current(velocity=tuple(STRONGER * CURRENT))),
        components=[*plan.thrusters, *(hm.drives.Torque(joint=joint, limit=2000.0) for joint in plan.joints)],
        controller=controller,
        period=H,
        step=0.0025,
        record=H,
    )
    return sim.run(duration).recording


def run(steps=160, iterations=30):
    """Plan and fly: the plan, what it is, the cost after each iteration, and the recording."""
    plan = Reach()
    solve(plan, 2, 1)  # compiles
    start = time.perf_counter()
    q, v, u, gains, costs = solve(plan, steps, iterations)
    spent = time.perf_counter() - start
    print(f"{len(costs) - 1} iterations over {steps} steps in {spent:.2f} s: cost {costs[0]:.4g} to {costs[-1]:.6g}")
    return plan, q, u, costs, fly(plan, q, v, u, gains, H * steps)


def misses(plan, q, recording):
    """Distance of the tool from the goal [m], planned and flown."""
    return (np.linalg.norm(plan.tool(x) - GOAL, axis=1) for x in (q, recording.q.values))


def check(result):
    """The tool comes from 2.9 m away to within 1 cm, with thrust within its limits; Gauss-Newton steps have converged."""
    plan, q, u, costs, recording = result
    planned, flown = misses(plan, q, recording)
    assert flown[0] > 2.8 and planned[-1] < 0.01 and flown[-1] < 0.01
    assert np.abs(u[:, :8]).max() < LIMIT
    assert costs[-2] - costs[-1] < 1e-4 * costs[-1]


def main():
    """Plan, fly, print and draw."""
    plan, q, u, costs, recording = run()
    planned, flown = misses(plan, q, recording)
    print(f"tool from its goal: {flown[0]:.2f} m at the start, {1e3 * planned[-1]:.1f} mm at the end as planned, ", end="")
    print(f"{1e3 * flown[-1]:.1f} mm as flown; largest thrust {np.abs(u[:, :8]).max():.0f} N planned")
    draw(costs, u, recording, planned, flown, "ilqr_reach.png")


def draw(costs, u, recording, planned, flown, picture):
    """Cost by iteration, distance to the goal, inputs."""
    import matplotlib.pyplot as plt

    t = H * np.arange(len(planned))
    fig, axes = plt.subplots(3, 1, figsize=(7, 7), constrained_layout=True)
    axes[0].semilogy(costs, "o-", ms=3)
    axes[0].set_xlabel("iteration")
    axes[0].set_title("cost", loc="left")
    axes[1].plot(t, planned, label="planned")
    axes[1].plot(recording.time, flown, "--", label="flown: thrusters lag, the current is a third stronger")
    axes[1].set_yscale("log")
    axes[1].set_title("distance of the tool from the goal [m]", loc="left")
    axes[1].legend()
    axes[2].plot(t[:-1], u[:, :8], lw=0.9)
    axes[2].set_title("planned thrust [N]", loc="left")
    axes[2].set_xlabel("time [s]")
    fig.savefig(picture, dpi=110)
    print(f"drawn: {picture}")


if __name__ == "__main__":
    main()
