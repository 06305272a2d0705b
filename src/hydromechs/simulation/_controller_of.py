"""One controller from the blocks of a simulation or scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hydromechs.model.component import Component
from hydromechs.values import instances

from ._block import BLOCKS, Block, Phase, PythonBlock
from ._controller import Controller
from ._mission import BlockPart, Mission
from ._together import Part, Together
from ._traced_block import TracedBlock


def controller_of(blocks: Iterable[Block], components: Sequence[Component]) -> Controller | None:
    """Return one controller for a simulation: those of all blocks, behind the sensors and the navigation filter; None without.

    Args:
        blocks: The blocks.
        components: Components of the simulation, among them terrain.
    """
    blocks = instances(blocks, Block, "blocks", BLOCKS)
    names = [block.name for block in blocks]
    for name in (name for k, name in enumerate(names) if name in names[:k]):
        raise ValueError(f"blocks: two have the name {name!r}; names must differ")
    named = [block for block in blocks if isinstance(block, PythonBlock)]
    made = [block.make() for block in named]
    out: Controller | None = None
    if len(made) == 1 and named[0].phase == Phase():
        (out,) = made
    elif made:
        phases = [(block.name if len(made) > 1 else "", block.phase) for block in named]
        traced = [c for c in made if isinstance(c, TracedBlock) and c.compiled]
        if len(traced) == len(made):
            out = Mission(parts=[BlockPart(c, *phase) for phase, c in zip(phases, traced, strict=True)])
        else:
            parts = [Part(c, name, phase.start, phase.end) for (name, phase), c in zip(phases, made, strict=True)]
            out = Together(parts=parts, period=min(c.period for c in made))
    for block in blocks:
        out = block.before(out, blocks, components)
    return out
