"""The library's models against the published numbers that they were made from."""

import warnings
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pytest

import hydromechs
import hydromechs as hm
from hydromechs import drives, library
from hydromechs.equations import inverse_dynamics, kinematics, mass_matrix
from hydromechs.formats import load_file
from hydromechs.hydro import added_mass_matrix
from hydromechs.model import State
from hydromechs.naval import hydrostatics
from hydromechs.spatial import tensor_matrix

FOLDER = Path(hydromechs.__file__).parent / "library" / "models"
NAMES = (
    "bluerov2_alpha5_hinsdale",
    "bluerov2_heavy_alpha5",
    "puma560",
    "rexrov2_oberon7",
    "tiburon_titan2",
    "workclass_arm3",
)
EPS = np.finfo(float).eps


def load(name):
    return load_file(FOLDER / f"{name}.yaml")


def body(model, name):
    return model.bodies[model.body_index(name)]


def poses(model, q):
    return kinematics(model, q, np.zeros(model.nv)).X_WB


def frame_pose(model, q, name):
    """Position and axes of a frame in the world."""
    i, frame = model.frames[name]
    X = poses(model, q)[i]
    return X[:3, :3] @ np.array(frame.origin.xyz) + X[:3, 3], X[:3, :3] @ frame.origin.R


def weight_in_water(model, names):
    """Weight less buoyancy as a mass [kg]."""
    bodies = [body(model, n) for n in names]
    return sum(b.inertia.mass - model.world.water_density * b.hydro.volume for b in bodies)


def added_mass_of(model, name):
    return sum(added_mass_matrix(e, model.world.water_density) for e in body(model, name).hydro.added_mass)


def allocation(model, count):
    """Force and moment about the vehicle's origin per unit of thrust, shape (6, count)."""
    columns = []
    for k in range(count):
        i, frame = model.frames[f"thruster_{k + 1}"]
        assert model.bodies[i].name == "vehicle"
        x = frame.origin.R[:, 0]
        columns.append(np.concatenate([x, np.cross(frame.origin.xyz, x)]))
    return np.array(columns).T


# --- every model ----------------------------------------------------------------------------------------------------


def test_these_are_the_models_of_the_library():
    assert {p.stem for p in FOLDER.glob("*.yaml")} >= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_loads_without_warnings(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(name)
    assert model.name == name
    assert model.description


@pytest.mark.parametrize("name", NAMES)
def test_sources_report_how_far_to_trust_them_and_cover_every_body(name):
    model = load(name)
    for what, source in model.sources:
        assert source.startswith(("measured: ", "published: ", "estimated: ")), what
    assert set(model.body_names) <= {what.split(".")[0] for what, _ in model.sources}


@pytest.mark.parametrize("name", NAMES)
def test_every_body_can_be_shown_and_has_a_tool(name):
    model = load(name)
    assert all(any(s.contact or s.wetting for s in b.shapes) and any(s.appearance for s in b.shapes) for b in model.bodies)
    assert "tool" in model.frames


@pytest.mark.parametrize("name", NAMES)
def test_initial_pose_has_a_positive_definite_mass_matrix(name):
    model = load(name)
    M = mass_matrix(model, model.initial().q)
    # rounding of sums over the chain
    np.testing.assert_allclose(M, M.T, rtol=0, atol=100 * EPS * np.abs(M).max())
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("name", [n for n in NAMES if n != "puma560"])
def test_added_masses_are_symmetric_and_not_negative(name):
    model = load(name)
    for b in model.bodies:
        if b.hydro.added_mass:
            A = added_mass_of(model, b.name)
            assert np.array_equal(A, A.T)
            assert np.linalg.eigvalsh(A)[0] >= -1e-12 * np.abs(A).max()


# --- PUMA 560 against the published standard-DH set ---------------------------------------------------------------------
# Corke and Armstrong-Hélouvry 1994 as in the Robotics Toolbox: T = Rz(q) Tz(d) Tx(a) Rx(alpha), r and I = (xx, yy, zz) about
# the centre of mass in the frame at the far end of the link.

PUMA = [  # d, a, alpha, m, r, I, G, B, Tc
    (0.67183, 0, pi / 2, 0, (0, 0, 0), (0, 0.35, 0), -62.6111, 1.48e-3, (0.395, -0.435)),
    (0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 107.815, 0.817e-3, (0.126, -0.071)),
    (0.15005, 0.0203, -pi / 2, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125), -53.7063, 1.38e-3, (0.132, -0.105)),
    (0.4318, 0, pi / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3), 76.0364, 71.2e-6, (11.2e-3, -16.9e-3)),
    (0, 0, -pi / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3), 71.923, 82.6e-6, (9.26e-3, -14.5e-3)),
    (0, 0, 0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 76.686, 36.7e-6, (3.96e-3, -10.5e-3)),
]


