"""What kernel events say of stalls: who should have acted, as claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whyperf.diagnose.decision import Decision
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.joining.claims import Claim, Thing, claims_of, thing_of
from whyperf.diagnose.joining.confidence import HIGH, LOW, MEDIUM
from whyperf.diagnose.joining.join import join
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.joining.trust import TRUST
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.next_command.settled import open_page
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Confidence, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.causes import path_sentences
from whyperf.engines.causes.detail import culprit_detail
from whyperf.engines.causes.diagnosis import Causes, StallFilter, find_causes
from whyperf.engines.causes.findings import findings
from whyperf.engines.causes.path import Stall
from whyperf.engines.contexts.findings import ENGINE as CONTEXTS
from whyperf.engines.execution import HERE, Executor
from whyperf.engines.finding import Finding
from whyperf.engines.recording_protocol import Recorded, is_traced

_CONFIDENCE: Mapping[str, Confidence] = {
    "strong": HIGH,
    "weak": MEDIUM,
    "inferred": MEDIUM,
    "guess": LOW,
    "unknown": LOW,
}

_DOUBTS = {
    "strong": "",
    "weak": "the wake-up may have been by chance; more traced runs would tell",
    "inferred": "who should have woken it is inferred from the good runs",
    "guess": "who should have woken it is a guess; a normal recording beside it would tell",
    "unknown": "nobody was seen who should have woken it",
}


@dataclass(frozen=True, eq=False)
class CausesView:
    """Stalls of the bad recording in which the longest was found."""

    causes: Causes
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        stall = self.causes.stalls[0]
        said = path_sentences.usual(stall.anomaly, compared=bool(self.causes.normals))
        return f"{path_sentences.stalled(self.causes.graph, stall.anomaly)}; {said}."

    def symptom(self, runs: tuple[int, int]) -> Symptom:
        anomaly = self.causes.stalls[0].anomaly
        lasted = (anomaly.end - anomaly.begin) / 1e9
        wait = Nature.WAIT.value
        return Symptom(wait, "stall", anomaly.normal / 1e9, lasted, "wall_s", runs, sentence=self.sentence)

    def claims(self, settings: DiagnoseSettings, added_s: float | None = None) -> Iterator[Claim]:
        """One a function: several stalls may have the same cause.

        `added_s`: what the bad run took longer, where that is the symptom; stalls count for what they explain of it.
        """
        plain = to_suspects(self.findings, fewest_runs=1, doubtful=False, settings=settings)
        suspects = [
            replace(
                suspect,
                kind="thread",
                process=detail.culprit_process,
                thread=detail.culprit_thread,
                confidence=_CONFIDENCE[detail.certainty],
                doubt=_DOUBTS[detail.certainty],
            )
            for suspect, detail in zip(plain, map(culprit_detail, self.findings), strict=True)
        ]
        alike: defaultdict[Thing, list[Claim]] = defaultdict(list)
        stalls: defaultdict[Thing, list[Stall]] = defaultdict(list)
        for claim, stall in zip(claims_of(self.findings, suspects), self._stalls(), strict=True):
            alike[claim.thing].append(claim)
            stalls[claim.thing].append(stall)
        part = {thing: _part(same, added_s) for thing, same in stalls.items()}
        of_the_first = next(iter(part.values()), 1.0)
        for rank, (thing, same) in enumerate(alike.items(), 1):
            first, shown = same[0], same[0].suspect
            told = replace(shown, share=shown.share * part[thing], why=shown.why + _again(len(same) - 1))
            score = first.score * of_the_first  # the engine's scores are parts of its first
            # Who stalls by itself is seen to by contexts too; that it waits for another is news.
            alone = all(stall.path.culprit.thread == stall.anomaly.thread for stall in stalls[thing])
            yield replace(
                first,
                rank=rank,
                score=score,
                suspect=told,
                same_time_as=CONTEXTS if alone else "",
                share_is_of=_counted(len(same)) if added_s is not None and part[thing] < 1.0 else "",
                effects=self._waiting(stalls[thing]) - {thing},
            )

    def _stalls(self) -> Sequence[Stall]:
        """Those that the findings explain. As published, all explain the largest."""
        stalls = self.causes.stalls
        return stalls if len(stalls) == len(self.findings) else stalls[:1] * len(self.findings)

    def _waiting(self, stalls: Sequence[Stall]) -> frozenset[Thing]:
        """Where threads waited on the way to the culprit."""
        graph = self.causes.graph
        sites = {graph.wait(rung.wait).node for stall in stalls for rung in stall.path.rungs}
        frames = (graph.trace.stacks.own(node) for node in sites if node >= 0)
        return frozenset(thing_of(frame.key) for frame in frames if frame is not None)


def _part(stalls: Sequence[Stall], added_s: float | None) -> float:
    """Of the added time, what the thread lost in them that lost most: a thread's waits do not overlap."""
    if added_s is None or added_s <= 0:
        return 1.0
    lost: defaultdict[int, int] = defaultdict(int)
    for stall in stalls:
        for anomaly in (stall.anomaly, *stall.along):
            lost[anomaly.thread] += anomaly.excess
    return min(1.0, max(lost.values()) / 1e9 / added_s)


