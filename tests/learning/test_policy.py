"""A trained policy as a block: the actions of the environment's policy, the file formats, and errors of files."""

from __future__ import annotations

import base64
import io
import itertools
import json
import pickle
import re
import struct
import sys
import types
import zipfile

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import control
from hydromechs.control._networks import read_network
from hydromechs.formats import dumps_scenario
from hydromechs.library import load_vehicle
from hydromechs.simulation import PythonBlock, Site

OBSERVED, ACTED, HIDDEN = 31, 8, (19, 16)


def random_network(seed=1, sizes=(OBSERVED, *HIDDEN, ACTED)):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(m, n)) / np.sqrt(n), 0.1 * rng.normal(size=m)) for n, m in itertools.pairwise(sizes)]


def evaluate(layers, x, f=np.tanh):
    for k, (W, b) in enumerate(layers):
        x = x @ W.T + b
        x = f(x) if k < len(layers) - 1 else x
    return np.clip(x, -1.0, 1.0)


def save_npz(path, layers):
    np.savez(path, **{f"W{k}": W for k, (W, _) in enumerate(layers)}, **{f"b{k}": b for k, (_, b) in enumerate(layers)})
    return str(path)


# -- against the environment ----------------------------------------------------------------------------------------------------


def scenario_with(policy, start=None, **fields):
    scenario = load_vehicle("bluerov2_heavy_alpha5").with_fields(step=0.01, record=0.1, duration=3.0, **fields)
    return scenario.controlled_by(PythonBlock(controller=policy))


@pytest.mark.parametrize(
    "task,goal", [("StationKeeping", (0.4, -0.3, 0.2)), ("TrajectoryTracking", (0.0, 0.0, 0.0))], ids=["keep", "track"]
)
def test_block_acts_as_policy_in_environment(tmp_path, task, goal):
    """The same actions and motion as when the environment's loop evaluates the network in NumPy, for 2 s.

    Observations of environments are float32: 20 periods amplify their rounding, 6e-8.
    """
    gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hydromechs[learn]'")
    import hydromechs.learning  # noqa: F401  registers the environments

    more = {} if task == "StationKeeping" else {"swing": 0.0}
    env = gymnasium.make(f"HydroMechs/{task}-v0", spread=0.0, turn=0.0, **more).unwrapped
    layers = random_network(2, (len(env.arena.labels), *HIDDEN, ACTED))
    seen, _ = env.reset(seed=3)
    home = env.arena.home_q[:3] + np.array(goal)
    env.arena.task.home[:, :3] = home
    if task == "TrajectoryTracking":
        env.arena.task.amplitude[:] = 0.0
    seen = env.arena.observe()[0]
    actions, places = [], []
    for _ in range(20):
        actions.append(evaluate(layers, seen.astype(float)))
        seen, *_ = env.step(actions[-1])
        places.append(env.arena.position[0].copy())
    policy = control.Policy(
        file=save_npz(tmp_path / "net.npz", layers),
        observation=list(env.arena.labels),
        waypoints=[{"t": 0, "position": home.tolist()}],
    )
    run = scenario_with(policy).simulation().run(2.0).recording
    names = [f"action.thruster_{k + 1}" for k in range(8)]
    acted = run.signal.sel(channel=names).values[:20]
    assert np.abs(acted).max() > 0.1  # it does something
    np.testing.assert_allclose(acted, actions, atol=1e-5)
    np.testing.assert_allclose(run.position.sel(body="vehicle").values[1:21], places, atol=1e-5)


