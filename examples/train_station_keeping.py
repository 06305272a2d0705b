"""A policy learns to bring a BlueROV2 with an arm back to its place and to keep it there, with PPO of Stable-Baselines3.

    pip install 'hydromechs[learn]'
    python examples/train_station_keeping.py

A minute or two on two cores. The vehicle starts up to 1 m and 0.5 rad away, in a current of up to 0.2 m/s from any side;
masses, added mass and drag differ by up to 5, 20 and 20 %. The return of an episode of 20 s is at most 200; the program ends
with status 0 if the mean over 64 new episodes with the final policy, without exploration, is at least RETURN.
"""

import argparse
import csv
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np

from hydromechs import learning

RETURN = 180.0
"""Mean return to be reached."""
SHORT = 60_000
"""Actions of a short try, which learns something."""
WORLDS = 64
VARIED = learning.Randomisation(mass=0.05, added_mass=0.2, drag=0.2, bodies=("vehicle",), current=0.2)


def make(worlds):
    """The worlds, for Stable-Baselines3."""
    vector = gymnasium.make_vec("HydroMechs/StationKeeping-v0", num_envs=worlds, randomisation=VARIED)
    return learning.StableBaselinesEnv(vector.unwrapped)


def tried(policy, worlds=64, seed=1000):
    """Mean return and distance at the end of one episode in each world.

    Args:
        policy: Gives actions, shape (worlds, na), of observations.
        worlds: Number of episodes.
        seed: Of the first one.
    """
    env = make(worlds)
    env.seed(seed)
    seen, total = env.reset(), np.zeros(worlds)
    alive, distance = np.ones(worlds, dtype=bool), np.zeros(worlds)
    while alive.any():
        seen, reward, done, infos = env.step(policy(seen))
        total += alive * reward
        for k in np.flatnonzero(done & alive):
            distance[k] = infos[k]["distance"]
        alive &= ~done
    return total.mean(), distance.mean()


def run(steps=SHORT, seed=0, out=None):
    """Train; returns of an idle vehicle and of the trained policy, and the distance at the end [m].

    Args:
        steps: Actions in all worlds together.
        seed: Of the policy and the worlds.
        out: Folder for the policy and the learning curve; none are written if None.
    """
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    torch.set_num_threads(1)  # the networks are small
    model = PPO(
        "MlpPolicy",
        VecMonitor(make(WORLDS), info_keywords=("distance",)),
        n_steps=64,
        batch_size=512,
        n_epochs=5,
        learning_rate=lambda left: 1e-3 * left + 5e-5,
        gamma=0.97,
        gae_lambda=0.95,
        policy_kwargs=dict(net_arch=[64, 64], log_std_init=-0.7),
        seed=seed,
        device="cpu",
    )
    rows, began = [], time.time()

    def report(local, _):
        """After each round: the mean return of the last hundred episodes."""
        if local["n_steps"] == model.n_steps - 1 and model.ep_info_buffer:
            mean, near = (np.mean([e[key] for e in model.ep_info_buffer]) for key in ("r", "distance"))
            rows.append((model.num_timesteps, round(float(mean), 3), round(float(near), 4), round(time.time() - began, 1)))
            print("{:9,} steps   return {:6.1f}   {:5.2f} m away at the end   {:4.0f} s".format(*rows[-1]), flush=True)
        return True

    model.learn(steps, callback=report)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        model.save(out / "policy.zip")
        with open(out / "curve.csv", "w", newline="") as file:
            csv.writer(file).writerows([("steps", "mean_return", "distance_m", "seconds"), *rows])
    idle, _ = tried(lambda seen: np.zeros((len(seen), *model.action_space.shape)))
    mean, distance = tried(lambda seen: model.predict(seen, deterministic=True)[0])
    print(f"return {mean:.1f} (without thrust {idle:.1f}, at most 200), {distance:.2f} m from the place at the end")
    return idle, mean, distance


def check(result):
    """A short try is better than doing nothing."""
    idle, mean, _ = result
    assert mean > 2.0 * idle, result


def main():
    """Train from the command line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=400_000, help="actions in all worlds together")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("station_keeping"), help="folder for the policy and the curve")
    given = options.parse_args()
    if find_spec("stable_baselines3") is None:
        print("needs Stable-Baselines3: pip install 'hydromechs[learn]', or make train in a clone", file=sys.stderr)
        return 1
    _, mean, _ = run(given.steps, given.seed, given.out)
    return 0 if mean >= RETURN else 1


if __name__ == "__main__":
    sys.exit(main())
