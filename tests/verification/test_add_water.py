"""Water on a dry robot: what add_water guesses against closed forms, and that the model it makes obeys the laws of motion."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import Origin, geometry, naval
from hydromechs.model import added_mass_matrix
from hydromechs.spatial import Path, Turn, matrix_from_rpy

RHO = 1025.0
INERTIA = hm.Inertia(mass=20.0, com=(0.0, 0.01, 0.02), tensor=(0.5, 0.6, 0.7, 0.0, 0.0, 0.0))
POSE = Origin((0.3, -0.2, 0.5), (0.4, -0.9, 1.3))


def body(*parts, name="hull", **fields):
    return hm.Body(name=name, inertia=INERTIA, shapes=parts, **fields)


def watered(*parts, **options):
    return hm.add_water(hm.Model(bodies=[body(*parts)]), **options)


def added(model, index=0):
    return sum(added_mass_matrix(e, RHO) for e in model.bodies[index].hydro.added_mass)


def test_a_sphere_is_exact():
    model, report = watered(geometry.Sphere(radius=0.2).at((0.1, 0.2, 0.3)))
    hydro = model.bodies[0].hydro
    volume = 4 / 3 * pi * 0.2**3
    assert hydro.volume == pytest.approx(volume, rel=1e-14)
    assert hydro.buoyancy_center == (0.1, 0.2, 0.3)
    np.testing.assert_allclose(np.diag(added(model))[:3], RHO * volume / 2, rtol=1e-12)
    drag = next(g for g in report.estimates if g.quantity == "drag area")
    np.testing.assert_allclose(drag.value, 0.5 * pi * 0.2**2, rtol=1e-12)


# DNV-RP-C205 App. D, a right circular cylinder across its axis, over ρV
@pytest.mark.parametrize(("ratio", "published"), [(1.2, 0.62), (2.5, 0.78), (5.0, 0.90), (9.0, 0.96)])
def test_cylinders_have_the_published_added_mass(ratio, published):
    model, _ = watered(geometry.Cylinder(radius=0.1, length=0.2 * ratio))
    assert added(model)[0, 0] == pytest.approx(published * RHO * pi * 0.1**2 * 0.2 * ratio, rel=0.035)  # table to two digits


@pytest.mark.filterwarnings("ignore::UserWarning")  # 20 kg without a volume
@pytest.mark.parametrize("length", [1e-5, 0.01])
def test_flat_cylinders_are_discs(length):
    """Lamb's disc without thickness: 8/3 ρr³ along its axis, 16/45 ρr⁵ about a diameter, nothing in its plane."""
    model, report = watered(geometry.Cylinder(radius=0.5, length=length))
    m = np.diag(added(model))
    thick = length / (2 * 0.5)
    assert m[2] == pytest.approx(8 / 3 * RHO * 0.5**3, rel=1e-4 + 4 * thick)
    np.testing.assert_allclose(m[3:5], 16 / 45 * RHO * 0.5**5, rtol=1e-4 + 4 * thick)
    assert m[0] < 2 * thick * RHO * pi * 0.5**2 * length
    assert report.estimates[2].uncertainty[2] > 0.05 * m[2]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ratio", [0.125, 16.0])
