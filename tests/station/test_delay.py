"""Acoustic channels in closed form, ghosts against the vehicles that they stand for, look-ahead against simulations."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import control
from hydromechs.hydro import Current
from hydromechs.model import State, added_mass, drag, joints
from hydromechs.simulation import InitialInstant
from hydromechs.station import AcousticChannel, AcousticLink, Ghost, LookAhead, SetPoint, Telemetry, advance, as_commands

TICK, STEP = 0.05, 0.005

# -- the channel --------------------------------------------------------------------------------------------------------------


def test_a_message_arrives_after_distance_over_speed_of_sound():
    channel = AcousticChannel(AcousticLink.across(3000.0, speed_of_sound=1500.0), TICK)
    for tick in range(100):
        assert channel.send(tick, tick).arrives == tick + 40  # 2 s
        assert [m.content for m in channel.receive(tick)] == ([tick - 40] if tick >= 40 else [])


@pytest.mark.parametrize(("delay", "ticks"), [(0.0, 0), (0.3, 3), (0.301, 4), (0.25, 3)])
def test_delays_are_whole_ticks_rounded_up(delay, ticks):
    assert AcousticChannel(AcousticLink(delay=delay), 0.1).latency == ticks  # 0.3 / 0.1 exceeds 3 by rounding


def test_rate_limits_what_is_sent_and_nothing_old_waits():
    """512 bits at 2560 bit/s take 0.2 s, 4 ticks; what goes out is what is offered when the channel is free."""
    link = AcousticLink.across(750.0, message_bits=512, bit_rate=2560.0)
    channel = AcousticChannel(link, TICK)
    taken, heard = [], []
    for tick in range(60):
        message = channel.send(tick, tick)
        taken += [message] if message else []
        heard += [(tick, m.content) for m in channel.receive(tick)]
    assert [m.content for m in taken] == list(range(0, 60, 4))
    assert heard == [(k + 4 + 10, k) for k in range(0, 46, 4)]


def test_receiving_late_gives_all_in_order_and_each_once():
    channel = AcousticChannel(AcousticLink(delay=0.2), TICK)
    for tick in range(10):
        channel.send(tick, tick)
    assert [m.content for m in channel.receive(8)] == [0, 1, 2, 3, 4]
    assert channel.receive(8) == []
    assert [m.content for m in channel.receive(100)] == [5, 6, 7, 8, 9]


def received(loss, seed, n=10_000):
    """Of n messages, one per tick, whether each comes through; and how many behind the last one is that stays."""
    channel = AcousticChannel(AcousticLink(delay=0.1, loss=loss, seed=seed), TICK)
    last, behind, through = -1, [], np.zeros(n, dtype=bool)
    for tick in range(n):
        channel.send(tick, tick)
        for m in channel.receive(tick):
            last, through[m.content] = m.content, True
        behind.append(tick - channel.latency - last)
    for m in channel.receive(n + channel.latency):
        through[m.content] = True
    assert channel.lost == n - through.sum()
    return through, np.array(behind[100:])


def test_loss_is_seeded_and_the_last_message_stays():
    """Of messages with loss p, p n are lost, and that which stays is p / (1 - p) messages old on average."""
    p = 0.3
    through, behind = received(p, seed=7)
    n = len(through)
    assert abs((~through).sum() / n - p) < 5 * math.sqrt(p * (1 - p) / n)
    # variance of the age p / (1 - p)², its correlation over k messages p^k
    deviation = math.sqrt(p / (1 - p) ** 2 * (1 + p) / (1 - p) / n)
    assert abs(behind.mean() - p / (1 - p)) < 5 * deviation
    assert np.array_equal(received(p, seed=7, n=500)[0], through[:500])
    assert not np.array_equal(received(p, seed=8, n=500)[0], through[:500])


def test_what_a_channel_rejects():
    channel = AcousticChannel(AcousticLink(delay=1.0), TICK)
    channel.send(5, "a")
    with pytest.raises(ValueError, match="tick is 4"):
        channel.send(4, "b")
    with pytest.raises(ValueError, match="loss"):
        AcousticLink(delay=1.0, loss=1.2)
    with pytest.raises(ValueError, match="bit_rate"):
        AcousticLink.across(100.0, message_bits=8, bit_rate=0.0)


# -- the ghost ----------------------------------------------------------------------------------------------------------------

VEHICLES = ("workclass_arm3", "bluerov2_heavy_alpha5")


@pytest.fixture(scope="module")
def plants():
    return {name: hm.load_plant(name) for name in VEHICLES}


class Pilot:
    """Sticks that change at every tick: slow swings and a jitter, thrusters up to half of their range, joints by 0.3 rad."""

    def __init__(self, plant, seed=3):
        rng = np.random.default_rng(seed)
        slots = plant.layout.input_slots[: len(plant.layout.commands)]
        limits = np.array([s.limits for s in slots], dtype=float)
        start = plant.model.initial()
        self.rest = plant.layout.start(slots, InitialInstant(plant, 0.0, start.q, start.v, {}))
        thruster = np.isfinite(limits).all(axis=1)
        self.span = np.where(thruster, 0.4 * np.ptp(np.where(thruster[:, None], limits, 0.0), axis=1) / 2, 0.3)
        self.rate, self.phase = rng.uniform(0.2, 1.5, len(slots)), rng.uniform(0.0, 6.28, len(slots))
        self.jitter = 0.1 * rng.standard_normal((20_000, len(slots)))

    def __call__(self, tick):
        return self.rest + self.span * (np.sin(self.rate * TICK * tick + self.phase) + self.jitter[tick])


class Flight(NamedTuple):
    """Result of a flight."""

    error: np.ndarray
    """Distance of the ghost from where the vehicle later is, the farthest body origin [m], shape (ticks,)."""
    late: np.ndarray
    """Distance of the vehicle as telemetry shows it at the same moment [m], shape (ticks,)."""
    certain: np.ndarray
    """True where no message was lost that the ghost counted on, shape (ticks,)."""
    travelled: float
    """Length of the vehicle's way [m]."""


