"""Our models in MuJoCo, Pinocchio, CasADi and python-control: the same motion, in coordinates that are turned into each other."""

import sys
from dataclasses import replace

import casadi
import numpy as np
import pytest

import hydromechs as hm
from hydromechs.recording import MemoryRecorder, Variable

TOLERANCE = 1e-10
"""Of accelerations relative to the largest one: condition of the mass matrix times rounding, and MuJoCo's principal axes."""


def inertia(rng, mass):
    """An offset centre of mass and a tensor with products, different on each axis."""
    points = rng.normal(size=(8, 3)) * rng.uniform(0.1, 0.5, 3)
    second = mass / 8 * points.T @ points
    I = np.trace(second) * np.eye(3) - second
    return hm.Inertia(mass=mass, com=rng.uniform(-0.3, 0.3, 3), tensor=(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))


def place(rng):
    return hm.Origin(rng.uniform(-0.5, 0.5, 3), rng.uniform(-3, 3, 3))


def tree(axes, base, *, helical=False):
    """Two branches whose bodies are not in a row, with all joints that both programs have, and a fixed body on each."""
    rng, j = np.random.default_rng(5), hm.joints
    composite = j.Composite(
        parts=(
            j.Revolute(axis=(0.2, 1.0, -0.4), placement=place(rng)),
            j.Prismatic(axis=(1.0, 0.3, 0.5), placement=place(rng)),
            j.Revolute(axis=(0, 1, 0), placement=place(rng)),
        )
    )
    rows = [
        ("hull", None, base),
        ("left", "hull", j.Revolute(axis=(0.3, -0.2, 1.0), placement=place(rng))),
        ("right", "hull", j.Ball(placement=place(rng))),
        ("pod", "left", j.Fixed(placement=place(rng))),
        ("slide", "left", j.Prismatic(axis=(1.0, 2.0, -0.5), placement=place(rng))),
        ("wrist", "right", composite),
        ("tail", "slide", j.Revolute(placement=hm.Mdh(a=0.3, alpha=0.7, d=0.1, theta=0.4))),
        ("stone", None, j.Free()),
    ]
    if helical:
        rows.append(("screw", "tail", j.Helical(pitch=0.2, axis=(1, 1, 0), placement=place(rng))))
    frames = {"wrist": (hm.Frame(name="tool", origin=place(rng)),), "pod": (hm.Frame(name="lamp", origin=place(rng)),)}
    bodies = [
        hm.Body(name=n, parent=p, joint=q, inertia=inertia(rng, rng.uniform(1, 5)), frames=frames.get(n, ()))
        for n, p, q in rows
    ]
    return hm.Model(name="tree", bodies=bodies, world=hm.World(axes=axes))


def state(model, rng):
    q, v, tau = rng.uniform(-1, 1, model.nq), rng.normal(size=model.nv), rng.normal(size=model.nv)
    for part in model.joint_parts.values():
        if isinstance(part.joint, hm.joints.Free | hm.joints.Ball):
            q[part.q.stop - 4 : part.q.stop] /= np.linalg.norm(q[part.q.stop - 4 : part.q.stop])
    return q, v, tau


BASES = {
    "free": hm.joints.Free(),
    "placed": hm.joints.Free(placement=hm.Origin((0.4, -0.3, 0.2), (0.5, -0.7, 1.1))),
    "fixed": hm.joints.Fixed(placement=hm.Origin((0.4, -0.3, 0.2), (0.5, -0.7, 1.1))),
}


