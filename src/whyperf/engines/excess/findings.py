"""From accounts to findings: who stands out of the noise, on which path, at which line, and one sentence why."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from whyperf.engines.excess.compare import Account, Excess
from whyperf.engines.excess.places import Whereabouts, locate
from whyperf.engines.finding import Finding, Strength
from whyperf.engines.quantities import percent, seconds
from whyperf.engines.run import Floats
from whyperf.recording.tables import Clock

ENGINE = "excess"
_MOSTLY = 0.5
_SLIGHTLY = 0.05
_LOOP = re.compile(r"^\W*(for|while|do|loop|foreach)\b|for_?each", re.IGNORECASE)


class Role(Enum):
    """Why a function answers for time."""

    OWN = "own"  # the time is in its own code, or in library code that it calls
    TOOK_NEW_PATH = "took-new-path"  # it calls what the good runs never reach
    CALLS_MORE = "calls-more"  # it repeats calls that the good runs were never seen in
    NEW_PATH = "new-path"  # the good runs never reach it
    TAKES_LONGER = "takes-longer"  # the good runs were never seen in it, but its caller decided as ever
    NEW_CODE = "new-code"  # the good runs' binary does not have it
    HUB = "hub"  # cheap itself, but half of what grew lies under it


@dataclass(frozen=True)
class _Anchor:
    """The context in which a function answers for most."""

    node: int
    role: Role
    other: int | None = None  # the new function it calls, or the caller that leads to it


def suspects(excess: Excess, unit: str) -> list[Finding]:
    """Functions that stand out, best first. The list ends where the rest is noise."""
    settings = excess.settings
    accounts = [
        account
        for account in excess.accounts
        if account.share >= settings.suspect_share and account.sigma >= settings.suspect_sigma
    ]
    chosen = [(account, _anchor(excess, account.function)) for account in accounts]
    hub = excess.hub
    if chosen and hub is not None and all(account.function != hub for account, _ in chosen[:2]):
        account = next(account for account in excess.accounts if account.function == hub)
        if _cheap(account):
            chosen = [pair for pair in chosen if pair[0].function != hub]
            # Never before who answers for more.
            at = max(1, sum(other.share > account.share for other, _ in chosen))
            chosen.insert(at, (account, _Anchor(_heaviest_context(excess, hub), Role.HUB)))
    return [_finding(excess, rank, account, anchor, unit) for rank, (account, anchor) in enumerate(chosen, 1)]


def _finding(excess: Excess, rank: int, account: Account, anchor: _Anchor, unit: str) -> Finding:
    function = excess.index.functions[account.function]
    where = locate(excess, account.function)
    inside = _inside(excess, account.function)
    return Finding(
        engine=ENGINE,
        function=function.key,
        place=where.place,
        rank=rank,
        score=account.share,
        share=account.share,
        path=tuple(excess.name(int(excess.costs.tree.function[node])) for node in excess.costs.tree.path(anchor.node)),
        pattern=_pattern(excess, anchor),
        why=_sentence(excess, account, anchor, unit, inside),
        lines=where.lines,
        detail=_detail(excess, account, anchor, where, inside),
        strength=Strength(account.sigma, account.separated, account.low, account.high),
    )


def _anchor(excess: Excess, function: int) -> _Anchor:
    tree, charges = excess.costs.tree, excess.charges
    weight: dict[_Anchor, float] = defaultdict(float)
    for node, at, part in zip(*(column.tolist() for column in charges.to(function)), strict=True):
        answered = float(excess.spent[node]) * part
        if answered <= 0:
            continue
        head = int(charges.head[node])
        if head < 0:
            weight[_Anchor(at, Role.OWN)] += answered
        elif at == int(tree.parent[head]):
            role = Role.CALLS_MORE if tree.called_in_loop[head] else Role.TOOK_NEW_PATH
            weight[_Anchor(at, role, int(tree.function[head]))] += answered
        else:
            weight[_Anchor(at, _role_on_new_path(excess, head), int(tree.function[tree.parent[at]]))] += answered
    return max(weight, key=lambda anchor: (weight[anchor], -anchor.node))


def _role_on_new_path(excess: Excess, head: int) -> Role:
    charges = excess.charges
    if head not in charges.existing:
        return Role.NEW_CODE
    decided_as_ever = charges.caller_part[head] == excess.settings.new_path_to_normal_caller
    return Role.TAKES_LONGER if decided_as_ever else Role.NEW_PATH


def _heaviest_context(excess: Excess, function: int) -> int:
    inclusive = excess.costs.tree.inclusive(excess.spent)
    nodes = np.flatnonzero(excess.costs.tree.function == function)
    return int(nodes[np.argmax(inclusive[nodes])])


def _pattern(excess: Excess, anchor: _Anchor) -> str:
    if excess.clock is Clock.BLOCKED:
        return "long-wait"
    return "new-path" if anchor.role in (Role.TOOK_NEW_PATH, Role.NEW_PATH, Role.NEW_CODE) else "unknown"


def _repeats(excess: Excess, account: Account, anchor: _Anchor) -> bool:
    """Whether what it answers for is in a loop of its own, around its code or around a call. Where the calls are new,
    the loop as such must have grown: what else it does in each round."""
    looping = excess.costs.tree.loops[anchor.node]
    if anchor.role is Role.CALLS_MORE:
        return looping and account.bad_s - account.good_s > _SLIGHTLY * _gain(account)
    takes_longer = anchor.role in (Role.OWN, Role.TAKES_LONGER)
    return takes_longer and (looping or _repeated_callee(excess, anchor.node) is not None)


def _is_loop(where: Whereabouts) -> bool:
    """Whether the line that decides that the hottest one is reached is a loop's, by its text."""
    return any(line.line == where.place.decided_by and _LOOP.search(line.text) for line in where.lines)


