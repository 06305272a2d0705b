"""Models built in Python: errors are listed together, what is allowed is warned of, tables are right."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.errors import FieldError
from hydromechs.hydro import added_mass_matrix
from hydromechs.library import random_tree, serial_chain, star

GOOD = hm.Inertia(mass=2.0, com=(0.1, 0.2, 0.3), tensor=(1, 1.1, 1.2, 0.01, 0.02, 0.03))


def faults(*bodies, **options):
    with pytest.raises(hm.ModelError) as error:
        hm.Model(name="m", bodies=bodies, **options)
    return error.value


def one(**fields):
    return hm.Body(name="b", inertia=fields.pop("inertia", GOOD), **fields)


def revolute(**fields):
    return one(joint=hm.joints.Revolute(**fields))


def wet(**fields):
    return one(hydro=hm.Hydro(**fields))


UNSYMMETRIC = np.eye(6) + np.eye(6)[[1, 0, 2, 3, 4, 5]] * np.array([[0.5], [0.0], [0], [0], [0], [0]])
CASES = [
    (one(inertia=hm.Inertia(mass=-1.0, tensor=(1, 1, 1, 0, 0, 0))), ["body 'b'", "inertia.mass is -1 kg", "at least 0"]),
    (one(inertia=hm.Inertia(mass=np.nan, tensor=(1, 1, 1, 0, 0, 0))), ["inertia.mass is nan"]),
    (one(inertia=replace(GOOD, tensor=(1, 1, 9, 0, 0, 0))), ["1, 1, 9 kg·m²", "triangle inequality", "centre of mass"]),
    (one(inertia=replace(GOOD, tensor=(1, 1, -1, 0, 0, 0))), ["principal moments -1", "must be ≥ 0"]),
    (one(inertia=hm.Inertia(mass=0.0, tensor=(1, 1, 1, 0, 0, 0))), ["mass is 0 but the tensor is not"]),
    (one(inertia=replace(GOOD, com=(0, 0, np.inf))), ["inertia.com", "inf", "finite"]),
    (revolute(axis=(0, 0, 0)), ["joint axis [0, 0, 0]", "from 1e-6 to 1e6"]),
    (revolute(axis=(1, 0, 0), placement=hm.Mdh(a=0.1)), ["axis is [1, 0, 0]", "mdh moves about z"]),
    (revolute(limits=(1, -1)), ["limits [1, -1] rad", "joint limits [1, -1] rad"]),
    (revolute(limits=(-1, 1), position=2.0), ["position 2 rad is outside the limits [-1, 1]"]),
    (revolute(damping=-1.0), ["joint.damping is -1 N·m·s/rad", "at least 0"]),
    (revolute(placement=hm.Origin((np.nan, 0, 0))), ["joint.placement.xyz", "nan"]),
    (one(joint=hm.joints.Free(orientation=(1, 1, 0, 0))), ["orientation [1, 1, 0, 0] has norm 1.41421", "unit quaternion"]),
    (one(joint=hm.joints.Composite(parts=[])), ["has no parts; add a part"]),
    (one(joint=hm.joints.Composite(parts=[hm.joints.Free(), hm.joints.Ball()])), ["9 degrees of freedom, the maximum is 6"]),
    (one(joint=hm.joints.Composite(parts=[hm.joints.Fixed()])), ["fixed joint cannot be a part"]),
    (one(joint="revolute"), ["'revolute'", "must be Free, Fixed, Revolute"]),
    (one(inertia=3.0), ["inertia is 3.0, must be an Inertia"]),
    (one(hydro=object()), ["hydro is <object", "methods added_mass and wrench"]),
    (wet(volume=-0.1), ["hydro.volume is -0.1 m³"]),
    (wet(added_mass=hm.added_mass.Matrix(UNSYMMETRIC)), ["not symmetric", "entry (1, 2) is 0.5, entry (2, 1) is 0", "mean"]),
    (wet(added_mass=hm.added_mass.Diagonal((-5, 0, 0, 0, 0, 0))), ["eigenvalue -3", "positive definite", "sign of Fossen's X_u̇ < 0"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0, 1, radius=0.1), coefficient=-1)), ["coefficient is -1", "sign of Fossen's X_u < 0"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0, 1, radius=0.1), coefficient=1, points=0)), ["points is 0", "from 1 to 64"]),
    (wet(drag=hm.drag.ShapeDrag(shape="rod", coefficient=1)), ["hydro.drag.0.shape is 'rod'", "it has none"]),
    (wet(added_mass=hm.added_mass.ShapeAddedMass(shape="rod")), ["hydro.added_mass.0.shape is 'rod'", "it has none"]),
    (wet(buoyancy=("rod",)), ["hydro.buoyancy.0 is 'rod'", "it has none"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Capsule(radius=1, length=1), coefficient=1)), ["drag.0.shape is a capsule", "box, sphere"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=1), coefficient=(1, 2, 3))), ["coefficient is [1, 2, 3]", "one number"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Box(size=(1, 1, 1)), coefficient=1, end_coefficient=2)), ["end_coefficient is 2", "remove it"]),
    (wet(drag=hm.drag.ShapeDrag(shape=hm.geometry.Box(size=(1, 1, 1)), coefficient=(1, -1, 1))), ["coefficient is [1, -1, 1]", "at least 0"]),
    (wet(drag=hm.drag.Damping(linear=(-75, 0, 0, 0, 0, 0))), ["linear is [-75,", "sign of Fossen's X_u < 0"]),
    (wet(drag=hm.drag.Foil(area=1, lift_slope=5, drag_parallel=0.1, drag_normal=1, chord=(1, 0, 0), normal=(1, 0, 1))), ["perpendicular"]),
    (one(shapes=[hm.BodyShape(name="a", shape=hm.geometry.Sphere(radius=1.0))] * 2), ["shapes: the name 'a' is used twice"]),
    (one(shapes=[hm.geometry.Sphere(radius=1.0).at((float("inf"), 0, 0))]), ["shapes.sphere.origin.xyz is [inf, 0, 0] m"]),
    (hm.Body(name=" b", inertia=GOOD), ["without leading or trailing blanks"]),
    (hm.Body(name="world", inertia=GOOD), ["must not be 'world'"]),
]  # fmt: skip


@pytest.mark.parametrize("body, words", CASES, ids=[w[0] for _, w in CASES])
def test_each_error_names_body_value_and_remedy(body, words):
    message = str(faults(body))
    assert f"body {body.name!r}" in message
    for word in words:
        assert word in message


def test_all_errors_of_a_model_come_together():
    error = faults(
        one(inertia=hm.Inertia(mass=-1.0, tensor=(1, 1, 9, 0, 0, 0))),
        hm.Body(name="c", parent="nobody", joint=hm.joints.Ball(), inertia=GOOD),
        hm.Body(name="c", inertia=GOOD, frames=[hm.Frame("b")]),
        world=hm.World(axes="XYZ", gravity=-9.81),
    )
    assert error.source == "m"
    for word in (
        "mass is -1",
        "triangle",
        "'nobody'",
        "'b', 'c', 'c'",
        "used twice",
        "same name as a body",
        "axes is 'XYZ'",
        "gravity is -9.81",
    ):
        assert sum(word in p for p in error.problems) >= 1, word
    assert str(error).startswith(f"m: {len(error.problems)} problem(s)")
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_rings_of_parents():
    error = faults(*[hm.Body(name=a, parent=b, joint=hm.joints.Ball(), inertia=GOOD) for a, b in ("ab", "bc", "ca")])
    assert "(a → b → c → a)" in str(error)


def test_no_bodies():
    assert "at least one" in str(faults())


@pytest.mark.parametrize(
    "kind", [hm.joints.Revolute(), hm.joints.Prismatic(), hm.joints.Ball(), hm.joints.Free()], ids=lambda j: j.kind
)
def test_massless_leaf_is_named(kind):
    """A joint that moves no inertia would divide by zero later."""
    arm = hm.Body(name="arm", inertia=GOOD)
    leaf = hm.Body(name="leaf", parent="arm", joint=kind, inertia=hm.Inertia(mass=0.0))
    message = str(faults(arm, leaf))
    assert "body 'leaf'" in message and f"its {kind.kind} joint moves no inertia (mass 0 kg)" in message and "fixed" in message


REVOLUTE_X, REVOLUTE_Y = hm.joints.Revolute(axis=(1, 0, 0)), hm.joints.Revolute(axis=(0, 1, 0))
PRISMATIC = [hm.joints.Prismatic(axis=a) for a in ((1, 0, 0), (0, 1, 0), (1, 1, 0))]


@pytest.mark.parametrize(
    "parts, where",
    [
        ((REVOLUTE_X, hm.joints.Revolute(axis=(1, 0, 0), placement=hm.Origin((0.3, 0, 0)))), "the initial"),
        (PRISMATIC, "the initial"),
        ((hm.joints.Ball(), REVOLUTE_X), "the initial"),
        ((REVOLUTE_X, REVOLUTE_Y, REVOLUTE_X), "the initial"),
        ((hm.joints.Ball(orientation=(0.6, 0.8, 0, 0)), hm.joints.Ball(placement=hm.Origin((1, 2, 3)))), "the initial"),
    ],
)
def test_parts_of_a_joint_that_move_alike_are_named(parts, where):
    message = str(faults(one(joint=hm.joints.Composite(parts=parts))))
    assert f"do not move it independently at {where} position" in message and parts[0].kind in message


def test_gimbal_away_from_its_singularity_is_allowed():
    turned = replace(REVOLUTE_Y, position=0.5)
    model = hm.Model(bodies=[one(joint=hm.joints.Composite(parts=(REVOLUTE_X, turned, REVOLUTE_X)))])
    assert np.isfinite(hm.forward_dynamics(model, model.initial().q, np.ones(3), np.ones(3))).all()


def test_added_mass_from_shapes_counts_in_the_balance():
    """With the water's true density, at its true place, together with what is fixed to the body."""
    sphere = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.1).at((0.5, 0, 0)))
    massless = hm.Body(name="b", joint=hm.joints.Revolute(), hydro=hm.Hydro(added_mass=sphere))
    model = hm.Model(bodies=[massless])
    np.testing.assert_allclose(hm.mass_matrix(model, [0.0]), [[2 / 3 * np.pi * 1025 * 0.1**3 * 0.25]], rtol=1e-13)
    assert "moves no inertia" in str(faults(massless, world=hm.World(water_density=0.0)))
    light = hm.Hydro(
        added_mass=(
            hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.01)),
            hm.added_mass.Diagonal((-2.5, 0, 0, 0, 0, 0)),
        )
    )
    assert "must be positive definite" in str(faults(one(hydro=light)))
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        hm.Model(bodies=[one(hydro=hm.Hydro(added_mass=hm.added_mass.Diagonal((-1.5, 0, 0, 0, 0, 0))))])
    heavy = hm.Hydro(
        added_mass=(
            hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.5)),
            hm.added_mass.Diagonal((-5, 0, 0, 0, 0, 0)),
        )
    )
    hm.Model(bodies=[one(hydro=heavy)])
    pod = hm.Body(
        name="pod",
        parent="b",
        joint=hm.joints.Fixed(),
        hydro=hm.Hydro(added_mass=hm.added_mass.Diagonal((-0.5, 0, 0, 0, 0, 0))),
    )
    with pytest.warns(UserWarning, match="'pod'"):
        hm.Model(bodies=[one(), pod])


