# %% [markdown]
# # Sweeps and plots
#
# Three ways to vary numbers, from the fastest to the most complete: many worlds of the mechanism in one call, open parameters
# of a model, and whole simulations with thrusters and a controller.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import hydromechs as hm
from hydromechs.control import HoldPose

model = hm.load("bluerov2_heavy_alpha5")

# %% [markdown]
# ## Drift in a current
#
# The power fails. `hm.rollout` simulates a grid of worlds, one current each, for 20 s in compiled code.

# %%
dyn = hm.compile(model)
n = 24  # short: 4
steps = 4000  # short: 40
speed, direction = np.meshgrid(np.linspace(0.0, 0.6, n), np.linspace(-np.pi, np.pi, n))
current = np.stack([speed * np.cos(direction), speed * np.sin(direction), 0 * speed], axis=-1).reshape(-1, 3)
state = model.initial()
q, v = np.tile(state.q, (n * n, 1)), np.tile(state.v, (n * n, 1))
hold_arm = np.zeros(model.nv)
begin = time.perf_counter()
drift = hm.rollout(dyn, q, v, {"tau": hold_arm, "fluid_velocity": current}, dt=0.005, steps=steps, record=steps)
print(f"{n * n} worlds of {0.005 * steps:g} s in {time.perf_counter() - begin:.2f} s, with compiling")
assert drift.good.min() == steps

# %%
moved = np.linalg.norm(drift.q[:, -1, :2] - drift.q[:, 0, :2], axis=1).reshape(n, n)
figure, ax = plt.subplots(figsize=(6.5, 4), constrained_layout=True)
shades = ax.pcolormesh(speed, np.rad2deg(direction), moved, cmap="viridis", shading="gouraud")
figure.colorbar(shades, label="distance drifted [m]")
ax.set(xlabel="speed of the current [m/s]", ylabel="direction, from the bow [°]")
plt.show()

# %% [markdown]
# ## Open parameters
#
# `parameters` names numbers of a model that are inputs of the compiled code: other values need no compilation. How far does
# the vehicle sink without thrust, from fresh water to brine?

# %%
open_density = hm.compile(model, parameters=["world.water_density"])
density = np.linspace(990.0, 1050.0, 31)
q, v = np.tile(state.q, (density.size, 1)), np.tile(state.v, (density.size, 1))
sinking = hm.rollout(
    open_density, q, v, hold_arm, dt=0.005, steps=steps, record=steps // 20, parameters={"world.water_density": density}
)
deeper = sinking.q[:, :, 2] - sinking.q[:, :1, 2]
figure, ax = plt.subplots(figsize=(6.5, 3.5), constrained_layout=True)
ax.plot(density, deeper[:, -1])
ax.axhline(0.0, color="0.6", lw=0.8)
ax.set(xlabel="density of the water [kg/m³]", ylabel=f"deeper after {0.005 * steps:g} s [m]")
plt.show()
assert (np.diff(deeper[:, -1]) < 0).all()

# %% [markdown]
# ## Whole simulations
#
# Each run is a `Simulation` with saturating thrusters, a controller at 50 Hz and seeded gusts. Only the first one compiles. How
# stiff should the controller be, in gusts of 0.1 m/s?

# %%
frames = [name for name in model.frames if name.startswith("thruster")]
curve = hm.actuation.t200_curve(voltage=16.0)
gusts = hm.hydro.Gusts(sigma=(0.1, 0.1, 0.05), time_constant=2.0, interval=0.1)
duration = 25.0  # short: 1.0


def held(frequency, seed):
    """Largest distance from its place after 5 s [m], and mean |thrust| of one thruster [N]."""
    sim = hm.Simulation(
        model,
        environment=hm.Environment(current=hm.hydro.Current(velocity=(0.2, 0.0, 0.0)), gusts=gusts),
        components=[
            *[hm.Thruster(name=f, frame=f, curve=curve, time_constant=0.08) for f in frames],
            *(hm.drives.Servo(joint=joint, stiffness=5.0, damping=0.2) for joint in ("shoulder", "upper_arm", "elbow")),
        ],
        controller=HoldPose(position=(0, 0, 0), frequency=frequency, period=0.02),
        step=0.005,
        record=0.1,
        seed=seed,
    )
    recording = sim.run(duration).recording
    late = recording.sel(time=slice(0.2 * duration, None))
    place = np.linalg.norm(late.position.sel(body="vehicle").values, axis=1)
    return place.max(), float(abs(late.actuator_force.sel(actuator=frames)).mean())


frequencies = [0.5, 0.8, 1.2, 2.0, 3.0]  # short: [1.2]
seeds = range(4)  # short: range(1)
results = np.array([[held(f, seed) for seed in seeds] for f in frequencies])  # (frequencies, seeds, 2)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.5), constrained_layout=True)
ax.plot(frequencies, 100 * results[:, :, 0], "o", color="C0", alpha=0.5)
ax.plot(frequencies, 100 * results[:, :, 0].mean(axis=1), color="C0", label="largest distance [cm]")
ax.plot(frequencies, results[:, :, 1].mean(axis=1), color="C1", label="mean thrust of a thruster [N]")
ax.set(xlabel="natural frequency of the controller [rad/s]", ylim=(0, None))
ax.legend()
plt.show()

# %% [markdown]
# For rollouts with thrusters, contact and a compiled controller, pass an `hm.Plant` instead of the compiled model. To sweep
# scenario files on all cores or a cluster, use [`hydromechs sweep`](../sweeps.md).
