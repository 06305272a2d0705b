"""What wrong arguments get: an error that names the argument and what was expected."""

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
    with pytest.raises(KeyError, match="no body or frame 'gripper'.*link1, link2"):
        hm.jacobian(MODEL, Q, "gripper")
    with pytest.raises(KeyError, match="no body 'gripper'.*vehicle, link1, link2"):
        MODEL.body_index("gripper")


def test_something_else_than_a_model():
    with pytest.raises(TypeError, match="must be a hydromechs.Model, got str; hm.load"):
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