def test_point_mass_on_a_free_joint_is_singular_and_on_an_arm_is_not():
    point = hm.Inertia(mass=1.0, com=(0.5, 0, 0))
    assert "moves no inertia" in str(faults(one(inertia=point)))
    model = hm.Model(bodies=[one(inertia=point, joint=hm.joints.Revolute(axis=(0, 1, 0)))])
    np.testing.assert_allclose(hm.mass_matrix(model, [0.3]), [[0.25]], rtol=1e-14)


def test_massless_link_between_is_allowed_where_it_can_move():
    """A universal joint of two bodies, the first without mass, equals a composition."""
    first = hm.joints.Revolute(axis=(1, 0, 0))
    second = hm.joints.Revolute(axis=(0, 1, 0))
    chain = hm.Model(bodies=[hm.Body(name="cross", joint=first), hm.Body(name="b", parent="cross", joint=second, inertia=GOOD)])
    joint = hm.Model(bodies=[one(joint=hm.joints.Composite(parts=(first, second)))])
    q, v, tau = np.array([[0.3, -0.7], [1.0, 2.0], [0.1, 0.2]])
    np.testing.assert_allclose(hm.forward_dynamics(chain, q, v, tau), hm.forward_dynamics(joint, q, v, tau), rtol=1e-12)
    parallel = hm.Body(name="b", parent="cross", joint=first, inertia=GOOD)
    assert "moves no inertia" in str(faults(hm.Body(name="cross", joint=first), parallel))


