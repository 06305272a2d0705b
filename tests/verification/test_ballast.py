"""Ballast: a vehicle that carries it rests as asked, with an arm that rights it; what cannot be is rejected with numbers."""

from math import nan, radians

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import Origin, geometry


def wet_box(com=(0.0, 0.0, -0.02), mass=60.0):
    """A box that is top-heavy in a world with z down, unless its centre of mass is given."""
    hull = hm.Body(
        name="hull",
        inertia=hm.Inertia(mass=mass, com=com, tensor=(1.0, 2.0, 2.5, 0, 0, 0)),
        shapes=(geometry.Box(size=(0.6, 0.4, 0.25)),),
    )
    return hm.add_water(hm.Model(name="box", bodies=[hull])).model


@pytest.mark.parametrize("buoyancy", [0.0, 5.0])
def test_a_top_heavy_vehicle_rests_level_without_further_wishes(buoyancy):
    """The arm is 1 % of the cube root of the displaced volume at the least, and nothing is left to warn of."""
    found = hm.ballast(wet_box(), buoyancy=buoyancy)
    size = (found.after.displaced_mass / 1025.0) ** (1 / 3)
    assert found.after.stability >= 0.01 * size * (1.0 - 1e-6)
    np.testing.assert_allclose(found.after.rest, 0.0, atol=1e-6)
    assert found.after.warnings == ()
    assert found.after.net_weight == pytest.approx(-buoyancy, abs=1e-6)
    assert f"centre of buoyancy {1e3 * found.after.stability:.3g} mm above the centre of mass" in str(found)
    again = hm.ballast(found.model, buoyancy=buoyancy)
    assert sum(piece.mass for piece in again.pieces) < 1e-5


def test_a_height_that_no_ballast_reaches_is_rejected_with_the_one_that_it_does():
    """Ever more lead below and foam above in the box come near an arm, the largest there is; 0.9 of it are found."""
    model = wet_box()
    with pytest.raises(ValueError, match=r"`stability` of 3 m.*0.6 × 0.4 × 0.25 m give at most (0\.\d+) m") as caught:
        hm.ballast(model, stability=3.0)
    most = float(str(caught.value).split("at most ")[1].split(" m")[0])
    assert hm.ballast(model, stability=0.9 * most).after.stability == pytest.approx(0.9 * most, rel=1e-6)
    with pytest.raises(ValueError, match="at most"):
        hm.ballast(model, stability=1.1 * most)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"pitch": 30.0}, r"pitch is 30 rad.*math.radians\(30\)"),
        ({"roll": -90.0}, r"roll is -90 rad.*math.radians\(-90\)"),
        ({"pitch": nan}, "pitch is nan"),
        ({"buoyancy": nan}, "buoyancy is nan"),
        ({"buoyancy": -1e6}, r"buoyancy is -1e\+06 N, more than the weight or displacement of the vehicle, 60\d\.\d N"),
        ({"stability": nan}, "stability is nan"),
        ({"stability": 0.0}, "stability is 0.*above 0"),
        ({"weight_density": nan}, "weight_density is nan"),
        ({"box": ((0, 0, nan), (1, 1, 1))}, "box is"),
        ({"q": np.full(7, nan)}, "q is"),
        ({"q": np.zeros(3)}, "q has shape"),
    ],
)
def test_wishes_that_mean_nothing_are_named(wish, words):
    with pytest.raises(ValueError, match=words):
        hm.ballast(wet_box(), **wish)


def on_an_empty_root(*shape):
    """As many URDF files are: a root link without anything, and the hull fixed to it, turned and away."""
    hull = hm.Body(
        name="hull",
        parent="base_link",
        joint=hm.joints.Fixed(placement=Origin((0.2, 0.1, -0.3), (0.3, -0.5, 1.1))),
        inertia=hm.Inertia(mass=60.0, com=(0.01, 0.0, -0.02), tensor=(1.0, 2.0, 2.5, 0, 0, 0)),
        shapes=shape,
    )
    empty = hm.Inertia(mass=0.0, com=(0, 0, 0), tensor=(0,) * 6)
    return hm.Model(name="urdf", bodies=[hm.Body(name="base_link", inertia=empty), hull])


@pytest.mark.parametrize("body", [None, "hull"])
def test_ballast_is_on_what_is_fixed_to_an_empty_root(body):
    found = hm.ballast(
        hm.add_water(on_an_empty_root(geometry.Box(size=(0.6, 0.4, 0.25)))).model, body=body, roll=0.1, pitch=-0.2
    )
    assert found.body == "hull"
    np.testing.assert_allclose(found.after.rest, (0.1, -0.2), atol=1e-6)
    for piece in found.pieces:
        assert (np.abs(piece.position) <= np.array([0.3, 0.2, 0.125]) + 1e-9).all()


def test_a_vehicle_without_water_is_reported_what_to_do():
    with pytest.raises(ValueError, match=r"base_link, hull.*hm.add_water.*meshes"):
        hm.ballast(hm.add_water(on_an_empty_root()).model)
    with pytest.raises(ValueError, match=r"'base_link' has no hydrodynamics.*body='hull'"):
        hm.ballast(hm.add_water(on_an_empty_root(geometry.Sphere(radius=0.25))).model, body="base_link")


def test_a_model_with_its_report_is_no_model():
    with pytest.raises(TypeError, match=r"ballast: model is .*must be a Model.*\.model"):
        hm.ballast(hm.add_water(on_an_empty_root()))


def test_degrees_as_radians():
    assert hm.ballast(wet_box(), pitch=radians(30.0)).after.rest[1] == pytest.approx(radians(30.0), abs=1e-6)
