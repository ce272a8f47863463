"""Short stalls: found where the normal run's own spread permits it, and only there."""

from __future__ import annotations

import pytest

from tests.engines.causes.scripted import Script
from tests.engines.causes.walk.test_stall_walk import label, serve
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.path import CulpritEnding
from whyperf.recording.schemas.events import EventKind

WORK = ["main", "loop", "get"]


def conversation(*, turns: int = 80, slow: dict[int, float] | None = None) -> Script:
    """A client's requests, of 2 ms each but for some."""
    script, at = Script(), 100.0
    for turn in range(turns):
        takes = (slow or {}).get(turn, 2.0)
        work = WORK if takes < 20 else ["main", "loop", "compact"]
        serve(script, at, at + takes, work=work, busy=True)
        at += takes + 20
    return script


def test_a_stall_of_a_tenth_of_a_second_is_found_where_much_is_known_of_the_site() -> None:
    causes = find_causes(conversation(slow={50: 110.0}).made(), [conversation().made()])
    (stall,) = causes.stalls
    assert label(causes, stall.anomaly.thread) == "client"
    assert stall.path.culprit.ending is CulpritEnding.RAN
    assert "compact" in causes.graph.trace.stacks.functions(stall.path.culprit.node)


@pytest.mark.parametrize("usual", [{15: 70.0}, {65: 70.0}])
def test_not_where_the_normal_run_has_the_like_of_it(usual: dict[int, float]) -> None:
    # GIVEN a normal run one half of which has a request that lasts far longer than any of the other half's
    normal = conversation(slow=usual).made()
    # THEN such a one is nothing out of the ordinary at any other site either
    assert not find_causes(conversation(slow={50: 110.0}).made(), [normal]).stalls
    # BUT a long stall is
    assert find_causes(conversation(slow={50: 700.0}).made(), [normal]).stalls


def test_not_where_little_is_known() -> None:
    normal = conversation(turns=12).made()
    assert not find_causes(conversation(turns=12, slow={8: 110.0}).made(), [normal]).stalls
    assert find_causes(conversation(turns=12, slow={8: 700.0}).made(), [normal]).stalls


@pytest.mark.parametrize("takes", [2.0, 5.0, 9.0, 25.0])
def test_a_little_longer_than_usual_is_no_stall(takes: float) -> None:
    assert not find_causes(conversation(slow={50: takes}).made(), [conversation().made()]).stalls


def scripted_job(*, waits_from: float, sleeps: float) -> Script:
    """A shell waits for a child that sleeps."""
    script = Script()
    script.did("sh", 1, "getpid", 1)
    script.asleep("sh", waits_from, 10 + sleeps, "wait4", ["main", "wait_for", "libc:wait4"], by="child",
                  waker_call="exit_group", returns=7)  # fmt: skip
    script.did("child", 9, "getpid", 1)
    script.asleep("child", 10, 9 + sleeps, "nanosleep", ["main", "libc:sleep"], by="timer", returns=0)
    return script


def test_what_the_culprit_does_in_the_normal_run_too_explains_nothing_where_little_is_known() -> None:
    # GIVEN a shell that comes to wait for its child sooner than the other time
    normal = scripted_job(waits_from=505, sleeps=500).made()
    # THEN the child, which sleeps as it always does, is not to blame; one that sleeps longer is
    assert not find_causes(scripted_job(waits_from=11, sleeps=500).made(), [normal]).stalls
    (stall,) = find_causes(scripted_job(waits_from=11, sleeps=2000).made(), [normal]).stalls
    assert stall.path.culprit.ending is CulpritEnding.SLEPT


def job_of_a_shell(*, lasts: float, sleeps: bool, forks: bool = True) -> Script:
    """A shell waits for its child, which computes or sleeps."""
    script = Script()
    script.did("sh", 1, "getpid", 1)
    if forks:
        script.add(5, "sh", EventKind.FORK, other="child")
    script.asleep("sh", 6, 10 + lasts, "wait4", ["main", "wait_for", "libc:wait4"], by="child",
                  waker_call="exit_group", returns=7)  # fmt: skip
    script.did("child", 9, "getpid", 1)
    if sleeps:
        script.asleep("child", 10, 9 + lasts, "nanosleep", ["main", "libc:sleep"], by="timer", returns=0)
    else:
        script.busy("child", 10, 9 + lasts, ["main", "compute"])
    return script


def test_who_waits_for_its_child_does_not_stall_but_the_child_may() -> None:
    # GIVEN a shell whose child takes longer
    computes, sleeps = (
        find_causes(job_of_a_shell(lasts=3000, sleeps=sleeps).made(), [job_of_a_shell(lasts=100, sleeps=sleeps).made()])
        for sleeps in (False, True)
    )
    # THEN one that computes is no stall; one that sleeps is the child's own
    assert not computes.stalls
    (stall,) = sleeps.stalls
    assert label(sleeps, stall.anomaly.thread) == "child"


def test_of_a_child_that_was_not_seen_to_start_the_wait_for_it_is_all_there_is() -> None:
    before, now = (job_of_a_shell(lasts=lasts, sleeps=False, forks=False).made() for lasts in (100, 3000))
    causes = find_causes(now, [before])
    (stall,) = causes.stalls
    assert label(causes, stall.anomaly.thread) == "sh"


def background(*, merged: int) -> Script:
    """A thread that wakes every 10 ms, and now and then does something that others see."""
    script, at = Script(), 10.0
    for turn in range(90):
        script.asleep("p", at, at + 10, "nanosleep", ["main", "tick", "libc:usleep"], by="timer", returns=0)
        if turn % merged == merged - 1:
            script.did("p", at + 10.1, "write", 4, object=0x2 << 60)
        at += 10.2
    return script


def test_a_thread_that_paces_itself_does_not_stall() -> None:
    """How many of its sleeps look like one poll is by chance."""
    assert not find_causes(background(merged=80).made(), [background(merged=9).made()]).stalls