def test_cylinders_do_not_jump_where_the_table_ends(ratio):
    below, above = (
        np.diag(added(watered(geometry.Cylinder(radius=0.1, length=0.2 * ratio * f))[0])) for f in (1 - 1e-6, 1 + 1e-6)
    )
    np.testing.assert_allclose(below, above, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_thin_rod_is_strips():
    """A hundred times as long as wide: ρπr²L across, a twelfth of that times L² about, and a little less for its ends."""
    m = np.diag(added(watered(geometry.Cylinder(radius=0.005, length=1.0))[0]))
    strips = RHO * pi * 0.005**2
    np.testing.assert_allclose(m[:2], strips, rtol=0.01)
    np.testing.assert_allclose(m[3:5], strips / 12, rtol=0.02)


@pytest.mark.filterwarnings("ignore::UserWarning")  # 8 m³ of 20 kg
def test_a_cube_and_long_boxes_have_the_added_mass_of_panels():
    """The cube's 0.638 ρa³ is explained in tests/crosscode/test_panels.py; DNV-RP-C205 App. D has the infinitely long section."""
    cube, _ = watered(geometry.Box(size=(1.0, 1.0, 1.0)))
    np.testing.assert_allclose(np.diag(added(cube))[:3], 0.638 * RHO, rtol=0.01)
    long, _ = watered(geometry.Box(size=(1.0, 1.0, 8.0)))
    assert added(long)[0, 0] == pytest.approx(
        1.51 * pi / 4 * 8.0 * RHO, rel=0.10
    )  # infinitely long section, its ends take a part


@pytest.mark.filterwarnings("ignore::UserWarning")  # 20 kg without a volume
@pytest.mark.parametrize(
    ("ratio", "published", "tolerance"), [(1.0, 0.579, 0.01), (2.0, 0.757, 0.01), (5.0, 0.897, 0.05), (20.0, 0.97, 0.15)]
)
def test_thin_boxes_are_plates(ratio, published, tolerance):
    """Rectangular plates of DNV-RP-C205 App. D, over ρπ/4 a²b; longer ones keep the ratio of one of 4, 15 % are promised."""
    model, report = watered(geometry.Box(size=(0.5, 0.5 / ratio, 1e-4)))
    assert added(model)[2, 2] == pytest.approx(published * RHO * pi / 4 * (0.5 / ratio) ** 2 * 0.5, rel=tolerance)
    mass = report.estimates[2]
    assert mass.uncertainty[2] > 0.15 * mass.value[2]


def test_tables_do_not_care_for_the_order_of_sides():
    a, b = (np.diag(added(watered(geometry.Box(size=size))[0])) for size in ((0.7, 0.3, 0.1), (0.1, 0.7, 0.3)))
    np.testing.assert_allclose(a, b[[1, 2, 0, 4, 5, 3]], rtol=1e-12)


def pose_of_the_shape_moves_the_matrix(shape):
    """The 6×6 of a shape at a pose is that of the shape at the origin, moved by the pose."""
    at_origin, moved = (added(watered(geometry.Placed(shape=shape, origin=o))[0]) for o in (Origin(), POSE))
    np.testing.assert_allclose(
        moved, Path((Turn(POSE.R, np.array(POSE.xyz)),)).inertia_back(at_origin), atol=1e-9 * moved.max()
    )


@pytest.mark.parametrize(
    "shape",
    [geometry.Box(size=(0.5, 0.3, 0.1)), geometry.Cylinder(radius=0.1, length=0.5), geometry.Capsule(radius=0.1, length=0.5)],
    ids=lambda shape: shape.word,
)
def test_tilted_shapes(shape):
    pose_of_the_shape_moves_the_matrix(shape)


def test_a_mesh_is_the_ellipsoid_of_its_moments():
    """A fine ellipsoid as a mesh, tilted and away: Lamb's values of the ellipsoid, to the mesh's own roundness."""
    part = naval.SolidPart(shape=geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)), origin=POSE, name="")
    model, report = hm.add_water(hm.Model(bodies=[body()]), meshes={"hull": part.surface()})
    exact = added_mass_matrix(
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Placed(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)), origin=POSE)),
        RHO,
    )
    np.testing.assert_allclose(added(model), exact, atol=0.02 * exact.max())
    assert model.bodies[0].hydro.volume == pytest.approx(part.integrals().volume, rel=1e-12)
    np.testing.assert_allclose(model.bodies[0].hydro.buoyancy_center, POSE.xyz, atol=1e-12)
    blunt = next(g for g in report.estimates if g.quantity == "drag area")
    assert all(0.1 * 0.3 * 0.2 * pi < a < 1.2 * 0.5 * 0.3 * pi for a in blunt.value)


def two_bodies():
    """A hull of boxes and cylinders with an arm on a tilted joint, all offset."""
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=hm.joints.Revolute(axis=(0, 1, 0), placement=Origin((0.3, 0.1, 0.1), (0.2, 0.1, 0.4))),
        inertia=hm.Inertia(mass=2.0, com=(0.2, 0, 0), tensor=(0.01, 0.03, 0.03, 0, 0, 0)),
        shapes=(geometry.Cylinder(radius=0.04, length=0.4).at((0.2, 0, 0), (0, pi / 2, 0)),),
    )
    hull = body(
        geometry.Box(size=(0.6, 0.4, 0.1)).at((0.0, 0.0, -0.1)),
        geometry.Cylinder(radius=0.07, length=0.5).at((0.02, 0.0, 0.05), (0.1, 1.5, 0.0)),
    )
    return hm.Model(name="two", bodies=[hull, arm])


