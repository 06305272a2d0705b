"""Displays of the station: the camera on board, the camera that follows, tethers. No browser."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry
from hydromechs.simulation import Simulation
from hydromechs.station import LiveInputs, configured
from hydromechs.station._camera import camera_place, camera_places
from hydromechs.station._session import pilot_of, piloted
from hydromechs.station._telemetry import Display
from hydromechs.viewer import LivePage, live_scene, with_particles
from hydromechs.viewer._scene import bodies_at


def _triangles(scene, frame, R, p):
    """Return the triangles of the visuals of a body, rotated and translated, shape (n, 3, 3)."""
    found = [
        s.triangles.vertices[s.triangles.faces] @ R.T + p for s in scene.solids if s.frame == frame and s.layer == "bodies"
    ]
    return np.concatenate([np.zeros((0, 3, 3)), *found])


def _hits(triangles, p, d):
    """Return the distances at which a ray intersects triangles (Möller and Trumbore) [m], shape (hits,)."""
    a, e1, e2 = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    h = np.cross(d, e2)
    det = np.einsum("ij,ij->i", e1, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = p - a
        q = np.cross(s, e1)
        u, v, t = np.einsum("ij,ij->i", s, h) / det, q @ d / det, np.einsum("ij,ij->i", e2, q) / det
        hit = (np.abs(det) > 1e-14) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)
    return np.asarray(t[hit])


@pytest.mark.parametrize("name", ["bluerov2_square", "pick_and_release", "underwater_dual_arm"])
def test_the_camera_on_board_is_outside_the_hull_and_sees_past_the_arm(catalog, name):
    file = catalog.files[name]
    scenario = catalog.read(Path(file).read_text(), file)
    model = scenario.model
    position, wxyz = bodies_at(model, model.initial().q)
    scene = live_scene(model, position, wxyz)
    vehicle = model.locate(scenario.parts(hm.Thruster)[0].frame)[0]
    body, p, R = camera_place(model, scene, vehicle)
    hull = _triangles(scene, model.body_names[vehicle], np.eye(3), np.zeros(3))
    assert body == vehicle and R[:, 0] @ [1, 0, 0] > 0.8, "it looks ahead"
    assert not len(_hits(hull, p, R[:, 0])), "nothing of the hull is in front of it"
    poses = scene.poses(0)
    R_V, p_V = poses[model.body_names[vehicle]]
    for other in model.body_names:
        if other != model.body_names[vehicle]:
            part = _triangles(scene, other, R_V.T @ poses[other][0], R_V.T @ (poses[other][1] - p_V))
            assert not (_hits(part, p, R[:, 0]) < 0.5).any(), other


def test_a_pilot_can_choose_every_camera_of_the_model():
    arm = hm.load("bluerov2_heavy_alpha5")
    last = arm.bodies[-1]
    wrist = dataclasses.replace(last, frames=(*last.frames, hm.Frame(name="wrist_camera", origin=hm.Origin((0.1, 0, 0)))))
    model = dataclasses.replace(arm, bodies=(*arm.bodies[:-1], wrist))
    scene = live_scene(model, *bodies_at(model, model.initial().q))
    cameras = camera_places(model, scene, 0)
    assert [camera.name for camera in cameras] in (["camera", "wrist_camera"], ["bow camera", "camera", "wrist_camera"])
    assert cameras[-1].body == model.nb - 1 and cameras[-1].position == pytest.approx([0.1, 0, 0])
    assert camera_places(arm, live_scene(arm, *bodies_at(arm, arm.initial().q)), 0)[0].body == 0


def test_particles_are_in_the_water_around_the_vehicle():
    """Below the surface, and on no body, so that cameras and force arrows are framed as without them."""
    model = hm.load("bluerov2_heavy")
    position, wxyz = bodies_at(model, model.initial().q)
    plain = live_scene(model, position + np.array([0.0, 0.0, 3.0]), wxyz)
    scene = with_particles(plain)
    (particles,) = [solid for solid in scene.solids if solid.layer == "particles"]
    heights = particles.triangles.vertices @ scene.upright[2]
    assert not particles.frame and heights.max() < -0.15 and heights.min() < -8.0
    np.testing.assert_array_equal(scene.bounds(0), plain.bounds(0))
    dry = dataclasses.replace(plain, wet=False)
    assert with_particles(dry) is dry


def test_a_ray_finds_a_triangle():
    triangle = np.array([[[2.0, -1, -1], [2, 1, -1], [2, 0, 1]]])
    assert _hits(triangle, np.zeros(3), np.array([1.0, 0, 0])) == pytest.approx([2.0])
    assert not len(_hits(triangle, np.zeros(3), np.array([-1.0, 0, 0]))) and not len(
        _hits(triangle[:0], np.zeros(3), np.ones(3))
    )


@pytest.mark.parametrize("axes", ["NED", "ENU"])
def test_a_camera_stays_above_the_ground(little, axes):
    model = little.scenario.model
    down = 1.0 if axes == "NED" else -1.0
    model = dataclasses.replace(model, world=dataclasses.replace(model.world, axes=axes))
    bed = contact.Terrain(
        name="bed",
        material=contact.Material(law=contact.LinearContact(stiffness=1e4)),
        shape=geometry.Plane.through((0, 0, 8 * down), (0, 0, -down)),
    )
    position, wxyz = np.zeros((model.nb, 3)), np.tile([1.0, 0, 0, 0], (model.nb, 1))
    page = LivePage(model, live_scene(model, position, wxyz), terrain=(bed,))
    try:
        assert page.above_ground([3, 2, -20]) == pytest.approx([3, 2, -7.7])
        assert page.above_ground([3, 2, -5]) == pytest.approx([3, 2, -5])
    finally:
        page.close()


def test_a_tether_is_shown_with_its_length_winch_and_tension(catalog):
    made = configured(catalog, "tethered_rov")
    sim = piloted(made.scenario, LiveInputs())
    assert isinstance(sim, Simulation)
    shown = Display(sim, pilot_of(sim), made.scenario.parts(hm.contact.Terrain)).snapshot(1, 1)
    [(name, length, rate, tension)] = shown.hud["tethers"]
    assert (name, length, rate) == ("tether", 100.0, 0.0) and 0.0 < tension < 100.0
    points = shown.tethers["tether"]
    assert points.shape == (22, 3) and points[-1, 0] == pytest.approx(40.0)
    scene = live_scene(sim.model, shown.position, shown.wxyz, tethers=shown.tethers)
    page = LivePage(sim.model, scene)
    try:
        page.pose(1.0, shown.position, shown.wxyz, shown.force, shown.flow)
        page.tether("tether", points + 1.0)
        handle = page.server.scene.get_handle_by_name("/world/tether tether")
        assert handle.points[0, 0] == pytest.approx(points[0] + 1.0, abs=1e-4)
    finally:
        page.close()
