"""Linker for WebAssembly: combines relocatable objects of LLVM into one module with memory, table and exports.

The linker supports the contents of compiled programs: functions, constants, the stack pointer and addresses of functions. The
formats are those of the WebAssembly core specification 1.0 (section 5) and of the tool conventions, "Linking.md".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

PAGE = 65536
"""Size of a memory page [bytes]."""
STACK = 2**22
"""Size of the stack at the start of the memory [bytes]; an overflow leaves the memory and traps."""
PADDED = 5
"""Length of a relocated number [bytes]."""
ALIGNED = 64
"""Alignment of data blocks [bytes]."""
FUNCTION, TABLE, MEMORY, GLOBAL = 0, 1, 2, 3
"""Kinds of imports and exports."""
DATA, SECTION = 1, 3
"""Kinds of symbols other than functions (0) and globals (2)."""
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40
"""Flags of symbols."""
ADDENDS = (3, 4, 5, 8, 9)
"""Types of relocations that have an addend."""


class _Reader:
    """Reader of the numbers in a section."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self, signed: bool = False) -> int:
        """Read a number in LEB128 encoding."""
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value - (1 << shift) if signed and b & 0x40 else value

    def bytes(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def text(self) -> str:
        return self.bytes(self.number()).decode()


def unsigned(value: int) -> bytes:
    """Return a number in unsigned LEB128 encoding."""
    out = bytearray()
    while True:
        value, b = value >> 7, value & 0x7F
        out.append(b | (0x80 if value else 0))
        if not value:
            return bytes(out)


def signed(value: int) -> bytes:
    """Return a number in signed LEB128 encoding."""
    out = bytearray()
    while True:
        value, b = value >> 7, value & 0x7F
        done = value == (-1 if b & 0x40 else 0)
        out.append(b | (0 if done else 0x80))
        if done:
            return bytes(out)


class _Symbol(NamedTuple):
    kind: int
    name: str
    defined: bool
    place: int
    """Index of the function or of the data block."""
    offset: int = 0
    """Offset in the data block [bytes]."""


class _Relocation(NamedTuple):
    kind: int
    offset: int
    symbol: int
    addend: int


@dataclass
class _Object:
    """Contents of a relocatable object."""

    name: str
    types: list[bytes] = field(default_factory=list)
    imports: list[tuple[int, str, int]] = field(default_factory=list)
    """Imports as kind, name, and type of function."""
    functions: list[int] = field(default_factory=list)
    """Type index of each function."""
    bodies: list[tuple[int, bytes]] = field(default_factory=list)
    """Offset in the section, and code, of each function."""
    blocks: list[tuple[int, bytes]] = field(default_factory=list)
    """Offset in the section, and contents, of each data block."""
    alignments: list[int] = field(default_factory=list)
    symbols: list[_Symbol] = field(default_factory=list)
    relocations: dict[str, list[_Relocation]] = field(default_factory=dict)

    @property
    def imported(self) -> list[tuple[str, int]]:
        """Names and types of imported functions."""
        return [(name, kind) for what, name, kind in self.imports if what == FUNCTION]


def _limits(r: _Reader) -> None:
    if r.byte() & 1:
        r.number()
    r.number()


def _parsed(name: str, data: bytes) -> _Object:
    """Return the contents of a relocatable object."""
    if data[:8] != b"\0asm\1\0\0\0":
        raise ValueError(f"{name} is not a WebAssembly object; compile it with the wasm back end")
    out, r = _Object(name), _Reader(data, 8)
    while r.at < len(data):
        kind, size = r.byte(), r.number()
        begin, end = r.at, r.at + size
        match kind:
            case 0:
                _custom(out, r, end)
            case 1:
                for _ in range(r.number()):
                    start = r.at
                    r.byte()
                    for _ in range(2):
                        r.bytes(r.number())
                    out.types.append(data[start : r.at])
            case 2:
                for _ in range(r.number()):
                    r.text()
                    own, what = r.text(), r.byte()
                    given = r.number() if what == FUNCTION else 0
                    if what == TABLE:
                        r.byte()
                    if what in (TABLE, MEMORY):
                        _limits(r)
                    if what == GLOBAL:
                        r.bytes(2)
                    out.imports.append((what, own, given))
            case 3:
                out.functions = [r.number() for _ in range(r.number())]
            case 10:
                for _ in range(r.number()):
                    length = r.number()
                    out.bodies.append((r.at - begin, r.bytes(length)))
            case 11:
                for _ in range(r.number()):
                    if r.number() != 0:
                        raise ValueError(f"{name}: a data segment has no constant address, which this linker does not support")
                    r.byte()
                    r.number(signed=True)
                    r.byte()
                    length = r.number()
                    out.blocks.append((r.at - begin, r.bytes(length)))
        r.at = end
    return out


def _custom(out: _Object, r: _Reader, end: int) -> None:
    """Read symbols or relocations from a custom section."""
    name = r.text()
    if name == "linking":
        r.number()
        while r.at < end:
            kind, size = r.byte(), r.number()
            after = r.at + size
            if kind == 5:
                for _ in range(r.number()):
                    r.text()
                    out.alignments.append(1 << r.number())
                    r.number()
            elif kind == 8:
                out.symbols = [_symbol(out, r) for _ in range(r.number())]
            r.at = after
    elif name.startswith("reloc."):
        r.number()
        rows = []
        for _ in range(r.number()):
            kind, offset, symbol = r.byte(), r.number(), r.number()
            rows.append(_Relocation(kind, offset, symbol, r.number(signed=True) if kind in ADDENDS else 0))
        out.relocations[name.removeprefix("reloc.")] = rows


def _symbol(out: _Object, r: _Reader) -> _Symbol:
    kind, flags = r.byte(), r.number()
    defined = not flags & UNDEFINED
    if kind == DATA:
        name = r.text()
        if not defined:
            return _Symbol(kind, name, False, -1)
        block, offset, _ = r.number(), r.number(), r.number()
        return _Symbol(kind, name, True, block, offset)
    index = r.number()
    if kind == SECTION:
        return _Symbol(kind, "", True, index)
    if defined or flags & EXPLICIT_NAME:
        return _Symbol(kind, r.text(), defined, index)
    what = FUNCTION if kind == FUNCTION else GLOBAL if kind == 2 else TABLE
    return _Symbol(kind, [n for k, n, _ in out.imports if k == what][index], False, index)


class Linked(NamedTuple):
    """Linked module, with the addresses of its parts."""

    code: bytes
    entries: dict[str, int]
    """Indices of the requested functions in the function table, keyed by name."""
    addresses: list[int]
    """Addresses of the data blocks [bytes]."""
    end: int
    """End of the data [bytes]; memory beyond this address is free."""


class Linker:
    """Linker of relocatable objects; functions are identified by their exported names.

    `callable_` contains object and symbol of each function that is called through the table, keyed by a unique name.
    """

    def __init__(self, objects: Mapping[str, bytes], callable_: Mapping[str, tuple[str, str]]) -> None:
        self.objects = {name: _parsed(name, data) for name, data in objects.items()}
        self.types: dict[bytes, int] = {}
        self.first: dict[str, int] = {}
        count = 0
        for name, o in self.objects.items():
            self.first[name] = count
            count += len(o.bodies)
        self.exported: dict[str, int] = {}
        wanted = {(o, s) for o, s in callable_.values()}
        self.own: dict[tuple[str, str], int] = {}
        for name, o in self.objects.items():
            for s in o.symbols:
                if s.kind == FUNCTION and s.defined:
                    index = self.first[name] + s.place - len(o.imported)
                    self.own[name, s.name] = index
                    if (name, s.name) not in wanted:
                        self.exported.setdefault(s.name, index)
        self.table: dict[int, int] = {}
        """Indices in the function table; index 0 is empty, like a null pointer."""
        self.entries = {key: self.place(self.own[where]) for key, where in callable_.items()}
        self.data: list[tuple[int, bytes]] = []
        self._shared: dict[bytes, int] = {}
        self.end = STACK
        self.placed = {name: [self._put_block(o, k) for k in range(len(o.blocks))] for name, o in self.objects.items()}

    def place(self, function: int) -> int:
        """Return the index of a function in the function table."""
        return self.table.setdefault(function, len(self.table) + 1)

    def put(self, contents: bytes, alignment: int = ALIGNED) -> int:
        """Place new data in memory; return the address."""
        at = -(-self.end // alignment) * alignment
        self.data.append((at, contents))
        self.end = at + len(contents)
        return at

    def reserve(self, size: int) -> int:
        """Reserve memory that is initially 0; return the address."""
        at = -(-self.end // ALIGNED) * ALIGNED
        self.end = at + size
        return at

    def _put_block(self, o: _Object, k: int) -> int:
        begin, contents = o.blocks[k]
        if any(begin <= x.offset < begin + len(contents) for x in o.relocations.get("DATA", ())):
            raise ValueError(f"{o.name}: a data block contains addresses, which this linker does not support")
        if contents not in self._shared:  # shared tables of several programs, such as quantiles
            self._shared[contents] = self.put(contents, max(8, o.alignments[k]))
        return self._shared[contents]

    def address(self, name: str, symbol: str) -> int:
        """Return the address of a variable in an object."""
        found = next(s for s in self.objects[name].symbols if s.kind == DATA and s.name == symbol)
        return self.placed[name][found.place] + found.offset

    # -- code ------------------------------------------------------------------------------------------------------------------

    def _function(self, o: _Object, symbol: _Symbol) -> int:
        """Return the index of a function of an object, or of the external function with the name of the symbol."""
        found = self.own.get((o.name, symbol.name)) if symbol.defined else self.exported.get(symbol.name)
        if found is None:
            raise ValueError(
                f"{o.name} calls {symbol.name!r}, which no object defines; add an object that exports this function"
            )
        return found

    def _value(self, o: _Object, x: _Relocation) -> bytes:
        """Return the code that replaces a padded number."""
        if x.kind == 6:
            return unsigned(self._type(o.types[x.symbol]))
        s = o.symbols[x.symbol]
        match x.kind:
            case 0:
                return unsigned(self._function(o, s))
            case 1:
                return signed(self.place(self._function(o, s)))
            case 3 | 4:
                at = self.placed[o.name][s.place] + s.offset + x.addend
                return unsigned(at) if x.kind == 3 else signed(at)
            case 7:
                return unsigned(0)  # the stack pointer
            case 20:
                return unsigned(0)  # the table
        raise ValueError(f"{o.name}: this linker does not support relocations of type {x.kind}")

    def _type(self, kind: bytes) -> int:
        return self.types.setdefault(kind, len(self.types))

    def _bodies(self, o: _Object) -> list[bytes]:
        """Return the code of an object's functions, with the shortest encoding of all numbers."""
        rows = sorted(o.relocations.get("CODE", ()), key=lambda x: x.offset)
        out, k = [], 0
        for begin, code in o.bodies:
            parts, at = [], 0
            while k < len(rows) and rows[k].offset < begin + len(code):
                here = rows[k].offset - begin
                parts += [code[at:here], self._value(o, rows[k])]
                at, k = here + PADDED, k + 1
            out.append(b"".join([*parts, code[at:]]))
        return out

    def module(self, exports: Mapping[str, str]) -> bytes:
        """Return the linked module; `exports` maps names in the module to functions."""
        functions, bodies = [], []
        for o in self.objects.values():
            functions += [self._type(o.types[t]) for t in o.functions]
            bodies += self._bodies(o)
        pages = -(-self.end // PAGE)
        shown = [("memory", MEMORY, 0), ("table", TABLE, 0)]
        shown += [(name, FUNCTION, self.exported[symbol]) for name, symbol in exports.items()]
        listed = sorted(self.table, key=lambda f: self.table[f])
        table = len(listed) + 1
        sections = {
            1: [*self.types],
            3: [unsigned(t) for t in functions],
            4: [b"\x70\x01" + unsigned(table) * 2],
            5: [b"\x00" + unsigned(pages)],
            6: [b"\x7f\x01\x41" + signed(STACK) + b"\x0b"],
            7: [_text(name) + bytes([kind]) + unsigned(index) for name, kind, index in shown],
            9: [b"\x00\x41\x01\x0b" + unsigned(len(listed)) + b"".join(map(unsigned, listed))] if listed else [],
            10: [unsigned(len(b)) + b for b in bodies],
            11: [b"\x00\x41" + signed(at) + b"\x0b" + unsigned(len(x)) + x for at, x in self.data],
        }
        out = bytearray(b"\0asm\1\0\0\0")
        for kind, rows in sections.items():
            contents = unsigned(len(rows)) + b"".join(rows)
            out += bytes([kind]) + unsigned(len(contents)) + contents
        return bytes(out)


def _text(text: str) -> bytes:
    data = text.encode()
    return unsigned(len(data)) + data


def words(values: Sequence[int]) -> bytes:
    """Return 64-bit integers as data."""
    return struct.pack(f"<{len(values)}q", *values)
