"""Flexible links: beam theory, conservation, and two independent formulations."""

import itertools
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import hydromechs as hm
from hydromechs import files
from hydromechs.formats import drawing_attrs, drawn_files, drawn_scenario, dumps, loads
from hydromechs.model.flexible import Beam, ModalLink, WetSection
from hydromechs.scenario import ModelStart, Scenario

L, MU, EI, RADIUS = 2.0, 3.0, 150.0, 0.03
WET = MU + 1025.0 * np.pi * RADIUS**2
CALM = hm.World(gravity=0.0)
BEAM = Beam(length=L, mass=MU, bending_y=EI, bending_z=2.5 * EI, counts=(3, 2, 0), damping_ratio=0.0)
STRIP = WetSection(radius=RADIUS)


def cantilever(beam, tip=0.0):
    load = hm.Body(name="load", parent="arm.tip", joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=tip))
    return hm.Model(name="beam", world=CALM, bodies=[hm.Body(name="arm", joint=hm.joints.Fixed(), flexible=beam), load])


def stiffness(model):
    K = np.zeros((model.nv, model.nv))
    for part in model.joint_parts.values():
        if isinstance(part.joint, hm.joints.ModalJoint):
            K[part.v, part.v] = np.diag(part.joint.stiffness)
    return K


def frequencies(model):
    M = hm.mass_matrix(model, model.neutral()[0])
    return np.sqrt(np.abs(eigh(stiffness(model), M, eigvals_only=True)))


def euler_bernoulli(mass, tip=0.0, n=3):
    """Natural frequencies of a cantilever with a point mass at its end."""
    r = tip / (mass * L)

    def f(b):
        c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        return c * ch + 1.0 - r * b * (s * ch - c * sh)

    x = np.linspace(0.1, 14.0, 4000)
    roots = [brentq(f, a, b) for a, b in itertools.pairwise(x) if f(a) * f(b) < 0.0]
    return np.array(roots[:n]) ** 2 * np.sqrt(EI / (mass * L**4))


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("tip", [0.0, 3.0, 30.0])
def test_frequencies_of_a_cantilever(tip, wet):
    """Ritz shapes are exact to 1e-4; those without the load of the tip leave 1 % of the first two of three modes."""
    beam = replace(BEAM, counts=(3, 0, 0), water=STRIP if wet else None)
    exact = euler_bernoulli(WET if wet else MU, tip)
    np.testing.assert_allclose(frequencies(cantilever(replace(beam, tip_mass=tip), tip)), exact, rtol=1e-4)
    np.testing.assert_allclose(frequencies(cantilever(beam, tip))[:2], exact[:2], rtol=0.01)


def test_modes_of_a_plant():
    """hm.modes has the frequency in water and the damping ratio of the beam."""
    plant = hm.Simulation(cantilever(replace(BEAM, counts=(2, 0, 0), damping_ratio=0.02, water=STRIP))).plant
    found = hm.modes(plant).oscillating
    np.testing.assert_allclose([2 * np.pi * m.natural_frequency for m in found], euler_bernoulli(WET, n=2), rtol=1e-6)
    np.testing.assert_allclose([m.damping_ratio for m in found], 0.02, rtol=1e-6)


def test_twist():
    """ω_k = (k − ½) π √(GJ/J)/L."""
    beam = replace(BEAM, counts=(0, 0, 2), torsion=80.0, twist_inertia=0.01)
    exact = (np.arange(2) + 0.5) * np.pi * np.sqrt(80.0 / 0.01) / L
    np.testing.assert_allclose(frequencies(cantilever(beam)), exact, rtol=1e-6)