def test_forces_of_added_mass_do_no_work_and_energy_balances():
    """Without drag the energy of bodies and water stays, F·ν = 0; with it the energy falls. Tilted, offset, at a random motion."""
    model, _ = hm.add_water(two_bodies())
    rng = np.random.default_rng(2)
    q = model.initial().q.copy()
    q[3:7] = [0.5, 0.5, -0.5, 0.5]
    q[7] = 0.6
    v = rng.normal(size=model.nv)
    bare = replace(model, bodies=tuple(replace(b, hydro=replace(b.hydro, drag=())) for b in model.bodies))
    for m, lost in ((bare, False), (model, True)):
        vdot = hm.forward_dynamics(m, q, v, np.zeros(m.nv))
        h = 1e-5
        # central differences along the motion, second order: 1e-10 of the energy
        energies = [hm.energy(m, hm.integrate(m, q, v + 0.5 * s * h * vdot, s * h), v + s * h * vdot) for s in (-1, 1)]
        rate = (energies[1].total - energies[0].total) / (2 * h)
        scale = energies[0].kinetic_body + energies[0].kinetic_fluid
        assert rate < -0.1 * scale if lost else abs(rate) < 1e-8 * scale


def test_the_energy_audit_of_a_run_closes():
    """The residual of the audit decreases with the fourth power of the step, the order of the method: 16 with half the step."""
    model, _ = watered(geometry.Box(size=(0.5, 0.3, 0.1)).at((0.05, 0.0, -0.03), (0.1, 0.2, 0.3)))
    start = hm.State(q=model.initial().q, v=np.array([0.5, 0.3, -0.2, 0.4, -0.3, 0.6]))
    left = []
    for step in (0.04, 0.02):
        sim = hm.Simulation(model, step=step, record=0.2)
        sim.reset(start)
        left.append(np.abs(sim.run(2.0).recording.energy_residual.values).max())
    assert 8.0 < left[0] / left[1] < 32.0


def test_what_is_there_is_kept_unless_asked():
    own = hm.Hydro(volume=0.5)
    dry = hm.Model(bodies=[body(geometry.Sphere(radius=0.2), hydro=own)])
    kept = hm.add_water(dry)
    assert kept.model.bodies[0].hydro == own
    assert kept.report.kept == ("hull",) and not kept.report.estimates
    asked = hm.add_water(dry, bodies=["hull"])
    assert asked.model.bodies[0].hydro.volume == pytest.approx(4 / 3 * pi * 0.2**3)


def test_looks_stand_in_for_shapes_and_bodies_without_either_stay_dry():
    looks = hm.Body(
        name="seen",
        inertia=INERTIA,
        shapes=(
            hm.BodyShape(shape=geometry.Ellipsoid(axes=(0.3, 0.2, 0.1)), roles=("appearance",)),
            hm.BodyShape(shape=geometry.Cylinder(radius=0.1, length=0.1), style="propeller", roles=("appearance",)),
        ),
    )
    nothing = hm.Body(name="bare", inertia=INERTIA)
    model, report = hm.add_water(hm.Model(bodies=[looks, nothing]))
    assert model.bodies[0].hydro.volume == pytest.approx(4 / 3 * pi * 0.3 * 0.2 * 0.1)
    assert report.dry == ("bare",)
    assert "its appearance" in report.estimates[0].how


def test_every_guess_is_listed_and_kept_in_the_file(tmp_path):
    model, report = hm.add_water(two_bodies())
    quantities = {"volume", "centre of buoyancy", "added mass", "added inertia", "drag area"}
    assert {(g.body, g.quantity) for g in report.estimates} == {(b, x) for b in ("hull", "arm") for x in quantities}
    assert all(u > 0 for g in report.estimates for u in g.uncertainty)
    assert len(str(report).splitlines()) >= 11
    hm.save(model, tmp_path / "wet.yaml")
    loaded = hm.load(tmp_path / "wet.yaml")
    assert loaded.bodies[0].hydro == model.bodies[0].hydro
    assert dict(loaded.sources)["arm: volume"].startswith("estimated, 0.00201")


