"""Which instruction of one build is which of another (Perspect, 4.3), so that both runs speak of the same sites.

In the same build an instruction is its offset. In different builds a function is known by its identity, a line by a
diff of the sources, and the instructions of a line are aligned in the order of blocks and offsets by what they do, so
that neighbours are found where something was added or left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.arrays import Bools, Int32s
from whyperf.engines.relations.executions.catalogue import NONE, CataloguedFunction, InlinedLine
from whyperf.engines.relations.executions.line_matching import all_source_lines, matched_lines
from whyperf.engines.relations.executions.recorded_sites import DeclaredFunction, RecordedSites, read_sites
from whyperf.engines.run import Run
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.deep_tables import MemoryUse


@dataclass(eq=False)
class SharedSites:
    """Numbers for functions, places and sites that all runs of a comparison share."""

    functions: list[CataloguedFunction] = field(default_factory=list)
    places: list[InlinedLine] = field(default_factory=list)
    of_run: dict[Run, Int32s] = field(default_factory=dict)
    """The shared site of each row of a run's sites."""
    function_of_run: dict[Run, Int32s] = field(default_factory=dict)
    """The shared out-of-line function of each row of a run's sites."""
    site_function: list[int] = field(default_factory=list)
    site_place: list[int] = field(default_factory=list)
    header_line: dict[int, tuple[str, int]] = field(default_factory=dict)
    outer: list[int] = field(default_factory=list)
    """The out-of-line function, by site."""
    kind: list[int] = field(default_factory=list)
    copies: list[bool] = field(default_factory=list)
    spills: list[bool] = field(default_factory=list)
    loads: list[bool] = field(default_factory=list)
    nameless: list[bool] = field(default_factory=list)
    entry: list[bool] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    same_build: bool = True
    _function_number: dict[FunctionKey, int] = field(default_factory=dict)
    _place_number: dict[Hashable, int] = field(default_factory=dict)
    _site_number: dict[Hashable, int] = field(default_factory=dict)

    def function(self, declared: DeclaredFunction) -> int:
        number = self._function_number.setdefault(declared.key, len(self.functions))
        if number == len(self.functions):
            self.functions.append(CataloguedFunction(declared.key, declared.file, declared.line, declared.own))
        return number

    def place(self, place: InlinedLine) -> int:
        key = place.function, place.inlined, place.line, place.only_in == "good"
        number = self._place_number.setdefault(key, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def site(self, key: Hashable) -> int:
        return self._site_number.setdefault(key, len(self._site_number))

    def flags(self, name: str) -> Bools:
        return np.array(getattr(self, name), np.bool_)


def match_sites(good: Sequence[Run], bad: Sequence[Run]) -> SharedSites:
    """The bad runs' line numbers are the ones shown."""
    sites = read_sites(good, bad)
    shared = SharedSites(same_build=_same_build([sites[run] for run in (*good, *bad)]))
    for run in bad:
        _add(shared, sites[run], None)
    if shared.same_build:
        for run in good:
            _add(shared, sites[run], None)
        return shared
    translation = _Translation(good, bad, [sites[run] for run in bad], shared)
    for run in good:
        _add(shared, sites[run], translation)
    translation.mark_new_lines([sites[run] for run in good])
    shared.notes += translation.notes()
    return shared


def _same_build(all_sites: Sequence[RecordedSites]) -> bool:
    builds: dict[str, set[str]] = defaultdict(set)
    for sites in all_sites:
        for module in set(sites.module.tolist()) - {NONE}:
            builds[sites.module_name[module]].add(sites.build[module])
    return all(len(found) == 1 and "" not in found for found in builds.values())


class _Translation:
    """From the good build to the bad one, whose sites are already numbered."""

    def __init__(
        self, good: Sequence[Run], bad: Sequence[Run], bad_sites: Sequence[RecordedSites], shared: SharedSites
    ):
        self._shared = shared
        self._good_text, self._bad_text = all_source_lines(good), all_source_lines(bad)
        self._lines: dict[tuple[str, str], dict[int, int] | None] = {}
        self._bad_function: dict[int, tuple[str, int]] = {}
        self._sequence: dict[tuple[int, int], list[tuple[Hashable, int]]] = defaultdict(list)
        self._unmatched: dict[int, int] = defaultdict(int)
        self._matched = 0
        for sites in bad_sites[:1]:
            numbers = shared.of_run[sites.run]
            for row in _ordered(sites):
                site = int(numbers[row])
                self._sequence[_line_key(shared, site)].append((_what(sites, row), site))
        for sites in bad_sites:
            for declared in sites.functions.values():
                number = shared.function(declared)
                self._bad_function.setdefault(number, (declared.file, declared.line))

    def place(self, place: InlinedLine, file: str, declared: int) -> InlinedLine:
        """`file`, `declared`: where the good build declares the line's function."""
        known = self._bad_function.get(place.inlined)
        if known is None:
            return replace(place, only_in="good")
        if place.line <= 0:
            return place
        if PurePosixPath(place.file).name != PurePosixPath(file).name:  # a header's line: as in the other build
            lines, elsewhere, moved = self._lines_of(place.file, place.file), place.file, 0
        else:
            lines, elsewhere, moved = self._lines_of(place.file, known[0]), known[0], known[1] - declared
        mapped = lines.get(place.line) if lines is not None else place.line + moved
        return replace(place, only_in="good") if mapped is None else replace(place, file=elsewhere, line=mapped)

    def aligned(self, line: tuple[int, int], rows: list[tuple[Hashable, int]]) -> dict[int, int]:
        """The good build's rows of one line -> shared sites of the bad build."""
        there = self._sequence.get(line, [])
        matcher = SequenceMatcher(None, [what for what, _ in there], [what for what, _ in rows], autojunk=False)
        found = {
            rows[here + step][1]: there[at + step][1]
            for at, here, size in matcher.get_matching_blocks()
            for step in range(size)
        }
        self._matched += len(found)
        if len(rows) > len(found):
            self._unmatched[line[0]] += len(rows) - len(found)
        return found

    def mark_new_lines(self, good_sites: Sequence[RecordedSites]) -> None:
        """Lines that only the bad build has: a change in the source is a likelier cause than a change in numbers."""
        shared = self._shared
        seen = {int(place) for sites in good_sites for place in np.array(shared.site_place)[shared.of_run[sites.run]]}
        good_functions = {shared.places[place].inlined for place in seen}
        for number, place in enumerate(shared.places):
            if number not in seen and not place.only_in and self._is_new(place, good_functions):
                shared.places[number] = replace(place, only_in="bad")

    def notes(self) -> list[str]:
        missing = sum(self._unmatched.values())
        if not missing:
            return []
        worst = sorted(self._unmatched, key=lambda function: -self._unmatched[function])[:3]
        names = ", ".join(self._shared.functions[function].key.name for function in worst)
        return [
            f"The two builds differ: {missing} of {missing + self._matched} instructions of the good one could not be "
            f"matched (most of them in {names}); relations between them are only seen in one run."
        ]

    def _is_new(self, place: InlinedLine, good_functions: set[int]) -> bool:
        if place.inlined not in good_functions:
            return False  # a function that the good run did not zoom into says nothing about its lines
        maps = [lines for (_, bad_file), lines in self._lines.items() if bad_file == place.file and lines is not None]
        return bool(maps) and all(place.line not in lines.values() for lines in maps)

    def _lines_of(self, good_file: str, bad_file: str) -> dict[int, int] | None:
        """None where one of the sources is not known: then lines count from the function's declaration."""
        key = good_file, bad_file
        if key not in self._lines:
            old, new = self._good_text.get(good_file), self._bad_text.get(bad_file)
            self._lines[key] = matched_lines(old, new) if old and new else None
        return self._lines[key]


def _add(shared: SharedSites, sites: RecordedSites, translation: _Translation | None) -> None:
    numbers = np.full(len(sites), -1, np.int32)
    outer = np.full(len(sites), -1, np.int32)
    by_line: dict[tuple[int, int], list[tuple[Hashable, int]]] = defaultdict(list)
    entry_line = {int(sites.function[row]): int(sites.line[row]) for row in np.flatnonzero(sites.entry).tolist()}
    for row in _ordered(sites):
        declared = sites.functions[int(sites.in_source.function[row])]
        function = shared.function(declared)
        line, file = int(sites.in_source.line[row]), sites.in_source.file[row] or declared.file
        around = sites.functions[int(sites.function[row])]
        outer[row] = shared.function(around)
        place = InlinedLine(int(outer[row]), function, file, line)
        number = shared.place(place if translation is None else translation.place(place, declared.file, declared.line))
        by_line[int(outer[row]), number].append((_what(sites, row), row))
    for line_key, rows in by_line.items():
        aligned = translation.aligned(line_key, rows) if translation is not None else {}
        for _, row in rows:
            numbers[row] = aligned[row] if row in aligned else _number(shared, sites, row, translation)
            if numbers[row] == len(shared.site_place):
                _describe(shared, sites, row, line_key, entry_line)
    shared.of_run[sites.run] = numbers
    shared.function_of_run[sites.run] = outer


def _number(shared: SharedSites, sites: RecordedSites, row: int, translation: _Translation | None) -> int:
    side = "bad" if translation is None else "good"
    return shared.site((side, sites.module_name[int(sites.module[row])], int(sites.offset[row])))


def _describe(
    shared: SharedSites, sites: RecordedSites, row: int, line: tuple[int, int], entry_line: dict[int, int]
) -> None:
    memory, copy = int(sites.memory[row]), bool(sites.copy[row])
    on_stack = bool(memory & MemoryUse.STACK)
    prologue = int(sites.line[row]) == entry_line.get(int(sites.function[row]), -1)
    if sites.inlined[row] != sites.in_source.function[row]:
        shared.header_line[len(shared.site_place)] = sites.file[row], int(sites.line[row])
    shared.site_function.append(shared.function(sites.functions[int(sites.inlined[row])]))
    shared.site_place.append(line[1])
    shared.outer.append(line[0])
    shared.kind.append(int(sites.kind[row]))
    shared.copies.append(copy)
    shared.spills.append(copy and on_stack and bool(memory & MemoryUse.WRITES))
    shared.loads.append(copy and not memory & MemoryUse.WRITES and bool(memory & MemoryUse.READS))
    reload = copy and on_stack and bool(memory & MemoryUse.READS)
    shared.nameless.append(reload or (copy and on_stack and prologue) or int(sites.in_source.line[row]) <= 0)
    shared.entry.append(bool(sites.entry[row]))


def _ordered(sites: RecordedSites) -> list[int]:
    order = np.lexsort((sites.offset, sites.block, sites.function, sites.module))
    return [int(row) for row in order]


def _what(sites: RecordedSites, row: int) -> Hashable:
    return int(sites.kind[row]), bool(sites.copy[row]), int(sites.memory[row]), bool(sites.entry[row])


def _line_key(shared: SharedSites, site: int) -> tuple[int, int]:
    return shared.outer[site], shared.site_place[site]