@pytest.mark.parametrize("axes", ["NED", "ENU"])
@pytest.mark.parametrize("base", BASES)
def test_mujoco_moves_alike(base, axes):
    """Forward dynamics of `mj_forward`, and poses: bodies in another order, a free joint that has its velocity in world axes."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    model, rng = tree(axes, BASES[base]), np.random.default_rng(1)
    there, at, lost = hm.to_mujoco(model)
    assert any("water" in line for line in lost)
    data = mujoco.MjData(there)
    for _ in range(5):
        q, v, tau = state(model, rng)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = at.q(q), at.v(q, v), at.tau(q, tau)
        mujoco.mj_forward(there, data)
        ours = hm.forward_dynamics(model, q, v, tau)
        theirs = at.our_vdot(q, v, data.qacc)
        assert np.abs(ours - theirs).max() < TOLERANCE * np.abs(ours).max()
        np.testing.assert_allclose(at.vdot(q, v, ours), data.qacc, rtol=0, atol=TOLERANCE * np.abs(ours).max())
        for body, X in zip(model.bodies, hm.kinematics(model, q, v).X_WB, strict=True):
            np.testing.assert_allclose(data.body(body.name).xpos, X[:3, 3], atol=1e-12)
            np.testing.assert_allclose(data.body(body.name).xmat.reshape(3, 3), X[:3, :3], atol=1e-12)
        pose = hm.frame_pose(model, q, "tool")
        np.testing.assert_allclose(data.site("tool").xpos, pose[:3, 3], atol=1e-12)
        M = np.zeros((there.nv, there.nv))
        mujoco.mj_fullM(there, data, M)
        T = at.matrix(q)
        np.testing.assert_allclose(T.T @ M @ T, hm.mass_matrix(model, q), atol=1e-10)


def test_mujoco_starts_where_the_model_does():
    """The start that the model gives, turned, is the pose that MuJoCo begins with."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    start = hm.joints.Free(position=(1, 2, 3), orientation=(0.5, 0.5, -0.5, 0.5), placement=hm.Origin((0.4, 0, 0), (0, 0.3, 0)))
    model = hm.Model(bodies=[hm.Body(name="hull", joint=start, inertia=inertia(np.random.default_rng(0), 3.0))])
    there, at, _ = hm.to_mujoco(model)
    data = mujoco.MjData(there)
    q = model.initial().q
    np.testing.assert_allclose(data.qpos, at.q(q), atol=1e-15)
    np.testing.assert_allclose(at.our_q(data.qpos), q, atol=1e-15)


@pytest.mark.parametrize("axes", ["NED", "ENU"])
@pytest.mark.parametrize("base", BASES)
def test_pinocchio_moves_alike(base, axes):
    """Forward dynamics of `aba`, inverse dynamics, mass matrix, frames; quaternions in another order."""
    pin = pytest.importorskip("pinocchio", reason="needs pip install 'hydromechs[pinocchio]'")
    model, rng = tree(axes, BASES[base], helical=True), np.random.default_rng(1)
    there, at, _ = hm.to_pinocchio(model)
    data = there.createData()
    for _ in range(5):
        q, v, tau = state(model, rng)
        qp, vp = at.q(q), at.v(q, v)
        ours = hm.forward_dynamics(model, q, v, tau)
        theirs = at.our_vdot(q, v, pin.aba(there, data, qp, vp, at.tau(q, tau)))
        assert np.abs(ours - theirs).max() < TOLERANCE * np.abs(ours).max()
        forces = at.our_tau(q, pin.rnea(there, data, qp, vp, at.vdot(q, v, ours)))
        np.testing.assert_allclose(forces, tau, atol=TOLERANCE * np.abs(ours).max())
        pin.framesForwardKinematics(there, data, qp)
        for body, X in zip(model.bodies, hm.kinematics(model, q, v).X_WB, strict=True):
            number = there.getFrameId(body.name, pin.FrameType.BODY)
            np.testing.assert_allclose(data.oMf[number].homogeneous, X, atol=1e-12)
        for name in ("tool", "lamp"):
            frame = data.oMf[there.getFrameId(name)].homogeneous
            np.testing.assert_allclose(frame, hm.frame_pose(model, q, name), atol=1e-12)
        np.testing.assert_allclose(at.our_q(qp), q, atol=1e-15)
        np.testing.assert_allclose(at.our_v(q, vp), v, atol=1e-15)


def test_pinocchio_has_limits_and_friction():
    pytest.importorskip("pinocchio", reason="needs pip install 'hydromechs[pinocchio]'")
    rng = np.random.default_rng(0)
    knee = hm.joints.Revolute(limits=(-0.5, 1.5), damping=0.3, friction=0.2)
    bodies = [
        hm.Body(name="hull", joint=hm.joints.Free(), inertia=inertia(rng, 3.0)),
        hm.Body(name="leg", parent="hull", joint=knee, inertia=inertia(rng, 1.0)),
    ]
    there, at, _ = hm.to_pinocchio(hm.Model(bodies=bodies))
    k, d = at.q_of[-1], at.v_of[-1]
    assert (there.lowerPositionLimit[k], there.upperPositionLimit[k]) == (-0.5, 1.5)
    assert (there.damping[d], there.friction[d]) == (0.3, 0.2)