def fly(vehicle, ghost, pilot, down, up, seconds, every, *, deliver=as_commands, tell=lambda state: state):
    """A teleoperated flight; telemetry is offered every so many ticks."""
    ticks = round(seconds / TICK)
    truth, guesses, lost = [], [], set()
    received, seen = -1, vehicle.state
    for tick in range(ticks + down.latency):
        truth.append(vehicle.state)
        if tick % every == 0:
            up.send(tick, Telemetry(tick, tell(vehicle.state), received))
        for message in up.receive(tick):
            ghost.receive(message.content)
            seen = message.content.state
        if tick < ticks:
            before = down.lost
            message = down.send(tick, pilot(tick))
            ghost.sent(message)
            lost |= {message.number} if down.lost > before else set()
            counted = {m.number for m in ghost.under_way}
            guesses.append((ghost.predict(tick + down.latency), seen, not counted & lost))
        arrived = down.receive(tick)
        received = arrived[-1].number if arrived else received
        advance(vehicle, [m.content for m in arrived], TICK, deliver)
    there = truth[down.latency :]
    far = [bodies_apart(vehicle.model, guess, true) for (guess, _, _), true in zip(guesses, there, strict=True)]
    late = [np.linalg.norm(old.q[:3] - true.q[:3]) for (_, old, _), true in zip(guesses, there, strict=True)]
    way = np.linalg.norm(np.diff([s.q[:3] for s in truth], axis=0), axis=1).sum()
    return Flight(np.array(far), np.array(late), np.array([c for *_, c in guesses]), float(way))


def bodies_apart(model, a, b):
    """The largest distance between places of the same body in two states [m]; those of the arm too."""
    if np.array_equal(a.q, b.q):
        return 0.0
    p, other = (np.array(hm.dynamics.kinematics(model, s.q, s.v).p_WB) for s in (a, b))
    return float(np.linalg.norm(p - other, axis=1).max())


def channels(delay=2.0, **options):
    """Command and telemetry channel."""
    return tuple(AcousticChannel(AcousticLink(delay=delay, seed=k, **options), TICK) for k in range(2))


class SpeedByLink(hm.Controller):
    """Speed control on board. Its memory: set-points of surge, sway, heave, roll, pitch, yaw rate, then the integrals."""

    period = 0.1

    def start(self, simulation):
        self.loop = control.SpeedLoop(simulation, None, None, 1.0, 1.0, self.period).compile()
        self.memory = np.zeros(12)

    def __call__(self, state):
        driven = self.loop(state, self.memory[6:], self.memory[:6])
        self.memory = np.concatenate([self.memory[:6], driven.memory])
        return driven.push.commands


def set_speed(simulation, content):
    """A message with set-points."""
    simulation.controller.memory = np.concatenate([content, simulation.controller.memory[6:]])


