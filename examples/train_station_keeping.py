"""A policy learns to bring a BlueROV2 with an arm back to its place and to keep it there, with PPO of Stable-Baselines3.

    pip install 'hydromechs[learn]'
    python examples/train_station_keeping.py

Some minutes on two cores. The vehicle starts up to 1 m and 0.5 rad away, in a current of up to 0.2 m/s from any side; masses, added
mass and drag differ by up to 5, 20 and 20 %. The return of an episode of 20 s is at most 200; the program ends with status 0
if the mean over 64 episodes with the final policy, without exploration, is at least RETURN.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor

import hydromechs.learning as learning

RETURN = 180.0
"""Mean return to be reached."""
WORLDS = 64
VARIED = learning.Randomisation(mass=0.05, added_mass=0.2, drag=0.2, bodies=("vehicle",), current=0.2)


class Curve(BaseCallback):
    """Keeps and prints the mean return of the last hundred episodes after each round."""

    def __init__(self):
        super().__init__()
        self.rows, self.began = [], time.time()

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        ended = list(self.model.ep_info_buffer)
        if ended:
            mean, near = np.mean([e["r"] for e in ended]), np.mean([e["distance"] for e in ended])
            self.rows.append((self.num_timesteps, mean, near, time.time() - self.began))
            print(
                f"{self.num_timesteps:9,} steps   return {mean:6.1f}   distance at the end {near:5.2f} m   {self.rows[-1][3]:4.0f} s",
                flush=True,
            )


def make(worlds):
    vector = gymnasium.make_vec("HydroMechs/StationKeeping-v0", num_envs=worlds, randomisation=VARIED)
    return learning.StableBaselinesEnv(vector.unwrapped)


def tried(model, worlds=64, seed=1000):
    """Mean return and distance at the end of one episode in each world, without exploration."""
    env = make(worlds)
    env.seed(seed)
    seen, total = env.reset(), np.zeros(worlds)
    alive, distance = np.ones(worlds, dtype=bool), np.zeros(worlds)
    while alive.any():
        seen, reward, done, infos = env.step(
            model.predict(seen, deterministic=True)[0] if model else np.zeros((worlds, *env.action_space.shape))
        )
        total += alive * reward
        for k in np.flatnonzero(done & alive):
            distance[k] = infos[k]["distance"]
        alive &= ~done
    return total.mean(), distance.mean()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=400_000, help="actions in all worlds together")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("station_keeping"), help="folder for the policy and the curve")
    given = options.parse_args()
    torch.set_num_threads(1)  # the networks are small
    given.out.mkdir(parents=True, exist_ok=True)
    env = VecMonitor(make(WORLDS), info_keywords=("distance",))
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=512,
        n_epochs=5,
        learning_rate=lambda left: 1e-3 * left + 5e-5,
        gamma=0.97,
        gae_lambda=0.95,
        policy_kwargs=dict(net_arch=[64, 64], log_std_init=-0.7),
        seed=given.seed,
        device="cpu",
    )
    curve = Curve()
    model.learn(given.steps, callback=curve)
    model.save(given.out / "policy.zip")
    with open(given.out / "curve.csv", "w", newline="") as file:
        csv.writer(file).writerows([("steps", "return", "distance_m", "seconds"), *curve.rows])
    idle, (mean, distance) = tried(None)[0], tried(model)
    print(f"return {mean:.1f} (without thrust {idle:.1f}, at most 200), {distance:.2f} m from the place at the end")
    return 0 if mean >= RETURN else 1


if __name__ == "__main__":
    sys.exit(main())
