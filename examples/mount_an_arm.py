"""Mount an arm on a vehicle with `hm.attach`, then trim both with ballast.

python examples/mount_an_arm.py            prints hydrostatic warnings of the vehicle without and with arm and ballast
"""

from dataclasses import replace
from math import pi

import hydromechs as hm


def run() -> dict[str, hm.Plant | hm.Model]:
    """Mount a library arm on a library vehicle, a tool on the arm, and an arm with other axes on the same vehicle."""
    rov = hm.load_plant("bluerov2_heavy")
    model = hm.attach(rov.model, hm.load("reach_alpha5"), frame="arm_mount", name="rov_with_arm")

    # A new tool on the frame `tool` of the arm.
    inertia = hm.Inertia(mass=0.1, tensor=(1e-5, 1e-5, 1e-5, 0, 0, 0))
    lamp = hm.Model(name="lamp", bodies=[hm.Body(name="lamp", inertia=inertia, hydro=hm.Hydro(volume=5e-5))], world=model.world)
    model = hm.attach(model, lamp, frame="tool")

    # Names do not change, so the thrusters of the vehicle find their frames. The arm gets servos.
    names = ("shoulder", "upper_arm", "elbow")
    drives = [hm.drives.Servo(joint=name, stiffness=5.0, damping=0.5, limit=9.0) for name in names]
    drives.append(hm.drives.Servo(joint="wrist", stiffness=0.5, damping=0.01, limit=1.0))
    level = hm.ballast(model, body="vehicle", buoyancy=2.0)
    plant = hm.Plant(model=level.model, components=(*rov.components, *drives))

    # The axes of this arm are forward, port, up: half a turn about x mounts it upright on a vehicle whose z is down.
    oberon = replace(hm.load("oberon7"), world=rov.model.world)
    turned = hm.attach(rov.model, oberon, frame="arm_mount", at=hm.Origin(rpy=(pi, 0.0, 0.0)), prefix="big")
    return {"alone": rov.model, "with arm": model, "with ballast": plant, "another arm": turned}


def check(made: dict[str, hm.Plant | hm.Model]) -> None:
    """Check that the ballast levels the vehicle, and that all actuators are present.

    Args:
        made: What `run` returned.
    """
    plant = made["with ballast"]
    assert isinstance(plant, hm.Plant)
    floats = hm.hydrostatics(plant.model)
    assert floats.tilt < 1e-6 and abs(floats.net_weight + 2.0) < 1e-6
    assert len(plant.layout.commands) == 12
    assert "big.wrist" in made["another arm"].body_names


if __name__ == "__main__":
    found = run()
    for name, thing in found.items():
        model = thing.model if isinstance(thing, hm.Plant) else thing
        print(f"{name}: {model}", *hm.hydrostatics(model).warnings, sep="\n  ")
    check(found)