def test_added_mass_that_is_not_semidefinite_is_a_warning():
    indefinite = hm.Hydro(added_mass=hm.added_mass.Diagonal((-1, 5, 5, 1, 1, 1)))
    with pytest.warns(UserWarning, match="'b': the added mass alone is not positive semidefinite .eigenvalue -1"):
        hm.Model(name="m", bodies=[one(hydro=indefinite)])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: hm.Inertia(mass="heavy"), "inertia.mass is 'heavy', must be a number"),
        (lambda: hm.Inertia(mass=1, com=(1, 2)), "inertia.com is [1.0, 2.0], must have 3 numbers, but has 2"),
        (lambda: hm.Inertia(mass=1, tensor=5), "inertia.tensor is 5, must have 6 numbers"),
        (lambda: hm.Origin(xyz="abc"), "origin.xyz is 'abc', must have 3 numbers"),
        (lambda: hm.added_mass.Matrix(np.eye(5)), "[1.0, 0.0, 0.0, 0.0, 0.0], must have 6 numbers, but has 5"),
        (lambda: hm.added_mass.Matrix([[1] * 6] * 5), "must have 6 rows, but has 5"),
        (lambda: hm.drag.Damping(linear=[True] * 6), "drag.linear is True, must be a number"),
        (lambda: hm.drag.Damping(coupled={"Yvr": 1.0}), "'Yvr'; write a term as 'Y|r|v'"),
        (lambda: hm.Body(name="arm", parent="hull", inertia=GOOD), "body 'arm' has a parent but no joint"),
        (lambda: hm.Body(name="arm", frames=hm.Frame("tool")), "body 'arm': frames is Frame(name='tool'"),
        (lambda: hm.Model(bodies=one()), "must be a list of Body"),
        (lambda: hm.Model(bodies=[one()], world={"axes": "NED"}), "world is {'axes': 'NED'}, must be a World"),
        (lambda: hm.Model(bodies=[one()], sources=["a"]), "sources is ['a'], must map"),
        (lambda: hm.Hydro(drag=["box"]), "hydro.drag contains 'box'; use elements of hydromechs.drag"),
    ],
)
def test_wrong_shapes_are_rejected_where_they_are_written(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value)