ARM = {"task": "PickAndPlace", "scenario": "slow_manipulation", "spread": 0.0}
OTHERS = {
    "Reach": ({"task": "Reach"}, {"frame": "tool"}, 0.0),
    "holds": (ARM, {"grip": "jaws"}, 1.0),
    "lets go": (ARM, {"grip": "jaws"}, -1.0),
    "WalkAhead": ({"task": "WalkAhead", "scenario": "dante_step", "turn": 0.0}, {}, 0.0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_block_observes_what_the_environment_does(tmp_path, name):
    """Tasks with an arm or legs: actions and commands of the block at the states of an environment, to rounding of float32.

    A constant is added to the last action, which closes the jaws: they hold the object that they held at the start, or let go.
    """
    pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hydromechs[learn]'")
    from hydromechs import learning

    options, more, last = OTHERS[name]
    arena = (env := learning.make_single(**options)).arena
    seen, _ = env.reset(seed=4)
    layers = random_network(3, (len(arena.labels), *HIDDEN, arena.last.shape[1]))
    layers[-1][1][-1] += 3.0 * last
    goal = {"waypoints": [{"t": 0, "position": env.arena.task.goals()[0].tolist()}]} if more else {}
    policy = control.Policy(
        file=save_npz(tmp_path / "net.npz", layers),
        observation=list(arena.labels),
        actions=list(arena.actions.names),
        period=arena.period,
        **goal,
        **more,
    )
    policy.prepared(Site(arena.plant, arena.worlds.step_size, arena.home_q))
    worlds, layout = arena.worlds, arena.plant.layout
    for _ in range(6):
        action = evaluate(layers, seen.astype(float))
        held = [worlds.inputs[name][0] for name in layout.held]
        state = hm.State(t=worlds.t[0], q=worlds.q[0].copy(), v=worlds.v[0].copy(), command=worlds.command[0].copy(), held=held)
        commands = policy(state)
        np.testing.assert_allclose(policy.signal_values, action, atol=1e-5)
        seen, *_ = env.step(action)
        now = dict(zip(layout.commands, worlds.command[0], strict=True)) | {n: worlds.inputs[n][0] for n in layout.held}
        for command, value in commands.items():
            assert now[command] == pytest.approx(value, abs=1e-4)
    given = [state.t, state.q, state.v, np.concatenate([state.command, held]), [], policy.memory, policy.design_values]
    arrays = [np.array(x, dtype=float) for x in given]
    for compiled, floats in zip(policy.program()([x[None] for x in arrays]), policy.evaluate(*arrays), strict=True):
        np.testing.assert_allclose(compiled[0], floats, atol=1e-12)
    if "grip" in more:
        assert seen[arena.labels.index("grip")] == max(last, 0.0) == commands["jaws.closed"]


def test_targets_of_joints_move_with_their_rate(tmp_path):
    """Constant actions on the arm: 0.5 rad/s times the action, clipped."""
    layers = [(np.zeros((2, 1)), np.array([0.5, -3.0]))]
    policy = control.Policy(file=save_npz(tmp_path / "net.npz", layers), observation=["down.z"], actions=["shoulder", "elbow"])
    sim = scenario_with(policy).simulation()
    before = dict(zip(sim.plant.layout.commands, sim.state.command, strict=True))
    sim.run(1.05)
    after = dict(zip(sim.plant.layout.commands, sim.state.command, strict=True))
    lower = sim.model.joint_parts["elbow"].joint.limits[0]
    assert after["shoulder"] - before["shoulder"] == pytest.approx(11 * 0.1 * 0.5 * 0.5)
    assert after["elbow"] == pytest.approx(max(lower, before["elbow"] - 11 * 0.1 * 0.5))


def test_policy_reads_sensors(tmp_path):
    """A reading is an input, 0 before the first; the network passes it on."""
    from hydromechs.sensors import DepthGauge

    layers = [(np.full((1, 1), 0.01), np.zeros(1))]
    policy = control.Policy(file=save_npz(tmp_path / "net.npz", layers), observation=["gauge.depth"], actions=["thruster_1"])
    scenario = scenario_with(policy).with_parts(DepthGauge(name="gauge", frame="vehicle", rate=10))
    run = scenario.simulation().run(1.0).recording
    assert run.signal.sel(channel="action.thruster_1").values[5] == pytest.approx(
        0.01 * run.depth.sel(body="vehicle").values[5], abs=1e-3
    )


def test_worlds_fly_policies(tmp_path):
    """Eight worlds on lanes give the samples of the simulation."""
    policy = control.Policy(file=save_npz(tmp_path / "net.npz", random_network()))
    scenario = scenario_with(policy)
    worlds = hm.Worlds(scenario, 8, watch=["position.vehicle.x", "signal.action.thruster_2"])
    worlds.run(1.0)
    run = scenario.simulation().run(1.0).recording
    for name, wanted in (
        ("position.vehicle.x", run.position.sel(body="vehicle", xyz="x")),
        ("signal.action.thruster_2", run.signal.sel(channel="action.thruster_2")),
    ):
        np.testing.assert_allclose(worlds.samples(name)[3], wanted.values, atol=1e-9)


def test_scenario_file(tmp_path):
    """The path is relative to the scenario file; written and read again it is the same controller."""
    save_npz(tmp_path / "net.npz", random_network())
    text = dumps_scenario(load_vehicle("bluerov2_heavy_alpha5").with_fields(step=0.01, record=0.1, duration=1.0))
    text += "blocks: {pilot: {type: policy, file: net.npz, activation: relu, ranges: {thruster_1: [-10, 10]}}}\n"
    (tmp_path / "one.yaml").write_text(text)
    scenario = hm.load_scenario(tmp_path / "one.yaml")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "two.yaml").write_text(dumps_scenario(scenario))
    again = hm.load_scenario(tmp_path / "other" / "two.yaml")
    one, two = (s.controllers[0].controller for s in (scenario, again))
    assert one.ranges == two.ranges == {"thruster_1": (-10.0, 10.0)}
    assert [x.activation for x in two.layers] == ["relu", "relu", "none"] == [x.activation for x in one.layers]
    ends = [s.simulation().run(0.3).state.q for s in (scenario, again)]
    assert (ends[0] == ends[1]).all()


def test_large_network_compiles_as_loops(tmp_path):
    """Two layers of 512 units: 300,000 weights, a program of a few thousand operations."""
    layers = random_network(4, (OBSERVED, 512, 512, ACTED))
    policy = control.Policy(file=save_npz(tmp_path / "net.npz", layers))
    sim = scenario_with(policy).simulation()
    site = Site(sim.plant, sim.step_size, sim.start_q)
    assert len(policy.prepared(site).program().traced.operations) < 4000
    run = sim.run(0.3).recording
    assert np.isfinite(run.position.values).all()


# -- files ----------------------------------------------------------------------------------------------------------------------


def number(x):
    out = b""
    while x > 127:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])


