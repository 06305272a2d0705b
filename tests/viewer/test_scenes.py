"""Scenes as data: solids against closed forms, poses against the equations, stand-ins, pictures."""

import dataclasses
import math
import sys

import matplotlib.image
import numpy as np
import pytest
import xarray

import hydromechs as hm
from hydromechs import contact, geometry, hydro, library, lines, viewer
from hydromechs.viewer import _pictures
from hydromechs.viewer import _solids as solids
from hydromechs.viewer._looks import body_looks, body_properties
from hydromechs.viewer._raster import raster
from hydromechs.viewer._recorded import recording_scene, sample_times, wave_heights


def volume(surface):
    """Volume inside of a closed surface whose triangles turn outwards: Σ a·(b × c)/6 [m³]."""
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


N = 32
ROUND = N / (2 * math.pi) * math.sin(2 * math.pi / N)  # area of a regular polygon over that of its circle


@pytest.mark.parametrize(
    ("surface", "exact", "tolerance"),
    [
        (geometry.Box(size=(1.0, 2.0, 3.0)).triangulate(), 6.0, 1e-14),
        (geometry.Cylinder(radius=0.5, length=2.0).triangulate(), math.pi * 0.25 * 2.0 * ROUND, 1e-13),
        (geometry.Cylinder(radius=0.5, length=2.0, bore=0.3).triangulate(), math.pi * (0.25 - 0.09) * 2.0 * ROUND, 1e-13),
        # inscribed polygons of N sides miss a part of the order (2π/N)² of a round solid
        (geometry.Ellipsoid(axes=(1.0, 2.0, 3.0)).triangulate(), 4.0 / 3.0 * math.pi * 6.0, (2 * math.pi / N) ** 2),
        (geometry.Capsule(radius=0.5, length=2.0).triangulate(), math.pi * 0.25 * 2.0 + 4.0 / 3.0 * math.pi * 0.125, (2 * math.pi / N) ** 2),
        # a box with round edges: Steiner's formula for the box inside, 0.1 wider all round
        (geometry.Box(size=(1.0, 2.0, 3.0), rounding=0.1).triangulate(), 0.8 * 1.8 * 2.8 + 2 * 0.1 * (0.8 * 1.8 + 1.8 * 2.8 + 0.8 * 2.8) + math.pi * 0.01 * (0.8 + 1.8 + 2.8) + 4 / 3 * math.pi * 0.001, 2e-3),
        (solids.arrow(np.zeros(3), np.array([0.0, 3.0, 4.0]), 0.1), None, None),
    ],
)  # fmt: skip
def test_solids_enclose_their_volumes(surface, exact, tolerance):
    """So they are closed, and their triangles turn outwards."""
    assert volume(surface) > 0.0
    if exact is not None:
        assert volume(surface) == pytest.approx(exact, rel=tolerance)


def test_thrusters_turn_about_their_z():
    for surface in (solids.duct(0.1, 0.08), solids.propeller(0.1, 0.08)):
        assert np.ptp(surface.vertices[:, 2]) < 0.12 and np.linalg.norm(surface.vertices[:, :2], axis=1).max() <= 0.1 + 1e-12


def test_stand_ins_in_their_order():
    """Looks, shapes, drag, added mass, volume, inertia: the first that a body has."""
    ball = dict(inertia=hm.Inertia(mass=12.0, com=(0.1, 0, 0), tensor=(5.0, 5.0, 2.0, 0, 0, 0)))
    full = hm.Hydro(
        volume=0.01,
        added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.3)),
        drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.4), coefficient=0.5),
    )
    body = hm.Body(
        name="b",
        hydro=full,
        shapes=[
            hm.BodyShape(shape=hm.geometry.Sphere(radius=0.5), roles=("contact", "wetting")),
            hm.BodyShape(shape=hm.geometry.Sphere(radius=0.6), roles=("appearance",)),
        ],
        **ball,
    )

    def extent(body):
        pieces, _ = body_looks(body)
        return np.ptp(np.concatenate([p.triangles.vertices for p in pieces]), axis=0).max()

    assert extent(body) == pytest.approx(1.2)
    body = dataclasses.replace(body, shapes=body.shapes[:1])
    assert extent(body) == pytest.approx(1.0)
    body = dataclasses.replace(body, shapes=())
    assert extent(body) == pytest.approx(0.8)
    body = dataclasses.replace(body, hydro=dataclasses.replace(full, drag=()))
    assert extent(body) == pytest.approx(0.6)
    body = dataclasses.replace(body, hydro=hm.Hydro(volume=0.01))
    assert extent(body) == pytest.approx(2 * (0.75 * 0.01 / math.pi) ** (1 / 3))
    body = dataclasses.replace(body, hydro=None)
    # a box of edges e has I = m (e_2² + e_3²)/12: here 1, 1 and 2 m
    assert extent(body) == pytest.approx(2.0)
    assert body_looks(hm.Body(name="none"))[0] == []


