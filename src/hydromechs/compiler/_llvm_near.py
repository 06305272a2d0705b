"""Constants next to the code that uses them, so that an instruction can read one by its distance.

LLVM's default for code that is loaded at run time lets every section lie anywhere: each constant then needs an instruction for
its 64-bit address, and in long straight-line code most constants wait on the stack between their uses. Its small model reads a
constant within the instruction that uses it, if the constant is at most 2 GB away. So that this holds wherever the code is
loaded, the constants are appended to the code, as one section without relocations.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

SYMBOLS, RELOCATIONS = 2, 4  # types of sections
WRITE, ALLOCATED, CODE = 1, 2, 4  # flags of sections
RELATIVE = (2, 4)  # types of relocations that hold a distance of 32 bits: R_X86_64_PC32 and R_X86_64_PLT32
HEADER = struct.Struct("<IIQQQQIIQQ")


class _Section(NamedTuple):
    """Header of a section of an ELF file."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


def with_constants(code: bytes) -> bytes | None:
    """An x86-64 ELF object, compiled for the small code model, with its constants behind its code; None if it needs more."""
    table, size, count = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<HH", code, 58)
    sections = [_Section(*HEADER.unpack_from(code, table + k * size)) for k in range(count)]
    loaded = [k for k, s in enumerate(sections) if s.flags & ALLOCATED and s.size]
    texts = [k for k in loaded if sections[k].flags & CODE]
    symbols = [s for s in sections if s.type == SYMBOLS]
    if len(texts) != 1 or len(symbols) != 1 or any(sections[k].flags & WRITE for k in loaded):
        return None
    out, begins = bytearray(), {}
    for k in sorted(loaded, key=lambda k: k not in texts):
        s = sections[k]
        out += bytes(-len(out) % max(1, s.alignment))
        begins[k] = len(out)
        out += code[s.offset : s.offset + s.size]
    patched = bytearray(code)
    for k, s in enumerate(sections):
        if s.type != RELOCATIONS or s.info not in loaded:
            continue
        for at in range(s.offset, s.offset + s.size, 24):
            place, info, addend = struct.unpack_from("<QQq", code, at)
            section, value = struct.unpack_from("<HQ", code, symbols[0].offset + 24 * (info >> 32) + 6)
            if s.info not in texts or info & 0xFFFFFFFF not in RELATIVE or section not in begins:
                return None
            struct.pack_into("<i", out, place, begins[section] + value + addend - place)
        HEADER.pack_into(patched, table + k * size, *s._replace(size=0))
    patched += bytes(-len(patched) % 64)
    alignment = max(sections[k].alignment for k in loaded)
    text = sections[texts[0]]._replace(offset=len(patched), size=len(out), alignment=alignment)
    HEADER.pack_into(patched, table + texts[0] * size, *text)
    return bytes(patched + out)
