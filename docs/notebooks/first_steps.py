# %% [markdown]
# # First steps
#
# Take a vehicle of the library: look at it, evaluate its equations of motion, let it hold station in a current, and plot the
# recording. You need an [installation](../install.md) and half an hour. [The tutorial](../tutorial.md) continues with a
# custom vehicle.

# %%
import matplotlib.pyplot as plt
import numpy as np

import hydromechs as hm
from hydromechs.control import HoldPose

model = hm.load("bluerov2_heavy_alpha5")
print(model.name, "has", model.nb, "bodies and", model.nv, "degrees of freedom:", ", ".join(model.body_names))

# %% [markdown]
# ## A picture
#
# `hydromechs view bluerov2_heavy_alpha5` opens a page with movable joints. A picture needs neither a display nor a browser:

# %%
scene = hm.viewer.model_scene(model)
picture = hm.viewer.raster(scene, size=(480, 300))
plt.figure(figsize=(6, 3.75))
plt.imshow(picture)
plt.axis("off")
plt.show()

# %% [markdown]
# ## Equations
#
# `q` contains position and quaternion of the vehicle and four joint angles; `v` contains the velocity in vehicle axes and four
# joint rates ([conventions](../conventions.md)). Which force accelerates the vehicle forward by 1 m/s² from rest, in water
# and in air?

# %%
state = model.initial()
vdot = np.zeros(model.nv)
vdot[0] = 1.0
in_water = hm.inverse_dynamics(model, state.q, state.v, vdot) - hm.inverse_dynamics(model, state.q, state.v, 0 * vdot)
mass = sum(body.inertia.mass for body in model.bodies)
print(f"{in_water[0]:.1f} N in water, {mass:.1f} N in air: the difference is added mass")

# %% [markdown]
# ## A run
#
# Eight thrusters with the measured curve of a T200, servos in the arm, a current of 0.22 m/s, and a controller that holds the
# initial position. Everything is compiled before the first step.

# %%
frames = [name for name in model.frames if name.startswith("thruster")]
curve = hm.actuation.t200_curve(voltage=16.0)
sim = hm.Simulation(
    model,
    environment=hm.Environment(current=hm.hydro.Current(velocity=(0.2, 0.1, 0.0))),
    components=[
        *[hm.Thruster(name=f, frame=f, curve=curve, time_constant=0.08) for f in frames],
        *(hm.drives.Servo(joint=joint, stiffness=5.0, damping=0.2) for joint in ("shoulder", "upper_arm", "elbow")),
    ],
    controller=HoldPose(position=(0, 0, 0), frequency=1.5, period=0.02),
    step=0.002,
)
duration = 20.0  # short: 2.0
run = sim.run(duration)
print(run.recording.sizes)

# %% [markdown]
# ## The recording
#
# A recording is an [xarray](https://docs.xarray.dev) dataset with names, units and labels. [Recordings](../recording.md) lists
# the variables.

# %%
recording = run.recording
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, constrained_layout=True)
recording.position.sel(body="vehicle").plot.line(x="time", ax=above)
recording.actuator_force.sel(actuator=frames).plot.line(x="time", ax=below, add_legend=False)
above.set(title="place of the vehicle", xlabel="")
below.set(title="forces of the eight thrusters")
plt.show()

# %% [markdown]
# ## The energy audit
#
# Every run has an [energy audit](../integrators.md#the-energy-audit). The difference of stored energy and all work is the error
# of the integrator and rounding.

# %%
work = recording.work.isel(time=-1)
for cause in work.cause.values:
    print(f"{cause:12} {float(work.sel(cause=cause)):10.3f} J")
print(f"residual     {float(abs(recording.energy_residual).max()):10.1e} J")
assert float(abs(recording.energy_residual).max()) < 1e-6
