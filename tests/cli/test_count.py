"""Operation counts: ours against those of the papers, and the command that shows them."""

import json

import pytest

import hydromechs as hm
from hydromechs.library import serial_chain


def papers(n: int, **kind) -> tuple[int, int]:
    return hm.equations.operation_count(serial_chain(n, **kind), "articulated_body").papers


@pytest.mark.parametrize(
    ("base", "wet", "printed"),
    [("fixed", False, (1085, 982)), ("free", False, (1314, 1193)), ("free", True, (2392, 2091))],
)
def test_general_chain_of_six_is_not_above_the_papers(base, wet, printed):
    """McMillan, Orin, McGhee 1995, Table II, last line."""
    count = papers(6, base=base, wet=wet)
    assert count[0] <= printed[0]
    assert count[1] <= printed[1]


@pytest.mark.parametrize("n", [6, 11])
def test_added_link_in_water_is_not_above_the_papers(n):
    """McMillan, Orin, McGhee 1995, Table II: 377 N and 333 N."""
    short, long = papers(n, base="free", wet=True), papers(n + 1, base="free", wet=True)
    assert long[0] - short[0] <= 377
    assert long[1] - short[1] <= 333


def test_count_of_a_model(run):
    status, out, err = run("count", "puma560")
    assert (status, err) == (0, "")
    for word in ("articulated_body", "inverse_dynamics", "composite_body", "kinematics", "square roots", "sines, cosines"):
        assert word in out
    M, A = hm.equations.operation_count(hm.load("puma560"), "articulated_body").papers
    assert f"[{M}, {A}]" in out


def test_count_of_a_model_as_json(run):
    status, out, _ = run("count", "puma560", "--json")
    assert status == 0
    found = json.loads(out)
    count = hm.equations.operation_count(hm.load("puma560"), "composite_body")
    assert found["model"] == "puma560"
    assert found["operations"]["composite_body"]["additions"] == count.additions


def test_count_of_an_unknown_model(run):
    status, _, err = run("count", "nosuch")
    assert status == 1
    assert "no library model" in err


def test_headings_of_counts_fit_80_columns(run):
    """No heading is cut or broken on a terminal of the usual width."""
    status, out, _ = run("count", "tiburon_titan2", columns=80)
    assert status == 0 and "…" not in out
    heading = next(line for line in out.splitlines() if "articulated_body" in line)
    for name in ("articulated_body", "inverse_dynamics", "composite_body", "kinematics"):
        assert name in heading.split()
    assert max(map(len, out.splitlines())) <= 80
