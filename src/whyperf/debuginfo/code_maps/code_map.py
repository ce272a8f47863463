"""Everything known about a binary's code, as plain columns: what is cached, and what addresses are looked up in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_maps.string_table import Texts

Int32s = npt.NDArray[np.int32]
Addresses = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


class ScopeKind(IntEnum):
    """What a scope is; `native/debuginfo/reader.h` has the same numbers."""

    SYMBOL = 0
    FUNCTION = 1
    INLINED = 2
    FRAGMENT = 3
    """A part of a function that was split off: `.cold`, `.part.0`. Its entry is not the function's."""


@dataclass(frozen=True, eq=False)
class CodeMap:
    """Scopes are stretches of code that one function's body became; an inlined one has a parent scope.

    Segments cut the address space at `segment_start` and name the innermost scope (-1: none) up to the next start.
    Rows do the same for source lines. Bodies are the address ranges of out-of-line scopes, sorted by scope.
    """

    files: Texts
    function_name: Texts
    function_file: Int32s
    function_line: Int32s
    function_order: Int32s
    function_inlined: Bools
    function_noreturn: Bools
    scope_parent: Int32s
    scope_function: Int32s
    scope_call_file: Int32s
    scope_call_line: Int32s
    scope_depth: Int32s
    scope_kind: npt.NDArray[np.uint8]
    scope_entry: Addresses
    segment_start: Addresses
    segment_scope: Int32s
    row_address: Addresses
    row_file: Int32s
    row_line: Int32s
    body_low: Addresses
    body_high: Addresses
    body_scope: Int32s

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays by name, texts as two."""
        found: dict[str, npt.NDArray[Any]] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Texts):
                found |= {f"{field.name}.data": value.data, f"{field.name}.offsets": value.offsets}
            else:
                found[field.name] = value
        return found

    @classmethod
    def from_columns(cls, columns: dict[str, npt.NDArray[Any]]) -> CodeMap:
        """The inverse of `columns`; KeyError when one is missing."""
        arguments: dict[str, Any] = {}
        for field in fields(cls):
            if field.name in columns:
                arguments[field.name] = columns[field.name]
            else:
                arguments[field.name] = Texts(columns[f"{field.name}.data"], columns[f"{field.name}.offsets"])
        return cls(**arguments)


def empty_code_map() -> CodeMap:
    """Of a file about which nothing is known."""
    none32, none64 = np.zeros(0, np.int32), np.zeros(0, np.uint64)
    arguments: dict[str, Any] = {field.name: none32 for field in fields(CodeMap)}
    arguments |= {name: Texts.of([]) for name in ("files", "function_name")}
    arguments |= {name: np.zeros(0, np.bool_) for name in ("function_inlined", "function_noreturn")}
    arguments |= dict.fromkeys(("scope_entry", "segment_start", "row_address", "body_low", "body_high"), none64)
    arguments["scope_kind"] = np.zeros(0, np.uint8)
    return CodeMap(**arguments)