def speed_stick(tick):
    """Set-points that change at every tick."""
    phase = np.array([0.3, 0.5, 0.4, 0.0, 0.0, 0.35]) * TICK * tick + np.array([0.0, 1.0, 2.0, 0.0, 0.0, 0.5])
    return np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.2]) * np.sin(phase)


def pair(plant, step=STEP):
    """A vehicle and its ghost, by commands."""
    return hm.Simulation(plant, step=step), Ghost(hm.Simulation(plant, step=STEP), TICK)


def controlled_pair(plant):
    """A vehicle with speed control on board and its ghost, by set-points."""
    both = [hm.Simulation(plant, step=STEP, controller=SpeedByLink()) for _ in range(2)]
    return both[0], Ghost(both[1], TICK, deliver=set_speed)


def place_and_speed(state):
    """Telemetry of place and velocity alone: neither actuators nor commands nor integrals."""
    return State(t=state.t, q=state.q, v=state.v)


def coarse(state):
    """The same in few bits: places in cm, joints and velocities in 0.001, quaternion in 0.001."""
    q = np.concatenate([np.round(state.q[:3], 2), np.round(state.q[3:], 3)])
    q[3:7] /= np.linalg.norm(q[3:7])
    return State(t=state.t, q=q, v=np.round(state.v, 3))


@pytest.mark.parametrize("name", VEHICLES)
def test_ghost_is_where_the_vehicle_will_be(plants, name):
    """2 s of delay each way, telemetry twice a second, a minute of flight: the same plant and the same steps give the same bits."""
    flight = fly(*pair(plants[name]), Pilot(plants[name]), *channels(), seconds=60.0, every=10)
    assert flight.travelled > 10.0
    assert flight.late.max() > 1.0  # what telemetry shows is far behind
    assert flight.error.max() == 0.0


@pytest.mark.parametrize("every", [4, 20])
def test_ghost_with_telemetry_of_place_and_velocity_alone(plants, every):
    """At 5 and at 1 Hz: what is omitted the ghost knows itself."""
    plant = plants["bluerov2_heavy_alpha5"]
    flight = fly(*pair(plant), Pilot(plant), *channels(), seconds=10.0, every=every, tell=place_and_speed)
    assert flight.error.max() == 0.0


@pytest.mark.parametrize("name", VEHICLES)
def test_ghost_of_coarse_telemetry(plants, name):
    """Rounding to cm gives up to 0.5 cm on each axis, and 0.0005 m/s over 4.5 s another 0.2 cm on each; the arm turns with 0.001 rad."""
    flight = fly(*pair(plants[name]), Pilot(plants[name]), *channels(), seconds=10.0, every=10, tell=coarse)
    assert 1e-3 < flight.error.max() < math.sqrt(3) * (0.005 + 0.00225) + 0.001 * 3.0


def test_ghost_with_longer_steps_than_the_vehicle(plants):
    """rk4 of 5 ms for a vehicle of 1 ms: servos and dead bands of thrusters have kinks, so that the order is not reached."""
    plant = plants["workclass_arm3"]
    flight = fly(*pair(plant, step=1e-3), Pilot(plant), *channels(), seconds=10.0, every=10)
    assert 0.0 < flight.error.max() < 1e-4


def test_ghost_with_a_slow_channel(plants):
    """Five messages a second down, two up: between them commands stay, on the vehicle and in the ghost."""
    plant = plants["bluerov2_heavy_alpha5"]
    down, up = (AcousticChannel(AcousticLink(delay=2.0, message_time=T), TICK) for T in (0.2, 0.5))
    flight = fly(*pair(plant), Pilot(plant), down, up, seconds=10.0, every=1)
    assert down.sent == 50
    assert flight.error.max() == 0.0


def test_lost_telemetry_only_makes_the_way_longer(plants):
    plant = plants["bluerov2_heavy_alpha5"]
    down, up = AcousticChannel(AcousticLink(delay=2.0), TICK), AcousticChannel(AcousticLink(delay=2.0, loss=0.5, seed=1), TICK)
    flight = fly(*pair(plant), Pilot(plant), down, up, seconds=10.0, every=5)
    assert up.lost > 10
    assert flight.error.max() == 0.0


