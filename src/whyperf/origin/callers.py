"""From a function's argument to the call that passed it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice

import numpy as np

from whyperf.debuginfo.machines.machine import FlowStep as Leads
from whyperf.debuginfo.slices.definitions import Definition, StackSlot
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.points import entry_point, holds_float, is_recorded, result_in
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import Ask, CodeHere, Next, Stop
from whyperf.origin.supplied import among, narrowed, only_maker, settle
from whyperf.origin.trail import Trail, TrailStep
from whyperf.origin.values import EMPTY, NOTHING, ComparedValues, Sample, cut

_TAIL_CALLS = 3
_TOLD = 4  # callers
_MAIN = "main"


def passed(trail: Trail, here: CodeHere, argument: Definition, used: ComparedValues) -> Next:
    """The caller whose argument differs most, weighed by how often it calls; of one run alone, the one that passes most
    of what is `used`."""
    compared = _by_caller(trail, here, argument)
    if not compared:
        return Stop(ChainEnd.NOT_FOLLOWED, "It is an argument that could not be seen.")
    register = argument.target if isinstance(argument.target, int) else None
    shown = cut(trail.result(here, argument), used.size)  # a caller may leave anything in the upper half
    shown = narrowed(shown, used) if trail.is_alone else shown
    trail.add(TrailStep(HopKind.ARGUMENT, here.entry, shown, trail.name_after(here, argument), register))
    if here.module.function_name(here.entry.address) == _MAIN:
        return Stop(ChainEnd.OUTSIDE, "It is the number of the program's own arguments, or where they are.")
    wanted = NOTHING if isinstance(argument.target, StackSlot) else used
    best = _passes_most(trail, here, argument, wanted) if trail.is_alone else _differs_most(compared)
    if best is None:
        return _not_told(trail, here, len(compared), _places(trail, here, compared))
    call_of = call_that_returns_to(trail, BuildSide.BAD, best, here)
    if isinstance(call_of, Stop):
        return call_of
    caller, call = call_of
    location = argument.target
    if isinstance(location, StackSlot):
        depth = caller.slicer.function.depth[caller.slicer.function.row[call]]
        location = None if depth is None else StackSlot(location.offset - depth, location.size)
    if location is None:
        return Stop(ChainEnd.NOT_FOLLOWED, "It is passed on a stack whose depth is not known.")
    return Ask(caller.at(call), location, shown)


def _differs_most(compared: dict[int, ComparedValues]) -> int:
    return max(compared, key=lambda one: (compared[one].rank * compared[one].bad.total, compared[one].bad.total))


def _passes_most(trail: Trail, here: CodeHere, argument: Definition, used: ComparedValues) -> int | None:
    entry, looked = trail.evidence.point(here.entry.key), trail.evidence.looked(here.entry.key, BuildSide.BAD)
    is_counted = looked is not None and looked.complete
    if entry is not None and not (is_counted and len(_by_caller(trail, here, argument)) == 1):
        trail.evidence.look_again([entry], "counting who passes it")  # by itself: then most of the calls are recorded
        looked = trail.evidence.looked(entry.key, BuildSide.BAD)
    compared = _by_caller(trail, here, argument)
    counts = Counter({caller: int(among(one.bad.values, one.size, used).sum()) for caller, one in compared.items()})
    calls = Counter({caller: one.bad.total for caller, one in compared.items()})
    most = settle(trail, counts if counts.total() else calls, 0, looked)
    return only_maker(compared, used) if most is None else most


def _not_told(trail: Trail, here: CodeHere, calls: int, places: list[str]) -> Stop:
    looked = trail.evidence.looked(here.entry.key, BuildSide.BAD)
    is_counted = looked is not None and looked.complete
    why = "and none of them passes most of the values" if is_counted else "too often to count which passes most"
    listed = f": {', '.join(places)}" if places else ""
    return Stop(ChainEnd.NOT_FOLLOWED, f"{calls} calls pass it, {why}{listed}.")


def _places(trail: Trail, here: CodeHere, callers: Iterable[int]) -> list[str]:
    """The first few."""
    found = [call_that_returns_to(trail, BuildSide.BAD, one, here) for one in islice(callers, _TOLD)]
    return [caller.at(call).in_words for caller, call in (one for one in found if not isinstance(one, Stop))]


def _by_caller(trail: Trail, here: CodeHere, argument: Definition) -> dict[int, ComparedValues]:
    """By return address; empty where arguments cannot be seen, as a second one in a vector register."""
    entry = entry_point(here.module.path, here.slicer)
    if not is_recorded(trail.evidence.point(entry.key), argument):
        return {}
    found: defaultdict[int, list[Sample]] = defaultdict(lambda: [EMPTY, EMPTY])
    for side in BuildSide:
        looked = trail.evidence.looked(entry.key, side)
        if looked is None:
            return {}
        values = looked.rows["hit"] if isinstance(argument.target, StackSlot) else result_in(looked.rows, argument)
        for caller in np.unique(looked.rows["caller"]).tolist():
            mine = looked.rows["caller"] == caller
            key = _common(trail, side, caller)
            found[key][side] = Sample(
                values[mine], looked.rows["hit"][mine], int(mine.sum()), looked.complete, is_float=holds_float(argument)
            )
    return {caller: ComparedValues(good, bad, argument.size) for caller, (good, bad) in found.items()}


def _common(trail: Trail, side: BuildSide, caller: int) -> int:
    """Callers of the good run by where the bad run has them: addresses may differ by the bias, or by the build."""
    modules = trail.evidence.modules
    if side is BuildSide.BAD or modules[0] == modules[1]:
        return caller
    found = trail.code.locate(side, modules[side], caller)
    if found is None:
        return caller
    biases = dict(modules[BuildSide.BAD])
    return found.address + biases.get(str(found.module.path), 0)


def call_that_returns_to(trail: Trail, side: BuildSide, address: int, callee: CodeHere) -> tuple[CodeHere, int] | Stop:
    """The function and address of the call behind which an address of a run lies; through calls at functions' ends,
    whose callers do not show, to the jump that leads to `callee`."""
    at = trail.code.locate(side, trail.evidence.modules[side], address - 1)
    if at is None:
        return Stop(ChainEnd.NOT_FOLLOWED, "It is called from code that belongs to no file.")
    name = callee.module.function_name(callee.entry.address)
    if not trail.code.is_program(at.module):
        jumps = (
            _jump_to(callee, main, callee.slicer.function.entry, _TAIL_CALLS) for main in callee.module.entries("main")
        )
        jump = next((one for one in jumps if one is not None), None)  # `return serve(...)` at the end of main()
        return (
            jump if jump is not None else Stop(ChainEnd.NOT_FOLLOWED, f"{name}() is called by {at.module.path.name}.")
        )
    here = trail.here(at)
    call = here.slicer.function.ending_at(at.address + 1) if here is not None else None
    if here is None or call is None:
        return Stop(ChainEnd.NOT_FOLLOWED, f"The call of {name}() was not found.")
    target = None if call.target is None else here.module.callee(call).entry
    if target is not None and target != callee.slicer.function.entry:
        jump = _jump_to(here, target, callee.slicer.function.entry, _TAIL_CALLS)
        return (
            jump if jump is not None else Stop(ChainEnd.NOT_FOLLOWED, f"{name}() is called through another function.")
        )
    return here, call.address


def _jump_to(here: CodeHere, entry: int, wanted: int, depth: int) -> tuple[CodeHere, int] | None:
    slicer = here.module.slicer_at(entry)
    if slicer is None:
        return None
    inside = CodeHere(here.module, slicer)
    leaving = [one for one in slicer.function.code if one.step is Leads.JUMP and one.target not in slicer.function.row]
    for one in leaving:
        if one.target == wanted:
            return inside, one.address
    for one in leaving if depth else ():
        if one.target is not None and (found := _jump_to(inside, one.target, wanted, depth - 1)) is not None:
            return found
    return None
