"""Routines run node by node, for arrays of all worlds: with plain functions, machine code, or GPU kernels.

The sequencer runs complete passes without returning. Here Python calls every node, so that a node may be anything: a function
under a debugger, a block in Python, steps of a third-party engine, a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs.compiler import Recipe
from hydromechs.compiler._routine import (
    CallNode,
    CopyNode,
    Entries,
    Node,
    Pieces,
    RepeatNode,
    Routine,
    SampleNode,
    StepPlaces,
    StepsNode,
    WhenNode,
)


def with_floats(recipe: Recipe) -> Callable[[Sequence[Any]], list[Any]]:
    """Return the NumPy function itself, world by world: readable in a debugger, and the reference for compiled code."""

    def evaluate(arrays: Sequence[Any]) -> list[Any]:
        rows = []
        for world in zip(*arrays, strict=True) if arrays else [()]:  # without inputs, one row for all
            given = {a.name: x if a.shape else x[()] for a, x in zip(recipe.inputs, world, strict=True)}
            assert recipe.function is not None
            results = recipe.function(**given)
            results = results if isinstance(results, tuple) else (results,)
            rows.append([np.reshape(np.asarray(y, dtype=float), a.shape) for y, a in zip(results, recipe.outputs, strict=True)])
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return evaluate


class StagedRoutine:
    """A routine that is run node by node."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self._arrays: dict[str, Any] = {}
        self._sample: Callable[[Any], None] = lambda which: None

    def run(
        self, state: Mapping[str, Any], inputs: Mapping[str, Any], passes: int, sample: Callable[[Any], None] | None = None
    ) -> None:
        """Run a number of passes in place on arrays of the state (worlds, size) and inputs (worlds or 1, size).

        `sample` is called for each `SampleNode` with the mask of its worlds, booleans of shape (worlds,).
        """
        worlds = len(next(iter(state.values())))
        self._arrays = {name: state[name] for name in self.routine.state}
        self._arrays |= {name: np.broadcast_to(inputs[name], (worlds, n)) for name, n in self.routine.inputs.items()}
        self._arrays |= {name: np.zeros((worlds, n)) for name, n in self.routine.work.items()}
        self._sample = sample or (lambda which: None)
        for _ in range(passes):
            self._nodes(self.routine.body, np.ones(worlds, dtype=bool))

    def _nodes(self, nodes: Sequence[Node], mask: Any) -> None:
        for node in nodes:
            match node:
                case CallNode():
                    self._call(node, mask)
                case CopyNode():
                    self._put([node.target], self._get([node.source]), mask)
                case WhenNode():
                    inside = mask & self._holds(node.condition)
                    if inside.any():
                        self._nodes(node.body, inside)
                case RepeatNode():
                    for _ in range(node.times):
                        inside = mask & self._holds(node.condition)
                        if not inside.any():
                            break
                        self._nodes(node.body, inside)
                case StepsNode():
                    self._steps(node.recipe, node.places, mask)
                case SampleNode():
                    self._sample(mask)

    def _holds(self, condition: Entries) -> Any:
        return self._arrays[condition.array][:, condition.start] != 0.0

    def _get(self, pieces: Pieces | list[Entries]) -> Any:
        parts = [self._arrays[p.array][:, p.start : p.start + p.size] for p in pieces]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _put(self, pieces: Pieces | list[Entries], values: Any, mask: Any) -> None:
        at = 0
        for p in pieces:
            place = self._arrays[p.array][:, p.start : p.start + p.size]
            place[...] = np.where(mask[:, None], values[:, at : at + p.size], place)
            at += p.size

    def _call(self, node: CallNode, mask: Any) -> None:
        worlds = len(mask)
        given = [self._get(p).reshape(worlds, *a.shape) for p, a in zip(node.inputs, node.recipe.inputs, strict=True)]
        results = with_floats(node.recipe)(given)
        for pieces, y, a in zip(node.outputs, results, node.recipe.outputs, strict=True):
            self._put(pieces, np.reshape(y, (-1, a.size)), mask)

    def _steps(self, recipe: Recipe, p: StepPlaces, mask: Any) -> None:
        step = with_floats(recipe)

        def of(stretch: Entries) -> Any:
            return self._arrays[stretch.array][:, stretch.start : stretch.start + stretch.size]

        n, part, alive, h, goal = of(p.n)[:, 0], of(p.part)[:, 0], of(p.alive)[:, 0], of(p.h)[:, 0], of(p.goal)
        q, x = of(p.q), of(p.x)
        while True:
            before = n < goal[:, 0]
            go = mask & (alive != 0.0) & (before | ((n == goal[:, 0]) & (part < goal[:, 1])))
            if not go.any():
                return
            full, now = before & (part == 0.0), n * h + part
            until = np.where(before, (n + 1.0) * h, goal[:, 0] * h + goal[:, 1])
            given = [np.where(full, n, 0.0), q, x, np.where(full, h, until - now), np.where(full, 0.0, now), of(p.inputs)]
            _, q_after, x_after = step(given)
            good = go & np.isfinite(q_after).all(axis=1) & np.isfinite(x_after).all(axis=1)
            q[...], x[...] = (np.where(good[:, None], new, old) for new, old in ((q_after, q), (x_after, x)))
            n[...] = np.where(good & before, n + 1.0, n)
            part[...] = np.where(good, np.where(before, 0.0, goal[:, 1]), part)
            alive[...] = np.where(go & ~good, 0.0, alive)
