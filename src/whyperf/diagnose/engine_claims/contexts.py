"""What kernel events say of the contexts in which latency appeared, as claims."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from whyperf.diagnose import wording
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.joining.claims import Claim, claims_of, thing_of
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.measured.significance import Measure
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import ContextRanking, ContextStep, Evidence, SlowContext, Suspect
from whyperf.engines.contexts.compare import ContextsComparison, compare
from whyperf.engines.contexts.detail import LayerDetail, layer_detail
from whyperf.engines.contexts.findings import ENGINE, findings
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.paper import findings as paper_findings
from whyperf.engines.contexts.ranking import RankedContext, ranked_contexts
from whyperf.engines.contexts.sentences import where
from whyperf.engines.contexts.settings import Sources
from whyperf.engines.contexts.units import ITERATION
from whyperf.engines.excess.findings import ENGINE as EXCESS
from whyperf.engines.execution import HERE, Executor
from whyperf.engines.finding import Finding
from whyperf.engines.quantities import percent
from whyperf.engines.run import Run
from whyperf.recording.names.identity import FunctionKey

_MUCH = 0.1  # of the excess: worth a note


def view_contexts(
    good: Sequence[Run],
    bad: Sequence[Run],
    method: Method,
    sources: Sources = Sources.ALL,
    executor: Executor = HERE,
) -> ContextsView | None:
    """None where a run has no kernel events."""
    comparison = compare(good, bad, sources=sources, executor=executor)
    return ContextsView(comparison, method) if comparison is not None else None


@dataclass(frozen=True, eq=False)
class ContextsView:
    comparison: ContextsComparison
    method: Method

    @property
    def slower(self) -> bool:
        """Whether anything became slower beyond noise."""
        return bool(self.comparison.slower)

    @cached_property
    def findings(self) -> list[Finding]:
        return paper_findings(self.comparison) if self.method is Method.PAPER else findings(self.comparison)

    @cached_property
    def ranking(self) -> ContextRanking | None:
        """The rows of the heat map; None where there are none."""
        rows = tuple(_row(row) for row in ranked_contexts(self.comparison))
        return ContextRanking(self.unit, rows) if rows else None

    @property
    def unit(self) -> str:
        return self.comparison.unit.name

    @property
    def has_own_unit(self) -> bool:
        """Windows of any length say nothing by their wall and CPU time: what happens within them does.

        Of whole runs wall time says less than their waits, if others had the CPUs meanwhile.
        """
        return self.slower and (self.unit == ITERATION or self.comparison.unit.by_share or self._waits_grew)

    def symptom(self) -> tuple[str, Measure]:
        """In the unit that the contexts have found by themselves."""
        comparison = self.comparison
        if comparison.unit.by_share:
            first = comparison.slower[0]
            measure = Measure("share", first.good_runs, first.bad_runs)
            name = comparison.index.functions[first.function].key.name
            return wording.divided_differently(measure, name), measure
        totals = (tuple(side.own.sum(axis=1).tolist()) for side in (comparison.good, comparison.bad))
        measure = Measure("wall_s", *totals)
        said = wording.slower_itself if comparison.whole else wording.slower_iterations
        return said(measure), measure

    @property
    def _waits_grew(self) -> bool:
        """In runs that ended by themselves, by most of what was added."""
        good, bad = self.comparison.good, self.comparison.bad
        own, blocked = (float((bad.mean(part) - good.mean(part)).sum()) for part in ("own", "blocked"))
        return self.comparison.whole and own > 0 and 2 * blocked >= own

    def claims(self, settings: DiagnoseSettings) -> Iterator[Claim]:
        """Where the time was waited."""
        sides = self.comparison.good.runs, self.comparison.bad.runs
        plain = to_suspects(
            self.findings,
            fewest_runs=min(len(side) for side in sides),
            doubtful=self.comparison.unit.by_share,
            settings=settings,
        )
        suspects = (
            replace(one, process=detail.process or None, thread=detail.thread or None)
            for one, detail in zip(plain, map(layer_detail, self.findings), strict=True)
        )
        yield from claims_of(self.findings, suspects)

    def claims_beside(self, functions: Collection[FunctionKey], settings: DiagnoseSettings) -> Iterator[Claim]:
        """Where samples show the time, and lead to these functions: what contexts know of the same.

        They see the same time again, so this adds no weight; but engines that look at the program alone charge a
        plug-in's time to the program. The program chose to call a library, but a plug-in was put into it.
        """
        for finding, claim in zip(self.findings, self.claims(settings), strict=True):
            if layer_detail(finding).layer is Layer.PLUG_IN and not self._is_own(finding.function):
                yield replace(claim, hidden_from=EXCESS)
        for key in functions:
            number = self.comparison.index.number(key)
            if number is not None:
                yield self._layer_of(key, number)

    def _is_own(self, key: FunctionKey) -> bool:
        number = self.comparison.index.number(key)
        return number is not None and self.comparison.index.own[number]

    def _layer_of(self, key: FunctionKey, number: int) -> Claim:
        layer, share = self.comparison.layers[number], self.comparison.share
        finding = next((one for one in self.findings if one.function == key), None)
        rank = finding.rank if finding else 1 + int((share > share[number]).sum())
        score = min(1.0, max(0.0, float(share[number])))
        detail = finding.detail if finding else LayerDetail(layer=layer, external=layer.external)
        said = where(key.module, layer)
        evidence = Evidence(ENGINE, rank, score, detail, finding.why if finding else said)
        suspect = Suspect(
            rank, "function", key.name, key.module, "", 0, -1, None, None, (), score, score, "low", "unknown", said,
            evidence=(evidence,),
        )  # fmt: skip
        return Claim(ENGINE, thing_of(key), rank, score, suspect, remark=said, counted_in=EXCESS)

    def notes(self, functions: Collection[FunctionKey]) -> list[str]:
        """Where other engines lead, to suspects in these functions: where their time really is, and how it adds up."""
        ran, beside = self.comparison.beside
        summed = self.comparison.whole and beside >= _MUCH * ran > 0
        told = [wording.beside(beside, self.unit)] if summed else []
        return told + [
            f"{percent(one.share)} of the added time lies in {one.function.name} ({one.function.module}, "
            f"{layer_detail(one).layer.value}): charged to the program's function that calls it."
            for one in self.findings[:1]
            if layer_detail(one).layer is Layer.THIRD_PARTY and one.function not in functions
        ]

    def unit_notes(self) -> list[str]:
        """How runs of different length were compared, and what no context was known of."""
        comparison = self.comparison
        unknown = comparison.unplaced
        notes = [f"{percent(unknown)} of the added time has no known stack."] if unknown >= _MUCH else []
        if comparison.unit.by_share:
            return [*notes, "Compared by share of the time: no unit of work was found in these windows of time."]
        if self.unit != ITERATION:
            return notes
        good, bad = (
            sum(comparison.unit.count[run] for run in side.runs) / len(side.runs)
            for side in (comparison.good, comparison.bad)
        )
        per = f"Compared per iteration of the threads' loops: {good:,.0f} in a good run, {bad:,.0f} in a bad one."
        return [*notes, per]


def _row(row: RankedContext) -> SlowContext:
    steps = tuple(
        ContextStep(step.function, step.module, step.layer.value, step.added, step.rank) for step in row.steps
    )
    return SlowContext(row.rank, row.share, row.good, row.bad, steps, row.hot)
