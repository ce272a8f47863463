"""Which lines of a function differ between two builds, as far as both texts are known.

White space and comments are no difference. Where one text merely ends, the rest of the other is none either: what
differs is told only before a line that is the same in both and stands only once in each, or where both texts are whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from whyperf.engines.finding import ChangedLine, SourceChange
from whyperf.engines.function_text import CodeLine, FunctionText


@dataclass(frozen=True)
class Hunk:
    """Lines that only one of the builds has, between lines that both have, by the bad build's numbers."""

    before: CodeLine | None
    good: tuple[CodeLine, ...]
    bad: tuple[CodeLine, ...]
    after: CodeLine | None

    @property
    def size(self) -> int:
        return len(self.good) + len(self.bad)

    def distance(self, line: int) -> int:
        near = [one.number for one in (self.before, *self.bad, self.after) if one is not None]
        return min((abs(line - number) for number in near), default=0)


@dataclass(frozen=True)
class _Piece:
    """Lines of either text, from and to, that are the same or stand in each other's place."""

    same: bool
    good: tuple[int, int]
    bad: tuple[int, int]


def differences(good: FunctionText, bad: FunctionText) -> list[Hunk]:
    old, new = ([line.code for line in text.lines] for text in (good, bad))
    pieces = list(_pieces(old, new, 0, 0))
    if not (good.complete and bad.complete):
        pieces = _bounded(pieces, old, new)
    hunks = []
    for piece in pieces:
        gone, come = good.lines[slice(*piece.good)], bad.lines[slice(*piece.bad)]
        if not piece.same and "".join(one.code for one in gone) != "".join(one.code for one in come):
            first, end = piece.bad
            before = bad.lines[first - 1] if first else None
            hunks.append(Hunk(before, gone, come, bad.lines[end] if end < len(new) else None))
    return hunks


def _pieces(old: Sequence[str], new: Sequence[str], old_at: int, new_at: int) -> Iterator[_Piece]:
    """In order. In long texts `difflib` passes over lines that are frequent: what is left of those is looked through
    again, so that they are found and time stays bounded."""
    for what, first, end, new_first, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if what == "replace" and (end - first < len(old) or new_end - new_first < len(new)):
            yield from _pieces(old[first:end], new[new_first:new_end], old_at + first, new_at + new_first)
        else:
            yield _Piece(what == "equal", (old_at + first, old_at + end), (new_at + new_first, new_at + new_end))


def _bounded(pieces: list[_Piece], old: Sequence[str], new: Sequence[str]) -> list[_Piece]:
    """Up to the last piece that certainly is the same in both."""
    in_old, in_new = Counter(old), Counter(new)
    certain = [
        number
        for number, piece in enumerate(pieces)
        if piece.same and any(in_old[line] == in_new[line] == 1 for line in old[slice(*piece.good)])
    ]
    return pieces[: certain[-1]] if certain else []


def nearest(hunks: Sequence[Hunk], to: Collection[int], most: int) -> SourceChange | None:
    """So many lines of the hunks nearest to these of the bad build, in order; only whole hunks, unless the first is
    longer."""
    if not hunks:
        return None
    chosen: dict[int, Hunk] = {}
    room = most
    by_distance = sorted(enumerate(hunks), key=lambda one: min((one[1].distance(line) for line in to), default=0))
    for number, hunk in by_distance:
        if chosen and hunk.size > room:
            break
        chosen[number] = _cut(hunk, room)
        room -= chosen[number].size
    shown = _together([chosen[number] for number in sorted(chosen)])
    return SourceChange(tuple(map(tuple, shown)), sum(hunk.size for hunk in hunks) - (most - room))


def _together(hunks: Sequence[Hunk]) -> list[list[ChangedLine]]:
    """Each with the line that follows it; those with nothing but that line between them are one."""
    shown: list[list[ChangedLine]] = []
    last: CodeLine | None = None
    for hunk in hunks:
        if last is None or hunk.before is not last:
            shown.append([])
        last = hunk.after
        shown[-1] += [ChangedLine("good", line.number, line.text) for line in hunk.good]
        shown[-1] += [ChangedLine("bad", line.number, line.text) for line in hunk.bad]
        shown[-1] += [ChangedLine("both", last.number, last.text)] if last else []
    return shown


def _cut(hunk: Hunk, room: int) -> Hunk:
    """The first lines of each build, in equal parts where both have more than that."""
    if hunk.size <= room:
        return hunk
    good = min(len(hunk.good), max(room // 2, room - len(hunk.bad)))
    return Hunk(hunk.before, hunk.good[:good], hunk.bad[: room - good], None)
