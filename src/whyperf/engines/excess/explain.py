"""What the engine knows of one function, and what would have to be true for it to rank higher."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.excess.compare import Account, Excess
from whyperf.engines.quantities import percent, seconds
from whyperf.recording.identity import FunctionKey


@dataclass(frozen=True)
class Explanation:
    function: FunctionKey
    rank: int  # by what it answers for, among all functions; a suspect or not
    account: Account
    sentences: tuple[str, ...]


def explain(excess: Excess, name: str, unit: str) -> list[Explanation]:
    """One explanation for each function that `name` may mean; none if no run was ever seen in such a function."""
    wanted = set(excess.index.called(name))
    return [
        Explanation(
            excess.index.functions[account.function].key,
            rank,
            account,
            tuple(_sentences(excess, rank, account, unit)),
        )
        for rank, account in enumerate(excess.accounts, 1)
        if account.function in wanted
    ]


def _sentences(excess: Excess, rank: int, account: Account, unit: str) -> list[str]:
    own = account.bad_s - account.good_s
    total = account.bad_inclusive_s - account.good_inclusive_s
    times = [
        f"Own time: {seconds(account.good_s)} per {unit} in the good runs, {seconds(account.bad_s)} in the bad.",
        f"With everything it calls: {seconds(account.good_inclusive_s)} and {seconds(account.bad_inclusive_s)}.",
    ]
    if excess.total_s <= 0:
        return [*times, "There is no excess to answer for: the bad runs take no longer."]
    said = [
        *times,
        f"It answers for {seconds(account.charged_s)} of {seconds(excess.total_s)} excess per {unit} "
        f"({percent(account.share)}; 95% interval {percent(account.low)} to {percent(account.high)}), "
        f"{account.sigma:.1f} standard errors away from no change.",
    ]
    said += _lost(excess, account, own, total)
    said += _higher(excess, rank, account, own, total)
    return said


def _lost(excess: Excess, account: Account, own: float, total: float) -> list[str]:
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
        said.append(f"{seconds(total - own)} of what it gained is in functions it calls: charged to them.")
    return said


def _higher(excess: Excess, rank: int, account: Account, own: float, total: float) -> list[str]:
    if rank == 1:
        return ["It already ranks first."]
    above = excess.accounts[rank - 2]
    need = above.charged_s - account.charged_s
    said = [f"To pass {excess.name(above.function)} it would have to answer for {seconds(need)} more per unit of work"]
    if total - own > need > 0:
        said[0] += ", which its callees would have to leave to it: evidence that its data, not theirs, went wrong"
    if account.sigma < excess.settings.suspect_sigma:
        said.append(
            f"Its change would have to stand out of its own noise: {excess.settings.suspect_sigma:.0f} standard "
            f"errors; more or longer runs narrow the noise"
        )
    return [sentence + "." for sentence in said]
