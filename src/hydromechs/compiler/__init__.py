"""Tracing of NumPy functions with symbols."""

from ._symbol import Symbol, symbols
from ._trace import trace

__all__ = ["Symbol", "symbols", "trace"]