def field(n, value):
    if isinstance(value, int):
        return number(n << 3) + number(value)
    if isinstance(value, float):
        return number(n << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return number(n << 3 | 2) + number(len(value)) + value


def tensor(name, x, raw=True):
    data = field(9, x.astype("<f4").tobytes()) if raw else field(4, x.astype("<f4").tobytes())
    dims = b"".join(field(1, n) for n in x.shape) if raw else field(1, b"".join(map(number, x.shape)))
    return dims + field(2, 1) + field(8, name) + data


def node(operator, inputs, output, attributes=b""):
    return b"".join(field(1, x) for x in inputs) + field(2, output) + field(4, operator) + attributes


def integer(name, value):
    return field(5, field(1, name) + field(3, value))


def model(nodes, tensors, output):
    parts = [field(1, x) for x in nodes] + [field(5, x) for x in tensors]
    return field(1, 8) + field(7, b"".join([*parts, field(11, field(1, "obs")), field(12, field(1, output))]))


def onnx(layers):
    """Normalisation, a Gemm with transB, a MatMul with Add, a Gemm without; and a value head that does not count."""
    (W0, b0), (W1, b1), (W2, b2) = layers
    nodes = [
        node("Sub", ["obs", "mean"], "a"),
        node("Div", ["a", "scale"], "b"),
        node("Gemm", ["b", "W0", "b0"], "c", integer("transB", 1)),
        node("Tanh", ["c"], "d"),
        node("Gemm", ["d", "V", "v"], "value"),
        node("MatMul", ["d", "W1"], "e"),
        node("Add", ["b1", "e"], "f"),
        node("Tanh", ["f"], "g"),
        node("Gemm", ["g", "W2", "b2"], "h"),
        node("Clip", ["h", "low", "high"], "action"),
    ]
    arrays = {"W0": W0, "b0": b0, "W1": W1.T, "b1": b1, "W2": W2.T, "b2": b2, "low": np.array(-1.0), "high": np.array(1.0)}
    arrays |= {"V": W0[:, :1], "v": b0[:1], "mean": np.full(W0.shape[1], 0.25), "scale": np.array([2.0])}
    return model(nodes, [tensor(name, x, raw=len(name) == 2) for name, x in arrays.items()], "action")


def value_of(network, x):
    for layer in network:
        x = np.array([control._networks.ACTIVATIONS[layer.activation](y) for y in layer.weights @ x + layer.bias])
    return np.clip(x, -1.0, 1.0)


def test_onnx(tmp_path):
    layers = random_network()
    (tmp_path / "net.onnx").write_bytes(onnx(layers))
    network = read_network(str(tmp_path / "net.onnx"), "tanh")
    x = np.random.default_rng(7).normal(size=OBSERVED)
    np.testing.assert_allclose(value_of(network, x), evaluate(layers, (x - 0.25) / 2.0), atol=1e-6)  # float32 weights


def stable_baselines(path, weights, activation=None):
    about = {"policy_kwargs": {":serialized:": base64.b64encode(b"code").decode()}}
    if activation:
        about["policy_kwargs"]["activation_fn"] = f"<class 'torch.nn.modules.activation.{activation}'>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps(about))
        archive.writestr("policy.pth", pickle.dumps(weights))
        archive.writestr("pytorch_variables.pth", b"junk")
    return str(path)


@pytest.fixture
def torch(monkeypatch):
    """PyTorch's reader of weights, which is asked to read no code."""

    def load(file, *, map_location, weights_only):
        assert weights_only and map_location == "cpu"
        return pickle.load(file)

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(load=load, __version__="2.6.0"))


