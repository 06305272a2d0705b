"""A PyTorch policy and all its worlds stay on one GPU: evolution strategies for a vehicle that comes back to its place.

    pip install 'hydromechs[learn,cuda]'
    python examples/train_on_gpu.py --target cuda --worlds 8192

Each world flies with its own network, the mean one changed at random, once one way and once the other (Salimans et al. 2017);
the mean then moves towards those that did well. States go to PyTorch and commands come back by DLPack: the same memory, no
copy, no array on the CPU between the start of an episode and its return.
With `--target cpu` the same program runs without a GPU.
"""

import argparse
import sys
import time

import numpy as np

import hydromechs as hm

PERIOD, STEPS = 10, 100
"""Steps of 10 ms for one action, and actions of an episode."""
HIDDEN, SEEN, THRUSTERS = 32, 13, 8
SPREAD = 0.1
"""Standard deviation of the changes of weights."""


def networks(torch, weights, seen):
    """Actions from -1 to 1 of one network per world: weights (n, nw), seen (n, SEEN), actions (n, THRUSTERS)."""
    cuts = [SEEN * HIDDEN, HIDDEN, HIDDEN * THRUSTERS, THRUSTERS]
    A, a, B, b = torch.split(weights, cuts, dim=1)
    inner = torch.tanh(torch.bmm(A.reshape(-1, HIDDEN, SEEN), seen[:, :, None])[:, :, 0] + a)
    return torch.tanh(torch.bmm(B.reshape(-1, THRUSTERS, HIDDEN), inner[:, :, None])[:, :, 0] + b)


def episode(torch, worlds, weights, home):
    """Returns of one episode in each world, shape (n,); at most STEPS."""
    worlds.reset()
    total = torch.zeros(len(worlds), dtype=weights.dtype, device=weights.device)
    for _ in range(STEPS):
        q, v, command = (torch.from_dlpack(x) for x in (worlds.q, worlds.v, worlds.command))
        turn = torch.sign(q[:, 3:4]) * q[:, 4:7]
        seen = torch.cat([q[:, :3] - home, v[:, :6], turn, q[:, 3:4]], dim=1)
        command[:, :THRUSTERS] = 1500.0 + 400.0 * networks(torch, weights, seen)
        worlds.step(None, PERIOD)
        away = ((q[:, :3] - home) ** 2).sum(1) + 0.25 * (turn**2).sum(1)
        total += 1.0 / (1.0 + away / 0.25)
    return total


def run(target="cpu", worlds=256, generations=5, seed=0):
    """Mean returns of all worlds, generation by generation."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)  # one network per world is small work
    random = np.random.default_rng(seed)
    precision = "float32" if target == "cuda" else "float64"
    many = hm.Worlds(
        hm.load_plant("bluerov2_heavy_alpha5"), worlds, step=0.01, method="rk4", target=target, precision=precision
    )
    number = dict(device=target, dtype=getattr(torch, precision))
    start, home = many.start_q.copy(), torch.as_tensor(many.start_q[0, :3], **number)
    mean = torch.zeros(SEEN * HIDDEN + HIDDEN + HIDDEN * THRUSTERS + THRUSTERS, **number)
    mean[: SEEN * HIDDEN] = 0.3 * torch.randn(SEEN * HIDDEN, **number)
    mean.requires_grad_(True)
    learner, half, returns = torch.optim.Adam([mean], lr=0.05), worlds // 2, []
    for generation in range(generations):
        many.start_q[:] = start
        offsets = random.uniform(-0.7, 0.7, (half, 3))
        many.start_q[:, :3] += np.concatenate([offsets, offsets])  # both of a pair start alike
        began = time.time()
        with torch.no_grad():
            change = SPREAD * torch.randn(half, len(mean), **number)
            got = episode(torch, many, mean + torch.cat([change, -change]), home)
            better = got[:half] - got[half:]
            mean.grad = -(better / (better.std() + 1e-9)) @ change / (half * SPREAD)
        learner.step()
        returns.append(float(got.mean()))
        rate = worlds * STEPS * PERIOD / (time.time() - began)
        print(f"generation {generation:3}   return {returns[-1]:5.1f} of {STEPS}   {rate:.3g} simulated steps/s", flush=True)
    return returns


def check(returns):
    """The last generations do better than the first."""
    assert np.mean(returns[-3:]) > returns[0] + 2.0, returns


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--target", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--worlds", type=int, default=256)
    options.add_argument("--generations", type=int, default=100)
    given = options.parse_args()
    check(run(given.target, given.worlds, given.generations))
    return 0


if __name__ == "__main__":
    sys.exit(main())
