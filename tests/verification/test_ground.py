"""Height fields from functions, arrays, files and generators; ready materials; what wrong ground gets."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry, library
from hydromechs.contact import MATERIAL_SOURCES, MATERIALS, Terrain, contact_pairs
from hydromechs.formats import loads_scenario

ROCK = MATERIALS["rock"]
UP = np.array([0.0, 0.0, -1.0])
"""Down, in a world with z up."""


def hill(x, y):
    return -10.0 + 0.2 * x - 0.1 * y + 0.05 * x * y


def height(field, x, y):
    """Of the surface [m], from the distance of a point on it."""
    low, high = -100.0, 100.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = field.distance(np.array([x, y, middle]), UP)[0] < 0.0
        low, high = (middle, high) if inside else (low, middle)
    return middle


def test_a_field_from_a_function_goes_through_it():
    field = geometry.height_field(heights=hill, x=(-1, 2), y=(0, 3), spacing=0.25)
    for x, y in ((0.3, 1.2), (1.11, 2.5)):
        assert height(field, x, y) == pytest.approx(hill(x, y), abs=1e-9)  # cubic splines have this surface exactly


@pytest.fixture
def files(tmp_path):
    """The same hill as a NumPy array, a table, points and a mesh; an image from 0 to 1."""
    x, y = np.linspace(-1, 2, 13), np.linspace(0, 3, 9)
    X, Y = np.meshgrid(x, y, indexing="ij")
    h = hill(X, Y)
    np.save(tmp_path / "h.npy", h)
    np.savetxt(tmp_path / "h.csv", h, delimiter=",", fmt="%.17g")
    shuffled = np.random.default_rng(0).permutation(np.stack([X, Y, h], -1).reshape(-1, 3))
    np.savetxt(tmp_path / "h.xyz", shuffled, fmt="%.17g")
    corner = np.arange(h.size).reshape(h.shape)
    quads = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], -1).reshape(-1, 4) + 1
    lines = [f"v {a!r} {b!r} {c!r}" for a, b, c in np.stack([X, Y, h], -1).reshape(-1, 3).tolist()]
    lines += [f"f {a} {b} {c}\nf {a} {c} {d}" for a, b, c, d in quads.tolist()]
    (tmp_path / "h.obj").write_text("\n".join(lines) + "\n")
    from PIL import Image

    Image.fromarray((np.arange(6, dtype=np.uint8) * 51).reshape(2, 3)).save(tmp_path / "h.png")
    return tmp_path, h


@pytest.mark.parametrize("name", ["h.npy", "h.csv", "h.xyz", "h.obj"])
def test_a_field_from_a_file(files, name):
    folder, h = files
    where = {} if name in ("h.xyz", "h.obj") else {"x": (-1, 2), "y": (0, 3)}
    spacing = {"spacing": 0.25} if name == "h.obj" else {}
    field = geometry.height_field(file=folder / name, **where, **spacing)
    assert (field.x[0], field.x[-1], field.y[-1]) == (-1.0, 2.0, 3.0)
    if name == "h.obj":
        assert height(field, 0.5, 1.5) == pytest.approx(hill(0.5, 1.5), abs=0.01)  # triangles cut a curved surface
    else:
        np.testing.assert_allclose(field.heights, h, atol=1e-12)


def test_grey_values_are_heights(files):
    """Columns along x, the lowest row of the picture at the least y."""
    field = geometry.height_field(file=files[0] / "h.png", x=(0, 2), y=(0, 1), low=-5.0, high=-4.0)
    np.testing.assert_allclose(field.heights, [[-4.4, -5.0], [-4.2, -4.8], [-4.0, -4.6]], atol=1e-12)


def test_a_mound_is_the_same_for_the_same_seed_wherever_the_grid_begins():
    x, y = np.linspace(0, 4, 41), np.linspace(-1, 1, 21)
    mound = geometry.rubble_mound(x, y, seed=3, level=-8.0, relief=0.3)
    np.testing.assert_array_equal(mound, geometry.rubble_mound(x, y, seed=3, level=-8.0, relief=0.3))
    part = geometry.rubble_mound(x[10:20], y, seed=3, level=-8.0, relief=0.3)
    np.testing.assert_allclose(part, mound[10:20], atol=1e-12)
    other = geometry.rubble_mound(x, y, seed=4, level=-8.0, relief=0.3)
    assert np.abs(other - mound).max() > 0.05
    assert mound.mean() == pytest.approx(-8.0, abs=0.05) and np.ptp(mound) < 0.31 and 0.03 < mound.std() < 0.08
    flat = geometry.rubble_mound(x, y, seed=3, level=-8.0, relief=0.3, start=2.0)
    assert np.all(flat[x <= 2.0] == -8.0) and np.ptp(flat[x > 2.5]) > 0.1


def test_slopes_and_steps():
    x, y = np.linspace(0, 2, 5), np.linspace(0, 1, 3)
    np.testing.assert_allclose(geometry.slope(x, y, level=-3.0, rise=0.5, heading_deg=90.0)[2], [-3.0, -2.75, -2.5], atol=1e-12)
    np.testing.assert_allclose(geometry.steps(x, y, rise=0.2, run=1.0, start=0.4)[:, 0], [0, 0.2, 0.2, 0.4, 0.4])


def test_ready_materials_report_where_they_come_from():
    assert set(MATERIALS) == {"concrete", "rock", "sand", "mud", "steel", "rubber"} == set(MATERIAL_SOURCES)
    assert all("estimated" in text for text in MATERIAL_SOURCES.values())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda f: geometry.height_field(heights=np.ones(3), x=(0, 1), y=(0, 1)), "a row for each x"),
        (
            lambda f: geometry.height_field(heights=[[1, np.nan], [0, 0]], x=(0, 1), y=(0, 1)),
            "heights.*must be finite",
        ),
        (
            lambda f: geometry.height_field(heights=np.ones((3, 2)), x=(0, 1, 2, 3), y=(0, 1)),
            "must contain 4 rows",
        ),
        (lambda f: geometry.height_field(file=f / "h.npy"), "position of the grid; .* x"),
        (lambda f: geometry.height_field(file=f / "h.obj"), "is a mesh; set the spacing"),
        (lambda f: geometry.height_field(file=f / "none.xyz"), "none.xyz' does not exist"),
        (
            lambda f: geometry.height_field(file=f / "bad.xyz"),
            "3 points, but 2 different x and 2 different y",
        ),
        (
            lambda f: geometry.height_field(file=f / "nan.csv", x=(0, 1), y=(0, 1)),
            "row 1, column 0 is nan",
        ),
        (lambda f: geometry.height_field(heights=hill, x=(1, 0), y=(0, 1), spacing=0.1), r"x is \[1, 0\]"),
        (
            lambda f: geometry.height_field(x=(0, 1), y=(0, 1), generate={"type": "rubbel_mound", "spacing": 0.1}),
            "did you mean|must be one of",
        ),
        (lambda f: geometry.height_field(x=(0, 1), y=(0, 1), generate={"type": "slope", "spacing": 0.1}), "rise"),
        (
            lambda f: geometry.height_field(x=(0, 1), y=(0, 1), generate={"type": "steps", "spacing": 0.1, "rize": 1}),
            "steps has no argument 'rize'",
        ),
        (
            lambda f: geometry.height_field(x=(0, 99), y=(0, 99), generate={"type": "slope", "spacing": 0.1, "rise": 1}),
            "at most 250000",
        ),
    ],
)
def test_wrong_ground_is_named_with_the_remedy(files, made, words):
    folder = files[0]
    (folder / "bad.xyz").write_text("0 0 1\n0 1 1\n1 0 1\n")
    (folder / "nan.csv").write_text("0,1\nnan,2\n")
    with pytest.raises(ValueError, match=words):
        made(folder)


FILE = """hydromechs_scenario: 2
name: s
run: {duration: 1}
models:
  osu_hexapod: {model: osu_hexapod, position: [0, 0, HEIGHT]}
