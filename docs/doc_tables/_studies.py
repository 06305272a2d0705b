"""Tables of what studies have found, from their reports: engines, missions, navigation, stiffness, variants of models."""

from __future__ import annotations

from math import degrees
from statistics import fmean, stdev
from typing import Any

from benchmarks import published_vehicles as vehicles

from ._common import report, row, table, where

__all__ = ["TABLES"]


def hybrid_lemmas() -> str:
    """Lemmas 1 and 2."""
    data = report("hybrid")
    rows = [
        (
            f"Lemma 1: v̇ of a step, `{name}`",
            *(f"{row(data['lemma_1'], model=name, engine=e)['iterated']:.0e}" for e in data["engines"]),
        )
        for name in dict.fromkeys(r["model"] for r in data["lemma_1"])
    ]
    rows += [
        (
            f"Lemma 2: disturbance, M_A/M_RB = {ratio:g}",
            *(f"{row(data['lemma_2'], ratio=ratio, engine=e)['relative']:.0e}" for e in data["engines"]),
        )
        for ratio in dict.fromkeys(r["ratio"] for r in data["lemma_2"])
    ]
    return table(("relative difference", *data["engines"]), rows)


def hybrid_eq_51() -> str:
    """The ratio of eq. 51 in the first engine: measured, and by how much it differs."""
    data = report("hybrid")
    found = [r for r in data["eq_51"] if r["engine"] == data["engines"][0]]
    ratios = list(dict.fromkeys(r["ratio"] for r in found))
    rows = []
    for T, omega in dict.fromkeys((r["T"], r["omega"]) for r in found):
        cells = [row(found, T=T, omega=omega, ratio=ratio) for ratio in ratios]
        off = [f"{r['measured']:.5f} ({100 * abs(r['measured'] / r['predicted'] - 1):.2f} %)" for r in cells]
        rows.append((f"1/{1 / T:.0f}", f"{omega:g}", *off))
    return table(("T, s", "ω, rad/s", *(f"M_A/M_RB = {ratio:g}" for ratio in ratios)), rows)


def hybrid_limits() -> str:
    """Limits of stability."""
    data = report("hybrid")
    rows = [
        (
            "ball",
            s.replace(" added mass", ""),
            f"{f:.4g}",
            *(f"{row(data['limits'], scheme=s, engine=e)['measured']:.4g}" for e in data["engines"]),
        )
        for s, f in dict.fromkeys((r["scheme"], r["predicted"]) for r in data["limits"])
    ]
    rows += [
        (
            f"`{m}`, vehicle's M_A times",
            "causal",
            f"{f:.4g}",
            *(f"{row(data['mechanisms'], model=m, engine=e)['measured']:.4g}" for e in data["engines"]),
        )
        for m, f in dict.fromkeys((r["model"], r["predicted"]) for r in data["mechanisms"])
    ]
    return table(("limit of", "scheme", "predicted", *data["engines"]), rows)


def hybrid_convergence() -> str:
    """Errors with the shortest step, and orders."""
    data = report("hybrid")

    def cell(r: dict[str, Any]) -> str:
        return "diverges" if r["order"] is None else f"{r['errors'][-1]:.1e} ({r['order']:.2f})"

    rows = []
    for model in dict.fromkeys(r["model"] for r in data["convergence"]):
        ours, *others = (r for r in data["convergence"] if r["model"] == model)
        rows.append((f"`{model}`", f"ours, semi-implicit Euler: {cell(ours)}", *[""] * len(data["engines"])))
        for scheme in dict.fromkeys(r["scheme"] for r in others):
            cells = [cell(row(others, scheme=scheme, engine=e)) for e in data["engines"]]
            rows.append(("", scheme.replace(" added mass", ""), *cells))
    return table(("model", "scheme", *data["engines"]), rows)