@pytest.mark.parametrize("tell", [lambda state: state, place_and_speed], ids=["all", "place_and_speed"])
def test_ghost_after_lost_commands(plants, tell):
    """A lost command makes it wrong until telemetry of the time after its arrival comes; then it is right again."""
    plant, still = plants["bluerov2_heavy_alpha5"], 100
    pilot, (down, up) = Pilot(plant), channels(loss=0.2)
    vehicle, ghost = pair(plant)
    flight = fly(vehicle, ghost, lambda tick: pilot(min(tick, still)), down, up, seconds=15.0, every=5, tell=tell)
    assert down.lost > 30
    # the first message of those after it that comes through arrives within 12 ticks (0.2¹² = 4e-9), telemetry within as many offers
    healed = still + 12 + down.latency + up.latency + 12 * 5
    assert 0.01 < flight.error[:still].max() < 0.3
    assert flight.error[healed:].max() <= (0.0 if tell is not place_and_speed else 1e-3)


def test_ghost_in_a_current_that_it_does_not_know():
    """It is off by less than the current's way in two delays and a period of telemetry, from the first telemetry on."""
    damping = drag.Damping(linear=(4.0, 5.0, 6.0, 0.3, 0.4, 0.5), quadratic=(9.0, 12.0, 15.0, 0.2, 0.3, 0.4))
    water = hm.Hydro(volume=0.01, added_mass=added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.2, 0.3)), drag=(damping,))
    inertia = hm.Inertia(mass=10.0, com=(0.0, 0.0, 0.03), tensor=(0.2, 0.3, 0.4, 0.01, 0.02, -0.01))
    model = hm.Model(name="hull", bodies=[hm.Body(name="hull", joint=joints.Free(), inertia=inertia, hydro=water)])
    U, still = 0.2, hm.Plant(model=model)
    moving = hm.Plant(model=model, environment=hm.Environment(current=Current(velocity=(U, 0.0, 0.0))))
    vehicle, ghost = hm.Simulation(moving, step=STEP), Ghost(hm.Simulation(still, step=STEP), TICK)
    flight = fly(vehicle, ghost, lambda tick: np.zeros(0), *channels(), seconds=10.0, every=10, tell=place_and_speed)
    assert 0.1 < flight.error[50:].max() < U * 4.5


def test_ghost_continues_after_a_message_that_cannot_be_obeyed(plants):
    """It is an error once; after that the message counts as lost."""
    (down, _), (sim, ghost) = channels(1.0), pair(plants["bluerov2_heavy_alpha5"])
    ghost.sent(down.send(0, [1500.0]))
    with pytest.raises(ValueError, match="actuators must have shape"):
        ghost.predict(30)
    for _ in range(30):
        advance(sim, [], TICK)
    assert ghost.predict(30) == sim.state


def test_telemetry_brings_back_a_ghost_that_diverged(plants):
    sim, ghost = pair(plants["bluerov2_heavy_alpha5"])
    wild = dataclasses.replace(sim.state, v=1e160 * np.ones(sim.model.nv))
    ghost.receive(Telemetry(0, wild))
    with pytest.raises(hm.SimulationDiverged):
        ghost.predict(10)
    truth = advance(sim, [], TICK)
    ghost.receive(Telemetry(1, truth))
    assert ghost.predict(2) == advance(sim, [], TICK)


def test_advance_is_run_to_the_last_bit_with_signals_and_with_control_off(plants):
    """Of a controller that shows its reference, asked every other tick; and while it is off."""
    path = control.FollowPath(
        waypoints=[{"position": (0, 0, 0)}, {"t": 3.0, "position": (0.5, 0, 0)}], frequency=0.5, period=2 * TICK
    )
    for switch in (1.0, 0.0):
        by_run, by_ticks = (hm.Simulation(plants["bluerov2_heavy_alpha5"], step=STEP, controller=path) for _ in range(2))
        for sim in (by_run, by_ticks):
            sim.reset(dataclasses.replace(sim.state, control=switch))
        for _ in range(5):
            advance(by_ticks, [], TICK)
        run = by_run.run(5 * TICK).state
        assert by_ticks.state == dataclasses.replace(run, energy_ledger=())  # ticks record nothing
        assert np.isfinite(by_ticks.state.signal).all() == bool(switch)


