"""What the engine knows of one function, and what would have to be true for it to rank higher."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from whyperf.engines.excess.compare import Excess, ExcessAccount
from whyperf.engines.excess.novelty import by_function
from whyperf.engines.excess.sentences import charged_elsewhere
from whyperf.engines.quantities import percent, seconds
from whyperf.engines.run import sums
from whyperf.recording.names.identity import FunctionKey

_NOTHING = 1e-6  # of the excess


class Standing(Enum):
    """How a function takes part in the comparison."""

    RANKED = "ranked"
    FOLDED = "folded"  # library code: all of its time is counted as its callers'
    UNSEEN = "unseen"  # the program's own code, in which no sample fell


@dataclass(frozen=True)
class Explanation:
    function: FunctionKey
    rank: int  # by what it answers for, among all functions; a suspect or not
    account: ExcessAccount
    sentences: tuple[str, ...]
    standing: Standing = Standing.RANKED


def explain(excess: Excess, name: str, unit: str) -> list[Explanation]:
    """One explanation for each function that `name` may mean; none if no run was ever seen in such a function."""
    wanted = set(excess.index.called(name))
    counted = set(excess.costs.tree.function.tolist())
    found = []
    for rank, account in enumerate(excess.accounts, 1):
        function = account.function
        if function in wanted:
            standing = Standing.RANKED if function in counted else _uncounted(excess, function)
            key = excess.index.functions[function].key
            found.append(Explanation(key, rank, account, _told(excess, rank, account, standing, unit), standing))
    return found


def _uncounted(excess: Excess, function: int) -> Standing:
    return Standing.UNSEEN if excess.index.own[function] else Standing.FOLDED


def _told(excess: Excess, rank: int, account: ExcessAccount, standing: Standing, unit: str) -> tuple[str, ...]:
    match standing:
        case Standing.RANKED:
            return tuple(_sentences(excess, rank, account, unit))
        case Standing.FOLDED:
            return tuple(_folded(excess, account.function, unit))
        case Standing.UNSEEN:
            unseen = "No sample fell in it: it takes too little time to be seen, or no run called it."
            return unseen, *_code(excess, account.function)


def _folded(excess: Excess, function: int, unit: str) -> list[str]:
    full, size = excess.full, len(excess.index.functions)
    own = [sums(full.tree.function[1:], side.mean[1:], size)[function] for side in (full.good, full.bad)]
    inclusive = [by_function(full.tree, side.mean, size)[function] for side in (full.good, full.bad)]
    said = [
        "It is library code: its time is counted as that of the program's function that calls it.",
        f"Own time: {seconds(own[0])} per {unit} in the good runs, {seconds(own[1])} in the bad.",
        f"With everything it calls: {seconds(inclusive[0])} and {seconds(inclusive[1])}.",
    ]
    callers = _callers(excess, function)
    if callers:
        named = ", ".join(f"{excess.name(number)} ({percent(part)})" for number, part in callers)
        said.append(f"In the bad runs that is {named}: --explain {excess.name(callers[0][0])} tells more.")
    return said


def _callers(excess: Excess, function: int) -> list[tuple[int, float]]:
    """Whose time the function's is in the bad runs, with the parts of it; the largest three."""
    tree = excess.full.tree
    under = tree.function == function
    for below in range(1, len(tree)):
        under[below] |= under[tree.parent[below]]
    spent = np.zeros(len(excess.index.functions))
    folded, full = excess.costs.bad, excess.full.bad
    for run, node, place in zip(folded.runs, folded.nodes, full.nodes, strict=True):
        inside = under[place] & (node > 0)
        weights = run.time(excess.clock).seconds[inside] / excess.units[run]
        spent += sums(excess.costs.tree.function[node[inside]], weights, len(spent))
    total = float(spent.sum())
    order = np.argsort(-spent, kind="stable")[:3]
    return [(int(number), float(spent[number]) / total) for number in order if spent[number] > 0]


def _sentences(excess: Excess, rank: int, account: ExcessAccount, unit: str) -> list[str]:
    own = account.own_gain_s
    total = account.bad_inclusive_s - account.good_inclusive_s
    times = [
        f"Own time: {seconds(account.good_s)} per {unit} in the good runs, {seconds(account.bad_s)} in the bad.",
        f"With everything it calls: {seconds(account.good_inclusive_s)} and {seconds(account.bad_inclusive_s)}.",
    ]
    if excess.total_s <= 0:
        return [*times, "There is no excess: the bad runs take no longer."]
    said = [
        *times,
        f"It is charged {seconds(account.charged_s)} of {seconds(excess.total_s)} excess per {unit} "
        f"({percent(account.share)}; 95% interval {percent(account.low)} to {percent(account.high)}), "
        f"{_standing_out(account.sigma)}.",
    ]
    said += _code(excess, account.function)
    said += _lost(excess, account, own, total)
    said += _higher(excess, rank, account, total - own, unit)
    return said


def _standing_out(sigma: float) -> str:
    side = "below" if round(sigma, 1) < 0 else "away from"
    return f"{abs(sigma):.1f} standard errors {side} no change"


def _code(excess: Excess, function: int) -> list[str]:
    if function in excess.code.changed:
        return ["Its code differs between the two builds, which do the same work."]
    if function in excess.code.same:
        return ["Its code is the same in both builds: most of it is charged to code that differs."]
    return []


def _lost(excess: Excess, account: ExcessAccount, own: float, total: float) -> list[str]:
    said = []
    tree, head = excess.costs.tree, excess.charges.head
    nodes = [node for node in range(1, len(tree)) if int(tree.function[node]) == account.function]
    in_new_path = sum(
        float(excess.spent[n]) for n in nodes if head[n] >= 0 and int(tree.function[head[n]]) != account.function
    )
    if in_new_path > 0.01 * excess.total_s:
        said.append(
            f"{seconds(in_new_path)} of its own excess lies on a path that the good runs never take: charged to the "
            f"function that took the path and to the first function on it."
        )
    spent = sum(float(excess.spent[n]) for n in nodes)
    if own - spent > 0.05 * max(own, excess.total_s):
        said.append(
            f"{seconds(own - spent)} of its growth is set off against time that shrank under the same callers: "
            f"moved work, a rename or different inlining."
        )
    if total - own > 0.05 * excess.total_s:
        answered = charged_elsewhere(excess, account.function)
        whose = (
            f"{seconds(answered)} of that is charged to it" if answered > 0.05 * (total - own) else "charged to them"
        )
        said.append(f"{seconds(total - own)} of what it gained is in functions it calls: {whose}.")
    return said


def _higher(excess: Excess, rank: int, account: ExcessAccount, in_callees: float, unit: str) -> list[str]:
    if rank == 1:
        return ["It already ranks first."]
    # Many answer for nothing at all: those are not to be passed.
    higher = (one for one in reversed(excess.accounts[: rank - 1]) if _more(one, account) > _NOTHING * excess.total_s)
    above = next(higher, None)
    said = []
    if above is not None:
        need = _more(above, account)
        said.append(f"{excess.name(above.function)} ranks higher: it is charged {seconds(need)} more per {unit}.")
        if in_callees > need:
            said.append(
                "Time in the functions that it calls would be charged to it if its variables had changed, and theirs "
                "had not."
            )
    if account.sigma < excess.settings.suspect_sigma:
        said.append(
            f"Its change is too small to be told from noise: {excess.settings.suspect_sigma:.0f} standard errors are "
            f"needed; more or longer runs reduce the noise."
        )
    return said


def _more(one: ExcessAccount, other: ExcessAccount) -> float:
    return one.charged_s - other.charged_s
