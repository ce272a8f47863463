"""The holder of a contended lock, as a claim: others wait because of it."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.diagnose.joining.claims import Claim, thing_of
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.measured.measures import Measures
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.lock_holders import find_holder
from whyperf.engines.run import Run


def holders_claims(
    good: Sequence[Run],
    bad: Sequence[Run],
    measures: Measures,
    added_s: float,
    settings: DiagnoseSettings,
) -> tuple[Claim, ...]:
    index = FunctionIndex(good, bad)
    holder = find_holder(
        good,
        bad,
        index,
        added_wall_s=added_s,
        unit=measures.unit,
        per_unit=measures.per_unit,
    )
    if holder is None:
        return ()
    fewest = min(len(good), len(bad))
    (suspect,) = to_suspects([holder.finding], fewest_runs=fewest, doubtful=False, settings=settings)
    effects = frozenset(thing_of(index.functions[one].key) for one in holder.waiters | holder.within)
    finding = holder.finding
    return (Claim(finding.engine, thing_of(finding.function), 1, finding.score, suspect, effects=effects),)
