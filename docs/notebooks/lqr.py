# %% [markdown]
# # LQR with `linearize`
#
# Control all degrees of freedom of a vehicle with an arm: linearise the compiled equations of motion about a hover, solve a
# Riccati equation, and fly the nonlinear vehicle with the gains.
#
# $$\frac{d}{dt}\begin{pmatrix}\delta\\ \delta v\end{pmatrix} = A \begin{pmatrix}\delta\\ \delta v\end{pmatrix} + B\,\delta\tau,
# \qquad q = q_0 \oplus \delta$$
#
# δ displaces the configuration on its manifold: three numbers for an orientation, and no constraint.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_continuous_are

import hydromechs as hm
from hydromechs.actuation import allocation_matrix, ideal_curve

model = hm.load("workclass_arm3")
dyn = hm.compile(model)
state = model.initial()
q0, v0 = state.q, np.zeros(model.nv)
tau0 = dyn.inverse_dynamics(q0, v0, v0)  # holds it level, with its arm stretched out
A, B = dyn.linearize(q0, v0, tau0)
print("A", A.shape, "B", B.shape)
print("largest real part of a pole:", np.linalg.eigvals(A).real.max().round(3), "1/s: it does not stay so by itself")

# %% [markdown]
# ## From forces to commands
#
# The inputs are the thrusters and three joint torques. `allocation_matrix` returns the wrench of each thruster per newton.

# %%
frames = [name for name in model.frames if name.startswith("thruster")]
thrusters = [hm.Thruster(name=f, frame=f, curve=ideal_curve(1500.0, 1500.0), time_constant=0.15) for f in frames]
joints = [body.name for body in model.bodies if body.joint.kind == "revolute"]
to_tau = np.zeros((model.nv, len(thrusters) + len(joints)))
to_tau[:6, : len(thrusters)] = allocation_matrix(model, thrusters, "vehicle")
for k, joint in enumerate(joints):
    to_tau[model.v_slices[model.body_names.index(joint)], len(thrusters) + k] = 1.0
B_u = B @ to_tau
u0 = np.linalg.pinv(to_tau) @ tau0
print("commands that hold it [N, N·m]:", u0.round(2))

# %% [markdown]
# ## Gains
#
# Bryson's rule: each weight is the inverse square of the largest acceptable deviation.

# %%
largest_error = np.r_[[0.2] * 3, [0.1] * 3, [0.1] * len(joints), [0.3] * 3, [0.2] * 3, [0.5] * len(joints)]
largest_input = np.r_[[400.0] * len(thrusters), [300.0] * len(joints)]
Q, R = np.diag(largest_error**-2.0), np.diag(largest_input**-2.0)
K = np.linalg.solve(R, B_u.T @ solve_continuous_are(A, B_u, Q, R))
closed = np.linalg.eigvals(A - B_u @ K)
print("slowest closed-loop pole [1/s]:", closed.real.max().round(3))
assert closed.real.max() < 0.0

# %% [markdown]
# ## The nonlinear vehicle
#
# A controller is a function of the state that returns commands by name. `hm.difference` computes δ. The vehicle starts half a
# metre away, turned by 25° and with its elbow bent. Its thrusters saturate and lag by 150 ms, which the design ignores.


# %%
def lqr(state):
    x = np.r_[hm.difference(model, q0, state.q), state.v]
    u = u0 - K @ x
    return dict(zip([*frames, *joints], u, strict=True))


start = model.initial()
start.q[:3] += [-0.4, 0.3, 0.2]
half = np.deg2rad(25.0) / 2
start.q[3:7] = [np.cos(half), 0.0, 0.0, np.sin(half)]
start.q[-1] += 0.4
sim = hm.Simulation(
    model,
    components=[*thrusters, *(hm.drives.Torque(joint=joint, limit=2000.0) for joint in joints)],
    controller=lqr,
    period=0.02,
    state=start,
    step=0.002,
)
duration = 20.0  # short: 6.0
recording = sim.run(duration).recording
errors = np.array([hm.difference(model, q0, q) for q in recording.q.values])

# %%
figure, axes = plt.subplots(3, 1, figsize=(7, 6.5), sharex=True, constrained_layout=True)
axes[0].plot(recording.time, errors[:, :3], label=["x", "y", "z"])
axes[1].plot(recording.time, np.rad2deg(errors[:, 3:6]), label=["roll", "pitch", "yaw"])
axes[2].plot(recording.time, recording.actuator_force.sel(actuator=frames), lw=0.8)
for ax, title in zip(axes, ("place, error in body axes [m]", "attitude, error [°]", "thrust [N]"), strict=True):
    ax.set_title(title)
axes[0].legend()
axes[1].legend()
axes[2].set_xlabel("time [s]")
plt.show()
print("error at the end:", np.abs(errors[-1, :3]).max().round(4), "m,", np.rad2deg(np.abs(errors[-1, 3:6]).max()).round(3), "°")
assert np.abs(errors[-1, :6]).max() < 0.5 * np.abs(errors[0, :6]).max()

# %% [markdown]
# There is no disturbance here. A current would cause a steady error. `control.servo_lqr` adds integrators that remove it; the
# [library controllers](../controllers.md#lqrspeed) `lqr_speed`, `lqr_hold_pose` and `lqr_follow_path` use it.
