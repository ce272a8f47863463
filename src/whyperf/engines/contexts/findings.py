"""From slower functions to findings: the path, the layer, what was waited for, and one sentence why."""

from __future__ import annotations

from whyperf.engines.contexts.accounts import Accounts, LatencyAccount
from whyperf.engines.contexts.compare import ContextsComparison
from whyperf.engines.contexts.detail import ContextsDetail, Latencies, ShownWait
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.sentences import sentence
from whyperf.engines.contexts.significance import Slower
from whyperf.engines.finding import Finding, Strength
from whyperf.recording.names.system_calls import system_call_name

ENGINE = "contexts"
_MOSTLY = 0.5


def findings(comparison: ContextsComparison) -> list[Finding]:
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
        detail=_detail(accounts, one, layer, account),
        strength=Strength(one.sigma, one.separated, one.low, one.high),
    )


def _pattern(layer: Layer, account: LatencyAccount) -> str:
    good, bad = account.good, account.bad
    if layer.external:
        return "external"
    return "long-wait" if bad.blocked - good.blocked >= _MOSTLY * (bad.total - good.total) else "long-run"


def _detail(accounts: Accounts, one: Slower, layer: Layer, account: LatencyAccount) -> ContextsDetail:
    good, bad = account.good, account.bad
    process, thread = accounts.doer(one.function)
    return ContextsDetail(
        layer=layer,
        external=layer.external,
        process=process,
        thread=thread,
        unit=accounts.comparison.unit.name,
        good_s=one.good,
        bad_s=one.bad,
        good_runs=one.good_runs,
        bad_runs=one.bad_runs,
        sigma=one.sigma,
        interval=(one.low, one.high),
        running_s=(good.running, bad.running),
        runnable_s=(good.runnable, bad.runnable),
        blocked_s=(good.blocked, bad.blocked),
        waits=tuple(
            ShownWait(
                wait.kind.name.lower(),
                system_call_name(wait.call) if wait.call >= 0 else "",
                (wait.good_s, wait.bad_s),
                (wait.good_count, wait.bad_count),
            )
            for wait in account.waited_for[:5]
        ),
        other_side=account.other_side,
        latency_s=_latencies(accounts.comparison, one.node),
    )


def _latencies(comparison: ContextsComparison, node: int) -> Latencies:
    good, bad = comparison.instances()
    return Latencies(
        conservative=(float(good.mean()[node]), float(bad.mean()[node])),
        aggressive=(float(good.mean(aggressive=True)[node]), float(bad.mean(aggressive=True)[node])),
        instances=(float(good.count[node]), float(bad.count[node])),
    )