def _other_build(excess: Excess, function: int) -> bool:
    """Whether the good runs used another build of its module, and all runs were given the same arguments."""
    index, module = excess.index, excess.index.functions[function].key.module
    good, bad = (index.builds.of_all(runs, module) for runs in (index.good, index.bad))
    given = {run.manifest.command[1:] for run in (*index.good, *index.bad)}
    # Without any argument nothing is known of what they were given.
    return bool(good and bad) and good.isdisjoint(bad) and len(given) == 1 and given != {()}


def _in_new_code(excess: Excess, anchor: _Anchor) -> bool:
    """Whether the good runs' program does not have what it answers for."""
    if anchor.role in (Role.TOOK_NEW_PATH, Role.CALLS_MORE) and anchor.other is not None:
        return not excess.index.exists_in_good(anchor.other)
    return anchor.role is Role.NEW_CODE


def _sentence(excess: Excess, account: Account, anchor: _Anchor, unit: str, inside: list[tuple[int, float]]) -> str:
    spends = _spends(excess)
    other = excess.name(anchor.other) if anchor.other is not None else ""
    reached = seconds(account.bad_inclusive_s)
    match anchor.role:
        case Role.TOOK_NEW_PATH:
            there = seconds(_inclusive(excess, anchor.other))
            return f"It calls {other}, in which the good runs were never seen: {there} per {unit} go there."
        case Role.CALLS_MORE:
            there = seconds(_inclusive(excess, anchor.other))
            return f"It calls {other} in a loop; the good runs were never seen there, now {there} per {unit} go there."
        case Role.NEW_PATH | Role.TAKES_LONGER:
            return f"The good runs were never seen in it; called by {other}, it {spends} {reached} per {unit}."
        case Role.NEW_CODE:
            return f"The good runs' program does not have it; called by {other}, it {spends} {reached} per {unit}."
        case Role.HUB:
            return (
                f"Cheap itself, but most of what grew lies in what it calls: {seconds(account.good_inclusive_s)} per "
                f"{unit} became {seconds(account.bad_inclusive_s)}. It may call too often, or with too much."
            )
        case Role.OWN:
            return _grown(excess, account, anchor.node, unit, inside)


def _spends(excess: Excess) -> str:
    return "waits" if excess.clock is Clock.BLOCKED else "takes"


