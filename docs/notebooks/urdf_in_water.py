# %% [markdown]
# # Your URDF in water
#
# A URDF contains masses and shapes, but no hydrodynamics. Read it, review the assumptions, add hydrodynamics from its shapes,
# ballast it until it floats level, and simulate it. [Your robot](../your_robot.md) and [water on a dry
# robot](../water_on_a_dry_robot.md) describe each step.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hydromechs as hm

Path("crawler.urdf").write_text("""<robot name="crawler">
  <link name="hull">
    <inertial><origin xyz="0.02 0 -0.01"/><mass value="24"/>
      <inertia ixx="0.5" iyy="1.1" izz="1.3" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.6 0.4 0.08"/></geometry></collision>
    <collision><origin xyz="0 0 -0.05" rpy="0 1.5708 0"/><geometry><cylinder radius="0.07" length="0.5"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><origin xyz="0 0 -0.15"/><mass value="1.6"/>
      <inertia ixx="0.012" iyy="0.012" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.15"/><geometry><cylinder radius="0.03" length="0.3"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="hull"/><child link="arm"/><origin xyz="0.28 0 -0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="15" velocity="2"/><dynamics damping="0.5"/>
  </joint>
</robot>""")
imported = hm.import_file("crawler.urdf")
print(imported.model)
for note in imported.notes:
    print("-", note)

# %% [markdown]
# The notes list every assumption and every ignored element with its line.
#
# ## Water
#
# `hm.add_water` estimates volume, centre of buoyancy, added mass and drag from the shapes, each with its uncertainty.

# %%
wet, report = hm.add_water(imported.model)
print(report)

# %% [markdown]
# ## Does it float?

# %%
rest = hm.hydrostatics(wet)
print(f"{rest.mass:.2f} kg, displaces {rest.displaced_mass:.2f} kg")
print(f"centre of buoyancy {100 * rest.stability:.1f} cm above the centre of mass")
for warning in rest.warnings:
    print("-", warning)

# %% [markdown]
# It is too light and out of trim. `hm.ballast` finds the smallest weight and float that level it, here with 1.5 N of net
# buoyancy and the centre of buoyancy at least 2 cm above the centre of mass.

# %%
level = hm.ballast(wet, buoyancy=1.5, stability=0.02)
print(level)

# %% [markdown]
# ## Free motion
#
# Both vehicles start with a roll of 20°. A drive with the effort limit of the URDF holds the arm.


# %%
def released(model):
    """Let a vehicle go with a list; its recording."""
    state = model.initial()
    half = np.deg2rad(20.0) / 2
    state.q[3:7] = [np.cos(half), np.sin(half), 0.0, 0.0]
    servo = [hm.drives.Servo(joint="arm", stiffness=40.0, damping=4.0, limit=15.0)]
    return hm.Simulation(model, components=[*servo], state=state, step=0.002).run(duration).recording


duration = 15.0  # short: 1.0
runs = {"as it is": released(wet), "with ballast": released(level.model)}

# %%
figure, axes = plt.subplots(3, 1, figsize=(7, 6), sharex=True, constrained_layout=True)
for name, recording in runs.items():
    w, x, y, z = recording.orientation.sel(body="hull").values.T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(2 * (w * y - z * x))
    axes[0].plot(recording.time, np.rad2deg(roll), label=name)
    axes[1].plot(recording.time, np.rad2deg(pitch), label=name)
    axes[2].plot(recording.time, recording.position.sel(body="hull", xyz="z"), label=name)
for ax, title in zip(axes, ("roll [°]", "pitch [°]", "height [m]"), strict=True):
    ax.set_title(title)
axes[0].legend()
axes[2].set_xlabel("time [s]")
plt.show()

# %% [markdown]
# A model file also contains the source of each number; `hydromechs info crawler.yaml --sources` prints them.

# %%
hm.save(level.model, "crawler.yaml")
print(Path("crawler.yaml").read_text()[:600])
