"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.relations.cost import Phase
from bench.relations.run import Comparison, Result


def markdown(results: Sequence[Result]) -> str:
    parts = [_accuracy(results), _summary(results), _cost(results), _candidates(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def _accuracy(results: Sequence[Result]) -> str:
    """Rank of the true candidate / how many candidates there are; `*`: on the line as well."""
    head = (
        "case",
        "symptom",
        "bad/good",
        "rank",
        "first candidate",
        "no symptom given",
        "1 in 10",
        "same twice",
        "time",
        "CPU",
    )
    rows = [
        (
            one.case,
            one.symptom or "instructions",
            f"{one.told.answer.change:.2f}" if one.told.answer.change else "-",
            _rank(one.told),
            _first(one.told),
            _rank(one.untold),
            _rank(one.sampled),
            _none_expected(one.same),
            f"{one.told.seconds:.0f} s",
            f"{one.told.cpu_s:.0f} s",
        )
        for one in results
    ]
    return _table(head, rows)


def _rank(told: Comparison | None) -> str:
    if told is None:
        return ""
    of = len(told.answer.candidates)
    if told.score.rank is None:
        also = f" (belongs to it: {told.score.also})" if told.score.also else ""
        return f"-/{of}{also}" if of else ("none, right" if told.right else f"none ({told.answer.verdict})")
    return f"{told.score.rank}/{of}{'*' if told.score.on_the_line else ''}"


def _first(told: Comparison) -> str:
    if not told.answer.candidates:
        return told.answer.verdict
    decision = told.answer.candidates[0].decision
    return f"`{decision.function}:{decision.line}`"


def _none_expected(same: Comparison | None) -> str:
    if same is None:
        return ""
    return f"{len(same.answer.candidates)} ({same.answer.verdict})"


def _summary(results: Sequence[Result]) -> str:
    first = sum(one.told.right for one in results)
    quick = sum(one.told.seconds < 180 for one in results)
    cheap = sum(one.told.cpu_s < 180 for one in results)
    twins = [one.same for one in results if one.same]
    false = sum(bool(twin.answer.candidates) for twin in twins)
    sampled = [one for one in results if one.sampled]
    kept = sum(_same_first(one) for one in sampled)
    untold = [one.untold for one in results if one.untold]
    return (
        f"Right (the true one first among at most three, or rightly none): {first} of {len(results)}; without a "
        f"symptom {sum(one.right for one in untold)} of the {len(untold)} that name one. Same first candidate from one "
        f"symptom in ten: {kept} of {len(sampled)}. Same behaviour twice: {false} of {len(twins)} with a candidate. "
        f"Under three minutes by the clock: {quick} of {len(results)}; of CPU time: {cheap}."
    )


def _same_first(one: Result) -> bool:
    sampled = one.sampled.answer.candidates if one.sampled else ()
    return bool(sampled) and sampled[0].decision == one.told.answer.candidates[0].decision


def _cost(results: Sequence[Result]) -> str:
    """Of the bad side, whose runs are the longest."""
    head = (
        "case", "native", "none", "callgrind", "sketch", "zoom", "sketch / native", "zoom / native", "sketch / none",
        "zoom / none", "zoom / callgrind", "instructions", "functions", "events", "events/s", "bytes/event",
        "inexact", "rest",
    )  # fmt: skip
    rows = []
    for one in results:
        if not one.plain:
            continue
        sketch, zoom = (_last(one.told.phases, name) for name in ("sketch", "zoom"))
        plain = one.plain[1]
        rows.append(
            (
                one.case,
                f"{plain.native:.3f}",
                f"{plain.none:.2f}",
                f"{plain.callgrind:.2f}",
                f"{sketch.cpu_s:.2f}" if sketch else "-",
                f"{zoom.cpu_s:.2f}" if zoom else "-",
                _against(sketch, plain.native),
                _against(zoom, plain.native),
                _against(sketch, plain.none),
                _against(zoom, plain.none),
                _against(zoom, plain.callgrind),
                f"{sketch.instructions / 1e6:.1f} M" if sketch else "-",
                *(_events(zoom) if zoom else ("-",) * 5),
                _rest(one.told),
            )
        )
    if not rows:
        return ""
    note = (
        "The bad side, CPU seconds. `native`, `none`, `callgrind`: the least of three runs; runs this short are mostly "
        "Valgrind's start. `rest`: sealing, planning and comparing. events/s: of the zoom's CPU time."
    )
    return f"{note}\n\n{_table(head, rows)}"


def _events(zoom: Phase) -> tuple[str, ...]:
    return (
        f"{zoom.planned:,}",
        f"{zoom.executions / 1e6:.2f} M",
        f"{zoom.events_per_s / 1e6:.2f} M",
        f"{zoom.bytes_per_event:.1f}",
        f"{zoom.inexact:,}",
    )


def _last(phases: Sequence[Phase], name: str) -> Phase | None:
    return next((phase for phase in reversed(phases) if phase.phase == name), None)


def _against(phase: Phase | None, base: float) -> str:
    return f"{phase.cpu_s / base:.1f}x" if phase and base else "-"


def _rest(told: Comparison) -> str:
    return f"{told.cpu_s - sum(phase.cpu_s for phase in told.phases):.1f}"


def _candidates(results: Sequence[Result]) -> str:
    lines = []
    for one in results:
        lines.append(f"- {one.case}, truth {one.truth}:")
        for rank, candidate in enumerate(one.told.answer.candidates, start=1):
            lines.append(f"  {rank}. `{candidate.decision.function}`, {candidate.share:.0%}: {candidate.why}")
        if not one.told.answer.candidates:
            lines.append(f"  no candidate ({one.told.answer.verdict})")
    return "\n".join(lines)
