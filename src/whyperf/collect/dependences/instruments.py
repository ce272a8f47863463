"""The tool's plan: which functions to watch, and how. `native/dependences/stream.h` describes the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from whyperf.recording.safe_files.limits import MOST_TEXT_BYTES
from whyperf.recording.safe_files.regular_files import read_regular

_MAGIC = "whyperf-plan 1"
_VARIABLE_SIZES = (1, 2, 4, 8)
_ADDRESSES = 1 << 63
_SPACE = re.compile(r"\s")


class Mode(Enum):
    ENTRIES = "entries"  # entry and return
    ZOOM = "zoom"  # every instruction, with what it depends on
    PASS = "pass"  # entry and return; values pass through


class HeapUse(Enum):
    """Of a function that hands out or takes back memory: where it leaves the address."""

    NONE = ""
    RETURNS = "heap"
    STORES = "heap-stores"  # where its first argument points


@dataclass(frozen=True)
class WatchedFunction:
    module: int
    entry: int
    ranges: tuple[tuple[int, int], ...]
    mode: Mode
    heap: HeapUse = HeapUse.NONE


@dataclass(frozen=True)
class WatchedVariable:
    module: int
    address: int
    size: int


@dataclass(frozen=True)
class WatchedReader:
    """An instruction: who wrote what it loads? Of a call, what the library's code loads for it."""

    module: int
    address: int
    offset: int
    size: int
    """Bytes from `offset` on, of those that it loads."""


@dataclass(frozen=True)
class WatchedModule:
    name: str
    build_id: str


@dataclass(frozen=True)
class Instruments:
    """Functions and variables are numbered in the order of the file, which is by module."""

    modules: tuple[WatchedModule, ...]
    functions: tuple[WatchedFunction, ...]
    variables: tuple[WatchedVariable, ...] = ()
    values_pass: bool = False
    """Values pass through code that is not watched, as through memcpy."""
    limit: int = 0
    """Executions after which nothing more is written; 0: as many as there can be."""
    readers: tuple[WatchedReader, ...] = ()


def to_text(plan: Instruments) -> str:
    return "\n".join([*_lines(plan), ""])


def _lines(plan: Instruments) -> Iterable[str]:
    yield _MAGIC
    yield f"outside {'pass' if plan.values_pass else 'tag'}"
    if plan.limit:
        yield f"limit {plan.limit:x}"
    for number, module in enumerate(plan.modules):
        # Words end at a space; with a build-id the name decides nothing.
        yield f"module {re.sub(_SPACE, '_', module.name)} {module.build_id or '-'}"
        for function in plan.functions:
            if function.module == number:
                yield f"function {function.entry:x} {function.mode.value} {function.heap.value}".rstrip()
                yield from (f"range {low:x} {high:x}" for low, high in function.ranges)
        for variable in plan.variables:
            if variable.module == number:
                yield f"watch {variable.address:x} {variable.size:x}"
        for reader in plan.readers:
            if reader.module == number:
                yield f"reader {reader.address:x} {reader.offset:x} {reader.size:x}"


def read_text(text: str) -> Instruments:
    """The inverse of `to_text`; ValueError for what it did not write."""
    lines = text.splitlines()
    if lines[:1] != [_MAGIC]:
        raise ValueError("no plan")
    modules: list[WatchedModule] = []
    functions: list[WatchedFunction] = []
    variables: list[WatchedVariable] = []
    readers: list[WatchedReader] = []
    values_pass, limit = False, 0
    for line in lines[1:]:
        match line.split(" "):
            case ["outside", how]:
                values_pass = how == "pass"
            case ["limit", count]:
                limit = int(count, 16)
            case ["module", name, build_id]:
                modules.append(WatchedModule(name, "" if build_id == "-" else build_id))
            case ["function", entry, mode, *rest]:
                heap = HeapUse(" ".join(rest))
                functions.append(WatchedFunction(len(modules) - 1, int(entry, 16), (), Mode(mode), heap))
            case ["range", low, high] if functions:
                last = functions.pop()
                ranges = (*last.ranges, (int(low, 16), int(high, 16)))
                functions.append(WatchedFunction(last.module, last.entry, ranges, last.mode, last.heap))
            case ["watch", address, size]:
                variables.append(WatchedVariable(len(modules) - 1, int(address, 16), int(size, 16)))
            case ["reader", *numbers] if len(numbers) == len(("address", "offset", "size")):
                readers.append(WatchedReader(len(modules) - 1, *(int(one, 16) for one in numbers)))
            case _:
                raise ValueError(f"line {line!r}")
    return _checked(Instruments(tuple(modules), tuple(functions), tuple(variables), values_pass, limit, tuple(readers)))


def _checked(plan: Instruments) -> Instruments:
    watched: list[WatchedFunction | WatchedVariable | WatchedReader] = [*plan.functions, *plan.variables, *plan.readers]
    if any(one.module < 0 for one in watched):
        raise ValueError("what is to be watched is of no module")
    if any(one.size not in _VARIABLE_SIZES for one in plan.variables):
        raise ValueError("a variable of an impossible size")
    if any(one.entry >= _ADDRESSES for one in plan.functions):
        raise ValueError("a function outside of all memory")
    return plan


def write_instruments(path: Path, plan: Instruments) -> None:
    path.write_text(to_text(plan), encoding="utf-8")


def read_instruments(path: Path) -> Instruments:
    return read_text(read_regular(path, MOST_TEXT_BYTES).decode())
