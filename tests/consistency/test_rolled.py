"""Loops over the bodies of a tree ("rolled") against floats and against straight-line code."""

import ctypes
import pickle
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, equations, library
from hydromechs.actuation import ExternalWrench, JointFriction, drives
from hydromechs.errors import UnsupportedFeature
from hydromechs.hydro import Current, FreeSurface, RegularWave
from hydromechs.model import joints

WORLDS = 11  # no multiple of 4 or 8


class OwnHydro:
    """Custom hydrodynamics that depends on the pose."""

    def added_mass(self, body, motion):
        return np.diag([2.0, 3.0, 4.0, 0.1, 0.2, 0.3]) * (1.0 + 0.1 * motion.depth * motion.depth)

    def wrench(self, body, motion):
        return -5.0 * motion.velocity + np.concatenate([motion.R_WB.T @ np.array([0.0, 0.0, -3.0]), np.zeros(3)])


def with_own_hydro(model):
    """The model with a custom class on its last body."""
    *others, last = model.bodies
    return hm.Model(name="own", bodies=(*others, replace(last, hydro=OwnHydro())), world=model.world)


TREE = library.random_tree(np.random.default_rng(103), max_bodies=5)  # free, composite and prismatic joints
MODELS = [library.load("tiburon_titan2"), library.serial_chain(3, base="fixed", wet=False), with_own_hydro(TREE)]


def states(model, rng, n):
    q0 = model.initial().q
    q = np.stack([hm.integrate(model, q0, rng.normal(size=model.nv), 0.5) for _ in range(n)])
    return q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def assert_close(ours, expected, model, q, *, solved):
    """1e-12 of the largest value; where a system is solved, rounding times the condition of the inertia."""
    condition = max(np.linalg.cond(hm.mass_matrix(model, x)) for x in np.atleast_2d(q)) if solved else 1.0
    tolerance = max(1e-12, 20 * np.finfo(float).eps * condition)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def everything_moves(model, rng):
    """Water and wrenches that differ from body to body."""
    each = dict(fluid_velocity=(model.nb, 3), fluid_acceleration=(model.nb, 3), wrench=(model.nb, 6))
    return {name: rng.normal(size=shape) for name, shape in each.items()}


@pytest.mark.parametrize(
    "model", [pytest.param(MODELS[0], marks=pytest.mark.optimised), *MODELS[1:]], ids=lambda m: f"{m.name}-{m.nb}-{m.nv}"
)
def test_equations_equal_floats(model):
    """One state with still water; a batch on lanes with water and wrenches that differ from body to body."""
    rng = np.random.default_rng(1)
    q, v, tau = states(model, rng, WORLDS)
    one, lanes = hm.compile(model, lanes=1, form="rolled"), hm.compile(model, lanes=4, form="rolled")
    moving = everything_moves(model, rng)
    batch = {name: x[None] for name, x in moving.items()}
    forward = hm.forward_dynamics(model, q[0], v[0], tau[0])
    assert_close(one.forward_dynamics(q[0], v[0], tau[0]), forward, model, q, solved=True)
    expected = np.stack([hm.forward_dynamics(model, q[k], v[k], tau[k], **moving) for k in range(WORLDS)])
    assert_close(lanes.forward_dynamics(q, v, tau, **batch), expected, model, q, solved=True)
    inverse = hm.inverse_dynamics(model, q[0], v[0], tau[0], **moving)
    assert_close(one.inverse_dynamics(q[0], v[0], tau[0], **moving), inverse, model, q, solved=False)
    X, V = one.kinematics(q[0], v[0])
    assert_close(X, hm.kinematics(model, q[0], v[0]).X_WB, model, q, solved=False)
    assert_close(V, hm.kinematics(model, q[0], v[0]).V_WB_B, model, q, solved=False)
    expected = np.stack([hm.mass_matrix(model, x) for x in q])
    assert_close(lanes.mass_matrix(q), expected, model, q, solved=False)


def test_uniform_water_and_the_interpreter():
    """A current that all bodies feel; the same loop program by program in Python."""
    model, rng = library.serial_chain(2), np.random.default_rng(2)
    q, v, tau = (x[0] for x in states(model, rng, 1))
    flow = dict(fluid_velocity=rng.normal(size=3), fluid_acceleration=rng.normal(size=3))
    expected = hm.forward_dynamics(model, q, v, tau, **flow)
    assert_close(hm.compile(model, form="rolled").forward_dynamics(q, v, tau, **flow), expected, model, q, solved=True)
    arguments = [compiler.Argument(name, (3,)) for name in flow]
    loop = equations.RolledTree(model).forward_dynamics(arguments)
    assert_close(loop(q, v, tau, *flow.values())[0], expected, model, q, solved=True)
    assert str(len(loop.table)) in repr(loop)


