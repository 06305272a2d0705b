"""A pilot stops a vehicle 2 m ahead over an acoustic link of 2 s each way: by its telemetry, and by its ghost.

The pilot commands a surge speed in proportion to the distance that he sees, u = k (x_target - x_seen). With a delay T this
loop is stable up to k T = π/2. With telemetry T exceeds 4 s, so that k = 0.6 /s oscillates; with the ghost it settles. The
vehicle holds speeds on board: messages carry setpoints.

python examples/pilot_with_delay.py             prints the results
"""

import numpy as np

import hydromechs as hm
from hydromechs import control
from hydromechs.station import AcousticChannel, AcousticLink, Ghost, Telemetry, advance

TICK = 0.05  # s


class SpeedByLink(hm.Controller):
    """Speed control whose setpoints arrive as messages. Memory: six setpoints, then the integrals."""

    period = 0.1

    def start(self, simulation):
        self.loop = control.SpeedLoop(simulation, None, None, bandwidth=1.0, integral=1.0, period=self.period)
        self.memory = np.zeros(12)

    def __call__(self, state):
        driven = self.loop(state, memory=self.memory[6:], reference=self.memory[:6])
        self.memory = np.concatenate([self.memory[:6], driven.memory])
        return driven.push.commands


def set_speed(simulation, content):
    """Deliver a message: setpoints into the controller's memory, which is part of the state."""
    simulation.controller.memory = np.concatenate([content, simulation.controller.memory[6:]])


def distances(by_ghost: bool) -> np.ndarray:
    """Distance from the target over 30 s [m], when the pilot sees the ghost or the telemetry."""
    plant = hm.load_plant("bluerov2_heavy_alpha5")
    vehicle, own = (hm.Simulation(plant, step=0.005, controller=SpeedByLink()) for _ in range(2))
    ghost = Ghost(own, TICK, deliver=set_speed)
    down, up = (AcousticChannel(AcousticLink(delay=2.0, seed=k), TICK) for k in range(2))
    seen, target, out = vehicle.state, vehicle.state.q[0] + 2.0, []
    for tick in range(600):
        if tick % 10 == 0:
            up.send(tick, Telemetry(tick, vehicle.state))
        for message in up.receive(tick):
            ghost.receive(message.content)
            seen = message.content.state
        shown = ghost.predict(tick + down.latency) if by_ghost else seen
        surge = np.clip(0.6 * (target - shown.q[0]), -0.5, 0.5)
        ghost.sent(down.send(tick, np.array([surge, 0.0, 0.0, 0.0, 0.0, 0.0])))
        state = advance(vehicle, [m.content for m in down.receive(tick)], TICK, set_speed)
        out.append(abs(state.q[0] - target))
    return np.array(out)


def run() -> dict[str, float]:
    """Largest distance from the target in the last 8 s [m]."""
    return {name: distances(by_ghost)[-160:].max() for name, by_ghost in (("ghost", True), ("telemetry", False))}


def check(found: dict[str, float]) -> None:
    """With the ghost the vehicle settles, with telemetry it swings."""
    assert found["ghost"] < 0.1 < 0.5 < found["telemetry"], found


if __name__ == "__main__":
    found = run()
    for name, off in found.items():
        print(f"with the {name}: at most {off:.2f} m from the target in the last 8 s")
    check(found)
