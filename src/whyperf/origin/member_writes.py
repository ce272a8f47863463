"""All stores to the member that is read: which of them became rarer?"""

from __future__ import annotations

import re

import numpy as np

from whyperf.debuginfo.slices.definitions import Definition
from whyperf.debuginfo.slices.member_stores import stores_to_member
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.program_code import BuildSide, is_of_system
from whyperf.origin.questions import AskControl, CodeHere, Read, Stop
from whyperf.origin.trail import Trail, TrailStep

_MORE_RARELY = Stop(ChainEnd.NOT_FOLLOWED, "Why it is written more rarely was not found.")
_SCAN_S = 5.0
_RARER = 0.9
_MOST_COUNTED = 16
"""Stores: each stops the program up to 100,000 times."""
_RUNS_TO_COUNT = 2
_MEMBER = re.compile(r"->|\.")


def is_rarer(count: float, other: float) -> bool:
    return count < _RARER * other


def is_member(name: str) -> bool:
    return _MEMBER.search(name) is not None


def member_of(name: str) -> str:
    """`rounds` of `one->rounds`, and of `rounds`."""
    return _MEMBER.split(name)[-1]


def likely_stores(read: Read) -> list[tuple[Definition, str]]:
    """To such a member, with what debug information calls it: without those that it calls otherwise, or that a system's
    headers brought along."""
    if read.definition is None or read.definition.memory is None:
        return []
    variables, member = read.here.module.variables, member_of(read.name)
    found = []
    for one in stores_to_member(read.here.module, read.definition.memory, _SCAN_S):
        name = "" if variables is None or one.memory is None else variables.name_of(one.address, one.memory)
        if (name and member and member_of(name) != member) or is_of_system(read.here.module, one.address):
            continue
        found.append((one, name))
    return found


def written_more_rarely(trail: Trail, read: Read, here: CodeHere, store: Definition) -> AskControl:
    """Goes on with why a store runs more rarely than in good runs, which have been counted."""
    written = trail.result(here, store)
    trail.add(TrailStep(HopKind.STORED, here.at(store.address), written, read.name, counts=True))
    return AskControl(here, store.address, _MORE_RARELY)


def another_became_rarer(trail: Trail, read: Read, here: CodeHere, store: Definition) -> AskControl | None:
    """A store writes the same in good and bad runs, and writes last in both: then of the others the one that became
    rarer, if it wrote in good runs where is read. None: there is none, or the store itself runs more often."""
    others = [
        (CodeHere(read.here.module, slicer), one)
        for one, name in likely_stores(read)
        if name and one.address != store.address and (slicer := read.here.module.slicer_at(one.address)) is not None
    ]
    if not 0 < len(others) <= _MOST_COUNTED or not trail.evidence.has_room(_RUNS_TO_COUNT):
        return None
    trail.count([(here, store), *others], "counting writes to the member")
    was, now = trail.counts(here, store)
    if is_rarer(was, now):
        return None
    usual = min(1.0, now / max(1, was))
    counted = [(trail.counts(*one), one) for one in others]
    rarer = [
        (is_now / was_once, one)
        for (was_once, is_now), one in counted
        if is_rarer(is_now, usual * was_once) and _writes_what_is_read(trail, read, *one)
    ]
    if not rarer:
        return None
    _, (its_code, rarest) = min(rarer, key=lambda each: each[0])
    return written_more_rarely(trail, read, its_code, rarest)


def _writes_what_is_read(trail: Trail, read: Read, here: CodeHere, store: Definition) -> bool:
    """Whether in good runs it wrote to an address that is read there."""
    reads = trail.evidence.looked(read.reader.key, BuildSide.GOOD)
    writes = trail.evidence.looked((here.module.path, store.address), BuildSide.GOOD)
    if reads is None or writes is None:
        return False
    return bool(np.isin(writes.rows["memory_address"], reads.rows["memory_address"]).any())
