"""Interface of back ends, which turn programs into code; some also run it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.values import Array

from ._c_calls import as_program
from ._program import Program
from ._rolled import Rolled

if TYPE_CHECKING:
    from ._compiled import Compiled
    from ._march import March


class Form(NamedTuple):
    """Form in which a program is compiled: a call, or a march of many steps."""

    lanes: int = 1
    """Worlds per vector operation, for a back end with lanes."""
    state: int | None = None
    """Number of parts of the state of a march; None for a call."""
    rarely: bool = False
    """True if it is called so rarely that compile time matters more than run time."""
    packed: bool = False
    """A function of packed arrays that a routine calls."""


class Executable(Protocol):
    """Functions in object code loaded into this process."""

    loop: Callable[[int, int, int], None]
    """Worlds begin..end of arrays in a table of addresses and strides; runs without Python's lock."""
    objects: Any
    """Evaluates NumPy arrays and returns True if their types and shapes fit; None if there are no single calls."""
    address: int
    """Address of the function of packed arrays; 0 if there is none."""


class SourceFunction(NamedTuple):
    """A program and its documentation."""

    program: Program
    """The program; the function is named after the file and the program."""
    purpose: str = ""
    """The equation that it computes."""
    notes: Mapping[str, str] = {}
    """Meaning and unit of arguments and results by name."""


class SourceFile(NamedTuple):
    """Functions exported together."""

    name: str
    """Name of the files and prefix of all functions; must be an identifier."""
    functions: tuple[SourceFunction, ...]
    about: tuple[str, ...] = ()
    """Lines of the comment at the top: the model and the entries of arrays."""
    constants: Mapping[str, int] = {}
    """Integers to define, such as sizes of arrays, by name."""


class Case(NamedTuple):
    """A call of a function and its expected results."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    tolerance: float = 1e-12
    """Allowed error, relative to the largest entry of each result."""


Marcher = Callable[[Sequence[Any], Sequence[Any], Any, int, int], tuple[list[Any], Any]]
"""Takes steps in place, (state, inputs, frozen, steps, stride); returns records of each part of the state, (worlds, rows, ...),
and the number of steps taken, shape (worlds,). Parts of the state have shape (worlds, ...). The first input is the step; other
inputs are constant, shape (worlds or 1, ...), or given for each step, (worlds or 1, steps, ...). Worlds marked in `frozen`,
bool of shape (worlds,), keep their state. A stride of 0 records nothing."""


class Backend(abc.ABC):
    """Turns programs into code for one language or machine; some back ends run the code on their own arrays."""

    key: ClassVar[str]
    about: ClassVar[str]
    """One line for help texts."""
    target: ClassVar[str] = ""
    """Name of the machine that runs worlds; empty if it runs none."""
    precisions: ClassVar[tuple[str, ...]] = ("float64",)
    """Supported precisions."""
    lanes: ClassVar[bool] = False
    """True if it compiles for vector lanes of this machine."""
    exports: ClassVar[bool] = False
    """True if it writes files for other programs."""
    takes_loops: ClassVar[bool] = False
    """True if it compiles loops over bodies."""
    takes_divided_steps: ClassVar[bool] = False
    """True if it supports adaptive and multi-step integrators; its arrays are NumPy's."""

    # -- text and code ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return the text of a program, or of a loop over bodies, as a call or march (`form`), in one of `precisions`."""

    def versions(self) -> tuple[str, ...]:
        """Return all properties of compiler and machine that can change the code."""
        raise self._unable("does not generate machine code for this process")

    def build(self, source: str, form: Form) -> bytes:
        """Return the object code of a text written in the `form`."""
        raise self._unable("does not generate machine code for this process")

    def load(self, code: bytes, arguments: int, form: Form) -> Executable:
        """Load object code and return its functions; a single call takes `arguments` arrays (0: no single calls)."""
        raise self._unable("does not generate machine code for this process")

    # -- worlds -------------------------------------------------------------------------------------------------------------

    def unavailable(self) -> str:
        """Return the reason why it cannot run on this machine; empty if it can."""
        return ""

    def arrays(self, precision: str) -> Arrays:
        """Return the arrays of worlds, in one of `precisions`."""
        raise self._unable("does not run worlds")

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        """Return a function of arrays of shape (worlds, ...), in one of `precisions`."""
        raise self._unable("does not run worlds")

    def marcher(self, march: March, precision: str) -> Marcher:
        """Return a march of worlds in one of `precisions`."""
        raise self._unable("does not run worlds")

    # -- export -------------------------------------------------------------------------------------------------------------

    def files(self, file: SourceFile, cases: Mapping[str, Sequence[Case]]) -> dict[str, str]:
        """Return self-contained files, by name, with a check that makes the calls `cases`, by name of the program."""
        raise self._unable("does not write files")

    def check_command(self, paths: Sequence[Path]) -> str:
        """Return the shell command that compiles and runs the check; `paths` are in the order of `files`."""
        raise self._unable("does not write files")

    def _straight(self, program: Program | Rolled) -> Program:
        return program if isinstance(program, Program) else as_program(program)

    def _unable(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(f"back end {self.key!r} {what}; choose another one")


class Arrays:
    """Arrays of worlds on one machine, worlds along the first axis: NumPy arrays, unless overridden."""

    on_host: ClassVar[bool] = True
    """True if they are NumPy's."""

    def check_memory(self, numbers: int, worlds: int) -> None:
        """Raise `MemoryError` if worlds of `numbers` values each do not fit."""

    def zeros(self, worlds: int, *shape: int) -> Any:
        """Return a new array of shape (worlds, *shape)."""
        return np.zeros((worlds, *shape))

    def mask(self, worlds: int) -> Any:
        """Return a new array of False, shape (worlds,)."""
        return np.zeros(worlds, dtype=bool)

    def full(self, value: float) -> Any:
        """Return a number for all worlds, shape (1,)."""
        return np.array([value])

    def repeated(self, array: Any, steps: int) -> Any:
        """Return a copy of an array repeated for every step, shape (worlds, steps, ...)."""
        return np.repeat(array[:, None], steps, axis=1)

    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        """Write rows of given worlds, shape (len(which), ...), to `array` or a view of it."""
        array[which] = values

    def get(self, array: Any) -> np.ndarray:
        """Return one of its arrays, or a view, as NumPy floats; NumPy arrays are not copied."""
        return array

    def seen(self, mask: Any) -> np.ndarray:
        """Return one of its masks as a NumPy array; NumPy arrays are not copied."""
        return mask

    def array(self, values: Any) -> Any:
        """Return a caller's values, an array of this machine or array-like, as one of its arrays."""
        return np.asarray(values, dtype=float)

    def index(self, which: np.ndarray) -> Any:
        """Return world numbers, or booleans, in the form that indexes its arrays."""
        return which

    def rows(self, array: Any, which: Any) -> Any:
        """Return a copy of some rows of one of its arrays in its usual layout; `which` as from `index`."""
        return array[which]

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        """Concatenate arrays along an axis."""
        return np.concatenate(parts, axis=axis)
