# %% [markdown]
# # A closed chain
#
# A four-bar linkage has a crank, a coupler and a rocker between two fixed pivots. A tree of bodies cannot close the loop; a
# *grasp* between two frames does ([closed chains](../closed_chains.md)). The crank is driven, first in air and then in water.

# %%
import matplotlib.pyplot as plt
import numpy as np

import hydromechs as hm
from hydromechs.contact import Grasp

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.7  # lengths [m]


def rod(name, parent, length, placement, start):
    """A steel tube along x that turns in the vertical plane."""
    mass, radius = 4.0 * length, 0.03
    across = mass * length**2 / 12
    cylinder = hm.geometry.Cylinder.between((0, 0, 0), (length, 0, 0), radius=radius)
    return hm.Body(
        name=name,
        parent=parent,
        joint=hm.joints.Revolute(placement=placement, axis=(0, -1, 0), position=start),
        inertia=hm.Inertia(mass=mass, com=(length / 2, 0, 0), tensor=(mass * radius**2 / 2, across, across, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=np.pi * radius**2 * length,
            buoyancy_center=(length / 2, 0, 0),
            added_mass=hm.added_mass.ShapeAddedMass(shape=cylinder),
            drag=hm.drag.ShapeDrag(shape=cylinder, coefficient=1.1),
        ),
        frames=[hm.Frame(f"{name}_end", hm.Origin((length, 0, 0)))],
    )


# %% [markdown]
# ## Initial configuration
#
# The ends of coupler and rocker must meet. With the crank at 60°, the other two angles follow from the triangle of coupler,
# rocker and the line from the end of the crank to the second pivot.

# %%
theta = np.deg2rad(60.0)
B = CRANK * np.array([np.cos(theta), np.sin(theta)])
D = np.array([GROUND, 0.0])
distance = np.linalg.norm(D - B)
towards = np.arctan2(*(D - B)[::-1])
angle = np.arccos((COUPLER**2 + distance**2 - ROCKER**2) / (2 * COUPLER * distance))
coupler = towards + angle
C = B + COUPLER * np.array([np.cos(coupler), np.sin(coupler)])
rocker = np.arctan2(*(C - D)[::-1])


def linkage(density):
    """The four bars; they move in a vertical plane."""
    return hm.Model(
        name="four_bar",
        world=hm.World(axes="ENU", water_density=density),
        bodies=[
            rod("crank", None, CRANK, hm.Origin(), theta),
            rod("coupler", "crank", COUPLER, hm.Origin((CRANK, 0, 0)), coupler - theta),
            rod("rocker", None, ROCKER, hm.Origin((GROUND, 0, 0)), rocker),
        ],
    )


# %% [markdown]
# ## The loop
#
# The grasp joins two frames and leaves the rotation about y free, like a hinge. The recording contains its forces.

# %%
hinge = Grasp(name="hinge", holder="coupler_end", held="rocker_end", free=("ry",), tolerance=1e-6)


def turned(density, torque):
    """Turn the crank by a torque; the recording."""
    sim = hm.Simulation(
        linkage(density),
        components=[hm.drives.Torque(joint="crank", limit=100.0), hinge],
        commands={"crank": torque},
        step=0.001,
        record=0.01,
    )
    return sim.run(duration).recording


duration = 3.0  # short: 0.2
runs = {"air": turned(0.0, 4.0), "water": turned(1025.0, 4.0)}
for name, recording in runs.items():
    off = float(recording.grasp_error.max())
    residual = float(abs(recording.energy_residual).max())
    print(f"{name:6} the hinge is off by {off:.1e} m at most, the energy audit by {residual:.1e} J")
    assert off < 1e-8

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), constrained_layout=True)
for name, recording in runs.items():
    left.plot(recording.time, np.rad2deg(recording.q[:, 0]), label=name)
    force = recording.grasp_force.sel(grasp="hinge")
    right.plot(recording.time, np.hypot(force.sel(six="X"), force.sel(six="Z")), label=name)
left.set(xlabel="time [s]", title="angle of the crank [°]")
right.set(xlabel="time [s]", title="force in the hinge [N]")
left.legend()
plt.show()

# %% [markdown]
# ## The coupler curve
#
# The path of the midpoint of the coupler, with the linkage at a few instants.

# %%
recording = runs["air"]
a, b, c = recording.q.values[:, :3].T
end = CRANK * np.stack([np.cos(a), np.sin(a)])
tip = end + COUPLER * np.stack([np.cos(a + b), np.sin(a + b)])
figure, ax = plt.subplots(figsize=(6.5, 4), constrained_layout=True)
ax.plot(*(0.5 * (end + tip)), color="C3", label="middle of the coupler")
for k in np.linspace(0, a.size - 1, 6).astype(int):
    ax.plot([0, end[0, k], tip[0, k], GROUND], [0, end[1, k], tip[1, k], 0], "o-", color="0.4", lw=1, ms=3, alpha=0.5)
ax.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
ax.legend()
plt.show()
rocker_tip = D[:, None] + ROCKER * np.stack([np.cos(c), np.sin(c)])
assert np.abs(tip - rocker_tip).max() < 1e-8

# %% [markdown]
# Grasps can close and open during a run, with an impulse. Several arms that hold one load form such chains, as in the scenario
# `four_puma_lift` ([gallery](../gallery.md)).