def test_large_trees_are_rolled():
    """A random tree of about 200 bodies, against floats; which form is chosen by size."""
    rng = np.random.default_rng(0)
    tree = library.random_tree(rng, max_bodies=200, kinds=("revolute", "prismatic", "ball", "fixed", "free"))
    assert tree.nb > 150
    dyn = hm.compile(tree, lanes=1)
    assert dyn.form == "rolled" and "rolled" in repr(dyn)
    assert hm.compile(MODELS[0]).form == "specialised"
    q, v, tau = (x[0] for x in states(tree, rng, 1))
    assert_close(dyn.forward_dynamics(q, v, tau), hm.forward_dynamics(tree, q, v, tau), tree, q, solved=True)


def test_batches_of_trees_that_are_not_too_large_are_straight():
    """From 40 bodies on one state is a loop, from 64 on a batch, too, unless the caller wants a loop."""
    chain = library.serial_chain(40, wet=False)
    dyn, loop = hm.compile(chain, lanes=4), hm.compile(chain, lanes=4, form="rolled")

    def kinds(dyn):
        code = dyn._compiled("forward_dynamics")
        return type(code.program_on(1)), type(code.program_on(4))

    assert (
        kinds(dyn) == kinds(dyn.on(threads=2)) == kinds(pickle.loads(pickle.dumps(dyn))) == (compiler.Rolled, compiler.Program)
    )
    assert kinds(loop) == kinds(hm.compile(library.serial_chain(63, wet=False))) == (compiler.Rolled, compiler.Rolled)
    q, v, tau = states(chain, np.random.default_rng(4), 5)
    together = dyn.forward_dynamics(q, v, tau)
    assert_close(together, loop.forward_dynamics(q, v, tau), chain, q, solved=True)
    assert_close(dyn.forward_dynamics(q[0], v[0], tau[0]), together[0], chain, q[0], solved=True)


def test_joints_of_many_kinds_are_brought_to_few(monkeypatch):
    """Compositions of hinges and slides about any axes: the same accelerations with their constant parts in one form."""
    monkeypatch.setattr("hydromechs.equations._kinds.MAX_SEPARATE_KINDS", 0)
    tree = library.random_tree(np.random.default_rng(0), max_bodies=4, kinds=("composite", "prismatic"), wet=False)
    moving = [len(joint.parts) for joint in (body.joint for body in tree.bodies)]
    assert max(moving) > 1
    q, v, tau = (x[0] for x in states(tree, np.random.default_rng(6), 1))
    loop = equations.RolledTree(tree).forward_dynamics()
    assert_close(loop(q, v, tau)[0], hm.forward_dynamics(tree, q, v, tau), tree, q, solved=True)


def test_screws_that_differ_in_numbers():
    """Helical joints of other pitches and angles are one kind."""
    chain = library.serial_chain(3)
    pitches = {"link1": 0.1, "link2": -0.3, "link3": 0.2}
    bodies = [
        replace(body, joint=joints.Helical(placement=replace(body.joint.placement, theta=pitch), pitch=pitch))
        if (pitch := pitches.get(body.name))
        else body
        for body in chain.bodies
    ]
    model = hm.Model(name="screws", bodies=tuple(bodies))
    q, v, tau = (x[0] for x in states(model, np.random.default_rng(7), 1))
    loop = equations.RolledTree(model).forward_dynamics()
    assert_close(loop(q, v, tau)[0], hm.forward_dynamics(model, q, v, tau), model, q, solved=True)


def test_a_chain_of_5000_links():
    """Forward dynamics, and inverse dynamics back to the joint forces: 1e-12 of the largest force that is passed on."""
    model = library.serial_chain(5000, base="fixed", wet=False)
    dyn = hm.compile(model, lanes=1)
    rng = np.random.default_rng(3)
    q, v, tau = rng.uniform(-3, 3, model.nv), 0.01 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    back = dyn.inverse_dynamics(q, v, dyn.forward_dynamics(q, v, tau))
    weight = 9.81 * sum(body.inertia.mass for body in model.bodies)
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-12 * weight * model.nb)


# -- simulations --------------------------------------------------------------------------------------------------------------


def plants(environment):
    """One plant in both forms: a driven joint with a rotor, friction, a wrench from outside."""
    model = library.serial_chain(1)
    acting = (
        drives.Servo(joint="link1", stiffness=20.0, damping=2.0),
        JointFriction(joint="link1", viscous=0.5, armature=0.3),
        ExternalWrench(body="link1"),
    )
    return [hm.Plant(model=model, environment=environment, components=acting, form=form) for form in ("specialised", "rolled")]