@pytest.mark.parametrize("eta, flap", [(1.0, 3.6817), (3.0, 4.7973), (6.0, 7.3604)])
def test_a_rotating_beam_is_stiffer(eta, flap):
    """Wright et al. 1982: ω √(m L⁴/EI) across the plane of rotation; in it, ω² is smaller by η². Both need the shortening."""
    unit = np.sqrt(EI / (MU * L**4))
    for axis, expected in (((0, 1, 0), flap), ((0, 0, 1), np.sqrt(flap**2 - eta**2))):
        arm = hm.Body(name="arm", joint=hm.joints.Revolute(axis=axis), flexible=replace(BEAM, counts=(5, 0, 0)))
        model = hm.Model(name="rotor", bodies=[arm], world=CALM)
        q, v = model.neutral()
        v[0] = eta * unit
        force = lambda x, model=model, v=v: hm.inverse_dynamics(model, x, v, 0.0 * v)[1:]  # noqa: E731
        h = 1e-5 * np.eye(model.nv)[1:]
        K = stiffness(model)[1:, 1:] + np.stack([(force(q + e) - force(q - e)) / 2e-5 for e in h], axis=1)
        M = hm.mass_matrix(model, q)[1:, 1:]
        found = np.sqrt(eigh(0.5 * (K + K.T), M, eigvals_only=True)[0]) / unit
        assert found == pytest.approx(expected, rel=2e-4)


def vehicle(wet, **changes):
    """A free vehicle with a flexible arm that carries a joint and a hand."""
    hydro = hm.Hydro(volume=0.02, added_mass=hm.added_mass.Diagonal((5, 6, 7, 1, 2, 3))) if wet else None
    beam = replace(BEAM, torsion=80.0, twist_inertia=0.01, counts=(2, 2, 1), water=STRIP if wet else None, **changes)
    hull = hm.Inertia(mass=20.0, com=(0.1, 0.02, -0.03), tensor=(2, 2.5, 3, 0.1, 0.2, 0.05))
    hinge = hm.joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0.3, 0.1, 0.2), (0.3, 0.2, 0.1)))
    hand = hm.Inertia(mass=2.0, com=(0.1, 0.05, 0.02), tensor=(0.02, 0.03, 0.04, 0, 0, 0))
    return hm.Model(
        name="flexible",
        world=hm.World(gravity=9.81 if wet else 0.0),
        bodies=[
            hm.Body(name="hand", parent="arm.tip", joint=hm.joints.Revolute(axis=(1, 0, 0)), inertia=hand),
            hm.Body(name="hull", joint=hm.joints.Free(), inertia=hull, hydro=hydro),
            hm.Body(name="arm", parent="hull", joint=hinge, inertia=hm.Inertia(mass=0.5), flexible=beam),
        ],
    )


def random_state(model, seed=1):
    rng = np.random.default_rng(seed)
    return hm.integrate(model, model.neutral()[0], 0.3 * rng.normal(size=model.nv), 1.0), *rng.normal(size=(2, model.nv))


@pytest.mark.parametrize("wet", [False, True])
def test_four_algorithms_agree(wet):
    """Articulated bodies, composite bodies with inverse dynamics, body Jacobians with C, and compiled code."""
    model = vehicle(wet)
    q, v, tau = random_state(model)
    flow = {"fluid_velocity": (0.3, 0.2, -0.1)} if wet else {}
    vdot = hm.forward_dynamics(model, q, v, tau, **flow)
    bias = hm.inverse_dynamics(model, q, v, 0.0 * v, **flow)
    M = hm.mass_matrix(model, q)
    np.testing.assert_allclose(hm.inverse_dynamics(model, q, v, vdot, **flow), tau, atol=1e-10)
    np.testing.assert_allclose(np.linalg.solve(M, tau - bias), vdot, atol=1e-8 * np.abs(vdot).max())
    dyn = hm.compile(model)
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau, **flow), vdot, atol=1e-9 * np.abs(vdot).max())
    np.testing.assert_allclose(dyn.closed_form(q, v).M, M, atol=1e-11)
    energy = hm.energy(model, q, v)
    assert 0.5 * v @ M @ v == pytest.approx(energy.kinetic_body + energy.kinetic_fluid, rel=1e-12)
    if not wet:
        np.testing.assert_allclose(hm.coriolis_matrix(model, q, v) @ v, bias, atol=1e-11)