@pytest.mark.parametrize("data", [
    dict(hydro=hm.Hydro(volume=1e300)),
    dict(hydro=hm.Hydro(added_mass=hm.added_mass.Diagonal((1e300,) * 6))),
    dict(inertia=hm.Inertia(mass=1e-5, tensor=(1e18, 1e18, 1e18, 0, 0, 0))),
])  # fmt: skip
def test_extreme_numbers_are_drawn(data):
    """`check` draws a model to list what cannot be drawn: numbers that it accepts must not fail there."""
    body = hm.Body(
        **{"name": "b", "joint": hm.joints.Free(), "inertia": hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))} | data
    )
    pieces = [*body_looks(body)[0], *body_properties(body, hm.World(), 0.1)]
    assert all(np.isfinite(piece.triangles.vertices).all() for piece in pieces) and len(pieces) > 2


@pytest.mark.parametrize("name", library.names())
def test_every_library_model_has_looks_of_its_size(name):
    """And they are upright: of a vehicle with a float, the float is on top."""
    model = library.load(name)
    assert any(shape.appearance for body in model.bodies for shape in body.shapes)
    scene = viewer.model_scene(model, properties=True)
    low, high = scene.bounds(0)
    assert 0.1 < np.linalg.norm(high - low) < 8.0
    vehicle = next((b for b in model.bodies if b.name == "vehicle"), None)
    if vehicle is not None:
        centre = scene.upright @ np.array(vehicle.hydro.buoyancy_center)
        assert centre[2] > (scene.upright @ np.array(vehicle.inertia.com))[2] - 1e-9
        assert scene.upright @ model.world.down == pytest.approx([0.0, 0.0, -1.0])


def test_meshes_are_drawn(tmp_path):
    import trimesh

    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "hull.stl")
    red = trimesh.creation.icosphere(radius=0.5)
    red.visual = trimesh.visual.ColorVisuals(red, face_colors=[255, 0, 0, 255])
    red.export(tmp_path / "dome.glb")
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "mark.obj")
    text = "hydromechs_model: 2\nname: m\nbodies:\n  hull:\n    joint: fixed\n    shapes:\n"
    for name in ("hull.stl", "dome.glb", "mark.obj"):
        text += f"      {name[:4]}: {{type: mesh, file: {name}, scale: [2, 1, -1], roles: [appearance]}}\n"
    (tmp_path / "m.yaml").write_text(text)
    pieces, _ = body_looks(hm.load(tmp_path / "m.yaml").bodies[0])
    colors = {tuple(np.round(p.color, 2)) for p in pieces}
    assert (1.0, 0.0, 0.0) in colors and sum(volume(p.triangles) for p in pieces) > 12.0


