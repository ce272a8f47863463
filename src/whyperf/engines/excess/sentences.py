"""Why a function answers for what it does, in words."""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.blame_reasons import Anchor, BlameReason, heaviest_context, repeated_callee
from whyperf.engines.excess.compare import Excess, ExcessAccount
from whyperf.engines.excess.library_calls import library_calls
from whyperf.engines.quantities import percent, seconds
from whyperf.engines.source_change import is_same_file
from whyperf.recording.names.template_names import without_template_arguments
from whyperf.recording.schemas.tables import Clock

_MOSTLY = 0.5
_SLIGHTLY = 0.05
_READABLE = 60  # characters of a name within a sentence


def sentences(
    excess: Excess, account: ExcessAccount, anchor: Anchor, unit: str, inside: list[tuple[int, float]]
) -> str:
    if anchor.role is BlameReason.ELSEWHERE:
        return _elsewhere(excess, anchor, unit)
    told = _why(excess, account, anchor, unit, inside)
    key = excess.index.functions[account.function].key
    if key.module in excess.index.upgraded:
        return f"{told} The bad runs have another build of {key.module}, and the same program."
    if _is_absent_in_good(excess, account.function):
        return told
    if account.function in excess.code.changed:
        return f"{told} {_code_differs(excess, account.function)}"
    return f"{told} Its code is the same in both builds." if account.function in excess.code.same else told


def _code_differs(excess: Excess, function: int) -> str:
    if is_same_file(excess.index, function):
        return (
            "Its code differs between the two builds; the source file that was there when they were recorded does not: "
            "what it includes or inlines differs, or how it was compiled, or it was edited after a build."
        )
    return "Its code differs between the two builds."


def _why(excess: Excess, account: ExcessAccount, anchor: Anchor, unit: str, inside: list[tuple[int, float]]) -> str:
    spends = _spends(excess)
    other = there = answers = ""
    if anchor.other is not None:
        callee = excess.account(anchor.other)
        other, there = _named(excess, anchor.other), seconds(callee.bad_inclusive_s)
        answers = _part_of(account, callee.bad_inclusive_s - callee.good_inclusive_s)
    reached = seconds(account.bad_inclusive_s)
    all_of_it = _part_of(account, account.bad_inclusive_s - account.good_inclusive_s)
    match anchor.role:
        case BlameReason.TOOK_NEW_PATH:
            seen = f"in which the good runs were {_seen(excess, anchor)} seen"
            return f"It calls {other}, {seen}: {there} per {unit} go there{answers}."
        case BlameReason.CALLS_MORE:
            seen = f"the good runs were {_seen(excess, anchor)} seen there"
            return f"It calls {other} in a loop; {seen}, now {there} per {unit} go there{answers}."
        case BlameReason.NEW_PATH | BlameReason.TAKES_LONGER | BlameReason.NEW_CODE:
            if account.good_inclusive_s > 0.0:  # a new path may lead to code that others call as well
                before = seconds(account.good_inclusive_s)
                now = f"it {spends} {reached} per {unit}"
                return f"Called by {other}, {now}; in the good runs it {spends} {before}{all_of_it}."
            absent = _is_absent_in_good(excess, account.function)
            why = "The good runs' program does not have it" if absent else _unseen(excess, account.function, anchor)
            return f"{why}; called by {other}, it {spends} {reached} per {unit}{all_of_it}."
        case BlameReason.HUB:
            return (
                f"Cheap itself, but most of what grew lies in what it calls: {seconds(account.good_inclusive_s)} per "
                f"{unit} became {seconds(account.bad_inclusive_s)}{all_of_it}. It may call too often, or with too much."
            )
        case _:
            return _grown(excess, account, anchor, unit, inside)


def _seen(excess: Excess, anchor: Anchor) -> str:
    assert anchor.other is not None
    return "hardly" if excess.account(anchor.other).good_inclusive_s > 0.0 else "never"


def _unseen(excess: Excess, function: int, anchor: Anchor) -> str:
    exact = None if anchor.other is None else excess.exact_calls(anchor.other, function)
    if exact is not None and exact.good > 0:
        return "The good runs call it too, but no sample fell in it"
    return "The good runs were never seen in it"


def _is_absent_in_good(excess: Excess, function: int) -> bool:
    """Whether the good runs' program certainly does not have it: only full debug info lists what was inlined."""
    index = excess.index
    return not index.exists_in_good(function) and index.builds.good_lists_all(index.functions[function].key.module)


