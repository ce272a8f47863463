"""What is said of memory: who allocates more often, who allocates more each time, who no longer frees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whyperf.engines.memory.changes import Amounts, GrowthReason, MemoryChange
from whyperf.engines.quantities import below, count, how_many, in_bytes, percent, times
from whyperf.engines.run import ONE_RUN

if TYPE_CHECKING:
    from whyperf.engines.memory.compare import MemoryAccount
    from whyperf.engines.memory.frees import FewerCalls

LEAK, GROWTH, WASTE, CHURN = "leak", "growth", "waste", "churn"

# Of what grew: the larger part.
_MOST = 0.5


@dataclass(frozen=True)
class Said:
    predicate: str  # of a sentence about the function
    pattern: str = GROWTH

    @property
    def sentence(self) -> str:
        return f"It {self.predicate}"


def why(account: MemoryAccount) -> Said:
    """Of the function that decides about the allocations."""
    change = account.change
    held = f"{change.bad.at_peak} of it are in use at the peak, was {change.good.at_peak}"
    reason = change.reason
    pattern = _kept_pattern(account)
    leaks = pattern == LEAK
    if is_waste(change):
        return _wastes(change)
    never = " It is never freed." if leaks else ""
    if reason is GrowthReason.NEW:
        return Said(
            f"allocates {change.bad.at_peak} in use at the peak; in good runs no allocation was sampled there.{never}",
            pattern,
        )
    if reason is GrowthReason.NOT_FREED:
        good, bad = _free_at_peak(change.good), _free_at_peak(change.bad)
        resized = account.stopped is not None and account.stopped.resizes
        how = "no longer shrunk" if resized else "no longer freed" if leaks else "freed later"
        return Said(f"allocates memory that is {how}: {good} was free at the peak, now {bad}; {held}.", pattern)
    if reason is GrowthReason.LARGER:
        return Said(
            f"allocates more each time: {in_bytes(change.bad.each)} on average, was {in_bytes(change.good.each)}; "
            f"{held}.{never}",
            pattern,
        )
    often = f"about {_rounded(change.bad.objects)} times, was {_objects(change.good)}"
    return Said(f"allocates more often: {often}; {held}.{never}", pattern)


def no_longer_frees(account: MemoryAccount, allocator: str, freer: str) -> Said:
    change, stopped = account.change, account.stopped
    if stopped is None:
        return why(account)
    allocates = "what it allocates" if allocator == freer else f"what {allocator} allocates"
    held = f"{change.bad.at_peak} are in use at the peak, was {change.good.at_peak}"
    if stopped.calls is not None:
        return Said(
            f"{calls_less(stopped.calls, resizes=stopped.resizes, allocates=allocates)}; {held}.",
            _kept_pattern(account),
        )
    some, none = ("shrinks less of", "no longer shrinks") if stopped.resizes else ("frees less of", "no longer frees")
    verb = none if stopped.bad < 0.01 else some
    parts = f"{percent(min(1.0, stopped.good))} in good runs, {percent(min(1.0, stopped.bad))} now"
    return Said(f"{verb} {allocates}: {parts}; {held}.", _kept_pattern(account))


def calls_less(calls: FewerCalls, *, resizes: bool, allocates: str) -> str:
    leads_to = f"which {'shrinks' if resizes else 'frees'} {allocates}"
    per = "" if calls.unit == ONE_RUN else f" per {calls.unit}"
    if calls.bad == 0:
        return f"no longer calls {calls.callee}, {leads_to}: {times(calls.good)}{per} in good runs, never now"
    return f"calls {calls.callee}, {leads_to}, less often: {times(calls.bad)}{per}, was {how_many(calls.good)}"


def frees_less_through(account: MemoryAccount, allocator: str, freer: str) -> Said:
    """Of a changed function that leads to the one that frees: whether it still calls that one is not known."""
    change, stopped = account.change, account.stopped
    if stopped is None:
        return why(account)
    verb = "shrinks" if stopped.resizes else "frees"
    good, now = (percent(min(1.0, part)) for part in (stopped.good, stopped.bad))
    parts = f"{good} of what {allocator} allocates in good runs, {now} now"
    held = f"{change.bad.at_peak} are in use at the peak, was {change.good.at_peak}"
    return Said(f"changed between the builds. Through {freer} it {verb} {parts}; {held}.", _kept_pattern(account))


def _kept_pattern(account: MemoryAccount) -> str:
    resizes = account.stopped is not None and account.stopped.resizes
    return LEAK if _is_leak(account.change) and not resizes else GROWTH


def _wastes(change: MemoryChange) -> Said:
    """Of memory that is allocated and never used."""
    touched = f"{percent(change.bad.touched_part)} of it is ever touched"
    before = f", was {percent(change.good.touched_part)}" if change.reason is not GrowthReason.NEW else ""
    how = {
        GrowthReason.LARGER: f"allocates more each time than it uses: {in_bytes(change.bad.each)} on average, was "
        f"{in_bytes(change.good.each)}",
        GrowthReason.NEW: "allocates memory that it does not use; in good runs no allocation was sampled there",
    }.get(change.reason, "allocates memory that it does not use")
    held = f"{change.bad.at_peak} are allocated at the peak, was {change.good.at_peak}"
    return Said(f"{how}; {touched}{before}; {held}.", WASTE)


def churns(account: MemoryAccount) -> Said:
    """Of memory that is freed again: no more of it is in use."""
    good, bad = account.change.good, account.change.bad
    often = f"about {_rounded(bad.objects)} times {in_bytes(bad.each)}"
    if account.change.reason is GrowthReason.NEW:
        return Said(
            f"allocates and frees {often} for the same memory in use; in good runs no allocation was sampled there.",
            CHURN,
        )
    if not good.in_all.is_measured:
        same = f"{often}, was {good.in_all} in all"
        return Said(f"allocates and frees more for the same memory in use: {same}.", CHURN)
    ratio = bad.allocated / good.allocated
    before = f"{_rounded(good.objects)} times {in_bytes(good.each)}"
    return Said(
        f"allocates and frees {ratio:.1f} times as much for the same memory in use: {often}, was {before}.", CHURN
    )


def touches(account: MemoryAccount) -> Said:
    """Of pages, whatever they were allocated with."""
    good, bad = account.change.good, account.change.bad
    first = f"touches {bad.in_all} of memory for the first time, was {good.in_all}"
    return Said(f"{first}; {bad.at_peak} of it are there at the peak, was {good.at_peak}.")


def called_by(said: Said, allocator: str) -> Said:
    return replace(said, predicate=f"calls {allocator}, which {said.predicate}")


def on_the_way(said: Said, name: str) -> Said:
    """Of a changed function, instead of one whose code is the same."""
    return replace(said, predicate=f"changed between the builds and calls {name}, which {said.predicate}")


def _is_leak(change: MemoryChange) -> bool:
    """Most of what is held more is never freed, though good runs free it."""
    grew = change.bad.kept - change.good.kept
    freed_before = change.good.kept < _MOST * change.good.allocated
    return change.excess > 0 and grew >= _MOST * change.excess and freed_before


def is_waste(change: MemoryChange) -> bool:
    """Most of what is held more was never touched."""
    return change.excess > 0 and change.untouched_excess >= _MOST * change.excess


def _free_at_peak(amounts: Amounts) -> str:
    """The part of what it allocates, at least where few samples were still there."""
    measured = amounts.at_peak.is_measured or amounts.most_held_part == 1.0
    return percent(1 - amounts.held_part) if measured else f"over {percent(1 - amounts.most_held_part)}"


def _objects(amounts: Amounts) -> str:
    if amounts.in_all.is_measured or not amounts.each:
        return _rounded(amounts.objects)
    return below(amounts.in_all.most / amounts.each, lambda most: count(round(most)))


def _rounded(value: float) -> str:
    """Two digits: it was sampled."""
    if value < 100:
        return count(round(value))
    digits = 10 ** (len(str(int(value))) - 2)
    return count(round(value / digits) * digits)