def test_energy_and_momentum_of_a_free_vehicle():
    """Large motions in vacuum: the errors of rk4 fall by 16 and more when the step is halved."""
    model = vehicle(wet=False)
    start = model.initial()
    v = np.array([0.3, 0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.2, 0.0, 0.1, 0.0, 0.5, 0.3])
    start = replace(start, v=v)
    K = np.diag(stiffness(model))[7:12]
    energy = lambda s: hm.energy(model, s.q, s.v).total + 0.5 * K @ s.q[8:13] ** 2  # noqa: E731
    errors = []
    for step in (2e-3, 1e-3):
        sim = hm.Simulation(model, state=start, step=step, integrator="rk4")
        sim.run(1.0)
        moved = hm.equations.momentum(model, sim.state.q, sim.state.v) - hm.equations.momentum(model, start.q, v)
        errors.append([np.abs(moved).max(), abs(energy(sim.state) / energy(start) - 1.0)])
    assert np.all(np.array(errors[1]) < [1e-6, 1e-4])
    assert np.all(np.array(errors[0]) > 12.0 * np.array(errors[1]))


def test_lagranges_equations():
    """A beam on a hinge: kinetic energy by another quadrature of the displacement field, derivatives by differences."""
    model = hm.Model(
        name="hinged",
        world=CALM,
        bodies=[hm.Body(name="arm", joint=hm.joints.Revolute(axis=(0, 0, 1)), flexible=replace(BEAM, counts=(2, 0, 0)))],
    )
    x = np.linspace(0.0, 1.0, 2001)
    shapes = [shape for _, _, shape in _shapes(replace(BEAM, counts=(2, 0, 0)))]
    phi = np.array([s(x) for s in shapes])
    slopes = np.array([s.deriv()(x) / L for s in shapes])
    G = np.array([[np.concatenate([[0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * L / 2000)]) for f in a * slopes] for a in slopes])

    def kinetic(q, v):
        a, eta, da, deta = q[0], q[1:], v[0], v[1:]
        p = np.array([x * L - 0.5 * np.einsum("i,ijk,j->k", eta, G, eta), eta @ phi])
        rate = np.array([-np.einsum("i,ijk,j->k", eta, G, deta), deta @ phi])
        turned = rate + da * np.array([-p[1], p[0]])
        return 0.5 * MU * L * np.trapezoid((turned**2).sum(axis=0), x) + 0.0 * a

    q, v, vdot = np.array([0.4, 0.2, -0.05]), np.array([1.5, 0.7, -0.4]), np.array([0.3, -0.6, 0.9])
    units = np.eye(3)

    def momenta(q, v):  # T is quadratic in v: central differences are exact
        return np.array([kinetic(q, v + e) - kinetic(q, v - e) for e in units]) / 2.0

    h = 1e-4
    rate = (momenta(q + h * v, v + h * vdot) - momenta(q - h * v, v - h * vdot)) / (2.0 * h)
    push = np.array([kinetic(q + h * e, v) - kinetic(q - h * e, v) for e in units]) / (2.0 * h)
    # trapezoids of the second formulation err by 1e-6, differences by h²
    np.testing.assert_allclose(hm.inverse_dynamics(model, q, v, vdot), rate - push, atol=2e-5)


def _shapes(beam):
    from hydromechs.model._beam_modes import bending_shapes

    constant = lambda value: lambda s: np.full(np.shape(s), value)  # noqa: E731
    return [(k, 0, s.polynomial) for k, s in enumerate(bending_shapes(beam.counts[0], L, constant(MU), constant(EI), 0.0))]