def test_telemetry_of_q_and_v_leaves_time_and_control_alone(plants):
    """Time is that of the tick, and control stays off until it is reported as on."""
    vehicle, own = (hm.Simulation(plants["workclass_arm3"], step=STEP) for _ in range(2))
    for sim in (vehicle, own):
        sim.reset(dataclasses.replace(sim.state, t=2.0, control=0.0))
    ghost = Ghost(own, TICK, start=40)
    for tick in (41, 42):
        state = advance(vehicle, [], TICK)
        ghost.receive(Telemetry(tick, State(q=state.q, v=state.v)))
    assert ghost.predict(42) == state
    ghost.receive(Telemetry(42, State(q=state.q, v=state.v), control=True))
    assert ghost.predict(43).control == 1.0
    ghost.receive(Telemetry(43, State(q=state.q, v=state.v, control=0.0)))
    assert ghost.predict(44).control == 0.0


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_ghost_of_a_vehicle_with_speed_control_on_board(plants, loss):
    """Set-points travel. A lost one matters less: the controller continues with one that is a tick older."""
    down, up = channels(loss=loss)
    vehicle, ghost = controlled_pair(plants["workclass_arm3"])
    flight = fly(vehicle, ghost, speed_stick, down, up, seconds=12.0, every=10, deliver=set_speed, tell=place_and_speed)
    assert flight.travelled > 2.0
    assert flight.error.max() <= (0.05 if loss else 0.0)


@pytest.mark.parametrize("by_ghost", [True, False])
def test_a_pilot_who_steers_by_the_ghost(plants, by_ghost):
    """Speed k (target - seen) is stable up to k T = π/2 for a delay T: by the telemetry, 4 s old and more, k = 0.6 1/s is not."""
    down, up = channels()
    vehicle, ghost = controlled_pair(plants["bluerov2_heavy_alpha5"])
    seen, x, target = vehicle.state, [], vehicle.state.q[0] + 2.0
    for tick in range(round(30.0 / TICK)):
        if tick % 10 == 0:
            up.send(tick, Telemetry(tick, vehicle.state))
        for message in up.receive(tick):
            ghost.receive(message.content)
            seen = message.content.state
        shown = ghost.predict(tick + down.latency) if by_ghost else seen
        stick = np.array([np.clip(0.6 * (target - shown.q[0]), -0.5, 0.5), 0.0, 0.0, 0.0, 0.0, 0.0])
        ghost.sent(down.send(tick, stick))
        x.append(advance(vehicle, [m.content for m in down.receive(tick)], TICK, set_speed).q[0])
    off = np.abs(np.array(x) - target)
    assert off[-160:].max() < 0.05 if by_ghost else off[-160:].max() > 0.5


def test_messages_that_come_after_a_prediction_change_it(plants):
    plant = plants["bluerov2_heavy_alpha5"]
    (down, _), pilot, (sim, ghost) = channels(1.0), Pilot(plant), pair(plant)
    ghost.sent(down.send(0, pilot(0)))
    alone = ghost.predict(60)
    ghost.sent(down.send(10, pilot(40)))
    assert ghost.predict(30) == ghost.predict(30)
    assert ghost.predict(60) != alone
    advance(sim, [], 20 * TICK)
    advance(sim, [pilot(0)], 10 * TICK)
    advance(sim, [pilot(40)], 30 * TICK)
    np.testing.assert_allclose(ghost.predict(60).q, sim.state.q, rtol=0, atol=1e-12)
    ghost.receive(Telemetry(5, sim.state, 1))
    ghost.receive(Telemetry(4, vehicle_at_rest := plant.model.initial(), 1))
    assert ghost.predict(5).q.tolist() == sim.state.q.tolist() != vehicle_at_rest.q.tolist()
    with pytest.raises(ValueError, match="telemetry"):
        ghost.predict(4)
    with pytest.raises(ValueError, match="integer multiple of the step"):
        Ghost(sim, 0.0512)


# -- look-ahead ---------------------------------------------------------------------------------------------------------------


class Dive(hm.TracedBlock):
    """Thrust that grows with the depth that is left; asked at the start and every tick from there."""

    period = TICK

    def prepare(self, site):
        self.commanded = site.actuators[:8]

    def update(self, tick):
        thrust = [0.0] * 4 + [0.3 * np.tanh(12.0 - tick.q[2])] * 4
        return hm.Update(dict(zip(self.commanded, thrust, strict=True)))


@pytest.fixture(scope="module")
def midway(plants):
    """A vehicle in the middle of a flight, by commands."""
    sim, pilot = hm.Simulation(plants["workclass_arm3"], step=STEP), Pilot(plants["workclass_arm3"])
    for tick in range(67):
        advance(sim, [pilot(tick)], TICK)
    return sim