@pytest.mark.parametrize(("file", "content"), [("gone.stl", None), ("empty.dae", ""), ("broken.obj", "v 0 0\nf 1 2 3\n")])
def test_a_visual_that_cannot_be_read_becomes_a_grey_box_with_a_note(tmp_path, file, content):
    """The box has the size that the inertia says: edges 0.3, 0.4, 0.5 m of 12 kg."""
    if content is not None:
        (tmp_path / file).write_text(content)
    inertia = hm.Inertia(mass=12.0, tensor=(0.16 + 0.25, 0.09 + 0.25, 0.09 + 0.16, 0.0, 0.0, 0.0))
    hull = hm.Body(
        name="hull",
        inertia=inertia,
        shapes=[hm.BodyShape(shape=hm.geometry.Mesh(file=file, folder=str(tmp_path)), roles=("appearance",))],
    )
    with pytest.warns(viewer.DrawingWarning, match=f"'hull'.*{file}"):
        (piece,), _ = body_looks(hull)
    assert piece.color == (0.5, 0.5, 0.5)
    assert np.ptp(piece.triangles.vertices, axis=0) == pytest.approx([0.3, 0.4, 0.5])
    (note,) = viewer.drawing_notes(hm.Model(bodies=[hull]))
    assert file in note


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 1000 0 0 0 2000 0 0 0 3000</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def test_collada_is_read_in_its_unit(tmp_path):
    """A tetrahedron of 1, 2, 3 m written in millimetres; its up axis is ignored, as ROS and Gazebo do."""
    pytest.importorskip("collada", reason="Collada is an extra: pip install 'hydromechs[collada]'")
    (tmp_path / "hull.dae").write_text(COLLADA)
    (piece,), _ = body_looks(
        hm.Body(
            name="hull",
            shapes=[hm.BodyShape(shape=hm.geometry.Mesh(file="hull.dae", folder=str(tmp_path)), roles=("appearance",))],
        )
    )
    assert np.ptp(piece.triangles.vertices, axis=0) == pytest.approx([1.0, 2.0, 3.0])
    assert volume(piece.triangles) == pytest.approx(1.0)


def test_collada_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("hydromechs.geometry._mesh_checks.find_spec", lambda name: None)
    (tmp_path / "hull.dae").write_text(COLLADA)
    body = hm.Body(
        name="hull",
        joint=hm.joints.Fixed(),
        shapes=[hm.BodyShape(shape=hm.geometry.Mesh(file="hull.dae", folder=str(tmp_path)), roles=("appearance",))],
    )
    (note,) = viewer.drawing_notes(hm.Model(bodies=[body]))
    assert "hydromechs[collada]" in note and "grey box" in note


def test_the_surface_is_that_of_the_waves():
    """Against the elevation that the equations of motion use."""
    sea = hm.Environment(
        waves=(hydro.JonswapSea(significant_height=0.4, peak_period=4.0, direction=0.5, components=7),), water_depth=25.0
    )
    waves = hydro.wave_components(sea, 9.81, 3)
    x, y, t = np.array([-2.0, 0.3]), np.array([0.0, 1.0, 5.0]), np.array([0.0, 1.7])
    for i, j, k in np.ndindex(2, 2, 3):
        p = np.array([x[j], y[k], 0.0])
        expected = hydro.wave_motion(waves, [0.0, 0.0, 1.0], p, t[i]).elevation
        assert wave_heights(waves, x, y, t)[i, j, k] == pytest.approx(expected, abs=1e-14)


def recording(axes):
    """Half a second of a pipe that is thrown, in a world with z down or up."""
    model = hm.load("hand_pipe")
    model = dataclasses.replace(model, world=dataclasses.replace(model.world, axes=axes))
    down = model.world.down[2]
    start = hm.State(q=np.array([0, 0, 3.0 * down, 1, 0, 0, 0]), v=np.array([1.0, 0, 0, 0.5, 0, 0.5]))
    return model, hm.Simulation(model, state=start, step=0.005, record=0.02).run(0.5).recording


@pytest.mark.parametrize("axes", ["NED", "ENU"])
def test_a_recording_is_upright(axes):
    """Down is down in both worlds; forces are turned as the bodies are; terrain is below."""
    model, ds = recording(axes)
    soft = contact.Material(law=contact.LinearContact(stiffness=1e4))
    down = model.world.down
    ground = [
        contact.Terrain(name="plane", material=soft, shape=geometry.Plane.through(tuple(5.0 * down), tuple(-down))),
        contact.Terrain(
            name="hill",
            material=soft,
            shape=geometry.HeightField(x=(-1, 0, 1), y=(-1, 0, 1), heights=((-5, -5, -5), (-5, -4, -5), (-5, -5, -5))),
        ),
        contact.Terrain(name="stone", material=soft, shape=geometry.Sphere(radius=0.5).at(tuple(4.5 * down))),
        contact.Terrain(name="box", material=soft, origin=hm.Origin(tuple(4.5 * down)), shape=geometry.Box(size=(1, 1, 1))),
        contact.Terrain(
            name="post", material=soft, origin=hm.Origin(tuple(4.5 * down)), shape=geometry.Cylinder(radius=0.1, length=1)
        ),
    ]
    scene = viewer.recording_scene(model, ds, terrain=ground, environment=hm.Environment(), rate=20.0)
    assert len(scene.times) == 11 and scene.times[-1] == 0.5
    low, high = scene.bounds(0)
    assert 0.5 * (low + high)[2] == pytest.approx(-3.0, abs=0.05)
    for solid in scene.solids:
        if solid.layer == "terrain":
            top = (solid.triangles.vertices @ scene.upright.T)[:, 2].max()
            assert -5.01 <= top <= -3.9, solid.name
    sea = scene.surfaces[0]
    assert np.all(sea.z == 0.0)
    weight = next(a for a in scene.arrows if a.name == "force weight")
    tail, tip = weight.ends[-1, 0] @ scene.upright.T
    assert tip[2] < tail[2] - 0.1 and np.abs((tip - tail)[:2]).max() < 1e-9
    (x, y, z), expected = scene.poses(10)["pipe"][1], ds["position"].values[-1, 0]
    assert (x, y, z) == pytest.approx(tuple(expected))