def test_bad_meshes_and_names_are_rejected_together(tmp_path):
    (tmp_path / "open.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")
    mesh = geometry.Mesh(file="open.obj")
    dry = hm.Model(bodies=[body(mesh), body(replace(mesh, file="none.obj"), name="other")])
    with pytest.raises(hm.ModelError) as caught:
        hm.add_water(dry, folder=tmp_path, meshes={"hull": "open.obj"})
    first, second = caught.value.problems
    assert "'hull': open.obj is open: 3 edges" in first and "convex_hull" in first
    assert "'other': mesh" in second and "does not exist" in second
    wet, _ = hm.add_water(dry, bodies=["hull"], meshes={"hull": geometry.read_triangles(tmp_path / "open.obj").convex_hull()})
    assert wet.bodies[0].hydro.volume == pytest.approx(1 / 6)
    with pytest.raises(KeyError, match="no body 'hul'"):
        hm.add_water(dry, bodies=["hul"])


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("x", {}, "model is 'x', must be a Model"),
        (None, {"added_mass": "shapes"}, r"added_mass is 'shapes', must be naval.FromShapes\(\) or naval.FromPanels\(\)"),
        (None, {"added_mass": naval.FromShapes}, r"added_mass is <class .*must be naval.FromShapes\(\)"),
        (None, {"bodies": "hull"}, r"bodies is 'hull', must be a list of names: \['hull'\]"),
        (None, {"meshes": "hull.stl"}, "meshes is 'hull.stl', must be meshes keyed by body"),
    ],
)
def test_arguments_of_other_kinds_are_named(model, options, words):
    with pytest.raises(TypeError, match=f"add_water: {words}"):
        hm.add_water(model or hm.Model(bodies=[body(geometry.Sphere(radius=0.2))]), **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_millimetres_are_noted():
    _, report = watered(geometry.Box(size=(450.0, 300.0, 250.0)))
    assert "millimetres" in report.notes[0]


def test_ballast_holds_the_wanted_attitude():
    """With the ballast on, the vehicle at the wanted attitude has no acceleration at all, arm and all, joints held."""
    dry = two_bodies()
    arm = replace(dry.bodies[1], joint=hm.joints.Fixed(placement=Origin((0.3, 0.1, 0.1), (0.2, 0.1, 0.4))))
    model, _ = hm.add_water(replace(dry, bodies=(dry.bodies[0], arm)))
    roll, pitch = 0.2, -0.3
    found = hm.ballast(model, roll=roll, pitch=pitch, stability=0.05)
    assert {piece.kind for piece in found.pieces} <= {"weight", "float"}
    R = matrix_from_rpy((roll, pitch, 0.8))
    q = model.initial().q.copy()
    q[3:7] = [*_quaternion(R)]
    np.testing.assert_allclose(hm.forward_dynamics(found.model, q, np.zeros(6), np.zeros(6)), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.after.rest, (roll, pitch), atol=1e-9)
    assert np.linalg.norm(found.after.com - found.after.cob) >= 0.05 - 1e-9
    assert abs(found.after.net_weight) < 1e-6
    lifted = hm.ballast(model, buoyancy=5.0)
    assert lifted.after.net_weight == pytest.approx(-5.0, rel=1e-6)
    assert lifted.after.tilt < 1e-6
    again = hm.ballast(lifted.model, buoyancy=5.0)
    assert sum(piece.mass for piece in again.pieces) < 1e-5


def _quaternion(R):
    from hydromechs.spatial import quaternion_from_matrix

    return quaternion_from_matrix(R)


def test_ballast_in_a_world_with_z_up():
    up = hm.World(axes="ENU")
    hull = body(geometry.Box(size=(0.5, 0.4, 0.2)))
    model, _ = hm.add_water(hm.Model(bodies=[hull], world=up))
    found = hm.ballast(model, pitch=0.1, stability=0.02)
    np.testing.assert_allclose(found.after.rest, (0.0, 0.1), atol=1e-9)


def test_what_cannot_be_ballasted_is_rejected():
    with pytest.raises(ValueError, match="hm.add_water"):
        hm.ballast(hm.Model(bodies=[body(geometry.Sphere(radius=0.2))]))
    model, _ = watered(geometry.Sphere(radius=0.2))
    with pytest.raises(ValueError, match="larger `box`"):
        hm.ballast(model, box=((0, 0, 0), (0, 0, 0)))
    with pytest.raises(ValueError, match="choose values above and below the water density"):
        hm.ballast(model, float_density=3000.0)


def test_warnings_of_each_of_several_mechanisms_have_the_name_of_its_root():
    inertia = hm.Inertia(mass=100.0, tensor=(1.0, 2.0, 2.0, 0, 0, 0))
    drag = (hm.drag.Damping(linear=(1.0,) * 6),)
    hull = hm.Body(name="hull", inertia=inertia, hydro=hm.Hydro(drag=drag))
    weight = hm.Body(name="weight", inertia=hm.Inertia(mass=1.0, tensor=(0.01, 0.01, 0.01, 0, 0, 0)))
    warnings = hm.hydrostatics(hm.Model(bodies=[hull, weight])).warnings
    assert [text.split(":")[0:2] for text in warnings] == [["hull", " no buoyancy"], ["weight", " dry"]]


def test_warnings_of_a_naval_architect():
    sphere = (hm.added_mass.Diagonal((50, 50, 50, 0, 0, 0)),)

    def words(mass, com, added=sphere):
        inertia = hm.Inertia(mass=mass, com=com, tensor=(1, 1, 1, 0, 0, 0))
        hydro = hm.Hydro(volume=0.1, added_mass=added)
        return " ".join(hm.hydrostatics(hm.Model(bodies=[hm.Body(name="b", inertia=inertia, hydro=hydro)])).warnings)

    assert words(102.5, (0, 0, 0.05)) == ""
    assert words(102.5, (0, 0, 0.05), added=()).startswith("no added mass: b ")
    assert "heavy: the vehicle sinks with 172 N, 15% of its weight; add 17.1 L of volume" in words(120.0, (0, 0, 0.05))
    assert "light: the vehicle rises with" in words(90.0, (0, 0, 0.05))
    assert words(200.0, (0, 0, -0.05)).startswith(
        "heavy: the vehicle sinks with 956 N, 49% of its weight, like a machine that stands on the bed"
    )
    assert "unstable: the centre of buoyancy is 50 mm below" in words(102.5, (0, 0, -0.05))
    assert "barely stable" in words(102.5, (0, 0, 1e-4))
    # centre of mass ahead of the centre of buoyancy: bow down, which is a negative pitch
    assert "out of trim by 11.3°: it settles with a roll of 0.0° and a pitch of -11.3°" in words(102.5, (0.01, 0, 0.05))
    assert "a roll of 11.3° and a pitch of 0.0°" in words(102.5, (0, 0.01, 0.05))


def test_a_dry_vehicle_is_called_dry():
    dry = two_bodies()
    assert hm.hydrostatics(dry).warnings == (
        "dry: no hydrodynamics on hull, arm; estimate hydrodynamics from shapes with hm.add_water",
    )
    assert hm.hydrostatics(dry, bodies=[0]).warnings == (
        "dry: no hydrodynamics on hull; estimate hydrodynamics from shapes with hm.add_water",
    )
    assert not any(w.startswith("dry") for w in hm.hydrostatics(hm.add_water(dry).model).warnings)


def test_an_open_mesh_counts_as_its_hull_with_a_note(tmp_path):
    """A fingertip without its bottom: the tetrahedron around it has 1/6 m³; the rest of the arm gets its water as ever."""
    (tmp_path / "tip.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")
    arm = hm.Model(
        bodies=[body(geometry.Box(size=(1.0, 1.0, 1.0)), name="arm"), body(geometry.Mesh(file="tip.obj"), name="tip")]
    )
    wet, report = hm.add_water(arm, folder=tmp_path)
    assert [b.hydro.volume for b in wet.bodies] == pytest.approx([1.0, 1 / 6])
    (note,) = [text for text in report.notes if "'tip'" in text and "tip.obj" in text]
    assert "open" in note and "convex hull" in note
    value, error = next((g.value[0], g.uncertainty[0]) for g in report.of("tip") if g.quantity == "volume")
    assert error >= 0.3 * value


def test_the_hull_of_an_open_frame_is_far_off_and_reports_it(tmp_path):
    """Three beams of 1 m with one triangle inside out fill 0.7 % of the hull around them."""
    sides = 0.98 * np.eye(3) + 0.02
    beams = [geometry.Box(size=tuple(side)).triangulate() for side in sides]
    lines, count = [], 1
    for k, beam in enumerate(beams):
        faces = beam.faces.copy()
        faces[0] = faces[0][:: -1 if k == 0 else 1]
        lines += [f"v {x} {y} {z}" for x, y, z in beam.vertices.tolist()]
        lines += ["f " + " ".join(str(i + count) for i in face) for face in faces.tolist()]
        count += len(beam.vertices)
    (tmp_path / "frame.obj").write_text("\n".join(lines) + "\n")
    _, report = hm.add_water(hm.Model(bodies=[body(geometry.Mesh(file="frame.obj"))]), folder=tmp_path)
    value, error = next((g.value[0], g.uncertainty[0]) for g in report.estimates if g.quantity == "volume")
    assert value > 0.1  # an octahedron
    assert value - error < 3 * 1.0 * 0.02**2  # the estimate covers the beams
    assert any("enclose about 1%" in note for note in report.notes)


def test_drag_without_buoyancy_gets_its_volume_and_keeps_the_rest():
    """Gazebo's split: drag and added mass in the model, buoyancy in the world."""
    split = hm.Hydro(drag=[hm.drag.Damping(linear=(1, 2, 3, 4, 5, 6))], added_mass=[hm.added_mass.Matrix(np.eye(6).tolist())])
    hull = replace(body(geometry.Box(size=(0.5, 0.4, 0.1)).at((0, 0, 0.2))), hydro=split)
    model = hm.Model(bodies=[hull])
    (warning,) = [text for text in hm.hydrostatics(model).warnings if "no buoyancy" in text]
    assert "hull" in warning and "add_water" in warning
    wet, report = hm.add_water(model)
    hydro = wet.bodies[0].hydro
    assert hydro.volume == pytest.approx(0.02) and hydro.buoyancy_center == pytest.approx((0, 0, 0.2))
    assert (hydro.drag, hydro.added_mass) == (split.drag, split.added_mass)
    assert {g.quantity for g in report.estimates} == {"volume", "centre of buoyancy"} and not report.kept
    assert not any("no buoyancy" in text for text in hm.hydrostatics(wet).warnings)
    assert report.notes == ("body 'hull' had no volume, which is now estimated; added mass and drag are unchanged",)


def test_a_hull_that_keeps_its_drag_is_noted_if_it_has_no_added_mass():
    """A boat of Gazebo: damping in a plugin, two pontoons that overlap with its deck, no added mass."""
    pontoons = [geometry.Box(size=(1.0, 0.2, 0.2)).at((0, y, 0)) for y in (-0.3, 0.3)]
    boat = replace(body(*pontoons, geometry.Box(size=(0.5, 0.8, 0.1))), hydro=hm.Hydro(drag=[hm.drag.Damping(linear=(1,) * 6)]))
    wet, report = hm.add_water(hm.Model(bodies=[boat]))
    assert not wet.bodies[0].hydro.added_mass
    kept, shared = report.notes
    assert "no added mass" in kept and "bodies=['hull']" in kept
    assert "share" in shared and "added mass" not in shared
    assert hm.add_water(hm.Model(bodies=[boat]), bodies=["hull"]).model.bodies[0].hydro.added_mass


def test_a_float_fixed_to_the_hull_is_its_buoyancy():
    split = hm.Hydro(drag=[hm.drag.Damping(linear=(1, 2, 3, 4, 5, 6))])
    hull = replace(body(geometry.Box(size=(0.5, 0.4, 0.1))), hydro=split)
    foam = hm.Body(name="foam", parent="hull", joint=hm.joints.Fixed(), hydro=hm.Hydro(volume=0.02))
    model = hm.Model(bodies=[hull, foam])
    assert not any("no buoyancy" in text for text in hm.hydrostatics(model).warnings)
    assert hm.add_water(model).model == model


def test_scenery_has_no_part_in_the_balance():
    ball = replace(body(), hydro=hm.Hydro(volume=1e-3))
    rock = hm.Body(name="rock", joint=hm.joints.Fixed(), inertia=hm.Inertia(mass=2e4), hydro=hm.Hydro(volume=7.0))
    alone, with_rock = hm.hydrostatics(hm.Model(bodies=[ball])), hm.hydrostatics(hm.Model(bodies=[rock, ball]))
    assert with_rock.mass == alone.mass and with_rock.displaced_mass == alone.displaced_mass
    assert with_rock.warnings == alone.warnings != ()
    assert hm.hydrostatics(hm.Model(bodies=[rock])).mass == 2e4