def _grown(excess: Excess, account: Account, node: int, unit: str, inside: list[tuple[int, float]]) -> str:
    spends = _spends(excess)
    own = account.bad_s - account.good_s
    if own < _MOSTLY * _gain(account):
        # It answers for growth that comes in here, or for its data: the time is in what it calls.
        now, before = seconds(account.bad_inclusive_s), seconds(account.good_inclusive_s)
        callee = _repeated_callee(excess, node)
        loop = f" It calls {excess.name(callee)} in a loop." if callee is not None else ""
        answers = f"it answers for {seconds(_gain(account))} of the difference"
        return f"With what it calls it {spends} {now} per {unit}, not {before}; {answers}.{loop}"
    compared = f"{seconds(account.good_s)} became {seconds(account.bad_s)}"
    where = _spent_in(excess, account.function, inside)
    threads = _waiting_threads(excess, account.function)
    summed = f", summed over {threads} threads" if threads > 1 else ""
    answers = f"; it answers for {seconds(_gain(account))}" if abs(_gain(account) - own) > _SLIGHTLY * own else ""
    return f"It {spends} {seconds(own)} more per {unit}{where}: {compared}{summed}{answers}."


def _repeated_callee(excess: Excess, node: int) -> int | None:
    """What a context calls from a loop, where most of what grew under it lies there."""
    tree = excess.costs.tree
    inclusive = tree.inclusive(excess.spent)
    callees = [child for child in np.flatnonzero(tree.parent == node).tolist() if tree.called_in_loop[child]]
    heaviest = max(callees, key=lambda child: float(inclusive[child]), default=None)
    if heaviest is None or inclusive[heaviest] < _MOSTLY * inclusive[node]:
        return None
    return int(tree.function[heaviest])


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


def _cheap(account: Account) -> bool:
    """What grew lies in what it calls: not so where its own time grew and its caller's data answer for it."""
    return account.bad_s - account.good_s < _MOSTLY * (account.bad_inclusive_s - account.good_inclusive_s)


def _gain(account: Account) -> float:
    """By how much what it answers for grew."""
    return sum(account.bad_runs) / len(account.bad_runs) - sum(account.good_runs) / len(account.good_runs)


def _inclusive(excess: Excess, function: int | None) -> float:
    return next(account.bad_inclusive_s for account in excess.accounts if account.function == function)


def _spent_in(excess: Excess, function: int, inside: list[tuple[int, float]]) -> str:
    """Says when most of a function's own time is really in library code that it calls."""
    called = [(number, share) for number, share in inside if number != function]
    if sum(share for _, share in called) < 0.5:
        return " in its own code"
    number, share = called[0]
    return f", {percent(share)} of it in {excess.name(number)}"


def _inside(excess: Excess, function: int) -> list[tuple[int, float]]:
    """Which functions of the full view hold the excess that `function` answers for, with their shares of it."""
    gained = _by_leaf(excess, function)
    total = float(gained[gained > 0].sum())
    if total <= 0:
        return []
    order = np.argsort(-gained, kind="stable")[:5]
    return [(int(number), float(gained[number]) / total) for number in order if gained[number] > 0.01 * total]


def _by_leaf(excess: Excess, function: int) -> Floats:
    size = len(excess.index.functions)
    nodes, _, parts = excess.charges.to(function)
    part = np.zeros(len(excess.costs.tree))
    np.add.at(part, nodes, parts)
    gained = np.zeros(size)
    for folded, full, sign in (
        (excess.costs.bad, excess.full.bad, 1.0),
        (excess.costs.good, excess.full.good, -1.0),
    ):
        for run, node, leaf in zip(folded.runs, folded.nodes, full.nodes, strict=True):
            weights = part[node] * run.time(excess.clock).seconds / excess.units[run]
            leaves = excess.full.tree.function[leaf]
            known = leaves >= 0
            gained += sign / len(folded.runs) * np.bincount(leaves[known], weights=weights[known], minlength=size)
    return gained


def _detail(
    excess: Excess, account: Account, anchor: _Anchor, where: Whereabouts, inside: list[tuple[int, float]]
) -> dict[str, Any]:
    keys = [function.key for function in excess.index.functions]
    return {
        "role": anchor.role.value,
        "repeats": _repeats(excess, account, anchor),
        "in_every_round": _is_loop(where),
        "other_build": _other_build(excess, account.function),
        "new_code": _in_new_code(excess, anchor),
        "good_s": account.good_s,
        "bad_s": account.bad_s,
        "good_inclusive_s": account.good_inclusive_s,
        "bad_inclusive_s": account.bad_inclusive_s,
        "charged_s": account.charged_s,
        "interval": [account.low, account.high],
        "sigma": account.sigma,
        "good_runs": list(account.good_runs),
        "bad_runs": list(account.bad_runs),
        "inside": [
            {"function": keys[number].name, "module": keys[number].module, "share": share} for number, share in inside
        ],
    }
