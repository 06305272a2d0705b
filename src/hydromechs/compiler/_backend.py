"""Interface of back ends, which convert programs to code; some back ends also run the code."""

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
    """Form in which a program is compiled: a single call, or a march of many steps."""

    lanes: int = 1
    """Number of worlds per vector operation, for a back end with lanes."""
    state: int | None = None
    """Number of parts of the state of a march; None for a call."""
    rarely: bool = False
    """True if the program is called so rarely that compile time matters more than run time."""
    packed: bool = False
    """True for a function of packed arrays that a routine calls."""


class Executable(Protocol):
    """Functions of object code loaded into this process."""

    loop: Callable[[int, int, int], None]
    """Function that evaluates worlds begin..end of arrays in a table of addresses and strides, without the Python lock."""
    objects: Any
    """Function that evaluates NumPy arrays and returns True if their types and shapes fit; None if single calls are
    unavailable."""
    address: int
    """Address of the function of packed arrays; 0 if the code contains none."""


class SourceFunction(NamedTuple):
    """Program with documentation for export."""

    program: Program
    """Program to export; the function name combines the names of the file and the program."""
    purpose: str = ""
    """Description of the equation that the program computes."""
    notes: Mapping[str, str] = {}
    """Meaning and unit of arguments and results, keyed by name."""


class SourceFile(NamedTuple):
    """Functions that are exported together."""

    name: str
    """Base name of the files and prefix of all functions; must be an identifier."""
    functions: tuple[SourceFunction, ...]
    about: tuple[str, ...] = ()
    """Lines of the comment at the top, which describe the model and the entries of arrays."""
    constants: Mapping[str, int] = {}
    """Integers to define, such as sizes of arrays, keyed by name."""


class Case(NamedTuple):
    """Call of a function, with the expected results."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    tolerance: float = 1e-12
    """Allowed error, relative to the largest entry of each result [-]."""


Marcher = Callable[[Sequence[Any], Sequence[Any], Any, int, int], tuple[list[Any], Any]]
"""Function (state, inputs, frozen, steps, stride) that takes steps in place. It returns records of each part of the state,
shape (worlds, rows, ...) each, and the number of steps taken, shape (worlds,). Parts of the state have shape (worlds, ...).
The first input is the step length. Other inputs are constant, shape (worlds or 1, ...), or given for each step, shape
(worlds or 1, steps, ...). Worlds marked in `frozen`, bool of shape (worlds,), keep their state. A stride of 0 disables
recording."""


class Backend(abc.ABC):
    """Back end that converts programs to code for one language or machine, and optionally runs the code on its own arrays."""

    key: ClassVar[str]
    about: ClassVar[str]
    """Short description for help texts."""
    target: ClassVar[str] = ""
    """Name of the machine that runs worlds; empty if the back end does not run worlds."""
    precisions: ClassVar[tuple[str, ...]] = ("float64",)
    """Supported floating-point precisions."""
    lanes: ClassVar[bool] = False
    """True if the back end compiles for vector lanes of this machine."""
    exports: ClassVar[bool] = False
    """True if the back end writes files for other programs."""
    takes_loops: ClassVar[bool] = False
    """True if the back end compiles loops over bodies."""
    takes_divided_steps: ClassVar[bool] = False
    """True if the back end supports adaptive and multi-step integrators on NumPy arrays."""

    # -- text and code ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """Return the source text of a program or a loop over bodies, as a call or march (`form`), in one of `precisions`."""

    def versions(self) -> tuple[str, ...]:
        """Return all properties of the compiler and the machine that can change the code."""
        raise self._unable("does not generate machine code for this process")

    def build(self, source: str, form: Form) -> bytes:
        """Return the object code of a source text with the given `form`."""
        raise self._unable("does not generate machine code for this process")

    def load(self, code: bytes, arguments: int, form: Form) -> Executable:
        """Load object code and return its functions; `arguments` is the number of arrays of a single call, 0 if unavailable."""
        raise self._unable("does not generate machine code for this process")

    # -- worlds -------------------------------------------------------------------------------------------------------------

    def unavailable(self) -> str:
        """Return the reason why the back end cannot run on this machine; empty if it can."""
        return ""

    def arrays(self, precision: str) -> Arrays:
        """Return the array type for worlds, in one of `precisions`."""
        raise self._unable("does not run worlds")

    def caller(self, code: Compiled, precision: str) -> Callable[[Sequence[Any]], list[Any]]:
        """Return a function of arrays with shape (worlds, ...), in one of `precisions`."""
        raise self._unable("does not run worlds")

    def marcher(self, march: March, precision: str) -> Marcher:
        """Return a march of worlds, in one of `precisions`."""
        raise self._unable("does not run worlds")

    # -- export -------------------------------------------------------------------------------------------------------------

    def files(self, file: SourceFile, cases: Mapping[str, Sequence[Case]]) -> dict[str, str]:
        """Return self-contained files, keyed by name, including a test program that makes the calls in `cases`.

        `cases` is keyed by the name of the program.
        """
        raise self._unable("does not write files")

    def check_command(self, paths: Sequence[Path]) -> str:
        """Return the shell command that compiles and runs the test program; `paths` have the order of `files`."""
        raise self._unable("does not write files")

    def _straight(self, program: Program | Rolled) -> Program:
        return program if isinstance(program, Program) else as_program(program)

    def _unable(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(f"back end {self.key!r} {what}; choose another back end")


class Arrays:
    """Arrays of worlds on one machine, with worlds along the first axis; NumPy arrays unless overridden."""

    on_host: ClassVar[bool] = True
    """True if the arrays are NumPy arrays."""

    def check_memory(self, numbers: int, worlds: int) -> None:
        """Raise `MemoryError` if worlds with `numbers` values each do not fit into memory."""

    def zeros(self, worlds: int, *shape: int) -> Any:
        """Return a new array of zeros, shape (worlds, *shape)."""
        return np.zeros((worlds, *shape))

    def mask(self, worlds: int) -> Any:
        """Return a new Boolean array of False, shape (worlds,)."""
        return np.zeros(worlds, dtype=bool)

    def full(self, value: float) -> Any:
        """Return an array with one number for all worlds, shape (1,)."""
        return np.array([value])

    def repeated(self, array: Any, steps: int) -> Any:
        """Return a copy of an array, repeated for every step, shape (worlds, steps, ...)."""
        return np.repeat(array[:, None], steps, axis=1)

    def put(self, array: Any, which: np.ndarray, values: np.ndarray) -> None:
        """Write rows of the selected worlds, shape (len(which), ...), to `array` or a view of an array."""
        array[which] = values

    def get(self, array: Any) -> np.ndarray:
        """Return an array or view as NumPy floats; NumPy arrays are not copied."""
        return array

    def seen(self, mask: Any) -> np.ndarray:
        """Return a mask as a NumPy array; NumPy arrays are not copied."""
        return mask

    def array(self, values: Any) -> Any:
        """Return an array of this machine with the values of an array or array-like argument."""
        return np.asarray(values, dtype=float)

    def index(self, which: np.ndarray) -> Any:
        """Return world indices, or a Boolean mask, in the form that indexes arrays of this machine."""
        return which

    def rows(self, array: Any, which: Any) -> Any:
        """Return a copy of some rows of an array in its usual layout; `which` is a result of `index`."""
        return array[which]

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        """Concatenate arrays along an axis."""
        return np.concatenate(parts, axis=axis)
