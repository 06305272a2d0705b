"""Steps per second of bodies in contact, in HydroMechs, MuJoCo and DART: boxes on a block, stacks and heaps."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs.contact import CollisionGroup, DryFriction, Material, NonlinearContact, Terrain, contact_cost
from hydromechs.geometry import Box, Origin
from hydromechs.spatial import quaternion_exp

from ._machine import machine, report

STEP = 1e-3
SIDE, MASS = 0.2, 8.0
"""Side [m] and mass [kg] of the boxes."""
SETTLED = 500
"""Steps before the measurement; boxes then rest on each other."""
STEEL = Material(
    law=NonlinearContact(stiffness=1e5, damping_factor=0.5),
    friction=DryFriction(static=0.6, kinetic=0.6, stiffness=5e4, damping=500.0),
)
CASES = {"box on a block": (1, False), "stack of 3": (3, False), "stack of 10": (10, False), "heap of 8": (8, True)}
"""Number of boxes, and whether they fall in random poses."""


def measure_contact(*, quick: bool = False) -> dict[str, Any]:
    """Return all measurements of `hydromechs bench contact`: dry boxes, one core, a step of 1 ms, one world.

    `quick` selects two cases and few steps, as a test.
    """
    start, steps, rows = machine(), 50 if quick else 1000, []
    engines: dict[str, Callable[[np.ndarray], tuple[Any, Any]]] = {"mujoco": _mujoco, "dartpy": _dart}
    missing = [name for name in engines if find_spec(name) is None]
    for name, (count, heap) in list(CASES.items())[: 2 if quick else None]:
        poses = _poses(count, heap)
        step, pairs, operations, heights = _ours(poses)
        row = {"case": name, "boxes": count, "pairs": pairs, "operations": operations}
        row |= _timed("hydromechs", step, heights, steps)
        for engine, make in engines.items():
            if engine not in missing:
                row |= _timed(engine, *make(poses), steps)
        rows.append(row)
    return report(start, quick=quick, command="hydromechs bench contact", missing=missing, step_s=STEP, rows=rows)


def _timed(engine: str, step: Callable[[int], object], heights: Callable[[], np.ndarray], steps: int) -> dict[str, float]:
    """Return time per step [µs], and how deep the lowest box has sunk into the block when the boxes rest [mm]."""
    step(SETTLED)
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        step(steps)
        best = min(best, (time.process_time() - begin) / steps)
    return {f"{engine}_us": 1e6 * best, f"{engine}_depth_mm": 1e3 * float(0.5 * SIDE - heights().min())}


def _poses(count: int, heap: bool) -> np.ndarray:
    """Return positions, z up, and quaternions of boxes above a block whose top is at 0, shape (n, 7)."""
    rng, out = np.random.default_rng(1), np.zeros((count, 7))
    out[:, 2], out[:, 3] = SIDE * (np.arange(count) + 0.5), 1.0
    if heap:
        out[:, :2], out[:, 2] = 0.05 * rng.normal(size=(count, 2)), SIDE * (1.8 * np.arange(count) + 1.0)
        out[:, 3:] = [quaternion_exp(0.5 * rng.normal(size=3)) for _ in range(count)]
    return out


def _ours(poses: np.ndarray) -> tuple[Callable[[int], object], int, int, Callable[[], np.ndarray]]:
    box, moment = Box(size=(SIDE,) * 3), MASS * SIDE**2 / 6.0
    inertia = hm.Inertia(mass=MASS, tensor=(moment, moment, moment, 0.0, 0.0, 0.0))
    bodies = tuple(
        hm.Body(
            name=f"box_{k}",
            joint=hm.joints.Free(position=tuple(x[:3]), orientation=tuple(x[3:])),
            inertia=inertia,
            shapes=(hm.BodyShape(shape=box),),
        )
        for k, x in enumerate(poses.tolist())
    )
    model = hm.Model(name="boxes", bodies=bodies, world=hm.World(axes="ENU", water_density=1e-9))
    ground = Terrain(name="block", material=STEEL, shape=Box(size=(4.0, 4.0, 1.0)), origin=Origin((0.0, 0.0, -0.5)))
    parts = [ground, *([CollisionGroup(material=STEEL)] if len(bodies) > 1 else [])]
    plant = hm.Simulation(model, components=parts, step=STEP).plant
    worlds = hm.Worlds(plant, 1, step=STEP, method="semi_implicit_euler", lanes=1)
    pairs, operations = contact_cost(plant.model, plant.components)
    return lambda n: worlds.step(steps=n), pairs, operations, lambda: worlds.q.reshape(-1, 7)[:, 2]


def _mujoco(poses: np.ndarray) -> tuple[Callable[[int], object], Callable[[], np.ndarray]]:
    mujoco = importlib.import_module("mujoco")
    half = 0.5 * SIDE
    boxes = "".join(
        f'<body pos="{x[0]} {x[1]} {x[2]}" quat="{x[3]} {x[4]} {x[5]} {x[6]}"><freejoint/>'
        f'<geom type="box" size="{half} {half} {half}" mass="{MASS}" friction="0.6"/></body>'
        for x in poses
    )
    block = '<geom type="box" size="2 2 0.5" pos="0 0 -0.5" friction="0.6"/>'
    text = f'<mujoco><option timestep="{STEP}"/><worldbody>{block}{boxes}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    return lambda n: mujoco.mj_step(model, data, nstep=n), lambda: data.qpos.reshape(-1, 7)[:, 2]


def _dart(poses: np.ndarray) -> tuple[Callable[[int], object], Callable[[], np.ndarray]]:
    dart = importlib.import_module("dartpy")
    world = dart.simulation.World()
    world.setTimeStep(STEP)
    world.setGravity([0.0, 0.0, -9.81])
    awake = world.getDeactivationOptions()
    awake.mEnabled = False  # others compute resting boxes, too
    world.setDeactivationOptions(awake)

    def skeleton(size: tuple[float, ...], joint: Any, mass: float, pose: np.ndarray) -> Any:
        made = dart.dynamics.Skeleton()
        at, node = joint(made)
        shape = dart.dynamics.BoxShape(size)
        surface = node.createShapeNode(shape)
        surface.createCollisionAspect()
        surface.createDynamicsAspect().setFrictionCoeff(0.6)
        inertia = dart.dynamics.Inertia()
        inertia.setMass(mass)
        inertia.setMoment(shape.computeInertia(mass))
        node.setInertia(inertia)
        place = dart.math.Isometry3()
        place.set_translation(pose[:3])
        place.set_quaternion(dart.math.Quaternion(*pose[3:]))
        at.setTransformFromParentBodyNode(place)
        world.addSkeleton(made)
        return node

    skeleton((4.0, 4.0, 1.0), lambda s: s.createWeldJointAndBodyNodePair(), 1.0, np.array([0, 0, -0.5, 1, 0, 0, 0]))
    nodes = [skeleton((SIDE,) * 3, lambda s: s.createFreeJointAndBodyNodePair(), MASS, x) for x in poses]

    def step(n: int) -> None:
        for _ in range(n):
            world.step()

    return step, lambda: np.array([node.getWorldTransform().translation()[2] for node in nodes])
