"""Where indirect jumps through tables go: what a `switch` becomes.

Compilers write tables of 32-bit distances from the table itself (position-independent code) or of 64-bit addresses
(others, and `&&label` arrays). A jump goes through a table if shortly before it something is indexed by 4 or 8; the
table is the nearest one whose entries are instructions of this function. It ends with the first that is not, or where
the next table starts.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from whyperf.debuginfo.flow_instructions import Instruction, Step
from whyperf.debuginfo.image import Image

_INDEXED_WITHIN = 12
_ENTRIES_MAX = 4096
_FEWEST = 2


def table_targets(code: Sequence[Instruction], image: Image) -> dict[int, list[int]]:
    """For the addresses of jumps through tables, where they go: nowhere if the table was not found."""
    jumps = [row for row, one in enumerate(code) if one.step is Step.JUMP and one.target is None and one.slot is None]
    if not jumps:
        return {}
    tables = _Tables(code, image)
    return {code[row].address: targets for row in jumps if (targets := tables.of_jump(row)) is not None}


class _Tables:
    def __init__(self, code: Sequence[Instruction], image: Image) -> None:
        self._code, self._image = code, image
        self._starts = {one.address for one in code}
        # Rows that name a place which may be a table.
        self._named = [(row, one.table or one.slot or 0) for row, one in enumerate(code) if self._may_be_table(one)]
        self._places = sorted({place for _, place in self._named})
        self._read: dict[tuple[int, int], list[int]] = {}

    def _may_be_table(self, one: Instruction) -> bool:
        place = one.table if one.table is not None else one.slot
        return place is not None and one.step in (Step.NEXT, Step.JUMP) and not self._image.holds_code(place)

    def of_jump(self, row: int) -> list[int] | None:
        """None for a jump through no table, such as a tail call through a pointer."""
        scale = next(
            (one.scale for one in reversed(self._code[max(0, row - _INDEXED_WITHIN) : row + 1]) if one.scale), 0
        )
        if not scale:
            return None
        at = bisect.bisect_right(self._named, (row, 1 << 64))
        for _, place in [*reversed(self._named[:at]), *self._named[at:]]:
            targets = self._targets(place, scale)
            if len(targets) >= _FEWEST:
                return list(dict.fromkeys(targets))
        return []

    def _targets(self, place: int, scale: int) -> list[int]:
        """Read once: in an interpreter every instruction's code ends in a jump through the same table."""
        if (place, scale) not in self._read:
            entries = self._relative(place) if scale == 4 else self._absolute(place)
            self._read[place, scale] = list(self._within(entries))
        return self._read[place, scale]

    def _room(self, place: int, size: int) -> int:
        """How many entries fit before the next table."""
        after = bisect.bisect_right(self._places, place)
        return (self._places[after] - place) // size if after < len(self._places) else _ENTRIES_MAX

    def _relative(self, place: int) -> Iterator[int]:
        content = self._image.read(place, 4 * min(self._room(place, 4), _ENTRIES_MAX))
        for at in range(0, len(content) - 3, 4):
            yield place + int.from_bytes(content[at : at + 4], "little", signed=True)

    def _absolute(self, place: int) -> Iterator[int]:
        for number in range(min(self._room(place, 8), _ENTRIES_MAX)):
            yield self._image.pointer(place + 8 * number)

    def _within(self, entries: Iterator[int]) -> Iterator[int]:
        for entry in entries:
            if entry not in self._starts:
                return
            yield entry
