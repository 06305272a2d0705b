"""Validation studies: logs that are not good, predictions that know nothing they should not, and two real trials."""

import gzip
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification, library
from hydromechs.errors import ValidationStudyError
from hydromechs.formats import parse_yaml
from hydromechs.identification import validation
from hydromechs.identification.validation._compare import BASE, Fold
from hydromechs.identification.validation._compare import _rows as compared_rows
from hydromechs.identification.validation._logs import changed, without_outliers
from hydromechs.identification.validation._study import FAMILIES
from hydromechs.identification.validation._validate import predictions
from hydromechs.identification.validation._variants import averaged
from hydromechs.model import added_mass_matrix
from hydromechs.registry import Reader, Writer

HERE = Path(__file__).parent / "hinsdale"
STUDY = Path(__file__).parents[2] / "examples" / "hinsdale_2023.yaml"


@pytest.fixture(scope="module")
def study():
    return validation.load_validation_study(STUDY)


@pytest.fixture(scope="module")
def campaign(study):
    """Two real trials, and few unknowns, for short programs: all else is the library's model, with the tether of its study."""
    few = tuple(u for u in study.unknowns if "com" in u.name)
    line = replace(study.line, weight=0.1298, place=(-0.5037, 0.06197, 0.0))
    return validation.read_campaign(replace(study, unknowns=few, line=line), HERE)


# -- logs ---------------------------------------------------------------------------------------------------------------


def write(path, rows, head="t,x"):
    text = "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"
    if path.suffix == ".gz":
        with gzip.open(path, "wt") as file:
            file.write(text)
    else:
        path.write_text(text)
    return path


def test_a_log_is_cleaned_and_reports_it(tmp_path):
    """Rows without numbers, clocks that jump back and pauses are reported with their file and time."""
    rows = [[0.1 * k, k] for k in range(60)]
    rows[10] = [1.0, ""]
    rows[20] = [0.5, 20]  # jumps back
    del rows[30:45]
    log = validation.read_log(write(tmp_path / "a.csv.gz", rows), "t")
    assert len(log.time) == 43 and (np.diff(log.time) > 0.0).all()
    said = "\n".join(log.notes)
    assert "a.csv.gz: 1 of 45 rows have missing values and are ignored" in said
    assert "1 samples are not later than earlier ones and are ignored; check the clock for jumps" in said
    assert "no samples from 2.90 to 4.50 s" in said
    assert float(log.dataset().x.sel(time=0.2, method="nearest")) == 2.0


def test_outliers_are_omitted(tmp_path):
    rows = [[0.1 * k, 0.01 * k] for k in range(60)]
    rows[17][1] = 5.0
    log = without_outliers(validation.read_log(write(tmp_path / "a.csv", rows), "t"), {"x": 0.1}, 1.0)
    assert len(log.time) == 59 and log.notes == ("a.csv: 1 of 60 samples are outliers and are ignored",)