def test_samples_of_a_replay():
    _, ds = recording("NED")
    assert len(sample_times(ds, 25.0, 1000)) == 13 and len(sample_times(ds, 1e3, 7)) == 7
    broken = ds.copy(deep=True)
    broken["position"].values[20:] = np.nan
    assert sample_times(broken, 1e3, 1000).max() == 19
    broken["position"].values[:] = np.nan
    with pytest.raises(ValueError, match="no finite sample"):
        sample_times(broken, 25.0, 10)
    with pytest.raises(ValueError, match="the recording contains the bodies pipe, but the model has pedestal"):
        viewer.recording_scene(hm.load("puma560"), ds)


def test_pictures_show_what_is_in_front():
    """A red ball before a larger blue one, seen from x: red in the middle, blue around it, the background at the rim."""
    looks = [
        hm.BodyShape(shape=hm.geometry.Sphere(radius=1.0), color=(0, 0, 1), roles=("appearance",)),
        hm.BodyShape(
            shape=hm.geometry.Sphere(radius=0.3), origin=hm.Origin((1.2, 0, 0)), color=(1, 0, 0), roles=("appearance",)
        ),
    ]
    model = hm.Model(bodies=[hm.Body(name="b", joint=hm.joints.Fixed(), shapes=looks)], world=hm.World(axes="ENU"))
    scene = viewer.model_scene(model)
    low, high = scene.bounds(0)
    camera = viewer.camera_for(low, high, azimuth=0.0, elevation=0.0)
    image = viewer.raster(scene, size=(120, 90), camera=camera)
    assert image.shape == (90, 120, 3)
    red, blue = (image[..., 0] > 1.5 * image[..., 2]), (image[..., 2] > 1.5 * image[..., 0])
    assert red[45, 60] and blue[45, 42] and not (red | blue)[0].any() and not (red | blue)[:, 0].any()
    # the discs of both balls on the picture: area π tan²θ, sin θ = radius over distance, less what the front one hides
    scale = 45.0 / math.tan(0.3)
    d = camera.position[0]
    disc = lambda r, x: math.pi * (scale * math.tan(math.asin(r / (d - x)))) ** 2  # noqa: E731
    assert red.sum() == pytest.approx(disc(0.3, 1.2), rel=0.05)
    assert (red | blue).sum() == pytest.approx(disc(1.0, 0.0), rel=0.03)


def test_without_a_browser_it_is_said_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="hydromechs.viewer.snapshot"):
        viewer.browser_picture(viewer.model_scene(hm.load("held_load")), tmp_path / "a.png")


def test_files_of_pictures(tmp_path):
    model = hm.load("held_load")
    path = viewer.snapshot(model, None, tmp_path / "a" / "load.png", size=(160, 120))
    image = matplotlib.image.imread(path)
    assert image.shape[:2] == (120, 160) and image[..., :3].std() > 0.05
    model, ds = recording("NED")
    scene = viewer.recording_scene(model, ds, rate=20.0)
    still = scene.at(4)
    assert still.times.tolist() == [scene.times[4]] and still.arrows[0].ends.shape[0] == 1


