"""Wrong arguments raise an error that names the argument and what was expected."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.library import serial_chain

MODEL = serial_chain(2)
Q, V = MODEL.neutral()
TAU = np.zeros(MODEL.nv)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: hm.forward_dynamics(MODEL, Q[:-1], V, TAU), ["q must have shape (9,)", "got (8,)", "chain_2"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V[:3], TAU), ["v must have shape (8,)", "got (3,)"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V, [[0.0] * 8]), ["tau must have shape (8,)", "got (1, 8)"]),
        (lambda: hm.inverse_dynamics(MODEL, Q, V, 3.0), ["vdot must have shape (8,)", "got ()"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V + np.nan, TAU), ["v[0] is nan", "finite"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V, TAU, wrench=np.full((3, 6), np.inf)), ["wrench[0, 0] is inf"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V, TAU, wrench=np.zeros(6)), ["wrench must have shape (3, 6)", "about its origin"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V, TAU, fluid_velocity=[1.0, 2.0]), ["fluid_velocity", "(3,) or (3, 3)", "world axes"]),
        (lambda: hm.forward_dynamics(MODEL, Q, V, TAU, fluid_acceleration="fast"), ["fluid_acceleration", "'fast'"]),
        (lambda: hm.mass_matrix(MODEL, Q * 2), ["q[3:7]", "quaternion of body 'vehicle'", "length 2"]),
        (lambda: hm.forward_dynamics(MODEL, [None] * 9, V, TAU), ["q must be an array of numbers"]),
        (lambda: hm.forward_dynamics(MODEL, Q + 0j, V, TAU), ["q must be an array of numbers"]),
        (lambda: hm.jacobian(MODEL, Q, "link1", point=(1, 2)), ["point must have shape (3,)"]),
        (lambda: hm.integrate(MODEL, Q, V, np.inf), ["dt", "inf"]),
    ],
)  # fmt: skip
def test_value_errors_name_the_argument(call, words):
    with pytest.raises(ValueError) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KeyError, match="no frame or body 'gripper'.*link1, link2"):
        hm.jacobian(MODEL, Q, "gripper")
    with pytest.raises(KeyError, match="no body 'gripper'.*vehicle, link1, link2"):
        MODEL.body_index("gripper")


def test_something_else_than_a_model():
    with pytest.raises(TypeError, match="must be a hydromechs.Model, got str; load one with hm.load"):
        hm.forward_dynamics("puma560", Q, V, TAU)


def test_inputs_are_not_changed():
    q, v, tau = Q.copy(), V + 0.5, TAU + 0.25
    copies = q.copy(), v.copy(), tau.copy()
    hm.forward_dynamics(MODEL, q, v, tau)
    for a, b in zip((q, v, tau), copies, strict=True):
        np.testing.assert_array_equal(a, b)


def test_lists_and_integers_are_welcome():
    vdot = hm.forward_dynamics(MODEL, list(Q), [0] * 8, [0] * 8, fluid_velocity=[1, 0, 0])
    assert vdot.shape == (8,) and vdot.dtype == float


def test_quaternions_are_cleaned_of_rounding():
    """A length off by less than 1e-6 changes nothing but rounding."""
    v = V + 0.5
    off = Q.copy()
    off[3:7] = np.array([0.5, 0.5, 0.5, 0.5]) * (1 + 9e-7)
    exact = Q.copy()
    exact[3:7] = 0.5
    np.testing.assert_allclose(hm.forward_dynamics(MODEL, off, v, TAU), hm.forward_dynamics(MODEL, exact, v, TAU), rtol=1e-12)


class Odd:
    """Hydrodynamics that returns whatever it was given."""

    def __init__(self, added, wrench):
        self.added, self.force = added, wrench

    def added_mass(self, body, motion):
        return self.added

    def wrench(self, body, motion):
        return self.force


@pytest.mark.parametrize(
    "added, wrench, words",
    [
        (np.ones(6), np.zeros(6), "body 'b': Odd.added_mass returned shape (6,); return shape (6, 6)"),
        (np.triu(np.ones((6, 6))), np.zeros(6), "body 'b': Odd.added_mass returned an asymmetric matrix"),
        (np.eye(6), np.zeros(3), "body 'b': Odd.wrench returned shape (3,); return shape (6,)"),
        (np.eye(6), 0.0, "body 'b': Odd.wrench returned shape (); return shape (6,)"),
    ],
)
def test_custom_hydrodynamics_of_wrong_shape(added, wrench, words):
    model = hm.Model(
        bodies=[hm.Body(name="b", inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0)), hydro=Odd(added, wrench))]
    )
    with pytest.raises(ValueError) as error:
        hm.forward_dynamics(model, [0, 0, 0, 1, 0, 0, 0], np.zeros(6), np.zeros(6))
    assert words in str(error.value)


def test_class_instead_of_an_object():
    with pytest.raises(hm.ModelError, match="must be a Hydro, or an object with the methods"):
        hm.Model(bodies=[hm.Body(name="b", inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0)), hydro=Odd)])


class Floating(Odd):
    """Own hydrodynamics with the buoyancy of 2 kg of water and its potential."""

    def wrench(self, body, motion):
        return np.concatenate([2.0 * motion.a_fg, np.zeros(3)])

    def potential_energy(self, body, motion):
        return 2.0 * 9.81 * motion.depth


def test_energy_of_custom_hydrodynamics():
    """With its method potential_energy the energy is that of the same body described by Hydro."""
    inertia = hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0))
    own = hm.Model(bodies=[hm.Body(name="b", inertia=inertia, hydro=Floating(np.eye(6), None))])
    matrix = hm.Hydro(volume=2 / 1025, added_mass=hm.added_mass.Diagonal((1,) * 6))
    same = hm.Model(bodies=[hm.Body(name="b", inertia=inertia, hydro=matrix)])
    q, v = np.array([1.0, 2, 3, 0.6, 0.8, 0, 0]), np.arange(6.0)
    np.testing.assert_allclose(hm.energy(own, q, v), hm.energy(same, q, v), rtol=1e-13)


def test_tensor_as_a_matrix():
    with pytest.raises(ValueError, match=r"must be six numbers, xx yy zz xy xz yz; got shape \(3, 3\)"):
        hm.Inertia(mass=30, tensor=np.eye(3))