@pytest.mark.parametrize("name", ["bluerov2_heavy_alpha5", "aquarobot"])
def test_library_models_come_along(name):
    """Dry accelerations of library models, with their damping and looks, in both programs."""
    pin, mujoco = (
        pytest.importorskip("pinocchio", reason="needs pip install 'hydromechs[pinocchio]'"),
        pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'"),
    )
    wet = hm.load(name)
    rng = np.random.default_rng(3)
    q, v, _ = state(wet, rng)
    dry = replace(wet, bodies=tuple(replace(b, hydro=None) for b in wet.bodies))
    vdot = rng.normal(size=wet.nv)
    tau = hm.inverse_dynamics(dry, q, v, vdot)
    there, at, lost = hm.to_pinocchio(wet)
    theirs = at.our_vdot(q, v, pin.aba(there, there.createData(), at.q(q), at.v(q, v), at.tau(q, tau)))
    assert np.abs(theirs - vdot).max() < 1e-9
    assert lost
    there, at, lost = hm.to_mujoco(wet)
    assert lost
    for flag in ("CONTACT", "CONSTRAINT", "SPRING", "DAMPER"):
        there.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    data = mujoco.MjData(there)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = at.q(q), at.v(q, v), at.tau(q, tau)
    mujoco.mj_forward(there, data)
    assert np.abs(at.our_vdot(q, v, data.qacc) - vdot).max() < 1e-9


class TestCasadi:
    """CasADi functions against machine code of the same equations, in water that moves."""

    MODEL = hm.load("bluerov2_heavy_alpha5")
    DYN = hm.compile(MODEL)

    def test_functions_equal_compiled(self):
        model, dyn, rng = self.MODEL, self.DYN, np.random.default_rng(2)
        f = hm.to_casadi(model)
        flow = hm.to_casadi(model, ["forward_dynamics"], inputs=["fluid_velocity"])["forward_dynamics"]
        q, v, tau = state(model, rng)
        current = np.array([0.4, -0.3, 0.2])
        vdot = dyn.forward_dynamics(q, v, tau)
        scale = 1e-11 * np.abs(vdot).max()  # rounding times the condition of the mass matrix
        np.testing.assert_allclose(f["forward_dynamics"](q, v, tau).full().ravel(), vdot, atol=scale)
        wet = dyn.forward_dynamics(q, v, tau, fluid_velocity=current)
        np.testing.assert_allclose(flow(q, v, tau, current).full().ravel(), wet, atol=scale)
        np.testing.assert_allclose(flow(q=q, v=v, tau=tau)["vdot"].full().ravel(), vdot, atol=scale)
        M = dyn.mass_matrix(q)
        np.testing.assert_allclose(f["mass_matrix"](q).full(), M, atol=1e-12 * M.max())
        forces = dyn.inverse_dynamics(q, v, vdot)
        np.testing.assert_allclose(f["inverse_dynamics"](q, v, vdot).full().ravel(), forces, atol=1e-11 * np.abs(forces).max())
        X, V = f["kinematics"](q, v)
        X_, V_ = dyn.kinematics(q, v)
        np.testing.assert_allclose(X.full().reshape(model.nb, 4, 4), X_, atol=1e-13)
        np.testing.assert_allclose(V.full(), V_, atol=1e-13)

    def test_wrenches_jacobians_and_parameters(self):
        model, rng = self.MODEL, np.random.default_rng(3)
        q, v, tau = state(model, rng)
        wrench, mass, point = rng.normal(size=(model.nb, 6)), 15.0, np.array([0.1, 0.2, -0.3])
        name = f"{model.body_names[0]}.inertia.mass"
        place = f"jacobian:{model.body_names[-1]}"
        f = hm.to_casadi(model, ["inverse_dynamics", place], inputs=["wrench"], parameters=[name])
        dyn = hm.compile(model, parameters=[name])
        ours = dyn.inverse_dynamics(q, v, tau, wrench=wrench, parameters={name: mass})
        np.testing.assert_allclose(
            f["inverse_dynamics"](q, v, tau, wrench, mass).full().ravel(), ours, atol=1e-11 * np.abs(ours).max()
        )
        J = self.DYN.jacobian(q, model.body_names[-1], point)
        np.testing.assert_allclose(f[place](q=q, point=point)["J"].full(), J, atol=1e-13)
        assert f["inverse_dynamics"].name_in(4) == name.replace(".", "_")

    def test_derivatives_are_finite_at_rest_and_equal_linearize(self):
        model = self.MODEL
        f = hm.to_casadi(model, ["forward_dynamics"])["forward_dynamics"]
        q, v = model.neutral()
        tau = self.DYN.restoring_force(q)
        x = casadi.MX.sym("v", model.nv)
        slope = casadi.Function("slope", [x], [casadi.jacobian(f(q, x, tau), x)])
        A, _ = self.DYN.linearize(q, v, tau)
        np.testing.assert_allclose(slope(v).full(), A[model.nv :, model.nv :], atol=1e-9 * np.abs(A).max())

    def test_rejections_name_what_is_wrong(self):
        with pytest.raises(KeyError, match="no equation 'forward'; available: forward_dynamics"):
            hm.to_casadi(self.MODEL, ["forward"])
        with pytest.raises(KeyError, match="no optional input 'current'; available: fluid_velocity"):
            hm.to_casadi(self.MODEL, inputs=["current"])
        with pytest.raises(KeyError, match="no frame or body 'claw'"):
            hm.to_casadi(self.MODEL, ["jacobian:claw"])