def hybrid_long() -> str:
    """The ball with three times its mass of water."""
    rows = [
        (
            r["engine"],
            r["scheme"],
            f"runs {r['until']:g} s" if r["finished"] else f"diverges at {r['until']:.2f} s, predicted {r['predicted']:.2f} s",
            "–" if r["error"] is None else f"{r['error']:.1e}",
        )
        for r in report("hybrid")["long"]
    ]
    return table(("engine", "scheme", "", "largest error of the speed, m/s"), rows)


def missions_engines() -> str:
    """Each mission in our engine, and the largest differences of the other engines."""
    flights, rows = report("missions")["flights"], []
    for name in dict.fromkeys(r["mission"] for r in flights):
        ours, *others = (r for r in flights if r["mission"] == name)
        passed = sorted({f"{r['passed']} of {len(r['checks'])}" for r in (ours, *others)})
        tool = "" if ours["tool_rms"] is None else f"{ours['tool_rms']:.3f}"
        off = {key: max(abs(r[key]) for r in others) for key in ("force_rms", "pitch_rms", "heading_off")}
        turned = "below 0.01" if off["heading_off"] < 0.01 else f"{off['heading_off']:.1f}"
        found = (f"{ours['navigation_rms']:.3f}", tool, f"{off['force_rms']:.2g}", f"{off['pitch_rms']:.2g}", turned)
        rows.append((f"`{name}`", ", ".join(passed), *found))
    heads = ("mission", "checks passed, all engines", "navigation, m rms", "tool, m rms")
    return table((*heads, "Δ vertical force, N rms", "Δ pitch, ° rms", "Δ final heading, °"), rows)


def missions_seeds() -> str:
    """Other seeds in our engine."""
    rows = [
        (
            f"`{r['mission']}`",
            r["seeds"],
            r["passed"],
            f"{r['navigation_mean']:.3f}",
            f"{r['navigation_worst']:.3f}",
            ", ".join(f"{name} ({count})" for name, count in r["failed"].items()),
        )
        for r in report("missions")["seeds"]
    ]
    return table(("mission", "seeds", "all checks passed", "navigation, m rms, mean", "worst", "failed checks"), rows)


def missions_speed() -> str:
    """Times real time by processor time, per engine."""
    data = report("missions")
    names = dict.fromkeys(r["mission"] for r in data["flights"])
    rows = [
        (f"`{name}`", *(f"{row(data['flights'], mission=name, engine=e)['real_time_factor']:.2g}" for e in data["engines"]))
        for name in names
    ]
    return table(("times real time", *data["engines"]), rows) + "\n" + where(data)


def navigation_errors() -> str:
    """Normalised errors by part."""
    data = report("navigation")
    blocks = [row["block"] for row in data["cases"][0]["blocks"]]
    rows = []
    for name in blocks:
        cells = [row(case["blocks"], block=name) for case in data["cases"]]
        bounds = f"{cells[0]['low']:.2f} to {cells[0]['high']:.2f}"
        rows.append((name, bounds, *(f"{c['mean']:.2f} ({100 * c['inside']:.0f} %)" for c in cells)))
    return table(("part of δ", "95 % bounds", *(case["case"] for case in data["cases"])), rows)


def navigation_places() -> str:
    """Errors in metres and degrees."""
    heads = ("", "position, rms", "in the gap", "largest", "velocity, rms", "attitude, rms")
    rows = [
        (
            c["case"],
            f"{c['position_rms']:.2f} m",
            "–" if c["gap"] is None else f"{c['gap_position_rms']:.2f} m",
            f"{c['largest_distance']:.2f} m, {c['largest_in_sigmas']:.1f} σ",
            f"{c['velocity_rms']:.3f} m/s",
            f"{c['attitude_rms_deg']:.2f}°",
        )
        for c in report("navigation")["cases"]
    ]
    return table(heads, rows)


