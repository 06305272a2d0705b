"""Routines run node by node, for arrays of all worlds: with plain functions, machine code, or GPU kernels.

The sequencer runs complete passes without returning. Here Python calls every node, so that a node may be anything: a function
under a debugger, a block in Python, steps of a third-party engine, a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ._compiled import Recipe
from ._routine import (
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

Evaluate: TypeAlias = Callable[[Recipe], Callable[[Sequence[Any]], Sequence[Any]]]
"""Function from a recipe to a function of arrays of shape (worlds, ...), one per input."""


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
    """A routine that is run node by node, with arrays of the module `numpy`, which is NumPy or CuPy.

    `evaluate` calls programs, see `with_floats`; `advance`, a function of (places, arrays by name, which worlds), takes the
    steps of a `StepsNode`.
    """

    def __init__(
        self,
        routine: Routine,
        evaluate: Evaluate = with_floats,
        advance: Callable[[StepPlaces, Mapping[str, Any], Any], None] | None = None,
        numpy: Any = np,
    ) -> None:
        self.routine, self.numpy, self._evaluate, self._advance = routine, numpy, evaluate, advance
        self._functions: dict[int, Callable[[Sequence[Any]], Sequence[Any]]] = {}
        self._arrays: dict[str, Any] = {}
        self._sample: Callable[[Any], None] = lambda which: None

    def run(
        self, state: Mapping[str, Any], inputs: Mapping[str, Any], passes: int, sample: Callable[[Any], None] | None = None
    ) -> None:
        """Run a number of passes in place on arrays of the state (worlds, size) and inputs (worlds or 1, size).

        `sample` is called for each `SampleNode` with the mask of its worlds, booleans of shape (worlds,).
        """
        worlds = len(next(iter(state.values())))
        xp = self.numpy
        self._arrays = {name: state[name] for name in self.routine.state}
        self._arrays |= {name: xp.broadcast_to(inputs[name], (worlds, n)) for name, n in self.routine.inputs.items()}
        self._arrays |= {name: xp.zeros((worlds, n)) for name, n in self.routine.work.items()}
        self._sample = sample or (lambda which: None)
        for _ in range(passes):
            self._nodes(self.routine.body, xp.ones(worlds, dtype=bool))

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
                    (self._advance or self._steps(node.recipe))(node.places, self._arrays, mask)
                case SampleNode():
                    self._sample(mask)

    def _holds(self, condition: Entries) -> Any:
        return self._arrays[condition.array][:, condition.start] != 0.0

    def _get(self, pieces: Pieces | list[Entries]) -> Any:
        parts = [self._arrays[p.array][:, p.start : p.start + p.size] for p in pieces]
        return parts[0] if len(parts) == 1 else self.numpy.concatenate(parts, axis=1)

    def _put(self, pieces: Pieces | list[Entries], values: Any, mask: Any) -> None:
        at = 0
        for p in pieces:
            place = self._arrays[p.array][:, p.start : p.start + p.size]
            place[...] = self.numpy.where(mask[:, None], values[:, at : at + p.size], place)
            at += p.size

    def _function(self, recipe: Recipe) -> Callable[[Sequence[Any]], Sequence[Any]]:
        if id(recipe) not in self._functions:
            self._functions[id(recipe)] = self._evaluate(recipe)
        return self._functions[id(recipe)]

    def _call(self, node: CallNode, mask: Any) -> None:
        worlds = len(mask)
        given = [self._get(p).reshape(worlds, *a.shape) for p, a in zip(node.inputs, node.recipe.inputs, strict=True)]
        results = self._function(node.recipe)(given)
        for pieces, y, a in zip(node.outputs, results, node.recipe.outputs, strict=True):
            self._put(pieces, self.numpy.reshape(y, (-1, a.size)), mask)

    def _steps(self, recipe: Recipe) -> Callable[[StepPlaces, Mapping[str, Any], Any], None]:
        step, xp = self._function(recipe), self.numpy

        def advance(p: StepPlaces, arrays: Mapping[str, Any], mask: Any) -> None:
            def of(stretch: Entries) -> Any:
                return arrays[stretch.array][:, stretch.start : stretch.start + stretch.size]

            n, part, alive, h, goal = of(p.n)[:, 0], of(p.part)[:, 0], of(p.alive)[:, 0], of(p.h)[:, 0], of(p.goal)
            q, x = of(p.q), of(p.x)
            while True:
                before = n < goal[:, 0]
                go = mask & (alive != 0.0) & (before | ((n == goal[:, 0]) & (part < goal[:, 1])))
                if not go.any():
                    return
                full, now = before & (part == 0.0), n * h + part
                until = xp.where(before, (n + 1.0) * h, goal[:, 0] * h + goal[:, 1])
                given = [xp.where(full, n, 0.0), q, x, xp.where(full, h, until - now), xp.where(full, 0.0, now), of(p.inputs)]
                _, q_after, x_after = step(given)
                good = go & xp.isfinite(q_after).all(axis=1) & xp.isfinite(x_after).all(axis=1)
                q[...], x[...] = (xp.where(good[:, None], new, old) for new, old in ((q_after, q), (x_after, x)))
                n[...] = xp.where(good & before, n + 1.0, n)
                part[...] = xp.where(good, xp.where(before, 0.0, goal[:, 1]), part)
                alive[...] = xp.where(go & ~good, 0.0, alive)

        return advance