def test_state_space_is_linearize_with_names():
    """A and B of `linearize`, and the closed loop of an LQR made by python-control is stable."""
    control = pytest.importorskip("control", reason="needs pip install 'hydromechs[control]'")
    dyn, model = TestCasadi.DYN, TestCasadi.MODEL
    q, v = model.neutral()
    tau = dyn.restoring_force(q)
    system = hm.to_state_space(dyn, q, v, tau)
    A, B = dyn.linearize(q, v, tau)
    np.testing.assert_array_equal(system.A, A)
    np.testing.assert_array_equal(system.B, B)
    assert system.state_labels[0] == "delta_vehicle_u"
    assert system.input_labels[-1] == f"tau_{model.coordinate_names[1][-1]}".replace(".", "_")
    assert system["delta_vehicle_w", "tau_vehicle_w"].ninputs == 1
    K, _, poles = control.lqr(system, np.eye(2 * model.nv), 0.1 * np.eye(model.nv))
    assert K.shape == (model.nv, 2 * model.nv)
    assert poles.real.max() < 0.0
    with pytest.raises(ValueError, match=r"q has shape \(2, 13\).*one state"):
        hm.to_state_space(dyn, np.zeros((2, 13)), v, tau)


def test_recording_as_a_table():
    """Columns are the quantities by name, with units; entries of commands have units of their own."""
    schema = [
        Variable(name="position", dims=("time", "body", "xyz"), units="m", long_name="position of the body origin"),
        Variable(name="command", dims=("time", "actuator"), units="", long_name="command"),
        Variable(name="energy_residual", dims=("time",), units="J", long_name="energy residual"),
    ]
    coords = {"body": ["hull", "arm.1"], "xyz": ["x", "y", "z"], "actuator": ["screw", "elbow"]}
    recorder = MemoryRecorder(schema, coords, {"command_units": {"screw": "N", "elbow": "rad"}})
    rows = {
        "position": np.arange(24.0).reshape(4, 2, 3),
        "command": np.arange(8.0).reshape(4, 2),
        "energy_residual": np.ones(4),
    }
    recorder.append({"time": 0.1 * np.arange(4), **rows})
    recorder.close()
    recording = recorder.dataset()
    frame = hm.to_pandas(recording)
    assert frame.index.name == "time" and list(frame.index) == list(recording.time.values)
    np.testing.assert_array_equal(frame["position.arm.1.z"], recording.position.sel(body="arm.1", xyz="z"))
    assert frame.attrs["units"] == {
        "time": "s",
        **{f"position.{body}.{x}": "m" for body in ("hull", "arm.1") for x in "xyz"},
        "command.screw": "N",
        "command.elbow": "rad",
        "energy_residual": "J",
    }
    few = hm.to_pandas(recording, ["position.arm.1", "energy_residual"])
    assert list(few.columns) == [*(f"position.arm.1.{x}" for x in "xyz"), "energy_residual"]
    with pytest.raises(KeyError, match="no quantity 'positions'"):
        hm.to_pandas(recording, ["positions"])


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("mujoco", "mujoco", lambda m, q, v: hm.to_mujoco(m)),
        ("pinocchio", "pinocchio", lambda m, q, v: hm.to_pinocchio(m)),
        ("control", "control", lambda m, q, v: hm.to_state_space(m, q, v, v)),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    model = TestCasadi.MODEL
    with pytest.raises(ModuleNotFoundError, match=rf"requires {module}.*pip install 'hydromechs\[{extra}\]'"):
        call(model, *model.neutral())


def test_what_the_others_do_not_have_is_rejected():
    pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    rng = np.random.default_rng(0)
    screw = hm.Body(name="nut", joint=hm.joints.Helical(pitch=0.1), inertia=inertia(rng, 1.0))
    with pytest.raises(hm.UnsupportedFeature, match="'nut'.*no helical joint"):
        hm.to_mujoco(hm.Model(bodies=[screw]))
    hollow = hm.Body(name="hollow", joint=hm.joints.Revolute(), inertia=hm.Inertia(mass=0.0))
    tip = hm.Body(name="tip", parent="hollow", joint=hm.joints.Revolute(axis=(1, 0, 0)), inertia=inertia(rng, 1.0))
    with pytest.raises(hm.UnsupportedFeature, match="MuJoCo rejects 'thin'"):
        hm.to_mujoco(hm.Model(name="thin", bodies=[hollow, tip]))
