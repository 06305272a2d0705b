"""How accurate are the integrators, and what does that cost? A tumbling vehicle with an arm in a current, 2 s.

python docs/pictures/make_integrators.py            writes docs/pictures/integrators.png
"""

import sys
import time
from pathlib import Path

import numpy as np

import hydromechs as hm
from hydromechs.hydro import Current, Environment
from hydromechs.integrators import DormandPrince

T = 2.0
"""Time that is simulated [s]."""
EVALUATIONS = {"euler": 1, "semi_implicit_euler": 1, "linearly_implicit": 2, "rk4": 4}
"""Evaluations of the equations of motion in a step; `linearly_implicit` has a Jacobian and two solutions besides."""
COLORS = {
    "euler": "#8c8c8c",
    "semi_implicit_euler": "#d55e00",
    "linearly_implicit": "#009e73",
    "rk4": "#0072b2",
    "dormand_prince": "#aa3377",
}


def tumbler() -> hm.Model:
    """A vehicle with one arm; its drag is smooth, so that every method can show its order."""
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(position=(0, 0, 5), velocity=(0.8, -0.3, 0.2, 0.9, 0.6, -0.7)),
        inertia=hm.Inertia(mass=60.0, com=(0.05, -0.03, 0.08), tensor=(3.0, 4.0, 5.0, 0.1, -0.2, 0.15)),
        hydro=hm.Hydro(
            volume=0.06,
            buoyancy_center=(-0.02, 0.01, -0.05),
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2))),
            drag=[
                hm.drag.ShapeDrag(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)), coefficient=(0.3, 0.8, 1.0)),
                hm.drag.Damping(linear=(5.0, 8.0, 9.0, 2.0, 3.0, 2.5)),
            ],
        ),
    )
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=hm.joints.Revolute(placement=hm.Origin((0.4, 0.1, 0.2), (1.3, 0.4, -0.5)), axis=(0.2, 1.0, 0.3), velocity=1.5),
        inertia=hm.Inertia(mass=5.0, com=(0.15, 0.02, 0.03), tensor=(0.05, 0.15, 0.15, 0.01, -0.02, 0.01)),
        hydro=hm.Hydro(
            volume=0.004, buoyancy_center=(0.12, 0.01, 0.0), added_mass=hm.added_mass.Diagonal((3, 4, 4, 0.05, 0.1, 0.1))
        ),
    )
    return hm.Model(name="tumbler", bodies=[hull, arm])


def simulate(model: hm.Model, method, step: float, repeat: int = 30) -> tuple[np.ndarray, float]:
    """State (q, v) at the end and the shortest of some wall times [s]."""
    environment = Environment(current=Current(velocity=(0.5, -0.3, 0.2)))
    sim = hm.Simulation(model, environment=environment, integrator=method, step=step, record=step)
    sim.compile()
    walls = []
    for _ in range(repeat):
        sim.reset()
        began = time.perf_counter()
        end = sim.step(duration=T)
        walls.append(time.perf_counter() - began)
    return np.concatenate([end.q, end.v]), min(walls)


def measure() -> dict[str, np.ndarray]:
    """For each method rows of (mean step or tolerance, error at the end, wall time per simulated second)."""
    model = tumbler()
    exact, _ = simulate(model, "rk4", 2.5e-5, repeat=1)
    out = {}
    for name in EVALUATIONS:
        counts = 20 * 2 ** np.arange(1, 12 if EVALUATIONS[name] == 1 else 9 if name == "linearly_implicit" else 7)
        rows = []
        for n in counts:
            end, wall = simulate(model, name, T / n)
            rows.append((T / n, np.linalg.norm(end - exact), wall / T))
        out[name] = np.array(rows)
    rows = []
    for relative in 10.0 ** np.arange(-3, -11, -1):
        end, wall = simulate(model, DormandPrince(relative=relative, absolute=1e-3 * relative), 0.01)
        rows.append((relative, np.linalg.norm(end - exact), wall / T))
    out["dormand_prince"] = np.array(rows)
    return out


def draw(results: dict[str, np.ndarray], path: Path) -> None:
    """Two panels: error against the step, and error against wall time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True, constrained_layout=True)
    for name, rows in results.items():
        style = {"color": COLORS[name], "marker": "o", "markersize": 3.5, "linewidth": 1.6}
        if name != "dormand_prince":
            left.loglog(rows[:, 0], rows[:, 1], **style)
            order = np.log(rows[-3, 1] / rows[-2, 1]) / np.log(rows[-3, 0] / rows[-2, 0])
            text = f"{name}, order {order:.2f}" if order < 1.5 else f"{name}\norder {order:.2f}"
            shift = {"euler": 9, "semi_implicit_euler": -7}.get(name, 0)
            place = {"xytext": (7, shift), "textcoords": "offset points", "va": "center"}
            left.annotate(text, rows[0, :2], color=COLORS[name], fontsize=8, **place)
        right.loglog(rows[:, 2], rows[:, 1], label=name, **style)
    left.set(xlabel="step [s]", ylabel="error of (q, v) after 2 s", title="Accuracy against the step", xlim=(None, 3.0))
    right.set(xlabel="wall time per simulated second [s]", title="Accuracy against cost")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.grid(True, color="#e4e4e4")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Measure, print a table, draw."""
    results = measure()
    for name, rows in results.items():
        print(name)
        for a, error, wall in rows:
            print(f"  {a:9.3g}  error {error:9.2e}  {wall * 1e3:9.3g} ms per simulated second")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("integrators.png")
    draw(results, path)
    print(path)


if __name__ == "__main__":
    main()
