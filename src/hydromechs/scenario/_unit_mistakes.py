"""Likely mistakes in a scenario: bodies above the water level, angles in degrees, fast currents, sensors without echoes."""

import numpy as np

from hydromechs import dynamics
from hydromechs.actuation import JointStops
from hydromechs.contact import Grasp, Grip, Terrain, unrepresented_contacts
from hydromechs.geometry import Mesh
from hydromechs.model import Body, Hydro, Model, angle_mistake, joints, limits_mistake
from hydromechs.sensors import Dvl
from hydromechs.simulation import below_the_bed

from ._scenario import Scenario

__all__ = ["buoyancy_mistakes", "contact_warnings", "unit_mistakes"]

FASTEST = 10.0
"""Current speed above which a unit mistake is likely [m/s]; tidal races reach 8 m/s."""


def unit_mistakes(scenario: Scenario) -> list[str]:
    """Return warnings about likely mistakes in a valid scenario."""
    found = (_mount_mistakes, _start_mistakes, _angle_mistakes, _current_mistakes, _idle_mistakes, _sensor_mistakes)
    carried = any(isinstance(c, Terrain | Grasp | Grip) for c in scenario.components)
    return [*buoyancy_mistakes(scenario.model, dry=not carried), *(text for look in found for text in look(scenario))]


def buoyancy_mistakes(model: Model, *, dry: bool) -> list[str]:
    """Return warnings about free mechanisms that displace no water; if `dry`, also about those without hydrodynamics.

    A hull with drag but no volume is always a mistake. A mechanism without any hydrodynamics may be a machine on land.
    """
    if not model.world.water_density or not model.world.gravity:
        return []
    trees: dict[int, list[Body]] = {}
    root: list[int] = []
    for i, body in enumerate(model.bodies):
        root.append(i if model.parent[i] < 0 else root[model.parent[i]])
        trees.setdefault(root[i], []).append(body)
    found = []
    for tree in trees.values():
        mass = sum(body.inertia.mass for body in tree)
        wet = [body.hydro for body in tree if body.hydro is not None]
        floats = any(not isinstance(hydro, Hydro) or hydro.volume > 0.0 for hydro in wet)
        if isinstance(tree[0].joint, joints.Free) and mass > 0.0 and not floats and (wet or dry):
            found.append(
                f"no buoyancy: body {tree[0].name!r} and the bodies on it displace no water, so their net weight is "
                f"{mass * model.world.gravity:.4g} N; add water with hm.add_water, or set Hydro(volume=...)"
            )
    return found


def _mount_mistakes(scenario: Scenario) -> list[str]:
    """Return warnings about mounted models without hydrodynamics in a scenario with hydrodynamics."""
    world, found = scenario.model.world, []
    for start in scenario.models:
        mass = sum(body.inertia.mass for body in start.model.bodies)
        if start.mount and mass > 0.0 and scenario.model.wet and not start.model.wet:
            found.append(
                f"dry: model {start.name!r}, mounted on {start.mount!r}, has no hydrodynamics, so its weight in "
                f"water is {mass * world.gravity:.4g} N; add water with hm.add_water"
            )
    return found


def contact_warnings(scenario: Scenario) -> list[str]:
    """Return warnings about contacts whose geometry contact probes cannot represent; third-party engines use full shapes."""
    if scenario.engine is not None:
        return []
    plant = scenario.plant
    return unrepresented_contacts(plant.model, plant.components)


def _size(body: Body, volume: float) -> float:
    """Return the size of a body [m]: the maximum of its shape extents and the edge of a cube with its volume."""
    sizes = [
        2.0 * float(s.shape.half_size.max())
        for s in body.shapes
        if (s.contact or s.wetting) and s.shape.bounded and not isinstance(s.shape, Mesh)
    ]
    return float(max([volume ** (1 / 3), *sizes]))


def _start_mistakes(scenario: Scenario) -> list[str]:
    """Return warnings about bodies that start above the water level but are submerged, because there is no free surface."""
    model = scenario.model
    if scenario.environment.surface is not None or not model.world.water_density:
        return []
    places = dynamics.kinematics(model, scenario.start.q, np.zeros(model.nv)).p_WB
    ned = model.world.axes == "NED"
    for body, p in zip(model.bodies, places, strict=True):
        volume = body.hydro.volume if isinstance(body.hydro, Hydro) else 0.0
        depth = float(np.dot(model.world.down, np.asarray(p, dtype=float)))
        if volume > 0.0 and depth < -_size(body, volume):
            axes = "in NED, depths are positive z" if ned else "in ENU, depths are negative z"
            words = f"body {body.name!r} starts {-depth:.3g} m above the water level"
            remedy = f"lower the body ({axes}) or set 'surface: free' in the environment"
            return [f"{words} but is submerged, because the scenario has no free surface; {remedy}"]
    return []


def _angle_mistakes(scenario: Scenario) -> list[str]:
    """Return warnings about joints with initial angles or stops more than one turn from zero."""
    out = []
    for i, start in enumerate(scenario.models):
        for name, value in start.joints:
            if isinstance(value, float) and isinstance(start.model.joint_parts[name].joint, joints.Revolute):
                out.append(angle_mistake(f"models.{i}.joints.{name}", (value,)))
    for stops in scenario.parts(JointStops):
        if isinstance(scenario.model.joint_parts[stops.joint].joint, joints.Revolute | joints.Ball):
            out.append(limits_mistake(f"joints.{stops.joint}.stops", (stops.lower, stops.upper)))
    return [text for text in out if text]


def _idle_mistakes(scenario: Scenario) -> list[str]:
    return below_the_bed(scenario.model, scenario.environment, scenario.start.q)


def _current_mistakes(scenario: Scenario) -> list[str]:
    current = scenario.environment.current
    if current is None:
        return []
    speed = float(np.linalg.norm([current.velocity, *current.velocities], axis=1).max())
    if speed <= FASTEST:
        return []
    return [
        f"the current is {speed:.4g} m/s, faster than any natural current; if the value is in cm/s, write {speed / 100:.3g} m/s"
    ]


def _sensor_mistakes(scenario: Scenario) -> list[str]:
    """Return warnings about Doppler velocity logs without bottom echoes or water tracking."""
    if scenario.parts(Terrain):
        return []
    return [
        f"sensor {s.name!r} measures nothing: no terrain reflects the beams, and water tracking is off; "
        "add terrain, or set `water_noise` of the sensor"
        for s in scenario.sensors
        if isinstance(s, Dvl) and s.water_noise is None
    ]
