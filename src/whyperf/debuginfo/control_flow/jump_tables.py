"""Where indirect jumps through tables go: what a `switch` becomes.

Compilers write tables of 32-bit distances from the table itself (position-independent code) or of 64-bit addresses
(others, and `&&label` arrays). A jump goes through a table if shortly before it something is indexed by 4 or 8; the
table is the nearest one whose entries are instructions of this function. It ends with the first that is not, or where
the next table starts. Where the machine's description knows more about a jump, such as how many entries there are, that
counts.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction, FlowStep
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import TableJump

_INDEXED_WITHIN = 12
_ENTRIES_MAX = 4096
_FEWEST = 2
_POINTER_BYTES = 8


def table_targets(code: Sequence[FlowInstruction], image: Image) -> dict[int, list[int]]:
    """For the addresses of jumps through tables, where they go: nowhere if the table was not found."""
    jumps = [
        row for row, one in enumerate(code) if one.step is FlowStep.JUMP and one.target is None and one.slot is None
    ]
    if not jumps:
        return {}
    tables = _Tables(code, image)
    return {code[row].address: targets for row in jumps if (targets := tables.of_jump(row)) is not None}


class _Tables:
    def __init__(self, code: Sequence[FlowInstruction], image: Image) -> None:
        self._code, self._image = code, image
        self._starts = {one.address for one in code}
        # Rows that name a place which may be a table.
        self._named = [(row, one.table or one.slot or 0) for row, one in enumerate(code) if self._may_be_table(one)]
        self._places = sorted({place for _, place in self._named})
        self._read: dict[tuple[int, TableJump], list[int]] = {}

    def _may_be_table(self, one: FlowInstruction) -> bool:
        place = one.table if one.table is not None else one.slot
        return place is not None and one.step in (FlowStep.NEXT, FlowStep.JUMP) and not self._image.holds_code(place)

    def of_jump(self, row: int) -> list[int] | None:
        """None for a jump through no table, such as a tail call through a pointer."""
        jump = self._code[row].jump or self._by_index(row)
        if jump is None:
            return None
        at = bisect.bisect_right(self._named, (row, 1 << 64))
        places = [place for _, place in (*reversed(self._named[:at]), *self._named[at:])]
        for place in places if jump.table is None else [jump.table]:
            targets = self._targets(place, jump)
            if len(targets) >= _FEWEST:
                return list(dict.fromkeys(targets))
        return []

    def _by_index(self, row: int) -> TableJump | None:
        before = reversed(self._code[max(0, row - _INDEXED_WITHIN) : row + 1])
        scale = next((one.scale for one in before if one.scale), 0)
        return TableJump(scale, True, 0, None, None, None) if scale else None

    def _targets(self, place: int, jump: TableJump) -> list[int]:
        """Read once: in an interpreter every instruction's code ends in a jump through the same table."""
        if (place, jump) not in self._read:
            absolute = jump.entry_bytes == _POINTER_BYTES
            entries = self._absolute(place, jump) if absolute else self._relative(place, jump)
            self._read[place, jump] = list(self._within(entries))
        return self._read[place, jump]

    def _room(self, place: int, jump: TableJump) -> int:
        """How many entries there are, or fit before the next table."""
        if jump.entries is not None:
            return min(jump.entries, _ENTRIES_MAX)
        after = bisect.bisect_right(self._places, place)
        room = (self._places[after] - place) // jump.entry_bytes if after < len(self._places) else _ENTRIES_MAX
        return min(room, _ENTRIES_MAX)

    def _relative(self, place: int, jump: TableJump) -> Iterator[int]:
        return jump.targets(place, self._image.read(place, jump.entry_bytes * self._room(place, jump)))

    def _absolute(self, place: int, jump: TableJump) -> Iterator[int]:
        for number in range(self._room(place, jump)):
            yield self._image.pointer(place + _POINTER_BYTES * number)

    def _within(self, entries: Iterator[int]) -> Iterator[int]:
        for entry in entries:
            if entry not in self._starts:
                return
            yield entry