def test_models_are_frozen_comparable_and_sorted():
    model = star(2, 2)
    with pytest.raises(FrozenInstanceError):
        model.name = "other"
    assert model == star(2, 2) and model != star(2, 2, seed=2)
    assert pickle.loads(pickle.dumps(model)) == model
    shuffled = hm.Model(name=model.name, bodies=[model.bodies[i] for i in (2, 0, 1, 4, 3)])
    assert all(p < i for i, p in enumerate(shuffled.parent))


def test_the_world_may_be_named_as_parent():
    assert hm.Model(bodies=[one(parent="world")]).parent == (-1,)


def test_initial_and_neutral_states():
    base = hm.Body(
        name="base",
        inertia=GOOD,
        joint=hm.joints.Free(position=(1, 2, 3), orientation=(0, 1, 0, 0), velocity=(1, 2, 3, 4, 5, 6)),
    )
    arm = hm.Body(
        name="arm", parent="base", inertia=GOOD, joint=hm.joints.Revolute(position=0.5, velocity=-0.5, limits=(0.2, 1))
    )
    model = hm.Model(bodies=[base, arm])
    q, v = model.neutral()
    np.testing.assert_array_equal(q, [0, 0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(v, np.zeros(7))
    state = model.initial()
    np.testing.assert_array_equal(state.q, [1, 2, 3, 0, 1, 0, 0, 0.5])
    np.testing.assert_array_equal(state.v, [1, 2, 3, 4, 5, 6, -0.5])
    assert state.t == 0.0


def test_generators_are_reproducible():
    assert serial_chain(3).nv == 9 and serial_chain(3, base="fixed", wet=False).nv == 3
    assert star(6, 3).nv == 24
    with pytest.raises(ValueError, match="base is 'floating', must be 'free' or 'fixed'"):
        serial_chain(3, base="floating")
    a, b = (random_tree(np.random.default_rng(5)) for _ in range(2))
    assert a == b


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"color": (2, 0, 0)}, "color", [2.0, 0.0, 0.0]),
        ({"opacity": 2}, "opacity", 2.0),
        ({"style": "rudder"}, "style", "rudder"),
        ({"roles": ("contact", "lift")}, "roles", ["contact", "lift"]),
        ({"roles": ("contact", "contact")}, "roles", ["contact", "contact"]),
        ({"roles": ()}, "roles", []),
        ({"shape": "sphere"}, "shape", "sphere"),
        ({"shape": hm.geometry.Plane()}, "shape", "plane"),
    ],
)
def test_shapes_are_checked_when_they_are_made(fields, name, value):
    with pytest.raises(FieldError) as error:
        hm.BodyShape(**({"shape": hm.geometry.Sphere(radius=1.0)} | fields))
    assert error.value.field == name and error.value.value == value