def standard_dh(q):
    """Poses T_0 ... T_6 of the base and of the frames at the far ends of the links."""
    T = [np.eye(4)]
    for (d, a, alpha, *_), angle in zip(PUMA, q, strict=True):
        c, s, ca, sa = cos(angle), sin(angle), cos(alpha), sin(alpha)
        T.append(T[-1] @ np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]))
    return T


def puma_mass_matrix_and_gravity(q):
    """M = Σ m Jvᵀ Jv + Jwᵀ I Jw and the torques that hold the arm, Σ m g ∂z/∂q, from the standard-DH numbers."""
    T = standard_dh(q)
    M, holding = np.zeros((6, 6)), np.zeros(6)
    for i, (_, _, _, m, r, moments, *_) in enumerate(PUMA):
        R = T[i + 1][:3, :3]
        com = R @ np.array(r) + T[i + 1][:3, 3]
        Jv, Jw = np.zeros((3, 6)), np.zeros((3, 6))
        for k in range(i + 1):
            Jw[:, k] = T[k][:3, 2]
            Jv[:, k] = np.cross(T[k][:3, 2], com - T[k][:3, 3])
        M += m * Jv.T @ Jv + Jw.T @ R @ np.diag(moments) @ R.T @ Jw
        holding += m * 9.81 * Jv[2]
    return M, holding


CONFIGURATIONS = [np.zeros(6), np.array([0, pi / 4, pi, 0, pi / 4, 0]), *np.random.default_rng(560).uniform(-pi, pi, (20, 6))]


@pytest.mark.parametrize("q", CONFIGURATIONS)
def test_puma_forward_kinematics(q):
    model = load("puma560")
    X, T = poses(model, q), standard_dh(q)
    p, R = frame_pose(model, q, "tool")
    # six products of rotations and lengths near 1 m, and cos(π/2) = 6e-17 in the published frames
    np.testing.assert_allclose(p, T[6][:3, 3], rtol=0, atol=50 * EPS)
    np.testing.assert_allclose(R, T[6][:3, :3], rtol=0, atol=50 * EPS)
    for i in range(6):  # joint axis i is z of body i here and z of frame i - 1 there
        at = X[model.body_index(f"link{i + 1}")]
        np.testing.assert_allclose(at[:3, 2], T[i][:3, 2], rtol=0, atol=50 * EPS)
        np.testing.assert_allclose(np.cross(at[:3, 3] - T[i][:3, 3], T[i][:3, 2]), 0, atol=50 * EPS)


@pytest.mark.parametrize("q", CONFIGURATIONS)
def test_puma_mass_matrix_and_gravity(q):
    """Link 3's impossible tensor is shared out again between links 2 and 3; this shows that nothing else changes."""
    model = load("puma560")
    M, holding = puma_mass_matrix_and_gravity(q)
    # sums of six links: rounding of terms of size |M|, |holding| ≤ 100 N·m
    np.testing.assert_allclose(mass_matrix(model, q), M, rtol=0, atol=200 * EPS * np.abs(M).max())
    np.testing.assert_allclose(inverse_dynamics(model, q, np.zeros(6), np.zeros(6)), holding, rtol=0, atol=200 * EPS * 100)