def _counted(stalls: int) -> str:
    """Waits that are too short to stand out may have the same cause, and nobody followed them."""
    return f"The share is that of {'this stall' if stalls == 1 else f'these {stalls} stalls'} alone."


def _again(others: int) -> str:
    if not others:
        return ""
    return f" {others} more {'stall has' if others == 1 else 'stalls have'} the same cause."


@dataclass(frozen=True)
class _Compared:
    """What a stalled recording is compared with, and what is said of the stall."""

    good: Sequence[Recorded]
    where: StallFilter | None


@dataclass(frozen=True)
class _Found:
    """Stalls of a recording, by the longest. They hold all of its events: those stay where they were found."""

    excess: int
    stalled: Recorded
    causes: Causes | None

    def __getstate__(self) -> dict[str, Any]:
        return {"excess": self.excess, "stalled": self.stalled, "causes": None}


def _find(compared: _Compared, stalled: Recorded) -> _Found:
    causes = find_causes(stalled, compared.good, where=compared.where)
    return _Found(causes.stalls[0].anomaly.excess if causes.stalls else 0, stalled, causes)


def view_causes(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    method: Method,
    where: StallFilter | None = None,
    executor: Executor = HERE,
) -> CausesView | None:
    """None where a recording has no kernel events."""
    if not all(is_traced(one) for one in (*good, *bad)):
        return None
    executor = executor if len(bad) > 1 else HERE  # the only one is the worst
    worst = max(executor.map("explaining stalls", _find, _Compared(good, where), bad), key=lambda one: one.excess)
    causes = worst.causes or find_causes(worst.stalled, good, where=where)
    if method is Method.PAPER:
        from whyperf.engines.causes.paper.findings import paper_findings  # for those few who compare methods

        return CausesView(causes, paper_findings(causes))
    return CausesView(causes, findings(causes))


def with_stalls(decision: Decision, view: CausesView, settings: DiagnoseSettings) -> Decision:
    """Stalls beside what else was found; where nothing was, they are the symptom."""
    notes = (*decision.notes, *view.causes.notes)
    if not view.findings:
        return replace(decision, notes=notes)
    if decision.kind is VerdictKind.DIFFERENCE:
        claims = list(view.claims(settings, decision.added_s))
        if decision.nature is Nature.CPU:
            claims = [replace(one, effects=frozenset()) for one in claims]  # nobody runs because another waits
        return replace(decision, claims=(*decision.claims, *claims), notes=notes)
    symptom = view.symptom(decision.symptom.runs)
    return Decision(VerdictKind.DIFFERENCE, symptom, tuple(view.claims(settings)), notes)


def examine_stall(stalled: Recorded, where: StallFilter | None = None) -> Verdict:
    """One recording alone: its own past is what is normal."""
    causes = find_causes(stalled, [], where=where)
    view = CausesView(causes, findings(causes))
    alone = "Compared with the rest of the same recording: a normal recording beside it tells more."
    notes = (*causes.notes, alone)
    if not view.findings:
        sentence = "Nothing stalled: no wait or turn stands out of the rest of the recording."
        symptom = Symptom(Nature.WAIT.value, "stall", 0.0, 0.0, "wall_s", (0, 1), sentence=sentence)
        return Verdict(VerdictKind.NONE, symptom, (), notes, f"whyperf diagnose NORMAL {stalled.path}")
    suspects: tuple[Suspect, ...] = join(view.claims(DiagnoseSettings()), TRUST[Nature.WAIT]).suspects
    return Verdict(VerdictKind.DIFFERENCE, view.symptom((0, 1)), suspects, notes, open_page([], [stalled.path]))
