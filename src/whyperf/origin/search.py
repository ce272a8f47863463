"""The search: from a start back to where a value was made, in pairs of good and bad runs, or in runs of one command."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from whyperf.collect.dependences.last_writers import last_writers
from whyperf.collect.observation.run import observe as observe_run
from whyperf.collect.sampling.sampler import tables_folder
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program, executed_file
from whyperf.diagnose.origin import ChainEnd, HopKind, Origin
from whyperf.origin.control import CALLS, decided
from whyperf.origin.evidence import Bounds, KnownPlaces, Observe, Observing, OriginEvidence, OutOfBudgetError, Targets
from whyperf.origin.forcible import ForcibleSite, forcible_sites
from whyperf.origin.hops import Grouped, as_hop, grouped, turn, where_many_become_few
from whyperf.origin.last_writers import shown_by_valgrind
from whyperf.origin.made_of import values_of_line
from whyperf.origin.memory import who_wrote, written
from whyperf.origin.points import Point
from whyperf.origin.program_code import ProgramCode
from whyperf.origin.questions import Ask, AskControl, AskMemory, Next, Read, Stop, Undecided, WriterUnknown
from whyperf.origin.shown import listed
from whyperf.origin.source_text import read_line
from whyperf.origin.spreadable import SpreadableSite, spreadable_sites
from whyperf.origin.starts import Start, StartAtCalls, StartAtLine, StartingPoint, calls_at, starting_points
from whyperf.origin.trail import Trail, TrailStep
from whyperf.origin.values import ComparedValues
from whyperf.origin.within_function import explain

_MOST_HOPS = 12
_MOST_STARTS = 3
_MORE = 1.1
"""From what ratio on a place is passed more often."""
_MOST_STEPS = 40
_NOT_SEEN = "No difference was found among the values that were seen."
_TOO_FEW = "Too few of its values differ to follow them."
_RUNS_MORE = Stop(ChainEnd.NOT_FOLLOWED, "Why it runs more often was not found.")


@dataclass(frozen=True)
class FoundOrigin:
    origin: Origin
    forcible: tuple[tuple[ForcibleSite, ...], ...]
    """Of each hop: where its value could be forced."""
    counts: tuple[bool, ...]
    """Of each hop: it is how often code runs, and no value."""
    spreadable: tuple[tuple[SpreadableSite, ...], ...] = ()
    """Of each hop, where many values become few: where they could be spread evenly."""


class KnownPrograms:
    """What searches have read of two programs, and seen in their runs."""

    def __init__(self, good: Program, bad: Program) -> None:
        self.code = ProgramCode(executed_file(good), executed_file(bad), tables_folder())
        self.places = KnownPlaces()


def search(
    start: Start,
    good: Program,
    bad: Program,
    *,
    lifecycles: tuple[Lifecycle, Lifecycle] = (Lifecycle(), Lifecycle()),
    environment: Mapping[str, str],
    budget_s: float = 300.0,
    most_runs: int = 20,
    progress: Callable[[str], None] = lambda _: None,
    observe: Observe = observe_run,
    deep: bool = False,
    known: KnownPrograms | None = None,
    alone: bool = False,
) -> FoundOrigin:
    """Who set the value that decides at `start`? Good and bad runs are compared at every hop. `known`: of searches in
    the same programs. `deep`: where they do not tell who wrote to memory, the programs are run under Valgrind. `alone`:
    only the bad program is run, and nothing is compared; the hops are who supplied most of the values."""
    begun = time.monotonic()
    known = known or KnownPrograms(good, bad)
    code = known.code
    targets = Targets((good, bad), lifecycles, environment, alone)
    bounds = Bounds(most_runs, begun + budget_s, budget_s)
    evidence = OriginEvidence(
        code, targets, bounds, Observing(observe, progress, last_writers if deep else None), known.places
    )
    trail, stop = _best_way(code, evidence, start, targets, most_runs)
    groups = _readable(grouped(trail.steps, read_line))
    few = None if alone else where_many_become_few(groups, stop.end)
    turns = None if alone else turn(groups, stop.end) if few is None else few
    origin = Origin(
        hops=tuple(as_hop(one, read_line, is_alone=alone) for one in groups),
        end=stop.end,
        sentence=" ".join((stop.sentence, *evidence.unseen)),
        turn=turns,
        is_alone=alone,
        runs=evidence.runs,
        seconds=time.monotonic() - begun,
        narrows=few is not None,
    )
    return FoundOrigin(
        origin,
        tuple(forcible_sites(one.steps, code) for one in groups),
        tuple(all(step.counts for step in one.steps) for one in groups),
        tuple(spreadable_sites(one.steps, code) if few is not None else () for one in groups),
    )


def _best_way(
    code: ProgramCode, evidence: OriginEvidence, start: Start, targets: Targets, most_runs: int
) -> tuple[Trail, Stop]:
    """From the place of the start that differs most; from the next one where that leads nowhere."""
    trail = Trail(code, evidence)
    if isinstance(start, StartAtCalls):
        return trail, _from_calls(trail, start, targets)
    points = starting_points(code.module(start.binary), start)
    try:
        trail.look(((one.here, one.definition) for one in points), "looking at the start")
    except OutOfBudgetError as error:
        return trail, Stop(ChainEnd.NOT_FOLLOWED, f"Not followed: {error}.")
    differing = sorted(
        (one for one in points if _worth(trail, one)[0]), key=lambda one: _worth(trail, one), reverse=True
    )
    if not differing:
        return trail, _by_counts(trail, points, targets)
    if trail.is_alone and isinstance(start, StartAtLine):
        one_value = values_of_line(trail, differing)
        if isinstance(one_value, Stop):
            return trail, one_value
        differing = one_value
    if trail.is_alone and (tied := _tied(trail, differing)):
        return trail, tied
    ways = []
    for point in _apart(differing)[:_MOST_STARTS]:
        way = Trail(code, evidence)
        ways.append((way, _from(way, point, targets)))
        if _leads_somewhere(*ways[-1]) or evidence.runs > most_runs // 2:
            break
    return max(ways, key=lambda way: (_leads_somewhere(*way), len(grouped(way[0].steps, read_line))))


def _tied(trail: Trail, points: list[StartingPoint]) -> Stop | None:
    """Of one run alone: the value is read as often in two places, and made by others in each."""
    first, *others = _apart(points)
    tied = [one for one in (first, *others) if _worth(trail, one) == _worth(trail, first)]
    if len(tied) < 2:
        return None
    lines = sorted({one.here.module.line(one.definition.address)[1] for one in tied} - {0})
    if len(lines) < 2:
        where, advice = f"{len(tied)} places{''.join(f' in line {line}' for line in lines)}", ""
    else:
        where, advice = f"Lines {listed(map(str, lines))}", ": follow one of them with --line"
    different = "and different code makes it for each"
    return Stop(ChainEnd.NOT_FOLLOWED, f"{where} read it equally often, {different}{advice}.")


def _from_calls(trail: Trail, start: StartAtCalls, targets: Targets) -> Stop:
    """From the call that runs more often, or less, to what decides that it runs."""
    calls = calls_at(trail.code.module(start.binary), start)
    points = {Point(here.module.path, address).key: (here, address) for here, address in calls}
    try:
        trail.evidence.count([Point(*key) for key in points], "counting calls")
    except OutOfBudgetError as error:
        return Stop(ChainEnd.NOT_FOLLOWED, f"Not followed: {error}.")
    counted = [
        (ComparedValues(good.sample(good.rows["hit"]), bad.sample(bad.rows["hit"])), place)
        for key, place in points.items()
        if (sides := trail.evidence.both(key)) is not None
        for good, bad in [sides]
    ]
    differing = [one for one in counted if one[0].counts_differ]
    if not differing and not (counted and all(compared.are_complete for compared, _ in counted)):
        return Stop(ChainEnd.NOT_FOLLOWED, "The calls of the line could not all be counted.")
    if not differing:
        return Stop(ChainEnd.NO_DIFFERENCE, "The line calls as often in good and bad runs.")
    compared, (here, address) = max(differing, key=lambda one: abs(one[0].bad.total - one[0].good.total))
    trail.add(TrailStep(HopKind.VARIABLE, here.at(address), compared, f"{start.callee}()", counts=True))
    return walk_back(trail, AskControl(here, address, CALLS), targets)


def _leads_somewhere(trail: Trail, stop: Stop) -> bool:
    return stop.end not in (ChainEnd.NOT_FOLLOWED, ChainEnd.ADDRESS) and len(grouped(trail.steps, read_line)) > 1


def _apart(points: list[StartingPoint]) -> list[StartingPoint]:
    """One of each value: the same definitions make what several places read."""
    found: dict[object, StartingPoint] = {}
    for one in points:
        made: object = (one.definition.memory, one.here.module.path)
        if one.wanted is not None:
            made = one.here.slicer.definitions(one.definition.address, one.wanted.location)
        found.setdefault(made, one)
    return list(found.values())


def _from(trail: Trail, best: StartingPoint, targets: Targets) -> Stop:
    compared = compared_at(trail, best)
    address, wanted = best.definition.address, best.wanted
    name = best.name or ("" if wanted is None else trail.name_before(best.here, address, wanted.location))
    register = wanted.location if wanted is not None else None
    trail.add(TrailStep(HopKind.VARIABLE, best.here.at(address), compared, name, register))
    if wanted is None:
        return walk_back(trail, AskMemory(best.here, best.definition), targets)
    return walk_back(trail, Ask(best.here.at(address), wanted.location, compared), targets)


def _worth(trail: Trail, point: StartingPoint) -> tuple[float, int, int]:
    """Differing values first, then how the place uses them; addresses only where there is nothing else."""
    compared = compared_at(trail, point)
    if not len(compared.bad.values):
        return 0.0, 0, 0
    hits = compared.bad.total if trail.is_alone else 0
    if compared.only_addresses:
        return 0.01, point.preference, hits
    return 1.0 if trail.is_alone else compared.rank, point.preference, hits


def compared_at(trail: Trail, point: StartingPoint) -> ComparedValues:
    """What good and bad runs held at a start."""
    if point.wanted is None:
        return trail.content(point.here, point.definition)
    return trail.input(point.here, point.definition, point.wanted)


def _by_counts(trail: Trail, points: list[StartingPoint], targets: Targets) -> Stop:
    """Values are the same: then why the place is passed more often, if it is."""
    if trail.is_alone:
        return Stop(ChainEnd.NOT_FOLLOWED, "None of the code that reads it ran.")
    counts = [trail.counts(one.here, one.definition) for one in points]
    if not any(bad for _, bad in counts):
        return Stop(ChainEnd.NOT_FOLLOWED, "None of the code that reads it ran in bad runs.")
    best = max(range(len(points)), key=lambda row: counts[row][1] / max(1, counts[row][0]))
    point = points[best]
    try:
        trail.count([(point.here, point.definition)], "counting how often it runs")
    except OutOfBudgetError as error:
        return Stop(ChainEnd.NOT_FOLLOWED, f"Not followed: {error}.")
    compared = compared_at(trail, point)
    if compared.bad.total <= _MORE * compared.good.total or not compared.are_complete:
        return _no_difference(compared, [compared_at(trail, one) for one in points])
    address = point.definition.address
    trail.add(TrailStep(HopKind.VARIABLE, point.here.at(address), compared, "", counts=True))
    return walk_back(trail, AskControl(point.here, address, _RUNS_MORE), targets)


def _no_difference(compared: ComparedValues, everywhere: Sequence[ComparedValues]) -> Stop:
    """`everywhere`: at all places of the start."""
    if not compared.is_known:
        return Stop(ChainEnd.NOT_FOLLOWED, "Its values in good runs are not known.")
    if not all(one.are_the_same for one in everywhere):
        return Stop(ChainEnd.NOT_FOLLOWED, _NOT_SEEN if not all(one.are_all_seen for one in everywhere) else _TOO_FEW)
    return Stop(ChainEnd.NO_DIFFERENCE, "Its values are the same in good and bad runs.")


def _readable(groups: list[Grouped]) -> list[Grouped]:
    """At most so many hops: the first, and those next to the end."""
    return groups if len(groups) <= _MOST_HOPS else [groups[0], *groups[1 - _MOST_HOPS :]]


def walk_back(trail: Trail, first: Next, targets: Targets) -> Stop:
    """Adds steps to the trail; why it ended."""
    found: Next = first
    try:
        while not isinstance(found, Stop):
            long = Stop(ChainEnd.NOT_FOLLOWED, "The way back is longer than anybody would read.")
            found = _answer(trail, found, targets) if len(trail.steps) <= _MOST_STEPS else long
    except OutOfBudgetError as error:
        found = Stop(ChainEnd.NOT_FOLLOWED, f"Not followed further: {error}.")
    is_lost = found.end in (ChainEnd.NOT_FOLLOWED, ChainEnd.CONSTANT, ChainEnd.ADDRESS)
    return trail.otherwise if is_lost and trail.otherwise is not None else found


def _answer(trail: Trail, question: Ask | AskControl | AskMemory | Read, targets: Targets) -> Next:
    if isinstance(question, Ask):
        return explain(trail, question, targets)
    if isinstance(question, AskMemory):
        return written(trail, question.here, question.definition)
    if isinstance(question, Read):
        return _wrote(trail, question, targets)
    return _decided(trail, question)


def _wrote(trail: Trail, question: Read, targets: Targets) -> Next:
    share = trail.next_share
    wrote = who_wrote(trail, question, targets)
    if not (isinstance(wrote, WriterUnknown) and trail.evidence.is_deep):
        return wrote
    trail.next_share = share  # of a writer that led nowhere nothing is kept
    return shown_by_valgrind(trail, question, wrote)


def _decided(trail: Trail, question: AskControl) -> Next:
    here, address = question.here, question.address
    if trail.is_alone:
        return Stop(ChainEnd.NOT_FOLLOWED, "One run does not tell what decides how often it runs.")
    if ("control", here.module.path, address) in trail.asked:
        return Stop(ChainEnd.NOT_FOLLOWED, "The way back leads to a condition that it came from, as in a loop.")
    trail.asked.add(("control", here.module.path, address))
    found = decided(trail, here, address)
    if not isinstance(found, Undecided):
        return found
    return replace(question.otherwise, sentence=f"{question.otherwise.sentence} {found.sentence}")
