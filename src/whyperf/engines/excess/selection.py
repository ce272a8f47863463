"""Which functions are named: who stands out of the noise, and beside them whom a reader would ask for next."""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.blame_reasons import Anchor, BlameReason, anchor_of, heaviest_context
from whyperf.engines.excess.compare import Excess, ExcessAccount

_MOSTLY = 0.5
_READ = 3  # of a list, the first few are read

Named = tuple[ExcessAccount, Anchor]


def named(excess: Excess) -> list[Named]:
    """Best first. Where nobody stands out, nobody is named."""
    chosen = [
        (account, anchor_of(excess, account.function)) for account in excess.accounts if stands_out(excess, account)
    ]
    if not chosen:
        return []
    return _with_runners_up(excess, _with_spender(excess, _with_hub(excess, chosen)))


def stands_out(excess: Excess, account: ExcessAccount) -> bool:
    settings = excess.settings
    return account.share >= settings.suspect_share and account.sigma >= settings.suspect_sigma


def _with_hub(excess: Excess, chosen: list[Named]) -> list[Named]:
    """Who is cheap himself but leads to most of what grew is second at least, and never before who answers for more."""
    hub = excess.hub
    if hub is None or _is_among(hub, chosen[:2]):
        return chosen
    account = excess.account(hub)
    if account.own_gain_s >= _MOSTLY * (account.bad_inclusive_s - account.good_inclusive_s):
        return chosen  # its own time grew, and its caller's data answer for it
    others = [one for one in chosen if one[0].function != hub]
    at = max(1, sum(other.share > account.share for other, _ in others))
    return [*others[:at], (account, Anchor(heaviest_context(excess, hub), BlameReason.HUB)), *others[at:]]


def _with_spender(excess: Excess, chosen: list[Named]) -> list[Named]:
    """In whose own code most of the added time passes is named even if others answer for all of it."""
    spender = max(excess.accounts, key=lambda account: account.own_gain_s)
    if spender.own_gain_s < _MOSTLY * excess.total_s or _is_among(spender.function, chosen):
        return chosen
    anchor = Anchor(heaviest_context(excess, spender.function), BlameReason.OWN)
    return [*chosen[: _READ - 1], (spender, anchor), *chosen[_READ - 1 :]]


def _with_runners_up(excess: Excess, chosen: list[Named]) -> list[Named]:
    """Of a short list the first may not be the cause itself, but who calls it or whom it calls: the next of those
    whose excess is probably not luck."""
    if len(chosen) >= _READ:
        return chosen
    related = _above_or_below(excess, chosen[0][0].function)
    runners_up = [
        (account, anchor_of(excess, account.function))
        for account in excess.accounts
        if account.function in related
        and account.charged_s > 0
        and account.sigma >= excess.settings.runner_up_sigma
        and not _is_among(account.function, chosen)
    ]
    return [*chosen, *runners_up[: _READ - len(chosen)]]


def _above_or_below(excess: Excess, function: int) -> set[int]:
    """Functions on a stack with it."""
    tree = excess.costs.tree
    reached = tree.function == function
    below = reached.copy()
    for node, parent in enumerate(tree.parent.tolist()):
        below[node] |= parent >= 0 and below[parent]
    above = tree.inclusive(reached.astype(np.float64)) > 0
    return set(tree.function[above | below].tolist())


def _is_among(function: int, chosen: list[Named]) -> bool:
    return any(account.function == function for account, _ in chosen)