def names_of(layers, pattern, last):
    names = [pattern.format(2 * k) for k in range(len(layers) - 1)] + [last]
    pairs = zip(names, layers, strict=True)
    return {f"{name}.{what}": x for name, both in pairs for what, x in zip(("weight", "bias"), both, strict=True)}


@pytest.mark.parametrize(
    "algorithm,pattern,last,f,squash",
    [
        ("ppo", "mlp_extractor.policy_net.{}", "action_net", np.tanh, False),
        ("sac", "actor.latent_pi.{}", "actor.mu", lambda x: np.maximum(x, 0.0), True),
        ("td3", "actor.mu.{}", "actor.mu.4", lambda x: np.maximum(x, 0.0), True),
    ],
)
def test_stable_baselines(tmp_path, torch, algorithm, pattern, last, f, squash):
    """The actor with the default activation of its algorithm; other entries do not count."""
    layers = random_network(5)
    weights = names_of(layers, pattern, last) | {"log_std": np.zeros(8), "critic.0.weight": np.zeros((2, 2))}
    file = stable_baselines(tmp_path / f"{algorithm}.zip", weights)
    x = np.random.default_rng(8).normal(size=OBSERVED)
    for W, b in layers:
        W, b = W.astype(float), b
    wanted = x
    for k, (W, b) in enumerate(layers):
        wanted = W @ wanted + b
        wanted = f(wanted) if k < 2 else np.tanh(wanted) if squash else np.clip(wanted, -1.0, 1.0)
    np.testing.assert_allclose(value_of(read_network(file, "tanh"), x), wanted, rtol=1e-12)
    chosen = stable_baselines(tmp_path / "elu.zip", weights, "ELU")
    assert read_network(chosen, "tanh")[0].activation == "elu"


def test_stable_baselines_without_torch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    file = stable_baselines(tmp_path / "ppo.zip", {})
    with pytest.raises(ValueError, match=r"ppo\.zip.*PyTorch.*hydromechs\[learn\]"):
        read_network(file, "tanh")


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


W, B = np.zeros((8, 31)), np.zeros(8)
HUGE = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
HUGE += b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(117) + b"\n"


