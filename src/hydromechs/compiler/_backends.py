"""Table of back ends."""

from collections.abc import Mapping

from ._backend import Backend
from ._c_text import C
from ._cuda import Cuda
from ._llvm import Llvm
from ._wasm import WASM

BACKENDS: Mapping[str, Backend] = {b.key: b for b in (Llvm(), C(), Cuda(), WASM)}
"""Back ends, keyed by name."""
NATIVE = BACKENDS["llvm"]
"""Back end that generates machine code for this process."""
TARGETS: Mapping[str, Backend] = {b.target: b for b in BACKENDS.values() if b.target}
"""Back ends that run worlds, keyed by the name of the machine."""
