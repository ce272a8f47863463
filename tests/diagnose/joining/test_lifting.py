"""Suspects outside of the user's own code, named by where that code meets them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnose.joining.test_join import suspect
from tests.engines.made import recording
from tests.page.stalls import stalled
from whyperf.diagnose.joining.join import Joined
from whyperf.diagnose.joining.lifting import lifted
from whyperf.diagnose.verdict import Evidence
from whyperf.engines.causes.detail import OwnPlace, ShownRung
from whyperf.engines.excess.compare import compare
from whyperf.engines.run import Run

_ASKING = OwnPlace("ask", "app", "/src/app.c", 9, ("main", "ask"))
_SLEEPING = OwnPlace("sleep+0x40", "sleep", "", 0, ("sleep+0x40",))


def _rung(process: str, pid: int, did: str, own: OwnPlace | None) -> ShownRung:
    return ShownRung(
        process=process, thread=process, pid=pid, tid=pid, time_s=0, for_s=1, did=did, own=own, stack=(), link=None
    )


def _followed(name: str, share: float, last: OwnPlace = _SLEEPING):
    ladder = (
        _rung("app", 1, "waited in read in ask", _ASKING),
        _rung("dash slow.sh", 2, "waited in wait4", None),
        _rung("sleep", 3, "slept in sleep+0x40", last),
    )
    told = stalled().suspects[0].evidence[0].detail
    evidence = Evidence("causes", 1, 1.0, replace(told, ladder=ladder, interval=(share - 0.1, share + 0.1)))
    return replace(
        suspect(name, score=share), module="sleep", line=0, share=share, why="It slept.", evidence=(evidence,)
    )


def test_who_waits_for_a_program_without_lines_is_named() -> None:
    joined = lifted(Joined((_followed("sleep+0x40", 0.6), _followed("sleep+0x80", 0.3)), ()), [], None)
    (one,) = joined.suspects
    assert (one.function, one.module, one.line, one.path) == ("ask", "app", 9, ("main", "ask"))
    assert one.why == "It waits for slow.sh, which sleeps. sleep slept." and round(one.share, 6) == 0.9
    assert one.evidence[0].detail.interval == pytest.approx([0.7, 1.0])


def test_a_program_with_lines_is_the_users_own() -> None:
    own = replace(_SLEEPING, line=12, file="/src/sleep.c")
    (one,) = lifted(Joined((_followed("nap", 0.6, own),), ()), [], None).suspects
    assert one.function == "nap"


def test_code_without_a_name_has_its_nearest_named_caller() -> None:
    def made(seconds: float):
        return Run(recording([(("main", "visit", "tool+0x40", "tool+0x80"), seconds)]))

    excess = compare([made(1.0)], [made(4.0)])
    nameless = replace(suspect("tool+0x80", score=1.0), module="tool", line=5, why="It takes 3 s more.")
    (one,) = lifted(Joined((nameless,), ()), [], excess).suspects
    assert one.why == "Unnamed code of tool, called by visit, takes 3 s more."