@pytest.mark.parametrize(
    "environment",
    [hm.Environment(current=Current(velocity=(0.3, 0.1, 0.05))), hm.Environment(waves=(RegularWave(height=1.0, period=6.0),))],
    ids=["current", "waves"],
)
def test_simulations_are_the_same(environment):
    """All that is recorded, of runs in both forms, to rounding: 1e-10 of each variable's largest value."""
    records = []
    for plant in plants(environment):
        sim = hm.Simulation(plant, step=0.005, record=0.02)
        sim.set_wrench("link1", [1.0, 2.0, -1.0, 0.1, 0.2, 0.3])
        records.append(sim.run(0.1).recording)
    assert set(records[0].data_vars) == set(records[1].data_vars)
    for name, expected in records[0].data_vars.items():
        x, y = np.asarray(records[1][name], dtype=float), np.asarray(expected, dtype=float)
        scale = max(1.0, np.abs(y).max(initial=0.0)) if name != "energy_residual" else 10.0  # the energies that it is left of
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * scale, err_msg=name)


def test_rollouts_on_lanes_are_the_same():
    """Worlds side by side, each step of which calls the loops."""
    paths = []
    for plant in plants(hm.Environment()):
        start = plant.model.initial()
        v = 0.1 * np.random.default_rng(4).normal(size=(3, plant.model.nv))
        paths.append(hm.rollout(plant, np.tile(start.q, (3, 1)), v, {}, 0.005, 10, lanes=4))
    model, water = library.serial_chain(1), {"fluid_velocity": (0.2, 0.1, 0.0)}
    for form in ("specialised", "rolled"):
        dyn = hm.compile(model, lanes=4, form=form)
        paths.append(hm.rollout(dyn, np.tile(model.neutral()[0], (3, 1)), v, water, 0.005, 10))
    for one, other in (paths[:2], paths[2:]):
        np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(other.v, one.v, rtol=0, atol=1e-11)


def test_rejected_by_name():
    chain = library.serial_chain(1)
    with pytest.raises(ValueError, match="form is 'round'; use 'specialised', 'rolled' or 'branches'"):
        hm.compile(chain, form="round")
    with pytest.raises(UnsupportedFeature, match=r"open parameters \(link1.inertia.mass\) are not available for form='rolled'"):
        hm.compile(chain, form="rolled", parameters=["link1.inertia.mass"])
    with pytest.raises(UnsupportedFeature, match="form 'rolled' does not support a free surface"):
        hm.Plant(model=library.load("bluerov2_heavy_alpha5"), environment=hm.Environment(surface=FreeSurface()), form="rolled")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_exported_c_of_a_loop(tmp_path):
    """A loop over bodies as C, alone and called by a program, against the interpreted loop."""
    model = MODELS[0]
    tree = equations.RolledTree(model)
    shapes = {"q": (model.nq,), "v": (model.nv,)}
    inner = tree.kinematics()
    calling = compiler.trace(lambda q, v: 2.0 * compiler.call(inner, q, v)[1], shapes, name="calling", outputs=("V",))
    functions = (calling, compiler.as_program(tree.forward_dynamics()))
    file = compiler.SourceFile("loops", tuple(compiler.SourceFunction(f) for f in functions))
    (tmp_path / "loops.h").write_text(compiler.c_header(file))
    (tmp_path / "loops.c").write_text(compiler.c_source(file))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, tmp_path / "loops.c", "-lm", "-o", tmp_path / "loops.so"], check=True)
    shared = ctypes.CDLL(str(tmp_path / "loops.so"))
    (q, *_), (v, *_), (tau, *_) = states(model, np.random.default_rng(8), 1)
    for program, given in zip(functions, ((q, v), (q, v, tau)), strict=True):
        expected = program(*given)
        results = [np.zeros(a.shape) for a in program.outputs]
        pointers = (ctypes.c_void_p(np.ascontiguousarray(x).ctypes.data) for x in (*given, *results))
        shared[f"loops_{program.name}"](*pointers)
        for ours, theirs in zip(results, expected, strict=True):
            assert_close(ours, theirs, model, q, solved=program is functions[1])


def test_forms_travel_and_derive():
    """Pickled, the form is kept; derivatives are those of the specialised program."""
    chain = library.serial_chain(1)
    dyn = pickle.loads(pickle.dumps(hm.compile(chain, form="rolled")))
    assert dyn.form == "rolled" and dyn.on(lanes=1).form == "rolled"
    q, v = chain.neutral()
    J = dyn.differentiate("forward_dynamics", "tau")(q, v, v)
    np.testing.assert_allclose(J @ dyn.mass_matrix(q), np.eye(chain.nv), atol=1e-12)
    assert pickle.loads(pickle.dumps(plants(hm.Environment())[1])).form == "rolled"
