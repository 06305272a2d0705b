"""Loops of third-party files: joints of an SDF with several parents, equalities of an MJCF; errors and notes."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.formats import loads_robot
from hydromechs.model import Coupling, Loop, State

LIBRARY = hm.load("four_bar")


def sdf_link(body: hm.Body, pose: str) -> str:
    i = body.inertia
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    tensor = "".join(f"<{k}>{x!r}</{k}>" for k, x in zip(keys, i.tensor, strict=True))
    at = " ".join(map(repr, i.com))
    return (
        f'<link name="{body.name}"><pose>{pose}</pose><inertial><pose>{at} 0 0 0</pose><mass>{i.mass!r}</mass>'
        f"<inertia>{tensor}</inertia></inertial></link>"
    )


def sdf_joint(name: str, kind: str, parent: str, child: str, place: str, axes=("0 1 0",)) -> str:
    tags = "".join(f"<axis{k or ''}><xyz>{a}</xyz></axis{k or ''}>" for k, a in zip(("", 2), axes, strict=False))
    return f'<joint name="{name}" type="{kind}"><pose relative_to="{child}">{place} 0 0 0</pose><parent>{parent}</parent><child>{child}</child>{tags}</joint>'


def test_sdf_with_two_parents_is_the_library_model():
    """All three bars along x at 0, as the joints of the library model count; the pin from coupler to rocker has a skewed frame."""
    _, crank, coupler, rocker = LIBRARY.bodies
    q, v = LIBRARY.initial().q, np.array([-6.0, 0.0, 0.0])
    X = {name: hm.frame_pose(LIBRARY, q, name) for name in ("crank", "coupler", "rocker", "rocker_end")}

    def pose(name: str) -> str:  # all turn about y
        x, z, turn = (repr(float(a)) for a in (X[name][0, 3], X[name][2, 3], np.arctan2(X[name][0, 2], X[name][0, 0])))
        return f"{x} 0 {z} 0 {turn} 0"

    text = '<sdf version="1.9"><model name="m">' + "".join(sdf_link(b, pose(b.name)) for b in (crank, coupler, rocker))
    text += sdf_joint("a", "revolute", "world", "crank", "0 0 0") + sdf_joint("b", "revolute", "crank", "coupler", "0 0 0")
    text += sdf_joint("d", "revolute", "world", "rocker", "0 0 0") + sdf_joint(
        "pin", "revolute", "coupler", "rocker", "0.35 0 0"
    )
    model = loads_robot(text + "</model></sdf>", options=None).model
    assert [(loop.name, loop.free) for loop in model.loops] == [("pin", ("rx",))]
    model = replace(model, world=LIBRARY.world)
    there = LIBRARY.on_loops(State(q=q, v=v), held=(0,))
    start = model.on_loops(State(q=np.zeros(3), v=there.v))
    np.testing.assert_allclose(start.q, 0.0, atol=1e-6)  # the library's numbers are rounded
    tau = np.array([1.0, -0.4, 0.7])
    ours, theirs = hm.forward_dynamics(model, start.q, start.v, tau), hm.forward_dynamics(LIBRARY, there.q, there.v, tau)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "kind, axes, free",
    [
        ("fixed", (), ()),
        ("prismatic", ("1 0.5 0",), ("x",)),
        ("ball", (), ("rx", "ry", "rz")),
        ("universal", ("1 0 0", "0 0 1"), ("rx", "ry")),
        ("universal", ("1 0 0", "1 0 1"), None),
        ("screw", ("1 0 0",), None),
    ],
)
def test_kinds_of_joints_that_close_loops(kind, axes, free):
    """Two bodies on the world, the second by two joints; the ends of a loop in the world are on a ground."""
    text = '<sdf version="1.9"><model name="m">'
    for name, pose in (("a", "0 0 1 0.1 0.2 0.3"), ("b", "1 0 1 0.4 0 0.1")):
        text += f'<link name="{name}"><pose>{pose}</pose></link>'
    text += sdf_joint("j", "ball", "world", "a", "0 0 0", ()) + sdf_joint("k", "ball", "a", "b", "0 0 0", ())
    imported = loads_robot(text + sdf_joint("closing", kind, "world", "b", "0.3 0 0.1", axes) + "</model></sdf>", options=None)
    if free is None:
        assert imported.model.loops == ()
        assert any("the loop is open, because a loop joint requires" in str(note) for note in imported.notes)
        return
    (loop,) = imported.model.loops
    assert loop.free == free and imported.model.locate(loop.holder).body == imported.model.body_index("ground")
    np.testing.assert_allclose(imported.model.initial().q, imported.model.neutral()[0], atol=1e-12)  # it is closed as it stands


MJCF = """<mujoco>
<worldbody>
 <body name="a" pos="0 0 1" euler="10 20 0"><joint name="a" axis="0 1 0.2" pos="0.02 0 0"/><geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02" mass="0.4"/>
  <body name="b" pos="0 0 0.4"><joint name="b" type="ball"/><geom type="box" size="0.1 0.05 0.2" pos="0.05 0 0.1" mass="1.1"/><site name="on_b" pos="0.1 0 0" euler="0 30 0"/></body>
 </body>
 <body name="c" pos="0.5 0 0.9"><joint name="c" axis="0 1 0" ref="17"/><geom type="capsule" fromto="0 0 0 0 0.1 0.35" size="0.03" mass="0.8"/>
  <body name="s" pos="0 0.1 0.35"><joint name="s" type="slide" axis="1 0 0.3" ref="0.1"/><geom size="0.05" mass="0.5"/></body></body>
 <body name="d" pos="0.1 0.4 1.4"><freejoint/><geom type="ellipsoid" size="0.2 0.1 0.05" mass="2" pos="0.03 0 0"/><site name="on_d" pos="0 0 0.05"/></body>