def test_shadows_fall_on_what_is_below():
    """A ball above a plate: a spot of the plate is darker than with the ball gone, and the rest of it is not."""
    plate = hm.BodyShape(shape=hm.geometry.Box(size=(4, 4, 0.1)), color=(1, 1, 1), roles=("appearance",))
    ball = hm.BodyShape(
        shape=hm.geometry.Sphere(radius=0.4), origin=hm.Origin((0, 0, 1.0)), color=(1, 0, 0), roles=("appearance",)
    )
    images = []
    for looks in ([plate, ball], [plate]):
        body = hm.Body(name="b", joint=hm.joints.Fixed(), shapes=looks)
        scene = viewer.model_scene(hm.Model(bodies=[body], world=hm.World(axes="ENU")))
        camera = viewer.Camera(np.array([6.0, 0.0, 6.0]), np.zeros(3))
        images.append(viewer.raster(scene, size=(120, 90), camera=camera))
    with_ball, without = images
    red = with_ball[..., 0] > 1.5 * with_ball[..., 2]
    darker = (with_ball < 0.8 * without).all(axis=2) & ~red
    assert 20 < darker.sum() < 4 * red.sum()
    assert np.abs(with_ball - without)[~red].max(axis=1).mean() < 0.05


def test_what_reaches_behind_the_camera_is_cut():
    """A floor on which the camera stands fills the lower half of the picture."""
    floor = hm.BodyShape(
        shape=hm.geometry.Box(size=(40, 40, 0.1)), origin=hm.Origin((0, 0, -1.0)), color=(0, 1, 0), roles=("appearance",)
    )
    body = hm.Body(name="b", joint=hm.joints.Fixed(), shapes=[floor])
    scene = viewer.model_scene(hm.Model(bodies=[body], world=hm.World(axes="ENU")))
    image = viewer.raster(scene, size=(60, 40), camera=viewer.Camera(np.array([1.0, 0, 0]), np.zeros(3)))
    green = image[..., 1] > 1.3 * image[..., 0]
    assert green[23:].all() and not green[:20].any()


def test_thrust_is_drawn_at_each_thruster():
    """Along x of its frame, turned with the vehicle; the sum is a layer of its own."""
    model = hm.load("bluerov2_heavy_alpha5")
    names = [name for name in model.frames if name.startswith("thruster")]
    samples, bodies = 2, model.body_names
    position = np.broadcast_to([1.0, 2.0, 3.0], (samples, len(bodies), 3))
    wxyz = np.broadcast_to([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], (samples, len(bodies), 4))  # 90° about z
    push = np.zeros((samples, len(bodies), 6))
    push[:, 0, 0] = 20.0
    forces = np.broadcast_to([(-1.0) ** k * (k + 1.0) for k in range(len(names))], (samples, len(names)))
    ds = xarray.Dataset(
        {
            "position": (("time", "body", "xyz"), position),
            "orientation": (("time", "body", "wxyz"), wxyz),
            "force_thrust": (("time", "body", "six"), push),
            "actuator_force": (("time", "actuator"), forces),
        },
        coords={"time": [0.0, 1.0], "body": list(bodies), "actuator": [f"t {n}" for n in names]},
    )
    scene = viewer.recording_scene(model, ds, thrusters={f"t {n}": n for n in names})
    arrows = next(a for a in scene.arrows if a.layer == "force: thrust")
    assert arrows.ends.shape == (2, len(names), 2, 3)
    along = arrows.ends[1, :, 1] - arrows.ends[1, :, 0]
    for k, name in enumerate(names):
        body, p, R = model.locate(name)
        turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        assert arrows.ends[1, k, 0] == pytest.approx(ds["position"].values[1, body] + turn @ p)
        assert along[k] / np.linalg.norm(along[k]) == pytest.approx((-1) ** k * turn @ R[:, 0])
    lengths = np.linalg.norm(along, axis=1)
    assert lengths / lengths[0] == pytest.approx(np.arange(1, len(names) + 1))
    assert "force: sum of thrust" in scene.layers


FAKE = """#!{python}
import re, sys
from PIL import Image
words = " ".join(sys.argv)
wait, out = int(re.search(r"budget=(\\d+)", words)[1]), re.search(r"screenshot=(\\S+)", words)[1]
image = Image.new("RGB", (40, 30), (0, 0, 0))
image.paste((128, 128, 128), (0, 10, 40, 30))  # the ground is there before the sky
if wait >= {enough}:
    image.paste((204, 230, 255), (0, 0, 40, 10))
image.save(out)
"""