def test_shapes_of_a_body_get_names_and_roles():
    """Plain and placed shapes become shapes of the body; unnamed ones are named by their type."""
    ball, pin = hm.geometry.Sphere(radius=0.1), hm.geometry.Cylinder.between((0, 0, 0), (0.3, 0, 0), radius=0.02)
    body = one(shapes=[ball, hm.BodyShape(name="sphere_2", shape=ball, roles=("wetting",)), ball.at((1, 0, 0)), pin])
    assert [s.name for s in body.shapes] == ["sphere", "sphere_2", "sphere_3", "cylinder"]
    assert [(s.contact, s.wetting, s.appearance) for s in body.shapes[:2]] == [(True, True, True), (False, True, False)]
    assert body.shapes[3].origin == pin.origin and body.shapes[3].shape == pin.shape
    with pytest.raises(FieldError, match="shapes is 3"):
        one(shapes=[3])


def test_elements_refer_to_shapes_by_name():
    """One size: drag, added mass and buoyancy of a named rod are those of the same rod written out."""
    place = ((0.1, 0.2, -0.3), (0.4, -0.2, 0.7))
    rod = hm.BodyShape(name="rod", shape=hm.geometry.Cylinder(radius=0.05, length=0.8).at(*place), roles=("wetting",))
    ball = hm.BodyShape(name="ball", shape=hm.geometry.Sphere(radius=0.1).at((0.5, 0, 0)))

    def body(drag, mass, **hydro):
        elements = {
            "drag": hm.drag.ShapeDrag(shape=drag, coefficient=1.1),
            "added_mass": hm.added_mass.ShapeAddedMass(shape=mass),
        }
        return one(shapes=[rod, ball], hydro=hm.Hydro(**elements, **hydro))

    named = body("rod", "ball", buoyancy=["rod", "ball"])
    own = body(rod, ball)
    V = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.6])
    np.testing.assert_array_equal(named.hydro.drag[0].wrench(V, 1e3), own.hydro.drag[0].wrench(V, 1e3))
    found, expected = (added_mass_matrix(b.hydro.added_mass[0], 1e3) for b in (named, own))
    np.testing.assert_array_equal(found, expected)
    volumes = np.array([rod.shape.volume, ball.shape.volume])
    assert named.hydro.volume == pytest.approx(volumes.sum())
    assert named.hydro.buoyancy_center == pytest.approx(volumes @ [rod.origin.xyz, ball.origin.xyz] / volumes.sum())
    thicker = replace(rod, shape=hm.geometry.Cylinder(radius=0.06, length=0.8))
    changed = replace(named, shapes=(thicker, ball))
    assert changed.hydro.drag[0].solid.shape.radius == 0.06 and changed.hydro.volume > named.hydro.volume
