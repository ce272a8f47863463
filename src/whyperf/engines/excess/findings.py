"""From accounts to findings: who stands out of the noise, on which path, at which line, and one sentence why."""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.blame_reasons import Anchor, BlameReason, repeated_callee
from whyperf.engines.excess.compare import Excess, ExcessAccount
from whyperf.engines.excess.detail import CHANGED, ExcessDetail, TimeInside
from whyperf.engines.excess.places import Whereabouts, locate
from whyperf.engines.excess.selection import named, stands_out
from whyperf.engines.excess.sentences import sentences
from whyperf.engines.finding import Finding, SourceChange, Strength
from whyperf.engines.run import Floats
from whyperf.engines.source_change import source_change
from whyperf.recording.schemas.tables import Clock

ENGINE = "excess"
_SLIGHTLY = 0.05


def suspects(excess: Excess, unit: str) -> list[Finding]:
    """Best first."""
    return [_finding(excess, rank, account, anchor, unit) for rank, (account, anchor) in enumerate(named(excess), 1)]


def _finding(excess: Excess, rank: int, account: ExcessAccount, anchor: Anchor, unit: str) -> Finding:
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
        why=sentences(excess, account, anchor, unit, inside),
        lines=where.lines,
        detail=_detail(excess, account, anchor, where, inside),
        strength=Strength(
            account.sigma,
            account.separated,
            account.low,
            account.high,
            inferred=anchor.role is BlameReason.ELSEWHERE,
            stands_out=stands_out(excess, account),
        ),
        change=_change(excess, account.function, where),
    )


def _change(excess: Excess, function: int, where: Whereabouts) -> SourceChange | None:
    if function not in excess.code.changed:
        return None
    hot = {line.line for line in where.lines if line.share > 0} | {where.place.line, where.place.decided_by}
    return source_change(excess.index, function, hot - {0})


def _pattern(excess: Excess, anchor: Anchor) -> str:
    if excess.clock is Clock.BLOCKED:
        return "long-wait"
    return (
        "new-path"
        if anchor.role in (BlameReason.TOOK_NEW_PATH, BlameReason.NEW_PATH, BlameReason.NEW_CODE)
        else "unknown"
    )


def _repeats(excess: Excess, account: ExcessAccount, anchor: Anchor) -> bool:
    """Whether what it answers for is in a loop of its own, around its code or around a call; elsewhere, in any. Where
    the calls are new, the loop as such must have grown: what else it does in each round."""
    tree = excess.costs.tree
    match anchor.role:
        case BlameReason.ELSEWHERE:
            return any(tree.loops[node] for node in np.flatnonzero(tree.function == anchor.other))
        case BlameReason.CALLS_MORE:
            return tree.loops[anchor.node] and account.own_gain_s > _SLIGHTLY * account.charged_s
        case BlameReason.CALLS_OFTENER:
            return repeated_callee(excess, anchor.node) is not None
        case BlameReason.OWN | BlameReason.TAKES_LONGER:
            return tree.loops[anchor.node] or repeated_callee(excess, anchor.node) is not None
    return False


def _in_new_code(excess: Excess, anchor: Anchor) -> bool:
    """Whether the good runs' program does not have what it answers for."""
    if anchor.role in (BlameReason.TOOK_NEW_PATH, BlameReason.CALLS_MORE) and anchor.other is not None:
        return not excess.index.exists_in_good(anchor.other)
    return anchor.role is BlameReason.NEW_CODE


def _code(excess: Excess, function: int) -> str:
    """What two builds at the same work tell of it."""
    if function in excess.code.changed:
        return CHANGED
    return "same" if function in excess.code.same else "unknown"


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
    excess: Excess, account: ExcessAccount, anchor: Anchor, where: Whereabouts, inside: list[tuple[int, float]]
) -> ExcessDetail:
    keys = [function.key for function in excess.index.functions]
    answers = account.charged_s > 0.0 and np.mean(account.bad_runs) > np.mean(account.good_runs)
    return ExcessDetail(
        role=anchor.role,
        repeats=_repeats(excess, account, anchor),
        in_every_round=where.in_every_round,
        two_builds=bool(excess.code.changed),
        new_code=_in_new_code(excess, anchor),
        code=_code(excess, account.function),
        good_self_s=account.good_s,
        bad_self_s=account.bad_s,
        good_inclusive_s=account.good_inclusive_s,
        bad_inclusive_s=account.bad_inclusive_s,
        charged_s=account.charged_s,
        interval=(account.low, account.high),
        sigma=account.sigma,
        good_runs=account.good_runs if answers else None,  # in the contexts that it answers for
        bad_runs=account.bad_runs if answers else None,
        inside=tuple(TimeInside(keys[number].name, keys[number].module, share) for number, share in inside),
    )
