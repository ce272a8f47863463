"""Functions that are in no stack because they ended by a jump to another one.

The code before a return address says whom it called. Where another function runs in that call, the called one has left
by a jump. Which functions jumped on the way is known as far as every way from the one to the other leads through them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from whyperf.debuginfo.code_maps.code_map import Addresses, Int32s
from whyperf.debuginfo.code_maps.places import out_of_line_scopes
from whyperf.debuginfo.control_flow.function_flow import TimedFlows
from whyperf.debuginfo.control_flow.linkage_stubs import imported_by_stub
from whyperf.recording.schemas.deep_tables import SiteKind

_LONGEST_CALL_BYTES = 5
_MOST_FUNCTIONS = 32  # that are read on the ways from one function to another

Function = tuple[int, int]
"""A file, and the scope of an out-of-line function in it."""


@dataclass(frozen=True)
class Calls:
    """A row each: a return address, and what runs in the call. Files are numbered; -1: none."""

    file: Int32s
    address: Addresses
    """One less than the return address."""
    inner_file: Int32s
    inner_address: Addresses


@dataclass(frozen=True)
class _Jump:
    address: int
    to: Function | None
    """None: a computed address."""


Jumps = tuple[tuple[int, int], ...]
"""File and address of each jump, innermost first. Where several jumps of a function may have been it: its entry."""


class TailJumps:
    def __init__(self, files: Mapping[int, TimedFlows], reached_by_name: Collection[int] = ()) -> None:
        """`reached_by_name`: files whose functions nobody reaches by a computed address. Which of them runs need not be
        known."""
        self._files, self._reached_by_name = files, reached_by_name
        self._between = cache(self._search)
        self._left_by = cache(self._jumps)
        self._entered = cache(self._entry)

    def of(self, calls: Calls) -> list[Jumps]:
        """For each call, the jumps through which what runs in it was reached."""
        inner = self._scopes(calls.inner_file, calls.inner_address)
        called = zip(calls.file.tolist(), calls.address.tolist(), strict=True)
        running = zip(calls.inner_file.tolist(), inner.tolist(), strict=True)
        return [self._reached(*call, now) for call, now in zip(called, running, strict=True)]

    def _scopes(self, files: Int32s, addresses: Addresses) -> Int32s:
        found = np.full(len(files), -1, np.int32)
        for file in set(files.tolist()) - {-1}:
            mine = files == file
            found[mine] = out_of_line_scopes(self._files[file].binary.code, addresses[mine])
        return found

    def _reached(self, file: int, address: int, now: Function) -> Jumps:
        if file < 0 or (now[1] < 0 and now[0] not in self._reached_by_name):
            return ()
        binary, image = self._files[file].binary, self._files[file].image
        if image is None or binary.machine is None:
            return ()
        end = address + 1
        target = binary.machine.call_before(image.read(end - _LONGEST_CALL_BYTES, _LONGEST_CALL_BYTES), end)
        called = None if target is None else self._entered(file, target, now[0])
        return () if called is None or self._is_same(called, now) else self._between(called, now)

    def _entry(self, file: int, address: int, other: int) -> Function | None:
        """The function that is entered at an address. One of another file is found by its symbol: first in `other`."""
        binary, image = self._files[file].binary, self._files[file].image
        if image is None or binary.elf is None or binary.machine is None or not image.holds_code(address):
            return None
        symbol = imported_by_stub(binary.elf, binary.machine, image, address)
        if symbol is not None:
            found = (one for one in (other, file, *self._files) if symbol in self._exports(one))
            file = next(found, -1)
            if file < 0:
                return None
            binary, address = self._files[file].binary, self._exports(file)[symbol]
        scope = binary.scope_entered_at(address)
        return None if scope < 0 else (file, scope)

    def _exports(self, file: int) -> dict[str, int]:
        image = self._files[file].image
        return {} if image is None else image.exports

    def _is_same(self, one: Function, other: Function) -> bool:
        """Copies and parts of one function are the same."""
        scope_function = self._files[one[0]].binary.code.scope_function
        return one[0] == other[0] and (other[1] < 0 or bool(scope_function[one[1]] == scope_function[other[1]]))

    def _search(self, called: Function, now: Function) -> Jumps:
        ways = self._ways(called, now, computed=False)
        if not ways and now[0] not in self._reached_by_name:
            ways = self._ways(called, now, computed=True)
        if not ways:
            return ()
        always = [one for one in ways if one == called or not _is_reached(ways, called, now, without=one)]
        found = []
        for file, scope in always:
            through = [jump.address for jump in ways[file, scope]]
            entry = int(self._files[file].binary.code.scope_entry[scope])
            found.append((file, through[0] if len(through) == 1 else entry))
        return tuple(reversed(found))

    def _ways(self, called: Function, now: Function, computed: bool) -> dict[Function, list[_Jump]]:
        """The functions on the ways from the one that was called to the one that runs, and the jumps by which they lead
        there, nearest to the first one first. `computed`: a computed address may be the one that runs. Nothing where
        there is no way, or more than can be looked at."""
        seen: dict[Function, list[_Jump]] = {}
        left = [called]
        while left:
            function = left.pop(0)
            if function in seen:
                continue
            if len(seen) == _MOST_FUNCTIONS:
                return {}
            seen[function] = []
            for jump in self._left_by(function, now[0]):
                to = now if jump.to is None and computed else jump.to
                to = now if to is not None and self._is_same(to, now) else to
                if to is not None:
                    seen[function].append(_Jump(jump.address, to))
                    left += [to] if to != now else []
        leads = {one for one in seen if _is_reached(seen, one, now)}
        return {
            one: [jump for jump in jumps if jump.to == now or jump.to in leads]
            for one, jumps in seen.items()
            if one in leads
        }

    def _jumps(self, function: Function, other: int) -> list[_Jump]:
        """Out of a function."""
        file, scope = function
        flow = self._files[file].of(scope)
        if flow is None:
            return []
        leaves = (flow.kind == SiteKind.TAIL_CALL) | ((flow.kind == SiteKind.BRANCH) & (flow.target >= 0))
        rows = np.flatnonzero(leaves)
        found = []
        for address, target in zip(flow.address[rows].tolist(), flow.target[rows].tolist(), strict=True):
            to = self._entered(file, target, other) if target >= 0 else None
            if to is not None or target < 0:
                found.append(_Jump(address, to))
        return found


def _is_reached(
    ways: dict[Function, list[_Jump]], start: Function, end: Function, without: Function | None = None
) -> bool:
    seen = {start}
    left = [start]
    while left:
        for jump in ways.get(left.pop(), ()):
            if jump.to == end:
                return True
            if jump.to is not None and jump.to != without and jump.to not in seen:
                seen.add(jump.to)
                left.append(jump.to)
    return False