terrain:
  mound:
    type: height_field
    x: [-2, 2]
    y: [-2, 2]
    generate: {type: rubble_mound, spacing: 0.2, seed: 5, relief: 0.1}
    material: rock
"""


def test_a_scenario_file_generates_ground_of_a_ready_material():
    scenario = loads_scenario(FILE.replace("HEIGHT", "0.4"), library=hm.load, plants=library.load_vehicle)
    (mound,) = scenario.parts(Terrain)
    assert mound.material == ROCK and len(mound.shape.x) == 21
    field = mound.shape
    np.testing.assert_allclose(field.heights, geometry.rubble_mound(np.array(field.x), np.array(field.y), seed=5, relief=0.1))
    with pytest.raises(hm.ScenarioError, match="terrain.mound.material is .rok.*concrete, rock"):
        loads_scenario(FILE.replace("rock", "rok").replace("HEIGHT", "0.4"), library=hm.load, plants=library.load_vehicle)
    with pytest.raises(hm.ScenarioError, match=r"line 11: terrain.mound.generate .*rubble_mound has no argument 'sede'"):
        loads_scenario(FILE.replace("seed", "sede").replace("HEIGHT", "0.4"), library=hm.load, plants=library.load_vehicle)


def test_feet_below_the_ground_at_the_start_are_a_error():
    with pytest.raises(hm.ScenarioError, match="starts .* m inside .*contact 'lower1 on mound'"):
        loads_scenario(FILE.replace("HEIGHT", "0.1"), library=hm.load, plants=library.load_vehicle)


def test_a_users_own_contact_law_is_one_class():
    """A stiffening law, N = k d + k2 d² while d > 0, carries a ball at the depth of the closed form."""
    from dataclasses import dataclass

    from hydromechs.contact import ContactLaw, Material, NormalForce
    from hydromechs.spatial import maximum

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Stiffening(ContactLaw):
        k: float
        k2: float
        c: float

        def force(self, depth, rate):
            d = maximum(depth, 0.0)
            spring = self.k * d + self.k2 * d * d
            damped = maximum(spring + self.c * d * rate, 0.0)
            return NormalForce(damped, spring, 0.5 * self.k * d**2 + self.k2 * d**3 / 3.0)

        def stiffness_at(self, depth):
            return self.k + 2.0 * self.k2 * depth, 0.0

    material = Material(law=Stiffening(k=1000.0, k2=2e5, c=2e4))
    floor = Terrain(name="floor", material=material, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, 0.1)),
        inertia=hm.Inertia(mass=2.0, tensor=(0.01, 0.01, 0.01, 0, 0, 0)),
        shapes=[hm.geometry.Sphere(radius=0.1)],
    )
    model = hm.Model(name="ball", world=hm.World(axes="ENU"), bodies=[ball])
    assert len(contact_pairs(model, [floor])) == 1
    run = hm.Simulation(model, components=[floor], step=1e-3).run(4.0)
    depth = (-1000.0 + np.sqrt(1e6 + 4.0 * 2e5 * 2.0 * 9.81)) / (2.0 * 2e5)
    assert run.recording.contact_gap[-1].item() == pytest.approx(-depth, rel=1e-4)
