"""What is known of traced processes besides their events, as JSON objects of the raw log.

They are kept in a file of their own, which no bound on the recording's size drops: old events can be missed, but what
is left of them means nothing without the processes, mappings and stacks that came first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from whyperf.collect.tracer.traced import KernelSymbol, TracedMapping, TracedMappings, TracedProcess, TracedThread
from whyperf.recording.safe_files.dataclass_json import Address, MisfitError, Number, from_plain, to_plain
from whyperf.recording.sealed.manifest import TraceSummary

FACTS = "trace-facts"  # in `raw/`


@dataclass(frozen=True)
class FollowedProcess:
    """A process that the tracer was told to follow, with all that it starts."""

    pid: Number


@dataclass(frozen=True)
class KernelCode:
    """Functions of the kernel at addresses that stacks hold, in hexadecimal."""

    names: dict[str, str]
    modules: dict[str, str]  # of those that are not built in
    base: Address = 0
    build_id: str = ""

    @classmethod
    def of(cls, symbols: Mapping[int, KernelSymbol], base: int = 0, build_id: str = "") -> KernelCode:
        modules = {f"{at:x}": symbol.module for at, symbol in symbols.items() if symbol.module}
        return cls({f"{at:x}": symbol.name for at, symbol in symbols.items()}, modules, base, build_id)

    def symbols(self) -> dict[int, KernelSymbol]:
        """ValueError when an address is none."""
        found = {int(at, 16): KernelSymbol(name, self.modules.get(at, "")) for at, name in self.names.items()}
        if found and not 0 <= min(found) <= max(found) < 1 << 64:
            raise ValueError("an address beyond all memory")
        return found


Fact = TracedProcess | TracedThread | TracedMappings | FollowedProcess | KernelCode | TraceSummary

_TYPES: dict[str, type[Fact]] = {
    "traced-process": TracedProcess,
    "traced-thread": TracedThread,
    "traced-mappings": TracedMappings,
    "traced-root": FollowedProcess,
    "kernel-symbols": KernelCode,
    "trace": TraceSummary,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def to_json(fact: Fact) -> dict[str, Any]:
    return {"type": _NAMES[type(fact)], **to_plain(fact)}


def from_json(said: Mapping[str, Any]) -> Fact | None:
    """None for an object that is none of these, or makes no sense."""
    kind = _TYPES.get(str(said.get("type")))
    try:
        return None if kind is None else from_plain(kind, dict(said))
    except MisfitError:
        return None


def mappings_of(time: int, pid: int, modules: Iterable[tuple[int, int, int, int, str, str, int]]) -> TracedMappings:
    """From modules as `_stacks` and `_tracer` give them."""
    rows = (
        TracedMapping(start, end, bias, path, build_id, inode) for start, end, _, bias, build_id, path, inode in modules
    )
    return TracedMappings(time, pid, tuple(rows))