def test_a_chain_of_segments():
    """80 rigid segments with hinges and springs on a free hull; the shapes do not know the rotary inertia of the load."""
    n, h = 80, L / 80
    hull = hm.Body(
        name="hull", joint=hm.joints.Free(), inertia=hm.Inertia(mass=6.0, com=(-0.1, 0, 0), tensor=(1, 1, 0.3, 0, 0, 0))
    )
    load = hm.Inertia(mass=2.0, tensor=(0.01, 0.01, 0.01, 0, 0, 0))
    fixed = hm.joints.Fixed()
    arm = hm.Body(name="arm", parent="hull", joint=fixed, flexible=replace(BEAM, counts=(5, 0, 0), tip_mass=2.0))
    modal = hm.Model(
        name="modal", bodies=[hull, arm, hm.Body(name="load", parent="arm.tip", joint=fixed, inertia=load)], world=CALM
    )
    segment = hm.Inertia(mass=MU * h, com=(h / 2, 0, 0), tensor=(1e-9, MU * h**3 / 12, MU * h**3 / 12, 0, 0, 0))
    bodies, parent = [hull], "hull"
    for k in range(n):
        place = hm.Origin((0.0 if k == 0 else h, 0, 0))
        joint = hm.joints.Revolute(axis=(0, 0, 1), placement=place)
        bodies.append(hm.Body(name=f"s{k}", parent=parent, joint=joint, inertia=segment))
        parent = f"s{k}"
    end = hm.joints.Fixed(placement=hm.Origin((h, 0, 0)))
    chain = hm.Model(name="chain", bodies=[*bodies, hm.Body(name="load", parent=parent, joint=end, inertia=load)], world=CALM)
    K = np.diag([0.0] * 6 + [2.0 * EI / h] + [EI / h] * (n - 1))
    of_chain = np.sqrt(np.abs(eigh(K, hm.mass_matrix(chain, chain.neutral()[0]), eigvals_only=True)))
    np.testing.assert_allclose(frequencies(modal)[6:9], of_chain[6:9], rtol=3e-3)


def test_files_and_changes(tmp_path):
    model = vehicle(wet=True, position=(0.1, 0.0, 0.05, 0.0, 0.2))
    again = loads(dumps(model))
    assert again == model and "section" not in dumps(model)
    assert again.initial().q[8] == 0.1
    assert again.coordinate_names[1][7:12] == tuple(f"arm.tip.{x}" for x in ("y1", "y2", "z1", "z2", "twist1"))
    assert replace(again, name="other").bodies == again.bodies
    pair = hm.attach(model, replace(cantilever(BEAM), world=model.world), frame="hull", prefix="left")
    assert pair.nv == model.nv + 5 and "left.arm.tip" in pair.body_names


def test_worlds_follow_the_simulation():
    model = vehicle(wet=True, position=(0.1, 0.0, 0.0, 0.0, 0.0))
    sim = hm.Simulation(model, step=1e-3)
    worlds = hm.Worlds(sim.plant, 3, step=1e-3)
    sim.run(0.05)
    worlds.run(0.05)
    np.testing.assert_allclose(worlds.q, np.tile(sim.state.q, (3, 1)), atol=1e-12)


def written_modes(path: Path, nodes=400):
    """The modes of the beam as a mode file, with point masses at equal distances."""
    shapes = _shapes(replace(BEAM, counts=(2, 0, 0)))
    rows = []
    for s in (np.arange(nodes) + 0.5) / nodes:
        row = [s * L, 0.0, 0.0, MU * L / nodes]
        for _, _, shape in shapes:
            row += [0.0, shape(s), 0.0, 0.0, 0.0, shape.deriv()(s) / L]
        rows.append(row)
    path.write_text("# x, y, z, mass, modes\n" + "\n".join(", ".join(map(repr, map(float, row))) for row in rows))


