"""Which registers a function changes, with all that it calls.

Compilers know that of functions in the same source file, and let callers keep values in registers that the function
leaves alone (gcc: -fipa-ra). A transplanted function must leave the same ones alone.
"""

from __future__ import annotations

from collections.abc import Callable

from whyperf.debuginfo.transplants.coding import Coding
from whyperf.debuginfo.transplants.references import FunctionCode, WrittenReference
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind, SymbolTable

_MOST_FUNCTIONS = 200


class ChangedRegisters:
    def __init__(self, symbols: SymbolTable, code_of: Callable[[Symbol], FunctionCode], coding: Coding) -> None:
        self._symbols, self._code_of, self._coding = symbols, code_of, coding
        self._written: dict[int, WrittenReference | None] = {}
        self._found: dict[int, frozenset[int]] = {}

    def by(self, function: int) -> frozenset[int]:
        """At most so many: all, where it leads to code that is not known."""
        if function not in self._found:
            self._found[function] = self._all(function)
        return self._found[function]

    def _all(self, function: int) -> frozenset[int]:
        changed: set[int] = set()
        known, work = {function}, [function]
        while work:
            one = self._of(work.pop())
            if one is None or one.leads_anywhere or len(known) > _MOST_FUNCTIONS:
                return self._coding.lost
            changed |= one.registers
            work += one.leads_to - known
            known |= one.leads_to
        return frozenset(changed)

    def _of(self, function: int) -> WrittenReference | None:
        if function not in self._written:
            self._written[function] = self._read(function)
        return self._written[function]

    def _read(self, function: int) -> WrittenReference | None:
        symbols = [one for one in self._symbols.at(function) if one.kind is SymbolKind.FUNCTION and one.size]
        if not symbols:
            return None  # another file's, or chosen when loaded
        try:
            return self._coding.written_in(self._code_of(symbols[0]))
        except RefusedError:
            return None
