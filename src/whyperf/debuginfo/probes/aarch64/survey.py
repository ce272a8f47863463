"""One look at all aarch64 code with unwind rows, by columns: instructions are words, whatever they are.

A stretch is not understood, and left alone as a whole, if it may hold data: words that no processor executes, words
that are loaded from among the code, and jumps and calls that lead out of the file's code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import AARCH64
from whyperf.debuginfo.machines.machine import Row
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.aarch64.words import Form, Truths, Words
from whyperf.debuginfo.probes.back_edges import BackEdge, back_edges
from whyperf.debuginfo.probes.pointers import pointed_at
from whyperf.debuginfo.probes.stretches import Stretch, stretches
from whyperf.debuginfo.probes.survey import Leaving, SurveyedFunction

_LONGEST_LITERAL = 16
_REGISTERS = 31

Rows = npt.NDArray[np.int64]


@dataclass(eq=False)
class ArmSurvey:
    functions: list[SurveyedFunction] = field(default_factory=list)
    not_understood: int = 0
    jumped_to: frozenset[int] = frozenset()
    """What a jump within its own stretch leads to."""
    pointed: frozenset[int] = frozenset()
    """Places whose address is taken."""
    sets_thread_pointer: bool = False


class SurveyedCode:
    """The words of a file's executable segments as a column. Linkers put constants there, too: what lies in no
    stretch is not looked at."""

    def __init__(self, elf: ElfFile, image: Image, bodies: Iterable[Stretch] = ()) -> None:
        self.stretches = list(stretches(elf, image, bodies))
        self.low = np.array([one.low for one in self.stretches], np.int64)
        self.high = np.array([one.high for one in self.stretches], np.int64)
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        self._segments: list[tuple[int, int]] = []
        rows = 0
        for segment in sorted(elf.segments, key=lambda one: one.address):
            if segment.executable and segment.address % words.BYTES == 0:
                content = image.read(segment.address, segment.file_size)
                word = np.frombuffer(content[: len(content) // words.BYTES * words.BYTES], "<u4").astype(np.int64)
                parts.append((segment.address + words.BYTES * np.arange(len(word)), word))
                self._segments.append((segment.address, rows))
                rows += len(word)
        self.address: Words = np.concatenate([address for address, _ in parts])
        self.word: Words = np.concatenate([word for _, word in parts])
        self.stretch = self.stretches_at(self.address)

    def stretches_at(self, addresses: Words) -> Rows:
        """-1 for addresses in none."""
        if not self.stretches:
            return np.full(len(addresses), -1)
        row = np.searchsorted(self.low, addresses, "right") - 1
        return np.where((row >= 0) & (addresses < self.high[row]), row, -1)

    def holds(self, addresses: Words) -> Truths:
        """Whether words were read there."""
        if not len(self.address):
            return np.zeros(len(addresses), np.bool_)
        row = np.minimum(np.searchsorted(self.address, addresses), len(self.address) - 1)
        found: Truths = self.address[row] == addresses
        return found

    def of(self, form: Form) -> Rows:
        return np.flatnonzero(form.among(self.word) & (self.stretch >= 0))

    def row(self, address: int) -> int:
        """Of an address in a stretch that was read as a whole, or of its end."""
        low, first = max(one for one in self._segments if one[0] <= address)
        return first + (address - low) // words.BYTES

    def at(self, row: int) -> tuple[int, int]:
        return int(self.address[row]), int(self.word[row])

    def rows_of(self, stretch: Stretch) -> Iterator[Row]:
        """Decoded."""
        first, last = self.row(stretch.low), self.row(stretch.high)
        return AARCH64.rows(self.word[first:last].astype("<u4").tobytes(), stretch.low)


def survey(elf: ElfFile, image: Image, code: SurveyedCode) -> ArmSurvey:
    directed = _directed(code)
    stays = ~directed.is_call & (directed.stretch == code.stretches_at(directed.target))
    leaving = _leaving(code, directed, ~stays)
    functions = [
        SurveyedFunction(stretch, left)
        for stretch, left, sound in zip(code.stretches, leaving, _understood(code, directed).tolist(), strict=True)
        if sound
    ]
    pointers = pointed_at(elf, image, among_code=True)
    return ArmSurvey(
        functions,
        len(code.stretches) - len(functions),
        frozenset(directed.target[stays].tolist()),
        frozenset(pointers.tolist()).union(_named(code).tolist()),
        bool(len(code.of(Form.SET_THREAD_POINTER))),
    )


@dataclass(frozen=True, eq=False)
class _Directed:
    """Calls and jumps by a distance."""

    address: Words
    stretch: Rows
    target: Words
    is_call: Truths


def _directed(code: SurveyedCode) -> _Directed:
    forms = {
        Form.CALL: words.jump_distance,
        Form.JUMP: words.jump_distance,
        Form.CONDITIONAL: words.condition_distance,
        Form.COMPARE_AND_JUMP: words.condition_distance,
        Form.TEST_AND_JUMP: words.test_distance,
    }
    rows = {form: code.of(form) for form in forms}
    every = np.concatenate(list(rows.values()))
    distance = np.concatenate([forms[form](code.word[rows[form]]) for form in forms])
    is_call = np.concatenate([np.full(len(rows[form]), form is Form.CALL) for form in forms])
    return _Directed(code.address[every], code.stretch[every], code.address[every] + distance, is_call)


def _leaving(code: SurveyedCode, directed: _Directed, leaves: Truths) -> list[list[Leaving]]:
    """Of each stretch, by address."""
    found: list[list[Leaving]] = [[] for _ in code.stretches]
    columns = (directed.stretch, directed.address, directed.target, directed.is_call)
    for stretch, address, target, is_call in zip(*(column[leaves].tolist() for column in columns), strict=True):
        found[stretch].append(Leaving(address, words.BYTES, target, is_call))
    for form in (Form.CALL_BY_REGISTER, Form.SIGNED_CALL, Form.JUMP_BY_REGISTER):
        rows = code.of(form)
        for stretch, address in zip(code.stretch[rows].tolist(), code.address[rows].tolist(), strict=True):
            found[stretch].append(Leaving(address, words.BYTES, None, form is not Form.JUMP_BY_REGISTER))
    for one in found:
        one.sort(key=lambda leaving: leaving.address)
    return found


def _understood(code: SurveyedCode, directed: _Directed) -> Truths:
    whole: Truths = (code.low % words.BYTES == 0) & (code.high % words.BYTES == 0)
    whole &= code.holds(code.low) & code.holds(code.high - words.BYTES)
    loads = code.of(Form.NEAR_LOAD)
    literal = words.literal_named(code.address[loads], code.word[loads])
    suspects = [
        code.stretch[~words.is_allocated(code.word)],
        directed.stretch[~code.holds(directed.target)],
        *(code.stretches_at(literal + at) for at in range(0, _LONGEST_LITERAL, words.BYTES)),
    ]
    inside = np.concatenate(suspects)
    whole[inside[inside >= 0]] = False
    return whole


def _named(code: SurveyedCode) -> Words:
    """Addresses that code makes. A sum is taken for one with the page that was put into its register last, in the order
    of addresses: too many do no harm."""
    near = code.of(Form.NEAR_ADDRESS)
    found = [words.address_named(code.address[near], code.word[near])]
    pages, adds = code.of(Form.PAGE), code.of(Form.ADD)
    page = words.page_named(code.address[pages], code.word[pages])
    page_register = words.first_register(code.word[pages])
    add_register = words.second_register(code.word[adds])
    for register in range(_REGISTERS):
        own_pages, own_adds = np.flatnonzero(page_register == register), adds[add_register == register]
        last = np.searchsorted(pages[own_pages], own_adds) - 1
        own_adds, last = own_adds[last >= 0], own_pages[last[last >= 0]]
        together = code.stretch[own_adds] == code.stretch[pages[last]]
        found.append((page[last] + words.number_added(code.word[own_adds]))[together])
    return np.unique(np.concatenate(found))


def iterating(code: SurveyedCode, stretch: Stretch) -> tuple[list[BackEdge], list[Row]]:
    """Jumps back to the beginning of loops, and the instructions that they are numbers of."""
    rows = list(code.rows_of(stretch))
    return list(back_edges(AARCH64, rows, stretch.low, stretch.high)), rows