def test_repeated_values_are_no_samples(tmp_path):
    """A bus that repeats its last value makes a staircase; only its corners count."""
    rows = [[0.02 * k, k // 3] for k in range(60)]
    log = validation.read_log(write(tmp_path / "a.csv", rows), "t")
    np.testing.assert_array_equal(changed(log, "x", 1.0), np.arange(0, 60, 3))


@pytest.mark.parametrize(
    ("rows", "head", "said"),
    [
        ([[0.0, 1.0]] * 3, "t,x", "1 valid samples remain; provide at least 10"),
        ([[k, 1.0] for k in range(20)], "time,x", "no time column is named 't'"),
        ([[k, 1.0, 2.0] for k in range(20)], "t,x", "rows have 3 values, but the first line names 2 columns"),
    ],
)
def test_logs_that_cannot_be_read_are_rejected(tmp_path, rows, head, said):
    with pytest.raises((ValueError, KeyError), match=said):
        validation.read_log(write(tmp_path / "a.csv", rows, head), "t")


def test_quaternions_in_degrees_or_disorder_are_rejected():
    with pytest.raises(ValueError, match="quaternion norms are 1.73 to 1.73, not 1"):
        validation.euler_angles([np.ones(5), np.ones(5), np.ones(5), np.zeros(5)])


BAD = {  # old text, new text; path and value of the problem, and words of its text
    "number": ("window: 4.0", "window: -4.0", "window", -4.0, ["> 0"]),
    "key": ("step: 0.05", "stpe: 0.05", "stpe", 0.05, ["'step'?"]),
    "quantity": ("pitch: {", "pich: {", "instruments.imu.channels.pich", "pich", ["'pitch'?"]),
    "deviation": ("deviation_deg: 0.15", "deviation_deg: 0", "instruments.imu.channels.roll.deviation", 0.0, ["> 0"]),
    "both": (
        "{deviation_deg: 0.15",
        "{deviation: 0.1, deviation_deg: 0.15",
        "instruments.imu.channels.roll.deviation_deg",
        0.15,
        ["both"],
    ),
    "channel": ("judged: [imu.roll", "judged: [imu.rol", "judged.0", "imu.rol", ["'imu.roll'?"]),
    "log": ("find: imu", "find: imo", "trials.find", "imo", ["'imu'?", "mocap"]),
    "type": ("type: positive", "type: positiv", "unknowns.3.type", "positiv", ["'positive'?", "surface_height"]),
    "unit": ('{file: "{trial}_imu', '{units: {x: inch}, file: "{trial}_imu', "logs.imu.units.x", "inch", ["'mm'"]),
    "list": (
        "no_drag: [armbase, shoulder, upper_arm, elbow, wrist, jaw]",
        "no_drag: jaw",
        "variants.no drag of the arm.no_drag",
        "jaw",
        ["list"],
    ),
    "place": ("place: [-0.22, 0, 0]", "place: [-0.22, 0]", "line.place", [-0.22, 0], ["3 numbers"]),
    "version": ("hydromechs_validation: 2", "hydromechs_study: 1", "hydromechs_study", 1, ["version 1", "docs/validation.md"]),
    "kind": ("hydromechs_validation: 2", "hydromechs_sweep: 2", "hydromechs_sweep", 2, ["hydromechs sweep"]),
}


def problems_of(file, *changes):
    text = STUDY.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValidationStudyError) as error:
        validation.load_validation_study(file)
    return error.value.faults


@pytest.mark.parametrize(("old", "new", "where", "value", "words"), BAD.values(), ids=BAD)
def test_a_problem_of_a_file_has_its_line_and_its_place(tmp_path, old, new, where, value, words):
    (problem,) = {p.text: p for p in problems_of(tmp_path / "bad.yaml", (old, new))}.values()
    line = 1 + STUDY.read_text(encoding="utf-8").partition(old)[0].count("\n")
    assert (problem.line, problem.where, problem.value) == (line, where, value)
    assert all(word in problem.text for word in words)


def test_all_problems_of_a_file_come_at_once(tmp_path):
    names = ["log", "quantity", "type", "number", "key", "channel"]
    problems = problems_of(tmp_path / "bad.yaml", *(BAD[name][:2] for name in names))
    assert [problem.where for problem in problems] == [BAD[name][2] for name in names]


def test_schema_and_round_trip(study):
    """The JSON Schema accepts what the reader reads and the writer writes."""
    schema = validation.validation_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    data = parse_yaml(STUDY.read_text(encoding="utf-8")).data
    jsonschema.Draft202012Validator(schema).validate(data)
    written = {"hydromechs_validation": 2, **Writer(FAMILIES).fields(study)}
    jsonschema.Draft202012Validator(schema).validate(written)
    assert Reader(FAMILIES).file(validation.ValidationStudy, written, "hydromechs_validation", 2) == study


# -- two real trials ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library_start(campaign):
    """The free coordinates of what the library model has."""
    unknowns = []
    for u in campaign.study.unknowns:
        given = (
            {"value": None}
            if isinstance(u, identification.Number)
            else {"diagonal": None}
            if isinstance(u, identification.AddedMass)
            else {}
        )
        unknowns.append(replace(u, **given))
    problem = identification.Problem(
        campaign.plant, [campaign.trials[0].trial], campaign.study.measuring(), unknowns, start=[0.0] * 20, step=0.05
    )
    return problem.guess


def test_the_quasi_static_balance_of_real_trials(campaign):
    """Three numbers and the published arm: some tenths of a degree, as published baselines of this campaign have."""
    balance = validation.StaticBalance(campaign)
    fixed = balance.fit(campaign.trials, offsets=False)
    rms = [np.degrees(np.sqrt(np.mean(balance.errors(r, fixed, offsets=False) ** 2, axis=1))) for r in campaign.trials]
    assert 0.05 < np.mean(rms) < 0.6
    np.testing.assert_allclose(fixed, [0.22, -0.07, 0.45], atol=0.05)


def test_a_prediction_knows_nothing_of_what_it_predicts(campaign, library_start):
    """Other samples after the motion begins change nothing of a prediction, to the last bit; other joint angles do."""

    def spoiled(r):
        samples = {}
        for name, s in r.trial.samples.items():
            noise = np.where(s.times > r.begins, np.random.default_rng(0).normal(size=len(s.times)), 0.0)
            samples[name] = identification.ChannelSamples(s.times, s.values + noise)
        return replace(r, trial=replace(r.trial, samples=samples))

    known, unseen = campaign.trials[:1], campaign.trials[1]
    first, second = (predictions(campaign, known, [r], library_start)[0] for r in (unseen, spoiled(unseen)))
    for name in first.simulated:
        np.testing.assert_array_equal(first.simulated[name].values, second.simulated[name].values)
    assert np.degrees(first.errors["imu.roll"]) < 0.2 and np.degrees(first.errors["imu.pitch"]) < 0.35  # a sane prediction
    assert first.static["imu.roll"] > first.errors["imu.roll"]  # offsets leave statics of one trial little to be fitted to
    assert second.errors["imu.roll"] > 10.0 * first.errors["imu.roll"]
    still = {joint: type(m)(pieces=(m.pieces[0],), end=m.pieces[0][0] + 0.01) for joint, m in unseen.trial.motions.items()}
    third = predictions(campaign, known, [replace(unseen, trial=replace(unseen.trial, motions=still))], library_start)[0]
    assert third.errors["imu.roll"] > 5.0 * first.errors["imu.roll"]


def test_starting_points_are_those_of_the_study_not_of_the_library(campaign, study):
    """The library's numbers were found from these trials: nothing of them may be where a fit begins."""
    problem = campaign.problem_of(campaign.trials[:1])
    for u in study.unknowns:
        given = (
            getattr(u, "value", None)
            if isinstance(u, identification.Number | identification.SurfaceHeight)
            else getattr(u, "diagonal", None)
        )
        assert given is not None or isinstance(u, identification.JointOffset | identification.CurrentOf), u
    assert problem.guess[0] == -0.01574


# -- variants -----------------------------------------------------------------------------------------------------------


def test_an_averaged_added_mass_keeps_its_centre_and_its_traces():
    """Of a cylinder off the origin: as much mass and moment in the mean, the same in all directions about the same point."""
    cylinder = hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.along("x", 0.0, 0.4, radius=0.05))
    exact = np.array(added_mass_matrix(cylinder, 1000.0))
    found = averaged(exact)
    assert np.trace(found[:3, :3]) == pytest.approx(np.trace(exact[:3, :3]))
    np.testing.assert_allclose(found[:3, :3], found[0, 0] * np.eye(3))
    np.testing.assert_allclose(found[3:, :3], found[0, 0] * np.array([[0, 0, 0], [0, 0, -0.2], [0, 0.2, 0]]), atol=1e-12)
    np.testing.assert_allclose(averaged(found), found, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0.0


def test_variants_of_the_study_change_what_they_say(study):
    """Drag by strips, no drag, no added mass, no arm; unknowns of joints that are gone go with them."""
    model = library.load(study.model)
    found = {name: validation.varied(model, v) for name, v in study.variants.items()}
    arm = {name: {b.name: b for b in m.bodies} for name, m in found.items()}
    assert isinstance(
        arm["drag of the arm by strips, 2.2 times as much"]["wrist"].hydro.drag[0].solid.shape, hm.geometry.Cylinder
    )
    assert arm["no drag of the arm"]["wrist"].hydro.drag == () and arm["no drag of the arm"]["wrist"].hydro.added_mass
    assert arm["no added mass of the arm"]["wrist"].hydro.added_mass == ()
    gone = "decoupled: nothing of the moving arm is felt"
    assert list(arm[gone]) == ["vehicle", "armbase"] and not study.varied(gone).joints
    assert len(study.varied(gone).unknowns) == len(study.unknowns) - 3
    with pytest.raises(ValueError, match="has no body named 'wirst'"):
        validation.varied(model, validation.Variant(no_drag=["wirst"]))


def test_strips_have_the_drag_of_lumped_numbers_in_one_flow(study):
    """Along each axis of each link: only the place where it acts, and flows that differ along the link, tell them apart."""
    model = library.load(study.model)
    strips = validation.varied(model, study.variants["drag of the arm by strips, as much as lumped"])
    for body in ("armbase", "shoulder", "upper_arm", "elbow", "wrist"):
        lumped, cylinder = (m.bodies[m.body_index(body)].hydro.drag[0] for m in (model, strips))
        for k, much in enumerate(lumped.quadratic[:3]):
            flow = np.eye(6)[k] * 0.3
            assert float(cylinder.matrix(flow, 997.0)[k, k]) == pytest.approx(much * 0.3, rel=1e-3), (body, k)


def test_only_weight_is_weight_and_buoyancy(study):
    """At rest the vehicle is held by the same forces as with the whole arm, whatever the pose."""
    model = library.load(study.model)
    light = validation.varied(model, study.variants["decoupled: of the arm only weight and buoyancy are felt"])
    q = np.array(model.neutral()[0], dtype=float)
    q[3:7] = np.array([0.9, 0.2, -0.3, 0.1]) / np.linalg.norm([0.9, 0.2, -0.3, 0.1])
    q[7:] = 0.3, -0.4, 1.2, 0.5
    still = np.zeros(model.nv)
    whole, felt = (hm.inverse_dynamics(m, q, still, still) for m in (model, light))
    np.testing.assert_allclose(felt, whole, atol=1e-6)


def test_a_model_that_cannot_predict_a_motion_loses_its_trials(study):
    """The others count, the difference is over the same trials, and why is said."""
    roll, name = replace(study, judged=("imu.roll",)), next(iter(study.variants))
    folds = [Fold(BASE, {trial: {"imu.roll": x}}, True, 5) for trial, x in (("a-0", 0.01), ("a-1", 0.02), ("b-0", 0.09))]
    folds.append(Fold(name, {"a-0": {"imu.roll": 0.02}, "a-1": {"imu.roll": 0.05}}, True, 5))
    folds.append(Fold(name, {}, False, 0, "without b: it runs away"))
    base, other = compared_rows(roll, folds)[:2]
    assert list(base["trials"]) == ["a-0", "a-1", "b-0"] and list(other["trials"]) == ["a-0", "a-1"]
    assert other["more"]["imu.roll"] == pytest.approx(np.degrees(0.02)) and other["not_converged"] == 1
    assert other["uncertain"]["imu.roll"] == pytest.approx(np.degrees(0.01)) and other["fault"] == "without b: it runs away"
