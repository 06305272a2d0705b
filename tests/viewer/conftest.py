"""Synthetic recordings with the layout of real ones: curves with made-up but plausible numbers."""

import dataclasses
import json
import shutil
import subprocess

import numpy as np
import pytest
from websockets.sync.client import connect

from hydromechs.recording import CheckResult, MemoryRecorder, Variable, summarise

XYZ, WXYZ, SIX = list("xyz"), list("wxyz"), ["X", "Y", "Z", "K", "M", "N"]
FORCES = ("drag", "added_mass", "buoyancy", "weight", "contact", "thrust", "external")
CAUSES = ["thrusters", "drives", "drag", "friction", "contact", "water", "external"]


def _variable(name, *dims, units="1", dtype="float64"):
    return Variable(name=name, dims=("time", *dims), units=units, long_name=name.replace("_", " "), dtype=dtype)


def _schema():
    return [
        _variable("q", "coordinate", units="m, 1, rad"),
        _variable("v", "dof", units="m/s, rad/s"),
        _variable("tau", "dof", units="N, N·m"),
        _variable("position", "body", "xyz", units="m"),
        _variable("orientation", "body", "wxyz"),
        _variable("velocity", "body", "six", units="m/s, rad/s"),
        _variable("fluid_velocity", "body", "xyz", units="m/s"),
        *(_variable(f"force_{name}", "body", "six", units="N, N·m") for name in FORCES),
        _variable("command", "actuator"),
        _variable("actuator_force", "actuator", units="N, N·m"),
        _variable("saturated", "actuator", dtype="bool"),
        _variable("contact_force", "contact", units="N"),
        _variable("contact_gap", "contact", units="m"),
        *(
            _variable(f"{e}", units="J")
            for e in ("kinetic_energy_body", "kinetic_energy_fluid", "potential_energy", "elastic_energy")
        ),
        _variable("work", "cause", units="J"),
        _variable("energy_residual", units="J"),
    ]


def make_recording(*, samples=1201, duration=60.0, joints=6, thrusters=8, contacts=0, free=True, axes="NED", noise_seed=4):
    """A vehicle (or a fixed arm) that does something for a while."""
    rng = np.random.default_rng(noise_seed)
    t = np.linspace(0.0, duration, samples)

    def smooth(scale, width):
        """Slow random curve."""
        kernel = np.exp(-0.5 * (np.arange(-3 * width, 3 * width + 1) / width) ** 2)
        noise = rng.normal(size=samples + 6 * width)
        return scale * np.convolve(noise, kernel / np.sqrt((kernel**2).sum()), "valid")

    base = "vehicle" if free else "pedestal"
    bodies = [base, *(f"link_{k}" for k in range(1, joints + 1))]
    actuators = [*(f"thruster_{k}" for k in range(1, thrusters + 1)), *(f"joint_{k}" for k in range(1, joints + 1))]
    joint_names = [f"joint_{k}" for k in range(1, joints + 1)]
    coordinate = [f"{base}.{c}" for c in ("x", "y", "z", "qw", "qx", "qy", "qz")] * free + joint_names
    dof = [f"{base}.{c}" for c in "uvwpqr"] * free + joint_names
    pairs = [f"foot_{k} on floor" for k in range(1, contacts + 1)]
    coords = {
        "coordinate": coordinate, "dof": dof, "body": bodies, "xyz": XYZ, "wxyz": WXYZ, "six": SIX,
        "actuator": actuators, "contact": pairs, "cause": CAUSES,
    }  # fmt: skip
    schema = _schema()
    out = {v.name: np.zeros((samples, *(len(coords[d]) for d in v.dims[1:]))) for v in schema}
    out["time"] = t
    down = 1.0 if axes == "NED" else -1.0
    ramp = 1.0 - np.exp(-t / 4.0)
    p = np.stack(
        [
            0.8 * ramp * np.cos(0.3 * t) * np.exp(-t / 25),
            smooth(0.12, 40) + 0.5 * np.exp(-t / 9),
            down * (12 + smooth(0.05, 30)),
        ]
    )
    out["position"] = np.repeat(p.T[:, None], len(bodies), axis=1) + 0.4 * np.arange(len(bodies))[:, None]
    yaw, pitch = smooth(0.08, 50), smooth(0.03, 30)
    quaternion = np.stack([np.cos(yaw / 2), 0 * yaw, np.sin(pitch / 2), np.sin(yaw / 2)], axis=1)
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    out["orientation"] = np.repeat(quaternion[:, None], len(bodies), axis=1)
    velocity = np.stack([*np.gradient(p, t, axis=1), smooth(0.01, 30), smooth(0.02, 30), np.gradient(yaw, t)], axis=1)
    out["velocity"] = np.repeat(velocity[:, None], len(bodies), axis=1)
    angles = (
        np.stack([0.6 * np.sin((0.2 + 0.05 * k) * t + k) for k in range(joints)], axis=1) if joints else np.zeros((samples, 0))
    )
    rates = np.gradient(angles, t, axis=0)
    torques = 40.0 * angles + 20.0 * rates
    out["q"] = np.concatenate([p.T, quaternion, angles], axis=1) if free else angles
    out["v"] = np.concatenate([velocity, rates], axis=1) if free else rates
    out["tau"][:, len(dof) - joints :] = torques
    out["fluid_velocity"][:] = np.stack([0.35 + smooth(0.05, 25), 0.1 + smooth(0.03, 25), 0 * t], axis=1)[:, None]
    for k, name in enumerate(("drag", "added_mass", "thrust")):
        out[f"force_{name}"][:, 0] = np.stack([smooth(150.0 / (1 + k), 15 + 10 * k) for _ in range(6)], axis=1)
    out["force_weight"][:, 0, 2], out["force_buoyancy"][:, 0, 2] = down * 37000.0, -down * 36900.0
    thrust = (
        np.stack([np.clip(smooth(170.0, 20), -300, 300) for _ in range(thrusters)], axis=1)
        if thrusters
        else np.zeros((samples, 0))
    )
    out["actuator_force"] = np.concatenate([thrust, torques], axis=1)
    out["command"] = np.concatenate([thrust / 300, angles], axis=1)
    out["saturated"] = np.abs(out["command"]) >= 1.0
    for k in range(contacts):
        touching = np.sin(0.8 * t + 2 * k) > -0.2
        out["contact_force"][:, k] = touching * (400 + smooth(40, 6))
        out["contact_gap"][:, k] = np.where(touching, -0.002, 0.08 * np.abs(np.sin(0.8 * t + 2 * k)))
    out["kinetic_energy_body"] = 0.5 * 3800 * (velocity[:, :3] ** 2).sum(axis=1)
    out["kinetic_energy_fluid"] = 0.6 * out["kinetic_energy_body"]
    out["potential_energy"] = -100.0 * down * p[2] - 5000.0
    for k, power in enumerate((60.0, 14.0, -55.0, -9.0, -2.0 * bool(contacts), 4.0, 0.0)):
        out["work"][:, k] = np.concatenate([[0.0], np.cumsum((power * (1 + 0.5 * np.sin(t + k)))[1:] * np.diff(t))])
    out["energy_residual"] = 1e-6 * np.cumsum(rng.normal(size=samples))
    stored = sum(out[name] - out[name][0] for name in ("kinetic_energy_body", "kinetic_energy_fluid", "potential_energy"))
    out["work"][:, 2] = (
        stored - out["energy_residual"] - (out["work"].sum(axis=1) - out["work"][:, 2])
    )  # the energy balance close
    attrs = {
        "title": "Station keeping in a current", "model": "tiburon_titan2", "scenario": "hydromechs_scenario: 2\n", "axes": axes,
        "integrator": "RK4", "step": 1e-3, "seed": 1, "wall_time": 0.21, "real_time_factor": 285.0, "messages": [],
    }  # fmt: skip
    recorder = MemoryRecorder(schema, coords, attrs)
    recorder.append(out)
    recorder.close()
    return recorder.dataset()


