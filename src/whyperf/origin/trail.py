"""The way back so far, and what was seen on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input, Location
from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import HopKind
from whyperf.origin.evidence import MOST_POINTS, OriginEvidence
from whyperf.origin.points import (
    FLOATS,
    Point,
    content_in,
    holds_float,
    input_in,
    is_recorded,
    point_of,
    result_in,
    vector_made,
)
from whyperf.origin.program_code import BuildSide, CodeAddress, ProgramCode
from whyperf.origin.questions import CodeHere, Stop
from whyperf.origin.values import NOTHING, UNSEEN, ComparedValues, Sample


@dataclass(frozen=True, eq=False)
class TrailStep:
    """One instruction on the way, with what was compared there."""

    kind: HopKind
    at: CodeAddress
    compared: ComparedValues
    name: str
    """Of the variable whose value that is; empty: unknown."""
    register: int | None = None
    """General or vector, that holds the value, for those who would change it; None: memory, or nothing."""
    after: bool = False
    """The register holds it after the instruction, else before."""
    counts: bool = False
    """How often it runs is compared, not values."""
    callee: str = ""
    """Of values that were returned: by which function."""
    deep: bool = False
    """A run under Valgrind led here."""

    changed: SourcePlace | None = None
    """The source function whose code differs between the builds, where that is why the way ends here."""

    share: float = 1.0
    """Of one run alone: of the values of the step before, those that came from here."""

    is_reached_in_good: bool = True
    """False: good runs were seen not to come here; `compared` is then what the value was where it is used."""

    @property
    def can_differ(self) -> bool:
        """Whether enough is known of good and bad runs to tell them apart here."""
        if self.counts:
            return self.compared.counts_differ
        return self.compared.is_known and not self.compared.may_be_alike

    @property
    def is_at_entry(self) -> bool:
        """Whether it stands for a function as a whole."""
        slicer = self.at.slicer
        begins = slicer is not None and slicer.function.entry == self.at.address
        return begins and self.kind in (HopKind.ARGUMENT, HopKind.ENTERED, HopKind.RETURNED)


@dataclass
class Trail:
    code: ProgramCode
    evidence: OriginEvidence
    steps: list[TrailStep] = field(default_factory=list)
    asked: set[object] = field(default_factory=set)
    otherwise: Stop | None = None
    """Why the way ends that is certain, should it be lost from here on."""
    next_share: float = 1.0
    """Of the step that is added next."""
    _beside: dict[tuple[Path, int, Location | None], Point] = field(default_factory=dict)
    """Points of definitions that share their instruction with another one that is looked at."""

    @property
    def is_alone(self) -> bool:
        """Whether there is one run only, with nothing to compare."""
        return self.evidence.is_alone

    def here(self, at: CodeAddress) -> CodeHere | None:
        slicer = at.slicer
        return None if slicer is None else CodeHere(at.module, slicer)

    def look(
        self,
        wanted: Iterable[tuple[CodeHere, Definition]],
        why: str,
        extra: Iterable[Point] = (),
        *,
        most: int = MOST_POINTS,
    ) -> None:
        """At all definitions, and at the entries of their functions."""
        points: dict[tuple[Path, int], Point] = {}
        entries: dict[tuple[Path, int], Point] = {}
        for here, one in wanted:
            entry = Point(here.module.path, here.slicer.function.entry, is_entry=True)
            entries[entry.key] = entry
            point = self.point(here, one)
            if point is None:
                continue
            taken = points.get(point.key) or self.evidence.point(point.key)
            if taken is not None and _conflict(taken, point):
                point = None if one.kind is DefinitionKind.ARGUMENT else self._aside(here, one)
            if point is not None:
                points[point.key] = points[point.key].joined(point) if point.key in points else point
        for point in extra:
            points[point.key] = points[point.key].joined(point) if point.key in points else point
        for key, entry in entries.items():
            points[key] = points[key].joined(entry) if key in points else entry
        self.evidence.look(points.values(), why, most)

    def count(self, wanted: Iterable[tuple[CodeHere, Definition]], why: str) -> None:
        points = [self.point(here, one) for here, one in wanted]
        self.evidence.count([one for one in points if one is not None], why)

    def point(self, here: CodeHere, one: Definition) -> Point | None:
        """Where it is looked at; None: nowhere."""
        beside = self._beside.get((here.module.path, one.address, one.target))
        return beside if beside is not None else point_of(here.entry, here.slicer, one)

    def _aside(self, here: CodeHere, one: Definition) -> Point | None:
        """The next instruction, where the value still is in its register."""
        function = here.slicer.function
        row = function.row[one.address]
        following = row + 1
        if following >= len(function.code) or list(function.before(following)) != [row]:
            return None
        point = Point(here.module.path, function.code[following].address, vector=vector_made(one))
        self._beside[here.module.path, one.address, one.target] = point
        return point

    def is_seen(self, here: CodeHere, one: Definition) -> bool:
        point = self.point(here, one)
        return point is None or self.evidence.serves(point)

    def result(self, here: CodeHere, one: Definition) -> ComparedValues:
        """What a definition made."""
        point = self.point(here, one)
        beside = (here.module.path, one.address, one.target) in self._beside
        register = one.target if isinstance(one.target, int) and one.target >= 0 else None

        def values(side: BuildSide) -> Sample:
            looked = self.evidence.looked(point.key, side) if point is not None else None
            if looked is None:
                return UNSEEN
            known = self.evidence.point(point.key) if point is not None else None
            if beside and register is not None:
                if register >= VECTOR and (known is None or known.vector != register):
                    return UNSEEN
                return looked.sample(input_in(looked.rows, Input(register, one.size)), is_float=holds_float(one))
            if not is_recorded(known, one):
                return UNSEEN
            return looked.sample(result_in(looked.rows, one), is_float=holds_float(one))

        return ComparedValues(values(BuildSide.GOOD), values(BuildSide.BAD), one.size)

    def input(self, here: CodeHere, one: Definition, wanted: Input) -> ComparedValues:
        """What a register held that a definition reads; of an unrecorded vector register, what was put there."""
        key, is_vector = (here.module.path, one.address), wanted.location >= VECTOR
        known = self.evidence.point(key)
        if is_vector and (known is None or known.vector != wanted.location):
            made = (self.result(here, each) for each in here.slicer.definitions(one.address, wanted.location))
            return max(made, key=lambda each: (each.is_on_both_sides, each.rank), default=NOTHING)
        is_float = is_vector and wanted.size in FLOATS
        found = [self.evidence.looked(key, side) for side in BuildSide]
        good, bad = (
            UNSEEN if each is None else each.sample(input_in(each.rows, wanted), is_float=is_float) for each in found
        )
        return ComparedValues(good, bad, wanted.size)

    def content(self, here: CodeHere, one: Definition) -> ComparedValues:
        """What the memory held that a definition reads."""
        point = self.evidence.point((here.module.path, one.address))
        if point is not None and point.memory != one.memory:  # the other one of a pair
            return self.result(here, one) if one.kind is DefinitionKind.LOAD else NOTHING
        sides = self.evidence.both((here.module.path, one.address))
        if sides is None:
            return NOTHING
        is_text = one.kind is DefinitionKind.LOAD and one.target is None
        is_float = holds_float(one)
        good, bad = (each.sample(content_in(each.rows, one), is_text=is_text, is_float=is_float) for each in sides)
        return ComparedValues(good, bad, one.memory.size if one.memory is not None else 8)

    def counts(self, here: CodeHere, one: Definition) -> tuple[int, int]:
        point = self.point(here, one)
        found = [None if point is None else self.evidence.looked(point.key, side) for side in BuildSide]
        good, bad = (0 if each is None else each.total for each in found)
        return good, bad

    def name_after(self, here: CodeHere, one: Definition) -> str:
        """Of the variable that has the value which a definition makes; empty: none is known to."""
        variables, function = here.module.variables, here.slicer.function
        if variables is None:
            return ""
        if one.kind is DefinitionKind.ARGUMENT and one.target is not None:
            return variables.name_of(one.address, one.target)
        if one.kind is DefinitionKind.STORE and one.memory is not None:
            return variables.name_of(one.address, one.memory)
        instruction = function.at(one.address)
        if instruction is None or one.target is None:
            return ""
        named = variables.name_of(instruction.end, one.target)
        if not named and one.kind is DefinitionKind.LOAD and one.memory is not None:
            named = variables.name_of(one.address, one.memory)
        return named

    def name_before(self, here: CodeHere, address: int, location: Location) -> str:
        variables = here.module.variables
        return "" if variables is None else variables.name_of(address, location)

    def add(self, step: TrailStep) -> None:
        self.steps.append(replace(step, share=self.next_share))
        self.next_share = 1.0

    def supplies(self, share: float) -> None:
        """Notes that so many of the values come from where the way goes on."""
        self.next_share *= share

    def add_decision(self, here: CodeHere, test: Definition, wanted: Input | None) -> None:
        """A comparison, by the input that differs; None: what it reads from memory."""
        variables = here.module.variables
        where = test.memory if wanted is None else wanted.location
        name = "" if variables is None or where is None else variables.name_of(test.address, where)
        compared = self.content(here, test) if wanted is None else self.input(here, test, wanted)
        register = None if wanted is None or wanted.location == FLAGS else wanted.location
        self.add(TrailStep(HopKind.DECIDED, here.at(test.address), compared, name, register))

    def add_result(
        self, here: CodeHere, one: Definition, kind: HopKind, compared: ComparedValues, callee: str = ""
    ) -> None:
        register = one.target if isinstance(one.target, int) and one.target >= 0 else None
        name = self.name_after(here, one)
        good, bad = self.counts(here, one)
        self.add(
            TrailStep(
                kind,
                here.at(one.address),
                compared,
                name,
                register,
                register is not None,
                callee=callee,
                is_reached_in_good=bool(good) or not bad,
            )
        )


def _conflict(taken: Point, wanted: Point) -> bool:
    """Whether one look cannot serve both."""
    registers = taken.register is not None and wanted.register is not None and taken.register != wanted.register
    vectors = taken.vector is not None and wanted.vector is not None and taken.vector != wanted.vector
    memories = taken.memory is not None and wanted.memory is not None and taken.memory != wanted.memory
    return registers or vectors or memories
