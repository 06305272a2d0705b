"""The study of the stiffness of contacts: its ground, its steps, its command."""

import json
import math

import pytest
from benchmarks import stiffness_study

import hydromechs as hm


@pytest.fixture(scope="module")
def report():
    return stiffness_study.measure_stiffness(stiffness_study.QUICK_STIFFNESS)


def test_harder_ground_has_the_same_damping_ratio():
    scenario = hm.load_scenario("waav_step")
    for old, new in zip(
        scenario.parts(hm.contact.Terrain), stiffness_study.with_stiffness(scenario, 1e7).parts(hm.contact.Terrain), strict=True
    ):
        a, b = old.material, new.material
        assert b.law.stiffness == 1e7 and b.law.damping_factor == a.law.damping_factor
        ratios = [m.friction.damping / math.sqrt(m.friction.stiffness) for m in (a, b)]
        assert ratios[0] == pytest.approx(ratios[1]) and b.friction.stiffness / a.friction.stiffness == pytest.approx(100.0)


def test_stiffer_contacts_need_shorter_steps(report):
    soft, hard = report["rows"]
    assert soft["step"] == 2e-3 and hard["step"] <= soft["step"] / 5.0  # by √100, to the next of the list
    assert max(soft["residual"], hard["residual"]) < report["closes"]
    assert min(soft["factor"], hard["factor"]) > 0.0


def test_the_command_prints_and_draws(study, report, tmp_path, monkeypatch):
    monkeypatch.setattr(stiffness_study, "measure_stiffness", lambda cases, progress: report)
    status, out, _ = study("stiffness", "--quick", "--out", tmp_path / "x.png")
    assert status == 0 and "waav_step" in out and "1e+07" in out
    assert (tmp_path / "x.png").stat().st_size > 10_000
    lost = {**report, "rows": [{"stiffness": 1e9, "method": "rk4", "step": None, "factor": None, "residual": None}]}
    monkeypatch.setattr(stiffness_study, "measure_stiffness", lambda cases, progress: lost)
    assert "no step will do" in study("stiffness", "--quick")[1]
    assert json.loads(study("stiffness", "--json")[1])["rows"][0]["factor"] is None
