"""Tethers against the codes of the mooring trade: MoorPy (static) and MoorDyn (driven)."""

import json
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import lines

GOLDEN = json.loads((Path(__file__).parent / "data" / "moordyn_fairlead.json").read_text())


def anchor():
    inertia = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    return hm.Model(name="anchor", bodies=[hm.Body(name="block", joint=hm.joints.Fixed(), inertia=inertia)])


@pytest.mark.parametrize(("x", "z", "length"), [(20.0, 40.0, 60.0), (300.0, 180.0, 400.0), (50.0, 20.0, 54.0)])
def test_hangs_as_in_moorpy(x, z, length):
    """Tensions at both ends and the places of the masses, to 0.5 %."""
    moorpy = pytest.importorskip("moorpy.Catenary", reason="needs moorpy: pip install 'hydromechs[dev]'")
    cable = lines.Cable(**GOLDEN["cable"])
    weight = cable.weight(1025.0, 9.81)
    fx, fz, gx, gz, info = moorpy.catenary(x, z, length, cable.axial_stiffness, weight, CB=-1e9, plots=1)
    line = lines.Tether(
        name="line", frame="block", top=lines.SwayingPoint(position=(x, 0.0, -z)), cable=cable, length=length, segments=40
    )
    record = hm.Plant(model=anchor(), components=(line,)).first_actions[0].record
    tension, points = record["line_tension"], record["line_position"][1:-1]
    assert tension[0] == pytest.approx(np.hypot(fx, fz), rel=0.005)
    assert tension[-1] == pytest.approx(np.hypot(gx, gz), rel=0.005)
    s = length * (np.arange(40) + 0.5) / 40
    assert np.abs(points[:, 0] - np.interp(s, info["s"], info["X"])).max() < 0.005 * length
    assert np.abs(-points[:, 2] - np.interp(s, info["s"], info["Z"])).max() < 0.005 * length


def test_driven_fairlead_as_in_moordyn():
    """The force at the fairlead over time to 3 % of what it is there; data/make_moordyn_fairlead.py makes the data."""
    motion = GOLDEN["motion"]
    x, y, z = motion["top"]
    top = lines.SwayingPoint(
        position=(x, y, -z), amplitude=(0.0, 0.0, -motion["amplitude"]), period=motion["period"], ramp=motion["ramp"]
    )
    line = lines.Tether(
        name="line", frame="block", top=top, cable=lines.Cable(**GOLDEN["cable"]), length=motion["length"], segments=20
    )
    recording = hm.Simulation(anchor(), components=[line], step=2.5e-3, record=0.1).run(20.0).recording
    ours, theirs = recording.line_tension.values[1:, -1], np.array(GOLDEN["force"])
    np.testing.assert_allclose(recording.time.values[1:], GOLDEN["time"], rtol=1e-9)
    assert np.abs(ours / theirs - 1.0).max() < 0.03
    assert np.ptp(ours[60:]) == pytest.approx(np.ptp(theirs[60:]), rel=0.03)