@pytest.fixture(name="make_recording")
def _make_recording():
    return make_recording


CHECKS = (
    CheckResult(
        "position error",
        True,
        0.183,
        "below 0.25",
        "maximum distance from the target after 20 s [m]",
        "position.vehicle.x",
        "m",
    ),
    CheckResult("heading error", False, 0.121, "below 0.1", "maximum |heading error| after 20 s [rad]"),
    CheckResult("energy audit", True, 3.1e-9, "below 1e-06", "residual over energy exchanged"),
)


def make_summary(ds, **changes):
    """Description of a run."""
    summary = summarise(
        ds,
        description="A 3.8 t vehicle holds its place for one minute in a gusty current of 0.35 m/s while its arm moves.",
        setup=[
            ("Model", "tiburon_titan2: 7 bodies, 12 degrees of freedom"),
            ("Water", "sea water, 1025 kg/m³; current 0.35 m/s with gusts"),
            ("Integrator", "RK4, step 1 ms"),
            ("Controller", "station keeping, 50 Hz"),
            ("Seed", "1"),
        ],
    )
    messages = ("thruster_3 was at its limit for 4.2 s (7 % of the time).",)
    return dataclasses.replace(summary, **{"checks": CHECKS, "messages": messages, **changes})


@pytest.fixture(name="make_summary")
def _make_summary():
    return make_summary


FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """Firefox without a window, driven over WebDriver BiDi."""

    def __init__(self, profile):
        profile.mkdir()
        (profile / "user.js").write_text('user_pref("webgl.force-enabled", true);')
        command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        address = next(line.split()[-1] for line in self.process.stderr if "WebDriver BiDi listening" in line)
        self.socket = connect(f"{address}/session", max_size=None, proxy=None)
        self.count = 0
        self.send("session.new", capabilities={})
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method, **params):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv(timeout=120))).get("id") != self.count:
            pass
        assert answer["type"] == "success", answer
        return answer["result"]

    def evaluate(self, expression):
        target = {"context": self.context}
        return self.send("script.evaluate", expression=expression, target=target, awaitPromise=True)["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def firefox(tmp_path):
    """Firefox on an empty profile."""
    if FIREFOX is None:
        pytest.skip("there is no Firefox on this machine; .ci/run installs it")
    opened = Firefox(tmp_path / "profile")
    yield opened
    opened.close()