def test_modes_from_a_file(tmp_path):
    """A file with the shapes of the beam gives the frequencies of the beam."""
    written_modes(tmp_path / "arm.csv")
    (tmp_path / "arm.yaml").write_text(
        "hydromechs_model: 2\nname: arm\nbodies:\n  arm:\n    joint: fixed\n"
        f"    flexible: {{type: modes, file: arm.csv, frequencies: {euler_bernoulli(MU, n=2).tolist()}}}\n"
    )
    model = hm.load(tmp_path / "arm.yaml")
    np.testing.assert_allclose(frequencies(model), euler_bernoulli(MU, n=2), rtol=1e-3)
    assert "arm.csv" in dumps(model)


def test_a_recording_is_drawn_with_its_mode_file(tmp_path):
    """A replay reads the file that the run used, and no other at its path."""
    written_modes(tmp_path / "arm.csv")
    link = ModalLink(file="arm.csv", frequencies=tuple(euler_bernoulli(MU, n=2)), folder=str(tmp_path), water=STRIP)
    model = hm.Model(name="arm", bodies=[hm.Body(name="arm", joint=hm.joints.Fixed(), flexible=link)])
    attrs = drawing_attrs(Scenario(name="s", models=[ModelStart(model=model)], duration=1.0))
    with files.only(drawn_files(attrs)):
        assert drawn_scenario(attrs, "run").model.body_names == model.body_names
    with (tmp_path / "arm.csv").open("a") as file:
        file.write("# changed\n")
    with files.only(drawn_files(attrs)), pytest.raises(hm.ModelError, match="not a file of the run"):
        drawn_scenario(attrs, "run")


@pytest.mark.parametrize(
    "text, words",
    [
        ("1 0 0 1 0 1 0 0 0\n", ("line 1", "9 numbers", "10")),
        ("1 0 0 1 0 1 0 0 0 0\n", ("1 nodes",)),
        ("1 0 0 1 0 1 0 0 0 x\n", ("line 1", "not a number")),
        ("1 0 0 1 0 1 0 0 0 0\n" * 501, ("501 nodes", "500")),
        ("1 0 0 1 0 1 0 0 0 0\n1 0 0 1 0 1 0 0 0 0\n", ("nodes 1 and 2",)),
    ],
)
def test_wrong_mode_files_are_named(tmp_path, text, words):
    (tmp_path / "m.csv").write_text(text)
    link = ModalLink(file="m.csv", frequencies=(3.0,), folder=str(tmp_path))
    with pytest.raises(hm.ModelError) as e:
        hm.Model(name="m", bodies=[hm.Body(name="arm", joint=hm.joints.Fixed(), flexible=link)])
    assert "body 'arm'" in str(e.value) and all(w in str(e.value) for w in ("m.csv", *words))


def test_numbers_of_links_are_no_parameters():
    for path in ("arm.flexible.mass", "world.water_density"):
        with pytest.raises(KeyError, match="flexible"):
            hm.compile(cantilever(replace(BEAM, water=STRIP)), parameters=[path])


def test_wrong_beams_are_named():
    for change, word in (
        ({"counts": (2, 2, 1)}, "torsion"),
        ({"counts": (0, 0, 0)}, "counts"),
        ({"mass": 0.0}, "mass"),
    ):
        with pytest.raises(ValueError, match=word):
            replace(BEAM, **change)
    with pytest.raises(hm.ModelError, match=r"'arm'.*position.*must be 5"):
        cantilever(replace(BEAM, position=(0.1,)))
    with pytest.raises(hm.ModelError, match=r"arm\.top"):
        hm.Model(
            name="m",
            bodies=[
                hm.Body(name="arm", joint=hm.joints.Fixed(), flexible=BEAM),
                hm.Body(name="x", parent="arm.top", joint=hm.joints.Fixed()),
            ],
        )
    with pytest.raises(hm.UnsupportedFeature, match="flexible"), warnings.catch_warnings():
        hm.compile(vehicle(wet=False), form="rolled")
