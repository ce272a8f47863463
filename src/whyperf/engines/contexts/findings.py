"""From slower functions to findings: the path, the layer, what was waited for, and one sentence why."""

from __future__ import annotations

from typing import Any

from whyperf.engines.contexts.accounts import Account, Accounts
from whyperf.engines.contexts.compare import Comparison
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.sentences import sentence
from whyperf.engines.contexts.significance import Slower
from whyperf.engines.finding import Finding, Strength
from whyperf.recording.system_calls import system_call_name

ENGINE = "contexts"
_MOSTLY = 0.5


def findings(comparison: Comparison) -> list[Finding]:
    """Best first; none where nothing stands out."""
    accounts = Accounts(comparison)
    return [_finding(accounts, rank, one) for rank, one in enumerate(comparison.slower, 1)]


def _finding(accounts: Accounts, rank: int, one: Slower) -> Finding:
    comparison = accounts.comparison
    contexts = comparison.contexts
    layer = comparison.layers[one.function]
    account = accounts.of(one.function)
    place, lines = accounts.place(one.function)
    key = comparison.index.functions[one.function].key
    return Finding(
        engine=ENGINE,
        function=key,
        place=place,
        rank=rank,
        score=one.share,
        share=one.share,
        path=tuple(contexts.name(node) for node in contexts.path(one.node)),
        pattern=_pattern(layer, account),
        why=sentence(comparison.unit, key.module, layer, account),
        lines=lines,
        detail=_detail(comparison, one, layer, account) | _doer(accounts, one.function),
        strength=Strength(one.sigma, one.separated, one.low, one.high),
    )


def _doer(accounts: Accounts, function: int) -> dict[str, str]:
    process, thread = accounts.doer(function)
    return {"process": process, "thread": thread}


def _pattern(layer: Layer, account: Account) -> str:
    good, bad = account.good, account.bad
    if layer.external:
        return "external"
    return "long-wait" if bad.blocked - good.blocked >= _MOSTLY * (bad.total - good.total) else "long-run"


def _detail(comparison: Comparison, one: Slower, layer: Layer, account: Account) -> dict[str, Any]:
    good, bad = account.good, account.bad
    return {
        "layer": layer.value,
        "external": layer.external,
        "unit": comparison.unit.name,
        "good_s": one.good,
        "bad_s": one.bad,
        "good_runs": list(one.good_runs),
        "bad_runs": list(one.bad_runs),
        "sigma": one.sigma,
        "interval": [one.low, one.high],
        "running_s": [good.running, bad.running],
        "runnable_s": [good.runnable, bad.runnable],
        "blocked_s": [good.blocked, bad.blocked],
        "waits": [
            {
                "for": wait.kind.name.lower(),
                "call": system_call_name(wait.call) if wait.call >= 0 else "",
                "seconds": [wait.good_s, wait.bad_s],
                "count": [wait.good_count, wait.bad_count],
            }
            for wait in account.waited_for[:5]
        ],
        "other_side": account.other_side,
        "latency_s": _latencies(comparison, one.node),
    }


def _latencies(comparison: Comparison, node: int) -> dict[str, list[float]]:
    """Of the function's instances in its heaviest context, inferred: good and bad means."""
    sides = comparison.instances()
    return {
        "conservative": [float(side.mean()[node]) for side in sides],
        "aggressive": [float(side.mean(aggressive=True)[node]) for side in sides],
        "instances": [float(side.count[node]) for side in sides],
    }