def zipped(**entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def dense_after(*nodes):
    """A network with operators before its last layer that would change its numbers."""
    constants = {"W": np.eye(4), "low": np.array(-1.0), "high": np.array(1.0)}
    return model([*nodes, node("MatMul", ["a", "W"], "y")], [tensor(name, x) for name, x in constants.items()], "y")


BAD = {
    "no zip.npz": (b"hello", "damaged"),
    "empty.npz": (npz(), "no layers"),
    "no bias.npz": (npz(W0=W), "'b0'"),
    "short bias.npz": (npz(W0=W, b0=B[:3]), r"'W0'.*\(3,\); export a bias of shape \(8,\)"),
    "chain.npz": (npz(W0=W, b0=B, W1=np.zeros((4, 5)), b1=np.zeros(4)), r"'W1'.*\(4, 5\); export weights of shape \(m, 8\)"),
    "nan.npz": (npz(W0=np.full((8, 31), np.nan), b0=B), "'W0'.*finite"),
    "integers.npz": (npz(W0=np.zeros((8, 31), int), b0=B), "'W0'.*floating-point"),
    "objects.npz": (zipped(**{"W0.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", 22) + b"{'descr': '|O', 'x': 1}\n"}), ""),
    "huge.npz": (zipped(**{"W0.npy": HUGE, "b0.npy": b""}), "W0.npy"),
    "bomb.npz": (zipped(**{"W0.npy": bytes(70_000_000), "b0.npy": b""}), "larger than"),
    "text.onnx": (b"hello world, this is no network", "onnx"),
    "cut.onnx": (onnx(random_network())[:-40], "onnx"),
    "operator.onnx": (model([node("Conv", ["obs", "k"], "y")], [tensor("k", np.zeros(3))], "y"), "Conv"),
    "scale.onnx": (model([node("Clip", ["obs", "k", "k"], "y")], [tensor("k", np.ones(1))], "y"), "Clip.*clips"),
    "clip.onnx": (dense_after(node("Clip", ["obs", "low", "high"], "a")), "Clip.*clips hidden values"),
    "cast.onnx": (dense_after(node("Cast", ["obs"], "a", integer("to", 7))), "Cast.*not floating-point"),
    "elu.onnx": (
        dense_after(node("MatMul", ["obs", "W"], "h"), node("Elu", ["h"], "a", field(5, field(1, "alpha") + field(2, 0.5)))),
        "Elu.*alpha",
    ),
    "size.onnx": (
        model([node("MatMul", ["obs", "k"], "y")], [field(1, 9) + field(2, 1) + field(8, "k") + field(9, b"x")], "y"),
        "'k'",
    ),
    "empty.zip": (zipped(), "policy.pth"),
    "net.pt": (b"", r"\.npz"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    """The error names the file, and the layer with the expected shape."""
    data, text = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(name)) as error:
        control.Policy(file=str(tmp_path / name))
    assert re.search(text, str(error.value)) and len(str(error.value)) < 600


def test_files_with_code_run_nothing(tmp_path):
    """A pickle in an .npz file is rejected before it is read."""

    class Evil:
        def __reduce__(self):
            return exec, ("raise SystemExit('code of the file ran')",)

    array = np.empty((1, 1), dtype=object)
    array[0, 0] = Evil()
    np.savez(tmp_path / "evil.npz", W0=array, b0=np.zeros(1))
    with pytest.raises(ValueError, match="'W0'"):
        control.Policy(file=str(tmp_path / "evil.npz"))


def test_damaged_onnx_files_are_rejected(tmp_path):
    """Bytes that change at random: a network or a ValueError, nothing else."""
    rng, good = np.random.default_rng(9), bytearray(onnx(random_network(6, (3, 4, 4, 2))))
    for _ in range(300):
        data = bytearray(good)
        for at in rng.integers(len(data), size=3):
            data[at] = rng.integers(256)
        (tmp_path / "net.onnx").write_bytes(data)
        try:
            read_network(str(tmp_path / "net.onnx"), "tanh")
        except ValueError as error:
            assert "net.onnx" in str(error)


def test_network_must_fit_the_vehicle(tmp_path):
    small = save_npz(tmp_path / "small.npz", random_network(3, (30, 5, 8)))
    few = save_npz(tmp_path / "few.npz", random_network(3, (31, 5, 7)))
    with pytest.raises(ValueError, match=r"small\.npz.*'W0'.*\(5, 30\), not \(m, 31\)"):
        scenario_with(control.Policy(file=small)).simulation()
    with pytest.raises(ValueError, match=r"few\.npz.*'W1'.*\(7, 5\), not \(8, n\)"):
        scenario_with(control.Policy(file=few)).simulation()
    with pytest.raises(ValueError, match=r"no observation is named 'velocity.x'"):
        scenario_with(control.Policy(file=small, observation=["velocity.x"] * 30)).simulation()
    with pytest.raises(ValueError, match="thruster_9"):
        scenario_with(control.Policy(file=small, actions=["thruster_9"])).simulation()