def stiffness_factors() -> str:
    """Real-time factors over the stiffness of contacts."""
    rows = []
    data = report("stiffness")["rows"]
    methods = list(dict.fromkeys(r["method"] for r in data))
    for stiffness in dict.fromkeys(r["stiffness"] for r in data):
        cells: list[str] = []
        for method in methods:
            r = row(data, stiffness=stiffness, method=method)
            if r["factor"] is None:
                cells.append("no step will do")
            else:
                cells.append(f"{r['factor']:.1f}" + ("" if r["step"] is None else f" ({1e3 * r['step']:g} ms)"))
        rows.append((f"{1e-3 * stiffness:,.0f}", *cells))
    return table(("stiffness of a contact, kN/m", *(f"`{method}`" for method in methods)), rows)


def _with_more(row: dict[str, Any], channel: str) -> str:
    """An error, and how much more than that of the first row it is, with the standard error of that."""
    if not row["uncertain"][channel]:
        return f"{row['mean'][channel]:.3f}"
    return f"{row['mean'][channel]:.3f} ({row['more'][channel]:+.3f} ± {row['uncertain'][channel]:.3f})"


def variants_errors() -> str:
    """What other models of a real arm cost."""
    data = report("variants")
    rows = []
    for r in data["variants"]:
        cells = [_with_more(r, c) if c in r["mean"] else "–" for c in data["units"]]
        count = len(r["trials"])
        only = f", {count} trials" if count < data["trials"] else ""
        rows.append((r["name"] + only + (" *" if r["not_converged"] else ""), *cells))
    heads = ("model", *(f"{c.split('.')[1]} [{unit}]" for c, unit in data["units"].items()))
    said = (
        ""
        if all(not r["not_converged"] for r in data["variants"])
        else " \\* A fit did not converge and its best result was used, or it could not predict some trials, which are ignored."
    )
    dealt = (
        "each motion left out once"
        if data["folds"] == data["motions"]
        else f"motions dealt into {data['folds']} parts, each left out once"
    )
    return table(heads, rows) + f"\n{data['trials']} trials of {data['motions']} motions, {dealt}.{said}\n"


def published_vehicles() -> str:
    """Single vehicles, published and found."""
    rows = [
        (r.vehicle, r.quantity, f"{r.published:.4g} {r.unit}".rstrip(" –"), f"{r.found:.4g}", f"{r.kind}: {r.source}")
        for r in vehicles.published_vehicles()
    ]
    return table(("vehicle", "quantity", "published", "found here", "where from"), rows)


def free_decays() -> str:
    """Swings of a real vehicle after its arm has stopped, measured and predicted."""
    found = sorted(report("decays")["decays"], key=lambda d: (d["channel"], d["trial"]))
    rows = []
    for d in found:
        both = [d["measured"], d["predicted"]]
        numbers = (f"{x[k]:.{n}f}" for k, n in (("frequency", 2), ("ratio", 3)) for x in both)
        rows.append((d["trial"], d["channel"].split(".")[1], *numbers, *(f"{degrees(x['amplitude']):.2f}" for x in both)))
    heads = ("trial", "angle", "frequency [rad/s]", "predicted", "damping ratio", "predicted", "amplitude [°]", "predicted")
    said = []
    for channel in dict.fromkeys(d["channel"] for d in found):
        mine = [d for d in found if d["channel"] == channel]
        faster = [d["predicted"]["frequency"] / d["measured"]["frequency"] for d in mine]
        measured, predicted = (fmean(d[x]["ratio"] for d in mine) for x in ("measured", "predicted"))
        said.append(
            f"{channel.split('.')[1]}, {len(mine)} swings: predicted over measured frequency {fmean(faster):.2f} ± "
            f"{stdev(faster):.2f}, mean damping ratio {measured:.3f} measured and {predicted:.3f} predicted"
        )
    return table(heads, rows) + f"\nIn the mean (± scatter), {'; '.join(said)}.\n"


TABLES = (
    hybrid_lemmas,
    hybrid_eq_51,
    hybrid_limits,
    hybrid_convergence,
    hybrid_long,
    missions_engines,
    missions_seeds,
    missions_speed,
    navigation_errors,
    navigation_places,
    stiffness_factors,
    variants_errors,
    free_decays,
    published_vehicles,
)
"""What makes each table; its name in the documents follows from that of the function."""
