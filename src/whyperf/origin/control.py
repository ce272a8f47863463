"""Why code runs at all, or more often: the condition that decides otherwise, else who calls its function more often."""

from __future__ import annotations

from collections import Counter

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, Input
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.callers import call_that_returns_to
from whyperf.origin.points import entry_point
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import Ask, AskControl, AskMemory, CodeHere, Next, Stop, Undecided
from whyperf.origin.trail import Trail, TrailStep
from whyperf.origin.values import ComparedValues

_MOST_TESTS = 24
_MORE = 1.1
"""From what ratio on a function is called more often."""
CALLS = Stop(ChainEnd.NOT_FOLLOWED, "Why the number of calls changed was not found.")
_NO_CONDITION = "No condition that leads to it differs, and its function is called"
_TOO_OFTEN = Undecided(ChainEnd.NOT_FOLLOWED, f"{_NO_CONDITION} too often to count its calls.")
_AS_OFTEN = Undecided(ChainEnd.NOT_FOLLOWED, f"{_NO_CONDITION} as often in good runs.")


def decided(trail: Trail, here: CodeHere, address: int) -> Next:
    """The nearest condition on which the instruction depends, and that compares something else now."""
    levels = _tests(here, address)
    trail.look(((here, one) for level in levels for one in level), "looking for what decides")
    for level in levels:
        seen = ((found, one, each) for one in level for found, each in _inputs(trail, here, one))
        ranked = [one for one in seen if one[0].is_on_both_sides and not _goes_in_circles(trail, here, one[1], one[2])]
        most = max(ranked, key=lambda one: one[0].rank, default=None)
        if most is not None and most[0].differs:
            return _follow(trail, here, *most)
    return called_more(trail, here)


def _goes_in_circles(trail: Trail, here: CodeHere, test: Definition, wanted: Input | None) -> bool:
    """Whether a comparison looks at the very variable in memory that is to be explained."""
    known = {step.name for step in trail.steps if step.kind in (HopKind.VARIABLE, HopKind.STORED) and step.name}
    variables = here.module.variables
    if variables is None or not known:
        return False
    loads = [test] if wanted is None else here.slicer.definitions(test.address, wanted.location)
    return any(
        one.memory is not None and one.reads_memory and variables.name_of(one.address, one.memory) in known
        for one in loads
    )


def _follow(trail: Trail, here: CodeHere, found: ComparedValues, test: Definition, wanted: Input | None) -> Next:
    trail.add_decision(here, test, wanted)
    if wanted is None:
        return AskMemory(here, test)
    return Ask(here.at(test.address), wanted.location, found)


def _inputs(trail: Trail, here: CodeHere, test: Definition) -> list[tuple[ComparedValues, Input | None]]:
    found: list[tuple[ComparedValues, Input | None]] = [
        (trail.input(here, test, each), each) for each in test.inputs if each.location != FLAGS
    ]
    return [*found, (trail.content(here, test), None)] if test.reads_memory else found


def _tests(here: CodeHere, address: int) -> list[list[Definition]]:
    """On which an instruction depends, level by level: what decides, what decides about that, and so on."""
    levels: list[list[Definition]] = []
    met: set[Definition] = set()
    ahead = [address]
    while ahead and len(met) < _MOST_TESTS:
        level = [one for at in ahead for one in _compared_by(here, at) if one not in met]
        level = list(dict.fromkeys(level))
        if not level:
            break
        met |= set(level)
        levels.append(level)
        ahead = [one.address for one in level]
    return levels


def _compared_by(here: CodeHere, address: int) -> list[Definition]:
    """Comparisons that decide whether an instruction runs; of those joined by `and`, all."""
    found = list(here.slicer.deciders(address))
    for one in found:
        if one.reads_flags:
            found += (each for each in here.slicer.definitions(one.address, FLAGS) if each not in found)
    return found


def called_more(trail: Trail, here: CodeHere) -> Next:
    """By whom, and what decides there?"""
    entry = entry_point(here.module.path, here.slicer)
    trail.evidence.count([entry], "counting calls")
    if ("called", entry.key) in trail.asked:
        return Stop(ChainEnd.NOT_FOLLOWED, "The functions call one another in a circle.")
    trail.asked.add(("called", entry.key))
    sides = trail.evidence.both(entry.key)
    if sides is None or not all(one.is_counted for one in sides):
        return Stop(ChainEnd.NOT_FOLLOWED, "How often the function is called could not be seen.")
    good, bad = sides
    compared = ComparedValues(good.sample(good.rows["hit"]), bad.sample(bad.rows["hit"]))
    if not (good.complete and bad.complete) and bad.total and good.total:
        return _TOO_OFTEN
    low, high = sorted((good.total, bad.total))
    if high <= _MORE * low:
        return _AS_OFTEN
    callers = [_callers(one.rows, one.total) for one in sides]
    most = max(callers[1] | callers[0], key=lambda one: abs(callers[1].get(one, 0) - callers[0].get(one, 0)), default=0)
    trail.add(
        TrailStep(HopKind.ENTERED, here.entry, compared, here.module.function_name(here.entry.address), counts=True)
    )
    side = BuildSide.BAD if most in callers[1] else BuildSide.GOOD
    found = call_that_returns_to(trail, side, most, here)
    if isinstance(found, Stop):
        return found
    caller, call = found
    return AskControl(caller, call, CALLS)


def _callers(rows: Rows, total: int) -> dict[int, float]:
    """How often each caller called, by return address: records are bounded, their shares are not."""
    counted = Counter(rows["caller"].tolist())
    return {one: many * total / max(1, counted.total()) for one, many in counted.items()}