def test_look_ahead_goes_where_simulations_go(midway):
    """Three held strategies on lanes against one step after another: equal but for the order of operations."""
    plant, start = midway.plant, midway.state
    stop = dict.fromkeys(plant.layout.commands[:8], 0.0)
    strategies = {"as now": {}, "stop": stop, "back": {**stop, "thruster_1": -0.4, "thruster_2": -0.4, "shoulder": 0.2}}
    paths = LookAhead(hm.Simulation(plant, step=STEP))(start, strategies, 4.0, every=0.5)
    assert paths.names == tuple(strategies)
    np.testing.assert_allclose(paths.t, start.t + 0.5 * np.arange(9), rtol=1e-15)
    for k, commands in enumerate(strategies.values()):
        midway.reset(start)
        midway.command = commands
        for row in range(9):
            np.testing.assert_allclose(paths.q[k, row], midway.state.q, rtol=0, atol=1e-10)
            np.testing.assert_allclose(paths.v[k, row], midway.state.v, rtol=0, atol=1e-10)
            found = hm.dynamics.kinematics(plant.model, midway.state.q, midway.state.v)
            np.testing.assert_allclose(paths.p_WB[k, row], found.p_WB, rtol=0, atol=1e-10)
            np.testing.assert_allclose(paths.R_WB[k, row], found.R_WB, rtol=0, atol=1e-10)
            for _ in range(100 if row < 8 else 0):
                midway.step()
        assert paths.until[k] == pytest.approx(start.t + 4.0)
    assert np.linalg.norm(paths.p_WB[0, -1, 0] - paths.p_WB[1, -1, 0]) > 0.1
    midway.reset(start)


def test_look_ahead_with_laws_and_set_points(midway):
    """A traced law and a set-point of the on-board controller, against runs with them."""
    plant, start, law = midway.plant, midway.state, Dive()
    look_ahead = LookAhead(hm.Simulation(plant, step=STEP, controller=SpeedByLink()), deliver=set_speed)
    here = State(t=start.t, q=start.q, v=start.v, internal=start.internal, command=start.command, held=start.held)
    strategies = {"dive": law, "ahead": SetPoint(np.array([0.4, 0, 0, 0, 0, 0])), "drift": {}}
    for _ in range(2):  # the second time nothing is compiled
        paths = look_ahead(here, strategies, 3.0)
    by_law = hm.Simulation(plant, step=STEP, controller=law)
    by_set_point = hm.Simulation(plant, step=STEP, controller=SpeedByLink())
    for k, sim in enumerate((by_law, by_set_point)):
        sim.reset(here)
        if sim is by_set_point:
            set_speed(sim, strategies["ahead"].content)
        sim.run(3.0)
        np.testing.assert_allclose(paths.q[k, -1], sim.state.q, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(paths.q[1, -1], by_set_point.state.q)  # `advance` does what `run` does
    assert abs(paths.v[1, -1, 0] - 0.4) < 0.1


def test_a_strategy_that_diverges_stays_where_it_was(midway):
    """Others continue; by a rollout and by a simulation alike."""
    plant, start = midway.plant, midway.state
    wild = State(t=start.t, q=start.q, v=1e160 * np.ones(plant.model.nv))
    look_ahead = LookAhead(hm.Simulation(plant, step=STEP))
    paths = look_ahead(wild, {"held": {}, "told": SetPoint(start.command)}, 0.3)
    assert np.isfinite(paths.p_WB).all() and (paths.until < start.t + 0.3).all()
    np.testing.assert_array_equal(paths.q[0], paths.q[1])
    assert (look_ahead(start, {"held": {}}, 0.3).until > start.t + 0.299).all()


def test_what_a_look_ahead_rejects(midway):
    look_ahead, start = LookAhead(hm.Simulation(midway.plant, step=STEP)), midway.state
    with pytest.raises(TypeError, match="'go'"):
        look_ahead(start, {"go": 3.0}, 1.0)
    with pytest.raises(ValueError, match="empty"):
        look_ahead(start, {}, 1.0)
    with pytest.raises(ValueError, match="duration"):
        look_ahead(start, {"go": {}}, 1.03)
    with pytest.raises(KeyError, match="thruster_1"):
        look_ahead(start, {"go": {"thruster1": 0.5}}, 1.0)
    with pytest.raises(ValueError, match="rk4"):
        LookAhead(hm.Simulation(midway.plant, integrator="dormand_prince"))


def test_a_look_ahead_on_another_engine_is_rejected_at_once(midway):
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'hydromechs[dev]'")
    sim = hm.hybrid.Hybrid(engine="mujoco").simulation(midway.plant, step=STEP)
    with pytest.raises(ValueError, match=r"mujoco.* supports only one;"):
        LookAhead(sim)