def _elsewhere(excess: Excess, anchor: Anchor, unit: str) -> str:
    assert anchor.other is not None
    spending = excess.account(anchor.other)
    name, more = _named(excess, spending.function), seconds(spending.bad_inclusive_s - spending.good_inclusive_s)
    tree = excess.costs.tree
    leading = {int(tree.function[node]) for node in tree.path(heaviest_context(excess, spending.function))}
    way = "" if leading & excess.code.changed else " and of what leads there"
    spends = f"{_spends(excess)} {more} more per {unit}"
    return (
        f"Its code differs between the two builds; that of {name}, which {spends},{way} does not. It may make what "
        f"{name} works on."
    )


def _named(excess: Excess, function: int) -> str:
    name = excess.name(function)
    return name if len(name) <= _READABLE else without_template_arguments(name)


def _spends(excess: Excess) -> str:
    return "waits" if excess.clock is Clock.BLOCKED else "takes"


def _grown(excess: Excess, account: ExcessAccount, anchor: Anchor, unit: str, inside: list[tuple[int, float]]) -> str:
    spends = _spends(excess)
    own = account.own_gain_s
    if own < _MOSTLY * _gain(account):
        # It answers for growth that comes in here, or for its data: the time is in what it calls.
        now, before = seconds(account.bad_inclusive_s), seconds(account.good_inclusive_s)
        if anchor.role is BlameReason.CALLS_OFTENER and anchor.other is not None:
            more = f"It calls {_named(excess, anchor.other)} more often, at unchanged cost per call"
            answers = _part_of(account, account.bad_inclusive_s - account.good_inclusive_s)
            return f"{more}: with what it calls it {spends} {now} per {unit}, not {before}{answers}."
        callee = repeated_callee(excess, anchor.node)
        loop = f" It calls {_named(excess, callee)} in a loop." if callee is not None else ""
        answers = f"{seconds(account.charged_s)} of the difference is charged to it"
        return f"With what it calls it {spends} {now} per {unit}, not {before}; {answers}.{loop}"
    compared = f"{seconds(account.good_s)} became {seconds(account.bad_s)}"
    where = _spent_in(excess, account.function, inside)
    threads = _waiting_threads(excess, account.function)
    summed = f", summed over {threads} threads" if threads > 1 else ""
    answers = _answers(excess, account, own) if abs(account.charged_s - own) > _SLIGHTLY * own else ""
    return f"It {spends} {seconds(own)} more per {unit}{where}: {compared}{summed}{answers}."


def _part_of(account: ExcessAccount, stated: float) -> str:
    """How much it answers for of a difference that a sentence states, where that is not just all of it."""
    if abs(account.charged_s - stated) <= _SLIGHTLY * stated:
        return ""
    if account.charged_s < _SLIGHTLY * stated:
        return "; other functions are charged with it (--explain tells why)"
    return f"; {seconds(account.charged_s)} of the difference is charged to it"


def _answers(excess: Excess, account: ExcessAccount, own: float) -> str:
    """The same of its own growth: more of it is in callees, or others share in it, or it is set off by what shrank."""
    if charged_elsewhere(excess, account.function) <= _SLIGHTLY * account.charged_s:
        return _part_of(account, own)
    rest = "" if account.charged_s > own else ", the rest to others"
    return f"; {seconds(account.charged_s)} is charged to it and what it calls{rest}"


def charged_elsewhere(excess: Excess, function: int) -> float:
    """How much it answers for of time in other functions."""
    nodes, _, parts = excess.charges.to(function)
    elsewhere = excess.costs.tree.function[nodes] != function
    return float((parts * excess.spent[nodes])[elsewhere].sum())


def _waiting_threads(excess: Excess, function: int) -> int:
    """In how many threads of a bad run lies what the function answers for, at most: their waits add up."""
    if excess.clock is not Clock.BLOCKED:
        return 0
    charged, _, _ = excess.charges.to(function)
    bad = excess.costs.bad
    return max(
        run.threads_in(excess.clock, run.time(excess.clock).stack[np.isin(nodes, charged)])
        for run, nodes in zip(bad.runs, bad.nodes, strict=True)
    )


def _gain(account: ExcessAccount) -> float:
    """By how much what it answers for grew."""
    return sum(account.bad_runs) / len(account.bad_runs) - sum(account.good_runs) / len(account.good_runs)


def _spent_in(excess: Excess, function: int, inside: list[tuple[int, float]]) -> str:
    """Says when most of a function's own time is really in library code that it calls."""
    called = [(number, share) for number, share in inside if number != function]
    if sum(share for _, share in called) < 0.5:
        return " in its own code"
    number, share = called[0]
    entered = library_calls(excess, function)
    if not entered or entered[0].share < share:
        return f", {percent(share)} of it in {_named(excess, number)}"
    # What the program calls says more than what that calls in turn.
    first = entered[0]
    walked = f", which walks the nodes of a bucket (look at {first.hash})" if first.hash else ""
    return f", {percent(first.share)} of it in {_named(excess, first.function)}{walked}"
