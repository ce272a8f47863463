"""Stalls in the verdict, in the terminal and in JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import jsonschema
import pytest

from tests.engines.causes.walk.test_stall_walk import conversation, signalled, two_deep
from tests.engines.made import Made
from tests.schemas import verdict_schema
from whyperf.diagnose.causes import CausesView, examine_stall, view_causes, with_stalls
from whyperf.diagnose.decision import Decision
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.joining.claims import Claim, Thing
from whyperf.diagnose.joining.join import join
from whyperf.diagnose.joining.trust import TRUST
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Evidence, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.causes.diagnosis import StallFilter
from whyperf.engines.finding import Detail
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import TableFile
from whyperf.report.chrome import to_chrome
from whyperf.report.json import to_json
from whyperf.report.terminal import show


def traced(made: Made) -> Made:
    return replace(made, manifest=replace(made.manifest, tables={"events": TableFile(1, 1, 1)}))


def plain(kind: VerdictKind, symptom: str, *suspects: Suspect) -> Verdict:
    return Verdict(kind, Symptom(symptom, "run", 1.0, 2.0, "wall_s", (1, 1), sentence="Slower."), suspects, ())


def suspect(function: str) -> Suspect:
    return Suspect(1, "function", function, "tool", "tool.c", 1, -1, None, None, (), 0.5, 0.5, "low", "unknown", "",
                   evidence=(Evidence("excess", 1, 0.5, Detail()),))  # fmt: skip


def joined(verdict: Verdict, found: CausesView, settings: DiagnoseSettings) -> Verdict:
    """What else was found is the excess engine's."""
    claims = [Claim("excess", Thing(one.module, one.function), one.rank, one.score, one) for one in verdict.suspects]
    decision = with_stalls(Decision(verdict.kind, verdict.symptom, tuple(claims)), found, settings)
    suspects = join(decision.claims, TRUST[decision.nature]).suspects
    return replace(verdict, kind=decision.kind, symptom=decision.symptom, suspects=suspects)


def view(*, method: Method = Method.SOUND):  # type: ignore[no-untyped-def]
    found = view_causes([traced(two_deep(stalled=False).made())], [traced(two_deep(stalled=True).made())], method)
    assert found is not None
    return found


def test_a_stall_turns_no_difference_into_one() -> None:
    verdict = joined(plain(VerdictKind.NONE, "cpu"), view(), DiagnoseSettings())
    assert verdict.kind is VerdictKind.DIFFERENCE
    assert verdict.symptom.unit == "stall"
    assert (verdict.suspects[0].function, verdict.suspects[0].process) == ("throttle", "back")


def test_where_the_time_was_waited_the_cause_comes_first_and_elsewhere_behind() -> None:
    waited = joined(plain(VerdictKind.DIFFERENCE, "wait", suspect("ask")), view(), DiagnoseSettings())
    assert [one.function for one in waited.suspects] == ["throttle", "ask"]
    ran = joined(plain(VerdictKind.DIFFERENCE, "cpu", suspect("ask")), view(), DiagnoseSettings())
    assert [(one.rank, one.function) for one in ran.suspects] == [(1, "ask"), (2, "throttle")]


def test_two_engines_on_one_function_are_one_suspect() -> None:
    same = joined(plain(VerdictKind.DIFFERENCE, "cpu", suspect("throttle")), view(), DiagnoseSettings())
    (one,) = same.suspects
    assert {evidence.engine for evidence in one.evidence} == {"excess", "causes"}
    assert one.process == "back"


def test_several_stalls_with_one_cause_are_one_suspect() -> None:
    once = view()
    twice = replace(once, findings=(*once.findings, *once.findings))
    (one,) = twice.claims(DiagnoseSettings())
    assert "1 more stall has the same cause" in one.suspect.why


def test_the_published_method_can_be_asked_for() -> None:
    found = view(method=Method.PAPER)
    assert found.findings[0].detail.method == "paper"


def test_recordings_without_events_have_no_say() -> None:
    assert view_causes([conversation(slow=False).made()], [conversation(slow=True).made()], Method.SOUND) is None


def test_one_recording_alone_and_where_to_look() -> None:
    stalled = conversation(slow=True).made()
    verdict = examine_stall(stalled)
    assert verdict.suspects[0].function == "scan_all"
    at = examine_stall(stalled, StallFilter(at=800_000_000, thread="client"))
    assert at.suspects[0].function == "scan_all"
    with pytest.raises(WhyperfError, match="No thread nobody stalled"):
        examine_stall(stalled, StallFilter(thread="nobody"))
    quiet = examine_stall(conversation(slow=False).made())
    assert quiet.kind is VerdictKind.NONE


def test_the_ladder_is_shown_and_the_json_fits_its_schema() -> None:
    verdict = joined(plain(VerdictKind.NONE, "cpu"), view(), DiagnoseSettings())
    out = io.StringIO()
    show(verdict, file=out, width=110)
    text = out.getvalue()
    assert "client (200) stalled for 1.20 s in one wait" in text
    assert "message (strong): data was sent to it" in text
    ladder = [text.rindex(did) for did in ("waited in read in ask", "waited in read in fetch", "slept in throttle")]
    assert ladder == sorted(ladder)
    loaded = json.loads(to_json(verdict))
    jsonschema.validate(loaded, verdict_schema())
    assert loaded["suspects"][0]["evidence"][0]["detail"]["ladder"][0]["process"] == "client"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_of_a_ladder_is_wider_than_the_terminal_allows(width: int) -> None:
    normal, stalled = traced(signalled(forgotten=False).made()), traced(signalled(forgotten=True).made())
    found = view_causes([normal], [stalled], Method.SOUND)
    assert found is not None
    out = io.StringIO()
    show(joined(plain(VerdictKind.NONE, "cpu"), found, DiagnoseSettings()), file=out, width=width)
    ladder = [line for line in out.getvalue().splitlines() if "strong" in line or "inferred" in line]
    assert ladder and all(len(line) <= max(width, 60) for line in ladder)


def test_the_path_opens_in_a_trace_viewer() -> None:
    verdict = joined(plain(VerdictKind.NONE, "cpu"), view(), DiagnoseSettings())
    events = json.loads(to_chrome(verdict))["traceEvents"]
    slices = [one for one in events if one["ph"] == "X"]
    assert [one["args"]["process"] for one in slices] == ["client", "server", "back"]
    starts, ends = ([one for one in events if one["ph"] == kind] for kind in "sf")
    assert [one["id"] for one in starts] == [one["id"] for one in ends] and len(starts) == 2
    for arrow in (*starts, *ends):  # an arrow is tied to the slice around its end
        assert any(one["tid"] == arrow["tid"] and one["ts"] <= arrow["ts"] <= one["ts"] + one["dur"] for one in slices)
    assert {one["args"]["name"] for one in events if one["name"] == "process_name"} == {"client", "server", "back"}
