"""One mission from the blocks of a simulation or scenario."""

from collections.abc import Iterable, Sequence

from hydromechs.model.component import Component
from hydromechs.values import instances

from ._block import BLOCKS, Block, PythonBlock
from ._mission import BlockPart, Mission, SensingSource


def mission_of(blocks: Iterable[Block], components: Sequence[Component]) -> Mission | None:
    """Return the mission of a simulation: all controllers, behind the sensors and the navigation filter; None without blocks.

    `components`: components of the simulation, among them terrain.
    """
    blocks = instances(blocks, Block, "blocks", BLOCKS)
    names = [block.name for block in blocks]
    for name in (name for k, name in enumerate(names) if name in names[:k]):
        raise ValueError(f"blocks: two are named {name!r}; names must differ")
    named = [block for block in blocks if isinstance(block, PythonBlock)]
    parts = [BlockPart(block.make(), block.name if len(named) > 1 else "", block.phase) for block in named]
    source: SensingSource | None = None
    for block in blocks:
        source = block.sensing(source, blocks, components)
    return Mission(parts, source) if parts or source is not None else None