</worldbody>
<equality>
 <joint name="cam" joint1="s" joint2="c" polycoef="0.01 0.2 0.3 0 0.1"/>
 <connect name="pin" body1="b" body2="s" anchor="0.1 0 0.05"/>
 <weld name="held" body1="d" body2="b" relpose="0.1 0 0 0.9 0.1 0 0.2" anchor="0.1 0.2 0.3"/>
 <weld name="off" body1="d" body2="a" active="false"/>
</equality></mujoco>"""


def test_mjcf_equalities_agree_with_mujoco():
    """Accelerations of MuJoCo's tree with its equalities held exactly: M a + Jᵀ λ = −h, J a = −J̇ v, J̇ from differences."""
    mujoco = pytest.importorskip("mujoco", reason="needs pip install 'hydromechs[mujoco]'")
    imported = loads_robot(MJCF, options=None)
    model = imported.model
    assert [type(x) for x in model.loops] == [Coupling, Loop, Loop]
    assert any("the loop is open" in str(note) and "off" in str(note) for note in imported.notes)
    there = mujoco.MjModel.from_xml_string(MJCF)
    there.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    there.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, free = mujoco.MjData(there), model.joint_parts["d"]
    start = model.on_loops(State(q=model.initial().q, v=np.random.default_rng(0).normal(size=model.nv)))
    R = hm.frame_pose(model, start.q, "d")[:3, :3]

    def rows(q):
        data.qpos[:] = q
        mujoco.mj_forward(there, data)
        return np.reshape(data.efc_J, (-1, there.nv))[: data.nefc].copy()

    v = start.v.copy()
    v[free.v][:3] = R @ v[free.v][:3]
    data.qvel[:] = v
    J, M = rows(start.q), np.zeros((there.nv, there.nv))
    assert np.abs(data.efc_pos[: data.nefc]).max() < 1e-10 and np.abs(J @ v).max() < 1e-10
    mujoco.mj_fullM(there, data, M)
    h, step = data.qfrc_bias.copy(), 1e-5
    ahead, behind = start.q.copy(), start.q.copy()
    mujoco.mj_integratePos(there, ahead, v, step)
    mujoco.mj_integratePos(there, behind, v, -step)
    drift = (rows(ahead) - rows(behind)) @ v / (2.0 * step)
    c = len(J)
    system = np.block([[M, J.T], [J, np.zeros((c, c))]])
    theirs = np.linalg.lstsq(system, np.concatenate([-h, -drift]))[0][: model.nv]
    ours = hm.forward_dynamics(model, start.q, start.v, np.zeros(model.nv))
    V = start.v[free.v]
    ours[free.v][:3] = R @ (ours[free.v][:3] + np.cross(V[3:], V[:3]))
    # differences of J: step² of its third derivative, and rounding over step
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())


def test_mjcf_with_loops_comes_back(tmp_path):
    model = loads_robot(MJCF, options=None).model
    hm.save(model, tmp_path / "again.xml")
    again = hm.import_file(tmp_path / "again.xml").model
    assert [(loop.name, type(loop)) for loop in again.loops] == [(loop.name, type(loop)) for loop in model.loops]
    state = model.on_loops(State(q=model.initial().q, v=np.linspace(-1.0, 1.0, model.nv)))
    zero = np.zeros(model.nv)
    ours, back = (hm.forward_dynamics(m, state.q, state.v, zero) for m in (model, replace(again, world=model.world)))
    np.testing.assert_allclose(back, ours, rtol=0, atol=1e-9 * np.abs(ours).max())


@pytest.mark.parametrize(
    "change, words",
    [
        (('body2="s"', 'body2="t"'), "line 12: connect 'pin': body2 is 't', but this body does not exist"),
        (
            ('joint2="c"', 'joint2="b"'),
            "line 11: joint 'cam': joint2 is 'b', but this joint does not exist or has several coordinates",
        ),
        (('anchor="0.1 0 0.05"', 'anchor="0.1 0"'), "pin"),
    ],
)
def test_wrong_equalities_are_named(change, words):
    with pytest.raises(hm.ModelError, match=words):
        loads_robot(MJCF.replace(*change), options=None)
