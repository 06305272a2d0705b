"""DynaMechs `.dm`: what the papers name is read with the papers' conventions; the rest is listed; errors have lines."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.robot_study import ROBOTS

import hydromechs as hm
from hydromechs import geometry
from hydromechs.formats import convert_file, import_file, loads_robot
from hydromechs.model import Origin, added_mass, drag, joints

VEHICLE = (ROBOTS / "vehicle.dm").read_text(encoding="utf-8")


def about_com(mass, c, I):
    c = np.array(c)
    I = np.array(I).reshape(3, 3) - mass * (c @ c * np.eye(3) - np.outer(c, c))
    return hm.Inertia(mass=mass, com=tuple(c), tensor=(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))


def in_python():
    """The same mechanism with our conventions: about the centre of mass, linear first."""
    M = np.diag([60.0, 90, 110, 4, 6, 7])
    M[0, 4] = M[4, 0] = 2.0
    M[1, 3] = M[3, 1] = -3.0
    I = np.diag

    def mdh(**values):
        return hm.Mdh(**values)

    half = np.array([0.1, -0.2, 0.7]) / 2
    x, y, z = (np.array([math.cos(a), *(math.sin(a) * np.eye(3)[k])]) for k, a in enumerate(half))

    def times(p, q):
        return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])

    bodies = (
        hm.Body(
            name="vehicle",
            joint=joints.Free(position=(1, 2, 3), orientation=tuple(times(z, times(y, x))), velocity=(1, 2, -1, 0.1, 0.2, 0.3)),
            inertia=about_com(120.0, (0.02, -0.01, 0.05), [9, 0.1, -0.2, 0.1, 12, 0.3, -0.2, 0.3, 14]),
            hydro=hm.Hydro(
                volume=0.118,
                buoyancy_center=(0.01, 0, -0.04),
                added_mass=added_mass.Matrix(tuple(map(tuple, M))),
                drag=drag.ShapeDrag(shape=geometry.Cylinder.between((0, 0, 0), (1.2, 0, 0), radius=0.3), coefficient=1.1),
            ),
        ),
        hm.Body(
            name="chain1_link1",
            parent="vehicle",
            joint=joints.Revolute(placement=mdh(a=0.6, alpha=1.2, d=0.1, branch_d=0.2, branch_theta=-0.3), position=0.4),
            inertia=about_com(8.0, (0.2, 0, 0.01), I([0.1, 0.5, 0.5])),
            hydro=hm.Hydro(
                volume=0.006,
                buoyancy_center=(0.2, 0, 0),
                drag=drag.ShapeDrag(shape=geometry.Cylinder.between((0, 0, 0), (0.4, 0, 0), radius=0.05), coefficient=1.2),
            ),
        ),
        hm.Body(
            name="chain1_link2",
            parent="chain1_link1",
            joint=joints.Prismatic(placement=mdh(a=0.4, alpha=-math.pi / 2, theta=0.2), position=0.15, velocity=0.05),
            inertia=about_com(3.0, (0, 0.1, 0.2), I([0.4, 0.4, 0.2])),
        ),
        hm.Body(
            name="tree1_link1",
            parent="vehicle",
            joint=joints.Revolute(placement=mdh(a=-0.3, alpha=0.5), position=0.9),
            inertia=about_com(5.0, (0.1, 0, 0), I([0.05, 0.2, 0.2])),
        ),
        hm.Body(
            name="pad",
            parent="tree1_link1",
            joint=joints.Ball(placement=Origin((0.3, 0, 0.1))),
            inertia=about_com(1.0, (0, 0, 0.03), I([0.01, 0.01, 0.01])),
        ),
        hm.Body(
            name="tree1_link3",
            parent="tree1_link1",
            joint=joints.Revolute(placement=mdh(a=0.2), position=0.3),
            inertia=about_com(2.0, (0.1, 0, 0), I([0.01, 0.05, 0.05])),
        ),
    )
    return hm.Model(name="by hand", bodies=bodies)


def assert_same_accelerations(model, same):
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = hm.integrate(same, same.initial().q, rng.standard_normal(same.nv), 1.0)
        v, tau, current = rng.standard_normal(same.nv), rng.standard_normal(same.nv), rng.standard_normal(3)
        a, b = (hm.forward_dynamics(m, q, v, tau, fluid_velocity=current) for m in (model, same))
        # rounding of the tensors, which were moved to the centre and back, times the condition of the mass matrix
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())


def written(model):
    """A dry model as the text of a `.dm` file: tensors about the origin, joints by MDH parameters, balls by Euler angles."""
    blocks, numbers = [], {None: 0}
    for body in model.bodies:
        c, m, joint = np.array(body.inertia.com), body.inertia.mass, body.joint
        xx, yy, zz, xy, xz, yz = body.inertia.tensor
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + m * (c @ c * np.eye(3) - np.outer(c, c))
        said = [f'name "{body.name}"', f"mass {m!r}", _row("cgPos", c), _row("Ibar", I.ravel())]
        if joint.kind in ("free", "fixed"):
            blocks.append(("MobileBase" if joint.kind == "free" else "FixedBase", said if joint.kind == "free" else said[:1]))
            numbers[body.name] = 0
            continue
        said.append(f"predecessor {numbers[body.parent]}")
        numbers[body.name] = len([k for k, _ in blocks if k.endswith("Link")]) + 1
        if joint.kind == "ball":
            blocks.append(("BallnSocketLink", [*said, _row("p", joint.placement.xyz)]))
            continue
        place, turns = joint.placement, joint.kind == "revolute"
        said += [
            f"aMDH {place.a!r} alphaMDH {place.alpha!r}",
            f"d_branch {place.branch_d!r} theta_branch {place.branch_theta!r}",
        ]
        said.append(f"dMDH {place.d!r} thetaMDH {joint.position!r}")
        blocks.append(("RevoluteLink" if turns else "PrismaticLink", said))
    if not any(k.endswith("Base") for k, _ in blocks):
        blocks.insert(0, ("FixedBase", []))
    text = {
        k: "\n".join(f"  {kind} {{ {' '.join(said)} }}" for kind, said in blocks if kind.endswith(k)) for k in ("Base", "Link")
    }
    return f"System {{\n{text['Base']}\n  Tree {{\n{text['Link']}\n  }}\n}}\n"


def _row(word, numbers):
    return f"{word} {' '.join(repr(float(x)) for x in numbers)}"


@pytest.fixture(scope="module")
def vehicle():
    return loads_robot(VEHICLE, "vehicle.dm")


def test_a_vehicle_with_chain_and_tree_moves_as_the_one_built_in_python(vehicle):
    model, same = vehicle.model, in_python()
    assert (model.name, model.body_names) == ("vehicle and arm", same.body_names)
    start, want = model.initial(), same.initial()
    pad = model.q_slices[4]
    want.q[pad] = start.q[pad]  # its Euler angles are checked below
    np.testing.assert_allclose(start.q, want.q, atol=1e-15)
    np.testing.assert_array_equal(start.v, want.v)
    assert_same_accelerations(model, same)


@pytest.mark.parametrize("name", ["puma560", "aquarobot"])
def test_mechanisms_of_the_thesis_move_as_those_of_the_library(name):
    """Dry: four PUMA 560 are the example of its first part, Aquarobot with its ball joints that of its second."""
    bodies = [replace(b, hydro=None) for b in hm.load(name).bodies]
    held = {b.name for b in bodies if b.parent and b.joint.kind == "revolute" and isinstance(b.joint.placement, Origin)}
    bodies = [b for b in bodies if b.name not in held and b.parent not in held]  # the boom, which is not placed by MDH
    dry = hm.Model(name=name, bodies=bodies, world=hm.World(axes="NED"))
    imported = loads_robot(written(dry), f"{name}.dm")
    assert imported.model.nv == dry.nv
    assert_same_accelerations(imported.model, dry)


def test_puma_agrees_with_pinocchio():
    """Their model is put together here from the numbers of the file, by elementary matrices (Craig's, modified)."""
    pin = pytest.importorskip("pinocchio", reason="needs pip install 'hydromechs[pinocchio]'")
    arm = [b for b in hm.load("puma560").bodies if b.joint.nv]
    text = written(
        hm.Model(name="puma", bodies=[replace(b, hydro=None, parent=arm[i - 1].name if i else None) for i, b in enumerate(arm)])
    )
    model = loads_robot(text, "puma.dm").model
    peer, at = pin.Model(), 0
    peer.gravity.linear = np.array([0, 0, 9.81])
    for body in arm:
        place, i = body.joint.placement, body.inertia
        x = pin.SE3(pin.utils.rotate("x", place.alpha), np.array([place.a, 0, 0]))
        z = pin.SE3(pin.utils.rotate("z", place.theta), np.array([0, 0, place.d]))
        at = peer.addJoint(at, pin.JointModelRZ(), x * z, body.name)
        xx, yy, zz, xy, xz, yz = i.tensor
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        peer.appendBodyToJoint(at, pin.Inertia(i.mass, np.array(i.com), tensor), pin.SE3.Identity())
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, tau = rng.standard_normal((3, 6))
        theirs = pin.aba(peer, peer.createData(), q, v, tau)
        np.testing.assert_allclose(hm.forward_dynamics(model, q, v, tau), theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


def test_euler_angles_are_about_z_then_y_then_x(vehicle):
    R = vehicle.model.bodies[4].joint.orientation
    np.testing.assert_allclose(hm.spatial.quaternion_matrix(np.array(R)), Origin(rpy=(0.1, 0.2, 0.3)).R, atol=1e-15)


def test_what_cannot_be_represented_is_listed_with_its_line(vehicle):
    notes = {(n.line, n.kind, n.value.split()[0]) for n in vehicle.notes}
    assert {(13, "ignored", "acc"), (20, "ignored", "Actuator"), (26, "ignored", "EndEffector")} <= notes
    assert (2, "assumed", "the") in notes
    assert any(n.value == "ratio of Actuator 100" for n in vehicle.notes)
    assert vehicle.format == "DynaMechs"


def test_fixed_base_is_fixed_in_the_world():
    text = (
        "System { FixedBase { pos 1 0 0 pose 0 0 1.5707963267948966 mass 3 } SerialChain { RevoluteLink { mass 2 cgPos 0.5 0 0"
    )
    imported = loads_robot(
        text + " Ibar 0 0 0 0 0.5 0 0 0 0.5 aMDH 0 alphaMDH 1.5707963267948966 dMDH 0 thetaMDH 0 } } }", "arm.dm"
    )
    model = imported.model
    assert [b.joint.kind for b in model.bodies] == ["fixed", "revolute"]
    assert any(n.value.startswith("mass 3") and n.kind == "ignored" for n in imported.notes)
    # a rod held level, its axis across gravity (z down): I a = m g l about an axis along -y of the base, downwards
    a = hm.forward_dynamics(model, np.zeros(1), np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(a, [2 * 9.81 * 0.5 / 0.5], rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no block"),
        ("System {\n MobileBase {\n mass 1\n", 4, "MobileBase of line 2 is not closed"),
        ("System { MobileBase { mass 1 } }\n}", 2, "has no matching"),
        ("System {\n 5 }", 2, "the value 5 has no keyword"),
        ("Robot {\n}", 1, "start with System {"),
        ("System {\n}", 1, "0 reference members"),
        ("System { MobileBase { mass 1 }\n FixedBase { } }", 2, "2 reference members"),
        ("System { MobileBase {\n mass one } }", 2, "mass is ''"),
        ("System { MobileBase {\n mass 1 2 } }", 2, "must be a finite number"),
        ("System { MobileBase {\n mass nan } }", 2, "must be a finite number"),
        ("System { MobileBase {\n mass 1\n mass 2 } }", 3, "twice, first in line 2"),
        ("System {\n MobileBase { cgPos 0 0 0 } }", 2, "has no mass"),
        ("System {\n MobileBase { mas 3 } }", 2, "has no mass, but mas"),
        ("System {\n MobileBase { mass -1 } }", 2, "must be at least 0"),
        ("System {\n MobileBase { mass 1 Ibar 1 2 0 0 1 0 0 0 1 } }", 2, "symmetric"),
        ("System {\n MobileBase { mass 1 Cd 1 } }", 2, "but no axis, length, radius"),
        ("System {\n MobileBase { mass 1 axis 3 Cd 1 length 1 radius 1 } }", 2, "must be 0, 1 or 2"),
        ("System { MobileBase { mass 1 }\n Tree {\n RevoluteLink { mass 1 predecessor 1 } } }", 3, "predecessor is 1"),
        (
            'System { MobileBase { mass 1 name "x" }\n Tree {\n RevoluteLink { name "x" mass 1 } } }',
            3,
            "appears twice, first in line 1",
        ),
        ('System { MobileBase { mass 1 name "x\n } }', 1, "double quotes"),
        ("System {\n" + "a { " * 30, 2, "20 levels"),
        (b"System {\n\xff", 2, "0xff"),
    ],
)
def test_errors_have_the_line_and_the_words(text, line, words):
    with pytest.raises(hm.ModelError) as error:
        loads_robot(text, "x.dm")
    fault = error.value.faults[0]
    assert (fault.line, words in fault.text) == (line, True), str(error.value)


def test_files_are_loaded_and_converted_by_their_ending(tmp_path, vehicle):
    path = tmp_path / "vehicle.dm"
    path.write_text(VEHICLE)
    assert import_file(path).model == vehicle.model
    with pytest.warns(UserWarning, match="ignored"):
        assert hm.load(path) == vehicle.model
    assert hm.load_plant(path).model == vehicle.model
    convert_file(path, tmp_path / "vehicle.yaml")
    assert "ignored" in (tmp_path / "vehicle.yaml").read_text()
    assert hm.load(tmp_path / "vehicle.yaml").bodies == vehicle.model.bodies
    with pytest.raises(hm.UnsupportedFeature, match=r"\.dm"):
        hm.save(vehicle.model, tmp_path / "out.dm")
