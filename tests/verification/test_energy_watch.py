"""Energy that appears or vanishes without a cause is reported at the end of a run."""

import numpy as np

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import LinearContact, Material, Terrain
from hydromechs.recording import structured
from hydromechs.simulation import step_limit, stiff_modes
from hydromechs.simulation._watches import EnergyWatch

ELASTIC = Material(law=LinearContact(stiffness=2e4, damping=0.0))
NORMALS = np.array([(1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1)]) / np.sqrt(3.0)
PLANES = [
    Terrain(name=f"wall {k}", material=ELASTIC, shape=geometry.Plane.through(tuple(-0.12 * n), tuple(n)))
    for k, n in enumerate(NORMALS)
]
BALL = hm.Body(
    name="ball",
    joint=hm.joints.Free(velocity=(0.7, 0.3, 0.5, 0, 0, 0)),
    inertia=hm.Inertia(mass=8.0, tensor=(0.02, 0.02, 0.02, 0, 0, 0)),
    shapes=[hm.geometry.Sphere(radius=0.1)],
)
MODEL = hm.Model(name="trapped", bodies=[BALL], world=hm.World(axes="ENU", gravity=1e-9))


def trapped(step: float, integrator: str = "rk4") -> hm.Simulation:
    """A ball among four planes that it may touch at once, so that their stiffness adds up."""
    return hm.Simulation(MODEL, components=[*PLANES], step=step, record=step, integrator=integrator)


def test_a_ball_among_four_planes_does_not_gain_energy_in_silence():
    sim = trapped(1e-3)
    accepted = min(step_limit(mode, sim.method) for mode in stiff_modes(sim.plant, sim.state.q))
    run = trapped(0.9 * accepted).run(14.0)
    energy = run.recording.kinetic_energy_body + run.recording.elastic_energy
    assert float(energy.max()) > 2.0 * float(energy[0])  # what is to be reported
    (text,) = [m for m in run.messages if "energy residual" in m]
    assert "J appear" in text and f"{0.9 * accepted:g} s" in text and text in structured(run.recording, "messages")


def test_the_advice_holds():
    """A much shorter step, and linearly_implicit with the step that was too long."""
    for step, integrator in ((2e-3, "rk4"), (0.0468, "linearly_implicit")):
        run = trapped(step, integrator).run(1.4)
        assert not any("energy residual" in m for m in run.messages)


def samples(t, kinetic, work, residual):
    """A block of a recording in which one cause, contacts, works."""
    zero = np.zeros(len(t))
    block = {"kinetic_energy_fluid": zero, "potential_energy": zero, "elastic_energy": zero}
    columns = {"kinetic_energy_body": kinetic, "energy_residual": residual}
    return np.asarray(t), block | {k: np.asarray(x) for k, x in columns.items()} | {"work": np.asarray(work)[:, None]}


def test_shares_and_times_do_not_depend_on_blocks():
    t, kinetic = [0.0, 1.0, 2.0, 3.0], [10.0, 10.0, 12.0, 12.0]
    whole, parts = EnergyWatch(["contact"]), EnergyWatch(["contact"])
    rows = (t, kinetic, [0.0, 0.0, 1.5, 1.5], [0.0, 0.0, 0.5, 0.5])
    whole.update(*samples(*rows))
    for k in range(4):
        parts.update(*samples(*(column[k : k + 1] for column in rows)))
    residual, supplied = whole.messages("shorten it")
    assert "0.5 J appear" in residual and "t = 1 s to 2 s" in residual and "13.5 J" in residual
    assert "1.5 J" in supplied and parts.messages("shorten it") == [residual, supplied]


def test_rounding_resumed_runs_and_divergence_are_not_reported():
    still = EnergyWatch([])
    still.update(*samples([0.0, 1.0], [1e6, 1e6], [0.0, 0.0], [0.0, 1e-4]))
    resumed = EnergyWatch(["contact"])
    resumed.update(*samples([5.0, 6.0], [1.0, 1.01], [2.0, 2.0], [3.0, 3.0]))
    lost = EnergyWatch([])
    lost.update(*samples([0.0, 1.0], [1.0, np.inf], [0.0, 0.0], [0.0, np.nan]))
    for watch in (still, resumed, lost, EnergyWatch([])):
        assert watch.messages("shorten it") == []
