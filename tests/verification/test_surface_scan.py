"""Predictions over heights of the surface: an error in heave and an error in the height of the surface are distinguished."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.surface_scan import predicted_over_heights

import hydromechs as hm
from hydromechs import identification
from hydromechs.hydro import FreeSurface
from hydromechs.identification import validation
from hydromechs.identification.validation._study import FAMILIES
from hydromechs.registry import Reader

STEP, END, HEIGHT = 0.05, 4.0, 1.37
"""Step and length of the recording [s], height of the surface [m]."""
TRUE, WRONG = 0.0105, 0.0108
"""Displaced volume of the hull, and one with which it rises too fast [m³]."""
LOG = {"log": "nav", "body": "hull"}
DOCUMENT = {
    "name": "rise",
    "model": "none",
    "trials": {"names": "*", "find": "nav", "begins": {"file": "none", "key": "none"}},
    "logs": {"nav": {"file": "{trial}.csv"}},
    "joints": {},
    "instruments": {
        "nav": LOG | {"channels": {"roll": {"deviation_deg": 0.1}, "pitch": {"deviation_deg": 0.1}, "z": {"deviation": 0.002}}}
    },
    "unknowns": [{"type": "surface_height", "value": HEIGHT}, {"type": "number", "name": "hull.hydro.volume", "value": TRUE}],
    "start": {"position": 1e-4, "attitude": 1e-4, "velocity": 1e-4, "rates": 1e-4},
    "step": STEP,
    "judged": ["nav.roll", "nav.pitch", "nav.z"],
}


def floating():
    """A light box with a spar at its front, free in water with a surface, z up."""
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(),
        inertia=hm.Inertia(mass=10.0, com=(0.0, 0.0, -0.02), tensor=(0.3, 0.3, 0.3, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=TRUE,
            buoyancy_center=(0.0, 0.0, 0.03),
            added_mass=hm.added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.1, 0.1)),
            drag=(hm.drag.Damping(linear=(5, 5, 5, 1, 1, 1)),),
        ),
        shapes=(
            hm.geometry.Box(size=(0.3, 0.2, 0.15)),
            hm.geometry.Cylinder(radius=0.03, length=0.4).at((0.2, 0, 0.1)),
        ),
    )
    model = hm.Model(name="float", bodies=[hull], world=hm.World(axes="ENU"))
    return hm.Plant(model=model, environment=hm.Environment(surface=FreeSurface()))


@pytest.fixture(scope="module")
def campaign():
    """A recording of a hull that rises through a surface at HEIGHT, simulated with the true volume."""
    q = np.array([0.0, 0.0, HEIGHT - 0.25, 0.995, 0.05, np.sqrt(1.0 - 0.995**2 - 0.05**2), 0.0])
    v = np.array([0.02, 0, 0.1, 0, 0, 0])
    times = np.arange(0.0, END + 1e-9, STEP)
    zeros = {f"nav.{x}": identification.ChannelSamples(times, np.zeros(len(times))) for x in ("roll", "pitch", "z")}
    trial = identification.Trial(name="rise", start=0.0, end=END, q=q, v=v, samples=zeros)
    study, plant = Reader(FAMILIES).build(validation.ValidationStudy, DOCUMENT, ()), floating()
    empty = validation.Campaign(study, plant, "hull", (validation.RecordedTrial(trial, "rise", 0.2, ()),))
    problem = empty.problem_of(empty.trials)
    values, _ = problem.simulate(np.array([HEIGHT, TRUE]), np.zeros((1, 12)), derivatives=False)
    samples = {name: identification.ChannelSamples(times, values[:, 0, c]) for c, name in enumerate(problem.outputs.names)}
    trial = identification.Trial(name="rise", start=0.0, end=END, q=q, v=v, samples=samples)
    return validation.Campaign(study, plant, "hull", (validation.RecordedTrial(trial, "rise", 0.2, ()),))


def scanned(campaign, volume):
    heights = (HEIGHT - 0.04, HEIGHT + 0.04)
    return predicted_over_heights(campaign, campaign.trials[0], np.array([HEIGHT, volume]), heights)


def test_an_error_in_heave_disappears_with_the_measured_heave(campaign):
    low, true, high = scanned(campaign, WRONG)
    assert (low.height, true.height, high.height) == (HEIGHT - 0.04, HEIGHT, HEIGHT + 0.04)
    assert (low.fitted, true.fitted, high.fitted) == (False, True, False)
    assert true.predicted["nav.z"] > 0.01 > 10.0 * true.measured_heave["nav.z"]
    assert true.measured_heave["nav.pitch"] < 0.1 * true.predicted["nav.pitch"]


def test_an_error_in_the_height_of_the_surface_stays(campaign):
    low, true, high = scanned(campaign, TRUE)
    assert true.predicted["nav.pitch"] < 1e-4
    for wrong in (low, high):
        assert wrong.measured_heave["nav.pitch"] > 10.0 * true.measured_heave["nav.pitch"]


def test_a_study_without_a_surface_is_rejected(campaign):
    study = replace(campaign.study, unknowns=campaign.study.unknowns[1:])
    other = validation.Campaign(study, campaign.plant, "hull", campaign.trials)
    with pytest.raises(ValueError, match="surface_height"):
        predicted_over_heights(other, campaign.trials[0], np.array([TRUE]), ())


def test_corrected_states_have_no_derivatives(campaign):
    problem = campaign.problem_of(campaign.trials)
    with pytest.raises(ValueError, match="derivatives=False"):
        problem.simulate(np.array([HEIGHT, TRUE]), np.zeros((1, 12)), corrected=lambda trials, steps, at: at)