@pytest.mark.parametrize("q", CONFIGURATIONS[1:6])
def test_puma_velocity_products(q):
    """Σ_jk (∂M_ij/∂q_k − ½ ∂M_jk/∂q_i) v_j v_k from the standard-DH mass matrix."""
    model = load("puma560")
    v, h = np.array([0.7, -1.1, 0.9, 1.3, -0.8, 2.0]), 1e-5
    M = lambda q: puma_mass_matrix_and_gravity(q)[0]  # noqa: E731
    dM = [(M(q + h * e) - M(q - h * e)) / (2 * h) for e in np.eye(6)]
    expected = sum(v[k] * dM[k] @ v for k in range(6)) - 0.5 * np.array([v @ D @ v for D in dM])
    computed = inverse_dynamics(model, q, v, np.zeros(6)) - puma_mass_matrix_and_gravity(q)[1]
    # central difference: truncation h² M''' / 6 and rounding eps M / h, both below 2e-9 for |M| < 10, |v|² = 9; times 36 terms
    np.testing.assert_allclose(computed, expected, rtol=0, atol=5e-8)


def test_puma_known_gravity_load():
    """The Robotics Toolbox prints these torques for its nominal configuration, which is the initial one here."""
    model = load("puma560")
    q = model.initial().q
    np.testing.assert_allclose(q, [0, pi / 4, pi, 0, pi / 4, 0], rtol=1e-15)
    holding = inverse_dynamics(model, q, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(holding, [0, 31.6399, 6.0351, 0, 0.0283, 0], rtol=0, atol=5.1e-5)  # four printed digits


def test_puma_friction_is_that_of_the_motors_at_the_joints():
    model = load("puma560")
    for i, (*_, G, B, Tc) in enumerate(PUMA):
        joint = body(model, f"link{i + 1}").joint
        assert joint.damping == pytest.approx(B * G**2, rel=5e-6)  # six digits in the file
        assert joint.friction == pytest.approx(0.5 * (Tc[0] - Tc[1]) * abs(G), rel=5e-6)


# --- Tiburón size with a Titan II size arm -------------------------------------------------------------------------------

TITAN = ("shoulder", "upper_arm", "forearm", "wrist_pitch", "wrist_yaw", "gripper")


def test_tiburon_arm_has_the_published_mass_weight_and_reach():
    model = load("tiburon_titan2")
    assert sum(body(model, n).inertia.mass for n in TITAN) == pytest.approx(80.0, abs=1e-12)
    assert weight_in_water(model, TITAN) == pytest.approx(51.0, abs=1e-3)  # volumes are given to 1e-7 m³ = 1e-4 kg
    q, _ = model.neutral()  # stretched out
    p, R = frame_pose(model, q, "tool")
    X = poses(model, q)[model.body_index("shoulder")]
    reach = np.linalg.norm(np.cross(p - X[:3, 3], X[:3, 2]))
    assert reach == pytest.approx(1.92, abs=1e-12)
    np.testing.assert_allclose(R[:, 2], [1, 0, 0], atol=1e-15)  # approach is forward


def test_tiburon_floats_up_a_little_and_lies_level_with_its_arm_parked():
    model = load("tiburon_titan2")
    assert -9.81 * weight_in_water(model, model.body_names) == pytest.approx(98.1, abs=0.1)  # 0.26 % of its weight
    holding = inverse_dynamics(model, model.initial().q, np.zeros(model.nv), np.zeros(model.nv))
    assert np.abs(holding[3:6]).max() < 0.05  # N·m; the centre of buoyancy is given to 1e-6 m, times 38 kN
    b = body(model, "vehicle")
    assert b.hydro.buoyancy_center[2] < b.inertia.com[2]  # z is down


def test_tiburon_links_are_solid_cylinders_that_displace_their_volume():
    model = load("tiburon_titan2")
    for name in TITAN:
        b = body(model, name)
        (drag,), (added,) = b.hydro.drag, b.hydro.added_mass
        assert added.solid == drag.solid
        (start, end), r = drag.solid.ends, drag.solid.shape.radius
        length = np.linalg.norm(end - start)
        u, m = (end - start) / length, b.inertia.mass
        # the radius is given to 1e-4 m of at least 0.05 m
        assert pi * r**2 * length == pytest.approx(b.hydro.volume, rel=4e-3)
        np.testing.assert_allclose(b.inertia.com, (start + end) / 2, atol=1e-12)
        np.testing.assert_allclose(b.hydro.buoyancy_center, b.inertia.com, atol=1e-12)
        tensor = m * (3 * r**2 + length**2) / 12 * (np.eye(3) - np.outer(u, u)) + m * r**2 / 2 * np.outer(u, u)
        np.testing.assert_allclose(tensor_matrix(b.inertia.tensor), tensor, atol=6e-6)  # given to 1e-5


def test_tiburon_vehicle_is_the_scaled_sf30k_turned_to_z_down():
    big, small = body(load("tiburon_titan2"), "vehicle"), body(load("rexrov2_oberon7"), "vehicle")
    scale = (3800 / 1862.87) ** (1 / 3)
    turn = np.diag([1.0, -1, -1, 1, -1, -1])
    powers = np.block([[np.full((3, 3), 3), np.full((3, 3), 4)], [np.full((3, 3), 4), np.full((3, 3), 5)]])
    A = np.array(small.hydro.added_mass[0].matrix) * scale**powers
    np.testing.assert_allclose(np.array(big.hydro.added_mass[0].matrix), turn @ A @ turn, rtol=1e-4, atol=1e-4)
    I = turn[:3, :3] @ tensor_matrix(small.inertia.tensor) @ turn[:3, :3] * scale**5
    np.testing.assert_allclose(tensor_matrix(big.inertia.tensor), I, atol=1e-3)
    (D,), (d,) = big.hydro.drag, small.hydro.drag
    np.testing.assert_allclose(D.linear, np.array(d.linear) * scale ** np.array([2.5] * 3 + [4.5] * 3), rtol=1e-5)
    np.testing.assert_allclose(D.quadratic, np.array(d.quadratic) * scale ** np.array([2] * 3 + [5] * 3), rtol=1e-5)
    assert big.hydro.buoyancy_center[2] == pytest.approx(-scale * small.hydro.buoyancy_center[2], abs=1e-5)


def test_tiburon_thrusters_reach_all_six_directions():
    B = allocation(load("tiburon_titan2"), 8)
    assert np.linalg.matrix_rank(B) == 6
    assert np.all(B[0, :4] > 0.7)
    assert np.all(B[2, 4:] == -1)


# --- work-class vehicle with a three-joint arm, and what it works on ---------------------------------------------------------


def test_workclass_vehicle_is_neutral_and_its_buoyancy_acts_15_mm_behind_its_centre_of_mass():
    model = load("workclass_arm3")
    q = model.initial().q
    assert abs(9.81 * weight_in_water(model, model.body_names)) < 0.1  # N; volumes are given to 1e-5 m³
    p, _ = frame_pose(model, q, "tool")
    np.testing.assert_allclose(p, [2.5, 0, 0.6], atol=1e-12)
    X, mass, volume = poses(model, q), 0.0, 0.0
    com, cob = np.zeros(3), np.zeros(3)
    for i, b in enumerate(model.bodies):
        at = lambda r, i=i: X[i][:3, :3] @ np.array(r) + X[i][:3, 3]  # noqa: E731
        mass, volume = mass + b.inertia.mass, volume + b.hydro.volume
        com, cob = com + b.inertia.mass * at(b.inertia.com), cob + b.hydro.volume * at(b.hydro.buoyancy_center)
    behind, below = (com / mass - cob / volume)[[0, 2]]
    assert behind == pytest.approx(0.015, abs=2e-6)  # its own centre of buoyancy is given to 1e-6 m
    assert np.degrees(np.arctan(behind / below)) == pytest.approx(2.24, abs=0.01)  # nose down at rest
    assert body(model, "vehicle").hydro.added_mass == body(load("tiburon_titan2"), "vehicle").hydro.added_mass


def test_tubular_frame_is_its_tubes():
    frame = body(load("tubular_frame"), "frame")
    assert weight_in_water(load("tubular_frame"), ["frame"]) == pytest.approx(100.0, abs=0.01)
    tubes = [drag.solid for drag in frame.hydro.drag]
    total = sum(np.linalg.norm(np.subtract(*t.ends)) for t in tubes)
    first, second = np.zeros(3), np.zeros((3, 3))
    for t in tubes:
        (s, e), r = t.ends, t.shape.radius
        length, p = np.linalg.norm(e - s), (s + e) / 2
        m, u = 400.0 * length / total, (e - s) / length
        first += m * p
        second += m * (r**2 / 2 + length**2 / 12) * (np.eye(3) - np.outer(u, u)) + m * r**2 * np.outer(u, u)
        second += m * (p @ p * np.eye(3) - np.outer(p, p))
    com = first / 400.0
    np.testing.assert_allclose(frame.inertia.com, com, atol=1e-6)
    tensor = second - 400.0 * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(tensor_matrix(frame.inertia.tensor), tensor, atol=6e-3)  # given to 0.01 kg·m²
    assert pi * tubes[0].shape.radius ** 2 * total == pytest.approx(frame.hydro.volume, rel=2e-3)  # radius to 1e-4 m


def test_valve_turns_by_a_quarter_to_starboard():
    model = load("valve_panel")
    up, _ = frame_pose(model, np.zeros(1), "grip")
    across, R = frame_pose(model, np.array([pi / 2]), "grip")
    np.testing.assert_allclose([up, across], [[-0.12, 0, -0.3], [-0.12, 0.3, 0]], atol=1e-12)
    np.testing.assert_allclose(R[:, 2], [1, 0, 0], atol=1e-12)
    assert body(model, "valve").joint.friction == 40.0


# --- BlueROV2 Heavy with Reach Alpha 5 ----------------------------------------------------------------------------------


def test_bluerov_vehicle_is_the_published_set():
    model = load("bluerov2_heavy_alpha5")
    b = body(model, "vehicle")
    assert (model.world.axes, model.world.gravity, model.world.water_density) == ("NED", 9.81, 1000.0)
    assert (b.inertia.mass, b.inertia.com, b.inertia.tensor) == (13.5, (0, 0, 0), (0.26, 0.23, 0.37, 0, 0, 0))
    assert (b.hydro.volume, b.hydro.buoyancy_center) == (0.0134, (0, 0, -0.01))
    assert b.hydro.added_mass[0].diagonal == (6.36, 7.12, 18.68, 0.189, 0.135, 0.222)
    assert b.hydro.drag[0].linear == (13.7, 0, 33.0, 0, 0.8, 0)
    assert b.hydro.drag[0].quadratic == (141.0, 217.0, 190.0, 1.19, 0.47, 1.5)


def test_bluerov_thrusters_are_the_published_geometry():
    turn = lambda a: np.array([[cos(a), -sin(a), 0], [sin(a), cos(a), 0], [0, 0, 1]])  # noqa: E731
    at = [0, 5.05, 1.91, pi, 0, 4.15, 1.01, pi]
    along = [0, pi / 2, 3 * pi / 2, pi]
    columns = []
    for k in range(8):
        p = turn(at[k]) @ np.array([0.156, 0.111, 0.085] if k < 4 else [0.12, 0.218, 0])
        d = turn(along[k]) @ np.array([0.5**0.5, -(0.5**0.5), 0]) if k < 4 else np.array([0, 0, -1.0])
        columns.append(np.concatenate([d, np.cross(p, d)]))
    B = allocation(load("bluerov2_heavy_alpha5"), 8)
    np.testing.assert_allclose(B, np.array(columns).T, atol=2e-5)  # positions are given to 1e-5 m
    assert np.linalg.matrix_rank(B) == 6


ALPHA = {  # mass, volume in litres, added mass: rotation, translation; drag; place of the cylinder's centre
    "shoulder": (0.194, 0.018, (7e-6, 7e-6, 0), (0.032, 0.032, 0.017), (0.26, 0.26, 0.3), (0, 0, 1)),
    "upper_arm": (0.429, 0.203, (0, 0.001716, 0.001716), (0.017, 0.201, 0.201), (0.3, 1.6, 1.6), (1, 0, 0)),
    "elbow": (0.115, 0.025, (7e-6, 0, 7e-6), (0.032, 0.017, 0.032), (0.26, 0.3, 0.26), (0, -1, 0)),
    "wrist": (0.333, 0.155, (0.002443, 0.002443, 0), (0.226, 0.226, 0.017), (1.8, 1.8, 0.3), (0, 0, -1)),
}


@pytest.mark.parametrize("name", list(ALPHA))
def test_alpha_links_have_the_published_numbers(name):
    mass, litres, about, along, drag, direction = ALPHA[name]
    b = body(load("bluerov2_heavy_alpha5"), name)
    assert b.inertia.mass == mass
    assert b.hydro.volume == pytest.approx(litres / 1000, rel=1e-12)
    assert b.hydro.drag[0].quadratic == (*drag, 0, 0, 0)
    A = np.array(b.hydro.added_mass[0].matrix)
    np.testing.assert_allclose(np.diag(A), [*along, *about], rtol=1e-12)
    # the coupling of a cylinder from the link's origin: I = m L²/3, centre at L/2, momentum −m L/2 (direction × ω)
    m, I = max(along), max(about)
    c = 0.5 * np.sqrt(3 * I / m) * np.array(direction)
    S = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    np.testing.assert_allclose(A[:3, 3:], -m * S, atol=1e-6)
    # it lies on the side where the link's mass is
    assert np.array(b.inertia.com) @ direction > 0


def test_alpha_frames_put_the_arm_where_the_source_has_it():
    """By hand, z up: at zero the upper arm points 1.3 rad down, the wrist up again from the elbow's end."""
    model = load("bluerov2_heavy_alpha5")
    q, _ = model.neutral()
    p, R = frame_pose(model, q, "tool")
    forward = 0.25 + 0.02 + 0.15 * cos(1.3) + 0.02
    up = 0.005 + 0.046 - 0.15 * sin(1.3) + 0.19
    np.testing.assert_allclose(p, [forward, 0.10965, -up], atol=1e-12)
    np.testing.assert_allclose(R[:, 2], [0, 0, -1], atol=1e-12)
    q[model.q_slices[model.body_index("upper_arm")]] = 1.3  # raise the upper arm to horizontal
    q[model.q_slices[model.body_index("elbow")]] = 1.3 + pi / 2  # stretch
    p, R = frame_pose(model, q, "tool")
    np.testing.assert_allclose(R[:, 2], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(p, [0.25 + 0.02 + 0.15 + 0.19, 0.10965, -(0.005 + 0.046 - 0.02)], atol=1e-12)


def test_alpha_lumped_inertia_of_the_source_is_about_the_link_origin():
    """hkolano's 0.004906 kg·m² of the upper arm: the assumption on the reference point of the added mass."""
    b = body(load("bluerov2_heavy_alpha5"), "upper_arm")
    about_origin = b.inertia.tensor[1] + b.inertia.mass * 0.073563**2 + b.hydro.added_mass[0].matrix[4][4]
    assert about_origin == pytest.approx(0.004906, abs=1e-6)


def test_bluerov_is_trimmed_with_its_arm():
    """Without its ballast it would be 9.2 N heavy and 62° out of trim."""
    model = load("bluerov2_heavy_alpha5")
    bare = [name for name in model.body_names if name != "ballast"]
    assert 9.81 * weight_in_water(model, bare) == pytest.approx(9.21, abs=0.01)
    assert 9.81 * weight_in_water(model, model.body_names) == pytest.approx(-1.49, abs=0.01)
    rest = hydrostatics(model)
    assert np.degrees(rest.rest) == pytest.approx([0.0, 0.0], abs=0.1)
    assert rest.cob[2] - rest.com[2] == pytest.approx(-0.028, abs=1e-3)


def test_bluerov_ballast_is_foam_and_steel():
    """Mass, volume and tensor of a foam block of 192 kg/m³ and three steel weights of 0.2 kg, from their boxes."""
    b = body(load("bluerov2_heavy_alpha5"), "ballast")
    boxes = [shape for shape in b.shapes if shape.wetting]
    foam, steel = (box.shape.volume for box in boxes)
    assert b.hydro.volume == pytest.approx(foam + steel, rel=1e-12)
    masses, places = [192.0 * foam, 8000.0 * steel], [np.array(box.origin.xyz) for box in boxes]
    assert b.inertia.mass == pytest.approx(sum(masses), rel=1e-12)
    com = sum(m * p for m, p in zip(masses, places, strict=True)) / sum(masses)
    assert b.inertia.com == pytest.approx(com, abs=1e-6)
    tensor = np.zeros((3, 3))
    for m, p, box in zip(masses, places, boxes, strict=True):
        edges, r = np.array(box.shape.size), p - com
        tensor += m / 12.0 * (edges @ edges * np.eye(3) - np.diag(edges**2)) + m * (r @ r * np.eye(3) - np.outer(r, r))
    assert b.inertia.tensor == pytest.approx([*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]], rel=1e-4)


def test_all_library_models_have_the_same_gravity():
    assert {library.load(name).world.gravity for name in library.names()} == {9.81}


# --- RexROV2 with Oberon 7 ----------------------------------------------------------------------------------------------

OBERON = {  # mass, volume, length, width, height
    "arm_base": (9.674677170178402, 0.002788456953271419, 0.282087, 0.198133, 0.155615),
    "shoulder_link": (6.72225246900683, 0.0019375025449559686, 0.184936, 0.136368, 0.239627),
    "upper_arm": (12.444399907248723, 0.0035867525954892433, 0.616809, 0.141889, 0.127829),
    "elbow_link": (10.314508867497032, 0.0029728706669208114, 0.245312, 0.243672, 0.155124),
    "forearm": (8.546261755853898, 0.002463222554965001, 0.151505, 0.151455, 0.334827),
    "wrist": (3.9024235776962013, 0.0011247651956159941, 0.219204, 0.122758, 0.130374),
}


def test_rexrov_vehicle_is_the_published_set():
    model = load("rexrov2_oberon7")
    b = body(model, "vehicle")
    assert (model.world.axes, model.world.water_density) == ("ENU", 1028.0)
    assert (b.inertia.mass, b.hydro.volume, b.hydro.buoyancy_center) == (1862.87, 1.83826, (0, 0, 0.3))
    assert b.inertia.tensor == (525.39, 794.2, 691.23, 1.44, 33.41, 2.6)
    assert b.hydro.drag[0].linear == (74.82, 69.48, 728.4, 268.8, 309.77, 105)
    assert b.hydro.drag[0].quadratic == (748.22, 992.53, 1821.01, 672, 774.44, 523.27)
    A = np.array(b.hydro.added_mass[0].matrix)
    assert np.array_equal(A, A.T)
    assert np.linalg.eigvalsh(A)[0] > 200
    np.testing.assert_array_equal(np.diag(A), [779.79, 1222, 3659.9, 534.9, 842.69, 224.32])


def test_rexrov_thrusters_reproduce_the_published_allocation():
    published = [
        [0.0, 0.2588192276583895, 0.0, 0.0, 0.9063078136609996, 0.9063078136609996],
        [0.9999999999999744, 0.0, 0.3826835895134471, 0.3826835895134471, 0.4226182046445928, -0.4226182046445928],
        [0.0, 0.9659257773733522, 0.9238794674182862, -0.9238794674182862, 0.0, 0.0],
        [-0.23729999999999393, 0.0, -0.6957355424885819, -0.6957355424885819, -0.10159741639656011, 0.10159741639656011],
        [0.0, 0.946145736358475, -0.7995252448269914, 0.7995253373805782, 0.2178763984041043, 0.2178763984041043],
        [0.4877999999999876, 0.0, 0.3311744245549398, 0.33117433217493447, -0.7638899192332406, 0.7638899192332406],
    ]
    np.testing.assert_allclose(allocation(load("rexrov2_oberon7"), 6), published, atol=3e-7)  # the source rounded π


@pytest.mark.parametrize("name", list(OBERON))
def test_oberon_links_are_solid_boxes(name):
    mass, volume, x, y, z = OBERON[name]
    b = body(load("rexrov2_oberon7"), name)
    assert b.inertia.mass == pytest.approx(mass, abs=1e-6)
    assert b.hydro.volume == pytest.approx(volume, abs=1e-9)
    tensor = np.array([y * y + z * z, x * x + z * z, x * x + y * y]) * mass / 12
    np.testing.assert_allclose(b.inertia.tensor, [*tensor, 0, 0, 0], atol=1e-6)
    assert b.hydro.buoyancy_center == b.inertia.com


def test_oberon_is_the_published_54_kg_less_the_gripper():
    """The source's total holds the gripper (2.4 kg by the rule of the other links), which is omitted."""
    model = load("rexrov2_oberon7")
    total = sum(body(model, n).inertia.mass for n in OBERON)
    assert total == pytest.approx(51.6045, abs=1e-3)
    gripper = 1.1096665518056343 + 2 * (0.28206032441970286 + 0.3608445259369312)
    assert total + gripper == pytest.approx(54.0, abs=1e-3)
    assert 9.81 * weight_in_water(model, model.body_names) == pytest.approx(92.7, abs=0.1)


def test_oberon_joints_are_the_published_ones():
    model = load("rexrov2_oberon7")
    deg = pi / 180
    published = {
        "shoulder_link": ((-60, 60), 100, 150),
        "upper_arm": ((-90, 90), 50, 150),
        "elbow_link": ((-90, 60), 50, 150),
        "forearm": ((-135, 135), 300, 1000),
        "wrist": ((-90, 90), 10, 10),
    }
    for name, (limits, damping, friction) in published.items():
        joint = body(model, name).joint
        np.testing.assert_allclose(joint.limits, np.array(limits) * deg, rtol=1e-15)
        assert (joint.damping, joint.friction) == (damping, friction)


def test_oberon_hangs_down_at_zero():
    """By hand: forearm and wrist point down when all joints are at zero, as the source has it."""
    model = load("rexrov2_oberon7")
    p, R = frame_pose(model, model.neutral()[0], "tool")
    np.testing.assert_allclose(R[:, 2], [0, 0, -1], atol=1e-15)
    forward = 1.3 + 0.06955 + 0.55616 + 0.1349014 + 0.003308
    up = -0.665 + 0.01536 - 0.01229 - 0.1936267 - 0.315957606 - 0.213618
    np.testing.assert_allclose(p, [forward, -0.5 + 0.00015, up], atol=1e-12)


LARGE = {"aquarobot", "dual_arm_redundant", "snake"}
"""Long to compile; aquarobot and the snake run in their scenarios, the other is dual_arm_rov with a joint more in each arm."""


@pytest.mark.parametrize("name", sorted(set(library.names()) - LARGE))
def test_model_runs_a_minute_with_defaults(name):
    """No warnings, and nothing diverges: friction, stops and step are chosen to fit each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = hm.Simulation(hm.load(name), record=1.0).run(60.0)
    assert run.state.t == 60.0 and np.isfinite(run.state.q).all()
    assert all("is assumed" in message for message in run.messages)  # a rotor that friction needs


def test_default_friction_follows_from_the_description():
    """A light wrist: the stick phase is as soft as 40 Hz asks for, whatever the state; a rotor only where damping needs one."""
    model = hm.load("puma560")
    found = {c.joint: c for c in hm.Simulation(model).plant.components}
    moved = State(t=0.0, q=np.linspace(-1.0, 1.0, 6), v=np.ones(6))
    assert hm.Simulation(model, state=moved).plant.components == tuple(found.values())
    assert found["link1"].stick_deflection == 1e-3 and found["link1"].armature == 0.0
    wrist = found["link6"]
    assert wrist.viscous / 800.0 == pytest.approx(wrist.armature + 4e-5, rel=1e-2)
    stiffness = wrist.coulomb / wrist.stick_deflection
    assert stiffness == pytest.approx(wrist.viscous / 800.0 * (80.0 * np.pi) ** 2, rel=1e-2)
    geared = hm.Simulation(
        model,
        components=[drives.Motor(joint="link6", resistance=2.0, torque_constant=0.05, gear_ratio=76.7, rotor_inertia=3.3e-5)],
    ).plant.components
    assert next(c for c in geared if c.name == "link6.friction").armature == 0.0
    own = hm.Simulation(model, components=[drives.JointFriction(joint="link6", coulomb=0.5)])
    with pytest.raises(ValueError, match="friction of joint 'link6' is too stiff"):
        own.run(0.01)
