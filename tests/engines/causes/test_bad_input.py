"""Recordings that have little to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.causes.scripted import Script
from tests.engines.causes.walk.test_stall_walk import conversation
from tests.engines.made import recording
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.path import CulpritEnding
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Shed


def test_a_recording_without_events_is_refused_in_a_sentence() -> None:
    with pytest.raises(WhyperfError, match="holds no kernel events"):
        find_causes(recording([(["main"], 1.0)]), [])


def test_nothing_in_common_with_the_normal_run() -> None:
    """Another program's recording tells nothing of what is normal: what remains is the wait-for chain."""
    other = Script()
    other.asleep("elsewhere", 10, 20, "read", ["main", "libc:read"], by="timer", returns=1)
    causes = find_causes(conversation(slow=True).made(), [other.made()])
    assert causes.stalls[0].path.culprit.ending is CulpritEnding.RAN
    assert causes.stalls[0].anomaly.instances == 0


def test_events_lost_in_the_critical_window_are_told() -> None:
    made = conversation(slow=True).made()
    assert made.manifest.trace is not None
    trace = replace(made.manifest.trace, events_lost=1200, shed=(Shed("stacks of switches", 400_000_000, 900_000_000),))
    causes = find_causes(replace(made, manifest=replace(made.manifest, trace=trace)), [])
    assert any("1,200 kernel events were lost" in note for note in causes.notes)
    assert any("left out stacks of switches" in note for note in causes.notes)


def test_a_thread_that_never_ran_and_a_single_event() -> None:
    script = Script()
    script.thread("silent")
    script.did("p", 5, "getpid", 1)
    assert not find_causes(script.made(), []).stalls


def test_lost_switches_leave_no_wait_open() -> None:
    """A thread that is seen again without having been switched to, or woken twice, or that leaves twice."""
    script = Script()
    for at in (10, 20, 30):
        script.add(at, "p", EventKind.SWITCH, ["main", "libc:read"], call="read", result=1)
        script.add(at + 5, "q", EventKind.WAKING, other="p", call="write")
        script.add(at + 6, "q", EventKind.WAKING, other="p", call="write")
    script.add(40, "", EventKind.SWITCH, other="p")
    script.add(41, "", EventKind.SWITCH, other="p")
    assert not find_causes(script.made(), []).stalls


def test_a_clock_that_jumps_is_survived() -> None:
    script = conversation(slow=False)
    script.did("client", 900_000, "getpid", 1)
    script.did("server", 900_001, "getpid", 1)
    find_causes(script.made(), [conversation(slow=False).made()])
