"""Contact of convex solids: forces are gradients of the stored energy, also deep inside; friction of patches; closed forms."""

import functools
import itertools

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, dynamics, geometry
from hydromechs.contact import (
    BodyContact,
    CollisionGroup,
    ContactExclusion,
    ConvexPair,
    DryFriction,
    Material,
    NonlinearContact,
    Terrain,
    contact_cost,
    contact_pairs,
)
from hydromechs.contact._deepest import on_edge, on_rim
from hydromechs.contact._features import Edge, Rim
from hydromechs.contact._fields import field_of
from hydromechs.contact._patch import patch_friction
from hydromechs.model.component import Now
from hydromechs.spatial import maximum, norm, quaternion_exp, quaternion_matrix

G = 9.81
MASS = 8.0
SHAPES = {
    "box": geometry.Box(size=(0.4, 0.3, 0.2)),
    "cylinder": geometry.Cylinder(radius=0.15, length=0.25),
    "capsule": geometry.Capsule(radius=0.06, length=0.3),
    "hull": geometry.Convex(points=((0.2, 0, 0), (0, 0.25, 0), (-0.2, -0.1, 0), (0.02, 0.01, 0.22), (0, 0, -0.15))),
}
DISC = geometry.Cylinder(radius=0.2, length=0.08)
ELASTIC = Material(law=NonlinearContact(stiffness=2e4))
DRY = hm.World(water_density=1e-9)


def material(mu, stiffness=2e4):
    friction = DryFriction(static=mu, kinetic=mu, stiffness=0.5 * stiffness, damping=0.01 * stiffness)
    return Material(law=NonlinearContact(stiffness=stiffness, damping_factor=0.5), friction=friction)


def body(name, shape, **joint):
    J = np.diag(shape.inertia(MASS / shape.volume))
    inertia = hm.Inertia(mass=MASS, tensor=(*map(float, J), 0, 0, 0))
    return hm.Body(name=name, joint=hm.joints.Free(**joint), inertia=inertia, shapes=[shape])


def simulation(bodies, parts, step, **options):
    model = hm.Model(name="dry", bodies=bodies, world=DRY)
    return hm.Simulation(model, components=parts, step=step, record=0.05, **options)


def block(rough, size, at=(0, 0, 0), rpy=(0, 0, 0)):
    return Terrain(name="block", material=rough, shape=geometry.Box(size=size).at(at, rpy))


@functools.cache
def pair_of(a, b):
    """A model of two free bodies, and a compiled function of q that returns energy, force and gap."""
    model = hm.Model(name="two", bodies=[body("a", SHAPES[a]), body("b", SHAPES[b])])
    (pair,) = contact_pairs(model, [BodyContact(bodies=("a", "b"), material=ELASTIC)])
    assert isinstance(pair, ConvexPair)

    def of(q, each=compiler.each):
        kin = dynamics.kinematics(model, q, np.zeros(12))
        action = pair.act(Now(model, 0.0, q, np.zeros(12), kin, None, each), {}, {})
        force = {w.body: w.F_Bo_B for w in action.forces}
        return np.asarray(action.energy), np.concatenate([force[0], force[1]]), np.asarray(action.record["contact_gap"])

    outputs = {"energy": (), "force": (12,), "gap": ()}
    return model, of, compiler.compile_function(f"{a}_{b}", of, {"q": (14,)}, outputs, lanes=8)