def test_a_browser_that_is_slow_to_load_the_sky_is_given_more_time(monkeypatch, tmp_path):
    """The sky is a picture that browsers load beside the rest; until then it is black."""
    scene, program, out = viewer.model_scene(hm.load("held_load")), tmp_path / "browser", tmp_path / "a.png"
    monkeypatch.setattr(_pictures, "chromium", lambda: str(program))

    def install(enough):
        program.write_text(FAKE.format(python=sys.executable, enough=enough))
        program.chmod(0o755)

    install(enough=_pictures.WAITS[1])
    assert (matplotlib.image.imread(viewer.browser_picture(scene, out))[0, :, 2] == 1.0).all()
    install(enough=10**9)
    out.write_bytes(b"an older picture")
    with pytest.raises(OSError, match="did not load the page completely within"):
        viewer.browser_picture(scene, out)
    assert out.read_bytes() == b"an older picture"


def test_a_tether_is_drawn_through_its_points():
    """The line of a recording goes through its points, in its own layer, at each time."""
    cable = lines.Cable(diameter=0.02, mass=0.6, axial_stiffness=1e4)
    line = lines.Tether(
        name="tether", frame="ball", top=lines.SwayingPoint(position=(3.0, 0, -9.0)), cable=cable, length=10.0, segments=2
    )
    ball = hm.Body(name="ball", inertia=hm.Inertia(mass=9.0, tensor=(1, 1, 1, 0, 0, 0)))
    model = hm.Model(name="ball", bodies=[ball])
    recording = hm.Simulation(model, components=[line], step=0.01, record=0.1).run(0.2).recording
    scene = recording_scene(model, recording)
    (strand,) = scene.strands
    assert strand.layer in scene.layers
    np.testing.assert_allclose(strand.points[:, ::4], recording.line_position.values, atol=1e-12)
    assert scene.at(1).strands[0].points.shape == (1, 13, 3)
    seen, without = (raster(scene, (2,), size=(120, 90), layers=layers) for layers in ({"bodies", "tethers"}, {"bodies"}))
    assert np.abs(seen - without).max() > 0.1


def test_scenery_decides_neither_camera_nor_scale():
    """A seabed of 500 m beside a vehicle of 1 m; a fixed base that carries an arm is no scenery."""
    inertia = hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))
    box = hm.BodyShape(shape=hm.geometry.Box(size=(1.0, 1.0, 1.0)), roles=("appearance",))
    vehicle = hm.Body(name="vehicle", inertia=inertia, shapes=[box])
    seabed = hm.Body(
        name="seabed",
        joint=hm.joints.Fixed(),
        shapes=[hm.BodyShape(shape=hm.geometry.Box(size=(500.0, 500.0, 1.0)), roles=("appearance",))],
    )
    stone = hm.Body(name="stone", parent="seabed", joint=hm.joints.Fixed(), shapes=[box])
    model = hm.Model(bodies=[seabed, stone, vehicle])
    assert model.scenery == (True, True, False)
    scene, alone = viewer.model_scene(model, properties=True), viewer.model_scene(hm.Model(bodies=[vehicle]), properties=True)
    np.testing.assert_array_equal(scene.bounds(0), alone.bounds(0))
    sizes = [s.triangles.vertices for s in scene.solids if s.frame == "vehicle" and s.layer == "centres of mass"]
    np.testing.assert_array_equal(sizes, [s.triangles.vertices for s in alone.solids if s.layer == "centres of mass"])
    arm = hm.Body(name="arm", parent="seabed", joint=hm.joints.Revolute(), inertia=inertia)
    assert hm.Model(bodies=[seabed, stone, arm]).scenery == (False,) * 3
    assert hm.Model(bodies=[seabed]).scenery == (False,)


def test_an_unrealistic_inertia_does_not_hide_the_rest():
    """A camera of 15 g whose file gives it the inertia of a box of 0.6 m is drawn with the volume of its mass in water."""
    camera = hm.Body(name="camera", inertia=hm.Inertia(mass=0.015, tensor=(1e-3, 1e-3, 1e-3, 0, 0, 0)))
    (piece,), _ = body_looks(camera)
    assert np.ptp(piece.triangles.vertices, axis=0) == pytest.approx([0.015 ** (1 / 3) / 10] * 3)
