"""What both sides of a comparison call the same: functions, places in the source, instructions, classes of regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.engines.arrays import Bools, Int8s, Int32s
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.deep_tables import RegionKind

NONE = -1


@dataclass(frozen=True)
class CataloguedFunction:
    key: FunctionKey
    file: str
    line: int  # of its declaration, in the bad build
    own: bool = True  # the program's own code, not a system library's


@dataclass(frozen=True)
class InlinedLine:
    """A source line within a function."""

    function: int  # the out-of-line one
    inlined: int
    """The one that the line belongs to: the same where nothing is inlined. Never one of a system header that is inlined
    in the program's own code: its code is at the line that calls it."""
    file: str
    line: int
    """In the bad build where it has the line, else in the good one."""
    only_in: str = ""
    """`good` or `bad` for a line that the other build does not have."""


@dataclass(frozen=True)
class RegionClass:
    """Regions that are instances of the same piece of code."""

    kind: RegionKind
    function: int  # the out-of-line one
    place: int  # activation: of the entry; loop, iteration: of the loop's test; arm: of the branch
    decision: int
    """The branch that decides for iterations and arms; NONE otherwise."""
    target: int = NONE  # of arms: the place where the arm begins


@dataclass(frozen=True, eq=False)
class Catalogue:
    functions: tuple[CataloguedFunction, ...]
    places: tuple[InlinedLine, ...]
    classes: tuple[RegionClass, ...]
    site_function: Int32s  # the innermost function, by site
    site_place: Int32s
    header_line: Mapping[int, tuple[str, int]]
    """By site whose code is a system header's: its file and line there."""
    site_kind: Int8s  # SiteKind
    copies: Bools  # by site: only moves a value
    spills: Bools  # by site: stores a local variable or a saved register
    loads: Bools  # by site: only reads memory into a register
    nameless: Bools  # by site: never named as a cause: reloads, saved registers, parameters on entry
    entry: Bools  # by site: a function starts here
    decisions: tuple[int, ...]
    """The site of the branch, by decision; NONE for a loop whose test is not known."""
    exits: frozenset[tuple[int, int]]
    """Decision of a loop and site of a branch that was seen to end it."""
    notes: tuple[str, ...] = ()

    @property
    def sites(self) -> int:
        return len(self.site_place)

    def name(self, function: int) -> str:
        return self.functions[function].key.name

    def header_function(self, decision: int) -> str:
        """Name, without its template's arguments, of the system header's function that a decision belongs to, inlined
        in the program's own code; empty: it does not."""
        site = self.decisions[decision] if decision != NONE else NONE
        if site not in self.header_line:
            return ""
        name = self.name(int(self.site_function[site]))
        return name if "operator" in name else name.partition("<")[0]