def poses(count, spread, seed=5):
    rng = np.random.default_rng(seed)
    q = np.zeros((count, 14))
    q[:, 7:] = 0.03, 0.02, -0.01, *quaternion_exp(np.array([0.3, -0.2, 0.1]))
    q[:, :3] = spread * rng.normal(size=(count, 3))
    turns = rng.normal(size=(count, 4))
    q[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return q


PAIRS = list(itertools.combinations_with_replacement(SHAPES, 2))
PAIRS.remove(("capsule", "capsule"))  # one probe is exact


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_force_is_the_gradient_of_the_energy(a, b):
    """At 300 random poses, most of them deep inside, central differences agree to 1e-6 of the force.

    Over the better of two steps: an onset of contact can lie between the differences of the larger one.
    """
    model, _, code = pair_of(a, b)
    q = poses(300, 0.1)
    energy, force, _ = code([q])
    dyn, error, size = hm.compile(model, lanes=8), np.inf, np.abs(force).max(axis=1).clip(1.0)
    for step in (1e-6, 1e-8):
        slope = np.zeros_like(force)
        for k, direction in enumerate(np.eye(12)):
            ahead, behind = (code([dyn.integrate(q, s * step * direction, 1.0)])[0] for s in (1.0, -1.0))
            slope[:, k] = (behind - ahead) / (2.0 * step)
        rounding = 8.0 * np.finfo(float).eps * energy / step
        error = np.minimum(error, (np.abs(force - slope).max(axis=1) - rounding) / size)
    assert (energy > 0.0).sum() > 200
    assert error.max() < 1e-6


def test_derivatives_of_the_force():
    """Stiffness for implicit integrators: the derivative of the program, without its searches, and central differences."""
    _, of, code = pair_of("cylinder", "capsule")
    slopes = compiler.jacobian_program(compiler.trace(lambda q: of(q, None)[1], {"q": (14,)}), ("q",))
    for q in poses(5, 0.08, seed=1):
        ahead, behind = (code([q + 1e-7 * s * np.eye(14)])[1] for s in (1.0, -1.0))
        expected = (ahead - behind).T / 2e-7
        assert np.abs(expected).max() > 1e3  # they touch
        np.testing.assert_allclose(slopes(q)[0], expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", [*SHAPES, "disc"])
@pytest.mark.parametrize("feature", ["edge", "disc"])
def test_features_touch_at_their_deepest_points(name, feature):
    """The gap of a convex problem bounds the error of its minimum: max over z of the feature of g · (x − z)."""
    field, radius, bias = field_of(SHAPES.get(name, DISC), 0.003), 0.14, 2e-3
    off = bias / (8.0 * radius**2)

    def of(R, p):
        if feature == "edge":
            found = on_edge(field, Edge((0.0, 0.0, -radius), (0.0, 0.0, 2.0 * radius), 0.5, bias), R, p, 1.0)
            t = R[:, 2] @ (found.point - p) / (2.0 * radius) + 0.5
            slope = 2.0 * radius * R[:, 2] @ found.gradient + bias * (t - 0.5)
            return np.asarray(maximum(slope * t, slope * (t - 1.0))), found.point
        found = on_rim(field, Rim(0.0, radius, (0.0, radius), bias), R, p)
        y = R[:, :2].T @ (found.point - p)
        g = R[:, :2].T @ found.gradient + off * (y - np.array([0.0, radius]))
        return np.asarray(g @ y + radius * norm(g)), found.point

    code = compiler.compile_function(feature, of, {"R": (3, 3), "p": (3,)}, {"gap": (), "point": (3,)}, lanes=8)
    q = poses(2000, 0.12)[:, :7]
    R, p = np.array([quaternion_matrix(x) for x in q[:, 3:]]), q[:, :3]
    gap, point = code([R, p])
    assert np.abs(gap).max() < 1e-12
    along = np.einsum("nij,ni->nj", R, point - p)
    out = along[:, :2] if feature == "edge" else along[:, 2:]
    assert np.abs(out).max() < 1e-12 and np.linalg.norm(along, axis=1).max() < radius + 1e-12


def test_collision_groups():
    """All bodies of a group touch, except neighbours in a chain, welded bodies and exclusions; a pair of its own wins."""
    box, weld, hinge = SHAPES["box"], hm.joints.Fixed(), hm.joints.Revolute()
    bodies = [body(name, box) for name in ("base", "crate", "stone")]
    inertia = bodies[0].inertia
    for name, parent, joint in (("case", "base", weld), ("arm", "case", hinge), ("hand", "arm", hinge)):
        bodies.append(hm.Body(name=name, parent=parent, joint=joint, inertia=inertia, shapes=[box]))
    bodies.append(hm.Body(name="bare", joint=hm.joints.Free(), inertia=inertia))
    model = hm.Model(name="m", bodies=bodies)
    group, own = CollisionGroup(material=ELASTIC), BodyContact(bodies=("stone", "crate"), material=material(0.5))
    parts = [group, own, ContactExclusion(bodies=("hand", "stone"))]
    pairs = contact_pairs(model, parts)
    met = {frozenset((model.body_names[p.body], model.body_names[p.other])) for p in pairs}
    beside = [("base", "case"), ("case", "arm"), ("base", "arm"), ("arm", "hand"), ("hand", "stone")]
    names = ("base", "crate", "stone", "case", "arm", "hand")
    assert met == {frozenset(x) for x in itertools.combinations(names, 2)} - {frozenset(x) for x in beside}
    assert [p.name for p in pairs if p.material is own.material] == ["stone on crate"]
    count, operations = contact_cost(model, pairs)
    assert count == len(pairs) == 10 and 2_000 < operations / count < 20_000
    with pytest.raises(ValueError, match="'bare' has no shape for contact"):
        contact_pairs(model, [CollisionGroup(bodies=("bare", "hand"), material=ELASTIC)])
    with pytest.raises(ValueError, match="at least two"):
        CollisionGroup(bodies=("hand",), material=ELASTIC)


def test_pairs_that_are_apart():
    """They are not evaluated: no force, and the gap is a lower bound; the anchor of friction settles as ṡ = −k/c s."""
    rough = material(0.5)
    model = hm.Model(name="two", bodies=[body("a", SHAPES["box"]), body("b", SHAPES["cylinder"])])
    (pair,) = contact_pairs(model, [BodyContact(bodies=("a", "b"), material=rough)])
    z = dict(zip(("sx", "sy", "sz", "twist"), (1e-3, 2e-3, -1e-3, 0.1), strict=True))
    q = poses(1, 0.0)[0]
    q[:3] = 0.5, 0.4, 0.3
    action = pair.act(Now(model, 0.0, q, np.ones(12), dynamics.kinematics(model, q, np.ones(12)), None), z, {})
    assert not any(w.F_Bo_B.any() for w in action.forces)
    assert 0.0 < action.record["contact_gap"] <= hm.distance(model, q, "a", "b").value
    for name, value in z.items():
        assert action.rates[name] == pytest.approx(-rough.friction.stiffness / rough.friction.damping * value)
    assert action.power < 0.0 < action.energy


@pytest.mark.parametrize(("a", "b"), [("box", "box"), ("box", "cylinder"), ("capsule", "hull")])
def test_floats_and_machine_code_agree(a, b):
    _, of, code = pair_of(a, b)
    q = poses(3, 0.1)
    for row, *compiled in zip(q, *code([q]), strict=True):
        for ours, theirs in zip(of(row, None), compiled, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_every_overlap_is_found(a, b):
    """Smaller shapes that overlap exert a force, and shapes that are apart none; edges are rounded by 3 % of the size.

    The acute edges of the hull reach the axis of a capsule early.
    """
    model, _, code = pair_of(a, b)
    q = poses(2000, 0.25)
    energy = code([q])[0]
    distance = hm.distance(model, q, "a", "b").value
    assert not np.any(energy[distance > (0.02 if "capsule" in (a, b) else 0.006)] > 0.0)
    overlap = hm.distance(_smaller(a, b), q, "a", "b").value <= 0.0
    assert overlap.sum() > 300 and np.all(energy[overlap] > 0.0)


@functools.cache
def _smaller(a, b):
    """The same bodies with shapes of 90 % of the size."""
    return hm.Model(name="small", bodies=[body(name, _scaled(SHAPES[shape])) for name, shape in (("a", a), ("b", b))])


def _scaled(shape, by=0.9):
    match shape:
        case geometry.Box():
            return geometry.Box(size=tuple(by * x for x in shape.size))
        case geometry.Convex():
            return geometry.Convex(points=tuple(tuple(by * x for x in point) for point in shape.points))
    return type(shape)(radius=by * shape.radius, length=by * shape.length)


@pytest.mark.parametrize("name", ["box", "hull"])
def test_a_tumbling_body_keeps_its_energy(name):
    """Half inside a thin block of soft material: the residual of RK4 falls with the step, so there is no jump of energy."""
    start = dict(position=(0.05, 0.02, -0.6), orientation=tuple(quaternion_exp(np.array([0.9, 0.5, -0.3]))))
    residuals, depth = [], 0.0
    for step in (4e-4, 1e-4):
        thrown = body("a", SHAPES[name], velocity=(0.3, 0.2, 1.5, 2.0, 3.0, 1.0), **start)
        soft = Material(law=NonlinearContact(stiffness=4e3))
        run = simulation([thrown], [block(soft, (0.8, 0.7, 0.3), (0, 0, 0.15))], step).run(0.8).recording
        residuals.append(float(np.abs(run.energy_residual).max()))
        depth = -float(run.contact_gap.min())
    assert depth > 0.03
    assert residuals[1] < 1e-3 and residuals[1] < 0.4 * residuals[0] + 1e-6


def test_a_crate_on_a_plinth_of_its_size():
    crate = body("a", SHAPES["box"], position=(0, 0, -0.2995))
    run = simulation([crate], [block(material(0.5), (0.4, 0.3, 0.2), (0, 0, -0.1))], 1e-3).run(3.0).recording
    assert float(run.contact_force[-1].sum()) == pytest.approx(MASS * G, rel=1e-4)
    np.testing.assert_allclose(run.q[-1], [0, 0, run.q[-1][2], 1, 0, 0, 0], atol=1e-9)
    assert abs(float(run.q[-1][2]) + 0.3) < 2e-3


def test_a_stack_carries_its_weight():
    """Interface i of a stack of n carries (n − i) m g."""
    n, side, rough = 3, 0.2, material(0.6, 5e4)
    cube = geometry.Box(size=(side,) * 3)
    bodies = [body(f"b{i}", cube, position=(0, 0, -side * (i + 0.5))) for i in range(n)]
    parts = [block(rough, (1, 1, 0.2), (0, 0, 0.1))]
    parts += [BodyContact(bodies=(f"b{i}", f"b{i + 1}"), material=rough) for i in range(n - 1)]
    run = simulation(bodies, parts, 1e-3).run(5.0).recording
    forces = dict(zip(run.contact.values, run.contact_force[-1].values, strict=True))
    loads = [sum(f for name, f in forces.items() if name.endswith("on block"))]
    loads += [forces[f"b{i} on b{i + 1}"] for i in range(n - 1)]
    np.testing.assert_allclose(loads, MASS * G * np.arange(n, 0, -1), rtol=1e-3)
    assert np.abs(run.q[-1].values.reshape(n, 7)[:, :2]).max() < 1e-6


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("length", [0.08, 0.5])
def test_a_wheel_rolls(flat, length):
    """a = ⅔ g sin θ; the contact follows the rim, so it is exact to the penetration over the radius, about 1e-3."""
    angle, R = np.radians(15.0), 0.2
    up = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    rough = material(0.8, 1e5)
    slope = (
        Terrain(name="slope", material=rough, shape=geometry.Plane.through((0, 0, 0), tuple(up)))
        if flat
        else block(rough, (8.0, 2.0, 0.5), tuple(-0.25 * up), (0.0, -angle, 0.0))
    )
    wheel = geometry.Cylinder(radius=R, length=length)
    turned = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    rolling = body("wheel", wheel, position=tuple((R - 1e-4) * up), orientation=turned)
    run = simulation([rolling], [slope], 4e-4).run(1.2).recording
    along = run.q.values[:, :3] @ [np.cos(angle), 0.0, np.sin(angle)]
    late = run.time.values > 0.3
    acceleration = 2.0 * np.polyfit(run.time.values[late], along[late], 2)[0]
    assert acceleration == pytest.approx(2.0 / 3.0 * G * np.sin(angle), rel=2e-4)


@pytest.mark.parametrize("flat", [True, False])
def test_an_upright_drum_stands(flat):
    rough = material(0.5)
    floor = Terrain(name="floor", material=rough, shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)))
    drum = geometry.Cylinder(radius=0.15, length=0.4)
    pushed = body("drum", drum, position=(0, 0, -0.1995), velocity=(0, 0, 0, 0.3, 0, 0))
    run = simulation([pushed], [floor if flat else block(rough, (2, 2, 0.2), (0, 0, 0.1))], 1e-3).run(3.0).recording
    assert float(run.q[-1][3]) == pytest.approx(1.0, abs=1e-6)
    assert float(run.contact_force[-1].sum()) == pytest.approx(MASS * G, rel=1e-4)


def test_edges_that_cross_touch():
    """Two square bars on their edges, crossed: the upper one bounces; half the weight per edge without motion."""
    rough = material(0.5)
    high = 0.1 * np.sqrt(2.0)
    turn = (np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0)
    bar = body("bar", geometry.Box(size=(0.2, 0.6, 0.2)), position=(0, 0, -3.0 * high + 0.002), orientation=turn)
    lower = block(rough, (0.6, 0.2, 0.2), (0, 0, -high), (np.pi / 4, 0, 0))
    run = simulation([bar], [lower], 5e-4).run(0.4).recording
    assert -0.025 < float(run.contact_gap.min()) < -0.001
    assert float(run.q[:, 2].max()) < -3.0 * high + 0.04


@pytest.mark.parametrize(("excess", "slides"), [(0.995, False), (1.005, True)])
def test_an_incline_holds_up_to_the_angle_of_friction(excess, slides):
    """The late acceleration is 0 or g (sin θ − μ cos θ), within 0.5 % of the angle."""
    mu = 0.5
    angle = np.arctan(mu * excess)
    up = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    slope = block(material(mu), (8.0, 2.0, 0.5), tuple(-0.25 * up), (0.0, -angle, 0.0))
    turn = (np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0)
    box = body("a", SHAPES["box"], position=tuple(0.0990 * up), orientation=turn)
    run = simulation([box], [slope], 1e-3).run(6.0).recording
    u, t = run.v.values[:, 0], run.time.values
    rate = np.polyfit(t[t > 5.0], u[t > 5.0], 1)[0]
    expected = G * (np.sin(angle) - mu * np.cos(angle))
    assert rate == pytest.approx(expected if slides else 0.0, abs=2e-3)
    assert (u[-1] > 0.01) == slides


LAW = DryFriction(static=0.5, kinetic=0.5, stiffness=1e4, damping=200.0)


def test_friction_of_a_patch_never_adds_energy():
    """Loss ≥ 0 and the force within the limit surface for random states, also for points (R = 0) and without pressure."""
    rng = np.random.default_rng(2)
    for k in range(2000):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        v = rng.normal(size=3) * 10.0 ** rng.uniform(-4, 1)
        v -= (n @ v) * n
        N, R = (0.0 if k % 7 == 0 else 10.0 ** rng.uniform(-3, 4)), (0.0 if k % 5 == 0 else 10.0 ** rng.uniform(-4, 0))
        s, twist, spin = 10.0 ** rng.uniform(-6, -1) * rng.normal(size=3), rng.normal() * 0.1, rng.normal()
        got = patch_friction(LAW, 0.1, N, R, n, s, twist, v, spin)
        scale = LAW.damping * (v @ v + 0.01 * spin**2) + LAW.stiffness**2 / LAW.damping * (s @ s + 0.01 * twist**2)
        assert got.loss >= -1e-12 * scale
        limit = 0.5 * N
        assert np.linalg.norm(got.force) <= limit * (1 + 1e-9)
        assert abs(got.torque) <= limit * max(R, 1e-12) * (1 + 1e-9)
        rates = LAW.stiffness * (s @ got.s_rate) + LAW.stiffness * 0.01 * twist * got.twist_rate
        assert got.force @ v + got.torque * spin - rates == pytest.approx(got.loss, abs=1e-9 * scale)


def test_limits_of_a_patch():
    """Pure slip is limited by μN, pure spin by μNR; a point has its full sliding friction while it spins."""
    n, zero = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    slip = patch_friction(LAW, 0.1, 100.0, 0.05, n, zero, 0.0, np.array([3.0, 0.0, 0.0]), 0.0)
    spin = patch_friction(LAW, 0.1, 100.0, 0.05, n, zero, 0.0, zero, 50.0)
    point = patch_friction(LAW, 0.1, 100.0, 0.0, n, zero, 0.0, np.array([3.0, 0.0, 0.0]), 50.0)
    np.testing.assert_allclose(slip.force, [50.0, 0.0, 0.0], rtol=1e-12)
    assert spin.torque == pytest.approx(100.0 * 0.5 * 0.05, rel=1e-12)
    np.testing.assert_allclose(point.force, [50.0, 0.0, 0.0], rtol=1e-6)


@pytest.mark.parametrize(("part", "turns"), [(0.9, False), (1.1, True)])
def test_a_pad_turns_above_the_limit_of_torsion(part, turns):
    """A drum stands on 4 points of its rim: R is the radius of its disc, and the limit of a moment about its axis μ N R."""
    mu, drum = 0.5, geometry.Cylinder(radius=0.15, length=0.2)
    floor = Terrain(name="floor", material=material(mu), shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)))
    standing = body("drum", drum, position=(0, 0, -0.099))
    R = 0.15 - 0.06 * 0.1  # less the rounding
    moment = part * mu * MASS * G * R
    push = hm.actuation.ExternalWrench(body="drum")
    sim = simulation([standing], [floor, push], 1e-3)
    sim.run(1.5)
    sim.set_wrench("drum", (0, 0, 0, 0, 0, moment))
    run = sim.run(1.0).recording
    assert (abs(float(run.v[-1][5])) > 0.3) == turns


def test_worlds_and_resumed_runs():
    """A crate that slides and turns on a block: worlds equal the simulation, and a resumed run is the same to the last bit."""
    crate = body("a", SHAPES["box"], position=(0, 0, -0.2995), velocity=(0.5, 0.2, 0, 0, 0, 3.0))
    parts = [block(material(0.3), (2, 2, 0.2), (0, 0, -0.1))]
    sim = simulation([crate], parts, 1e-3)
    start = sim.state
    whole = sim.run(0.2).state
    sim.reset(start)
    sim.reset(sim.run(0.07).state)
    resumed = sim.run(0.13).state
    for x, y in ((whole.q, resumed.q), (whole.v, resumed.v), (whole.internal, resumed.internal)):
        np.testing.assert_array_equal(x, y)
    worlds = hm.Worlds(sim.plant, 3, step=1e-3)
    worlds.run(0.2)
    np.testing.assert_allclose(worlds.q, np.tile(whole.q, (3, 1)), atol=1e-9)
