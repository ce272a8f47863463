"""The slowest requests of one recording against the others of the same recording, as a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.diagnose.joining.confidence import HIGH, MEDIUM
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.next_command.settled import open_page
from whyperf.diagnose.verdict import Confidence, Evidence, Percentile, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.contexts.findings import ENGINE
from whyperf.engines.contexts.slow_requests import QUEUED, RUNS, RequestPlace, SlowRequests, slow_requests
from whyperf.engines.finding import Detail
from whyperf.engines.kernel.wait_kinds import WaitKind
from whyperf.engines.quantities import percent, seconds
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import Run
from whyperf.errors import WhyperfError

_SHOWN = 5
_LEAST_SHARE = 0.05  # of what the slowest take longer: less names nobody
_NEARLY_ALL = 0.8  # of the slowest requests pass time there


@dataclass(frozen=True, kw_only=True)
class SlowRequestsDetail(Detail):
    slow_s: float  # passed there by the slowest, on average
    usual_s: float  # by the others


def examine_slow_requests(recording: Recorded) -> Verdict:
    found = slow_requests(Run(recording))
    if found is None:
        raise WhyperfError(
            f"{recording.path} holds fewer than 50 requests: threads that read from a socket and answer on one.",
            "whyperf record --trace --ready tcp:PORT --drive LOAD -o NAME -- SERVER",
        )
    added = found.slow_s - found.usual_s
    suspects = tuple(_suspects(found, added))
    sentence = (
        f"The slowest {found.slowest} of {found.count} requests take {seconds(found.slow_s)} on average, the others "
        f"{seconds(found.usual_s)}."
    )
    which = [one for one in found.places if one.function == RUNS and one.kind is WaitKind.NONE]
    notes = [f"They run for {seconds(one.slow_s)} of that, the others for {seconds(one.usual_s)}." for one in which]
    queued = [one for one in found.places if one.function == QUEUED]
    notes += [
        f"They were runnable without a CPU for {seconds(one.slow_s)}, the others for {seconds(one.usual_s)}."
        for one in queued
    ]
    symptom = Symptom(Nature.LATENCY.value, "request", found.usual_s, found.slow_s, "wall_s", (1, 1), sentence=sentence)
    percentiles = tuple(
        Percentile(one, value, value, (value, value), (value, value), certain=False)
        for one, value in found.percentiles.items()
    )
    kind = VerdictKind.DIFFERENCE if suspects else VerdictKind.NONE
    said = "p50 {}, p90 {}, p99 {}, p99.9 {}.".format(*(seconds(one.good) for one in percentiles))
    told = (f"Percentiles of all requests: {said}", *notes)
    return Verdict(kind, symptom, suspects, told, next_command=open_page((), (recording.path,)))


def _suspects(found: SlowRequests, added: float) -> list[Suspect]:
    if added <= _LEAST_SHARE * found.usual_s:
        return []  # they all take as long
    ranked = [one for one in found.places if one.function >= 0 and one.slow_s - one.usual_s > _LEAST_SHARE * added]
    suspects = []
    for rank, place in enumerate(ranked[:_SHOWN], 1):
        known, share = found.index.functions[place.function], min(1.0, (place.slow_s - place.usual_s) / added)
        why = _why(found, place)
        sure: Confidence = HIGH if place.in_slow >= _NEARLY_ALL else MEDIUM
        doubt = "" if sure == HIGH else f"only {percent(place.in_slow)} of the slowest requests do that"
        evidence = Evidence(ENGINE, rank, share, SlowRequestsDetail(slow_s=place.slow_s, usual_s=place.usual_s), why)
        suspects.append(
            Suspect(
                rank, "function", known.key.name, known.key.module, known.file, 0, -1, None, None, (), share, share,
                sure, "long-wait", why, evidence=(evidence,), doubt=doubt,
            )
        )  # fmt: skip
    return suspects


def _why(found: SlowRequests, place: RequestPlace) -> str:
    said = (
        f"In {percent(place.in_slow)} of the slowest requests it {place.kind.words} {seconds(place.slow_s)} on "
        f"average; in the others for {seconds(place.usual_s)}."
    )
    if place.meanwhile is None or place.meanwhile < 0 or place.meanwhile_kind is WaitKind.NONE:
        return said
    other = found.index.functions[place.meanwhile].key.name
    doing = place.meanwhile_kind.words.removesuffix(" for")
    return f"{said} Who ends that wait {doing} in {other} meanwhile."
