"""Work that goes on without the thread that asked for it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.causes.scripted import HRTIMER, Script, socket
from whyperf.engines.causes.causal_graph.edges import MESSAGE, REQUEST, TIMER, WORK
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.handovers import begun_before
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.path import Certainty, CulpritEnding
from whyperf.engines.causes.settings import CausesSettings
from whyperf.recording.schemas.events import EventKind

ENTER = ["main", "take", "libc:syscall"]


def graph_of(script: Script) -> Graph:
    return Graph(script.made(), CausesSettings())


def linked(graph: Graph, mechanism: int) -> list[tuple[str, str]]:
    """Threads of the edges of a kind."""
    edges, thread = graph.edges, graph.segments.thread
    return [
        (graph.thread(int(thread[edges.source[row]])).label, graph.thread(int(thread[edges.target[row]])).label)
        for row in range(len(edges.source))
        if edges.mechanism[row] == mechanism
    ]


def test_a_request_of_a_ring_leads_from_who_submits_it_to_who_completes_it() -> None:
    script = Script()
    script.thread("p")
    script.did("p/iou-wrk-1", 5, "getpid", 1)
    script.did("p", 9, "getpid", 1)
    script.add(10, "p", EventKind.URING_SUBMIT, object=0x77)
    script.asleep("p", 11, 100, "io_uring_enter", ENTER, by="p/iou-wrk-1", returns=1)
    script.add(99, "p/iou-wrk-1", EventKind.URING_COMPLETE, object=0x77)
    graph = graph_of(script)
    assert linked(graph, REQUEST) == [("p", "p/iou-wrk-1")]
    # AND the ring's own thread, which is in no system call, is who ended the wait
    assert graph.waits.ended[graph.waits_of(0)[0]] == Ended.THREAD


def test_a_work_item_leads_from_who_queues_it_to_who_runs_it() -> None:
    script = Script()
    script.did("p", 9, "getpid", 1)
    script.did("worker", 9.5, "getpid", 1)
    script.add(10, "p", EventKind.WORK_QUEUE, object=0x88)
    script.add(11, "worker", EventKind.WORK_START, object=0x99)  # somebody else's
    script.add(12, "worker", EventKind.WORK_START, object=0x88)
    assert linked(graph_of(script), WORK) == [("p", "worker")]


def test_a_timer_leads_from_who_set_it_to_who_it_wakes_but_a_sleep_is_ones_own() -> None:
    script = Script()
    script.thread("p")
    script.did("p/setter", 9, "timerfd_settime", 0)
    script.add(8.9, "p/setter", EventKind.TIMER_START, object=0x55)
    script.add(10, "p", EventKind.SWITCH, ["main", "tick", "libc:read"], call="read", result=1)
    script.add(60, "", EventKind.WAKING, other="p", context=HRTIMER, object=0x55)
    script.add(60.1, "", EventKind.SWITCH, other="p")
    script.did("p", 60.2, "read", 8)
    script.add(69, "p", EventKind.TIMER_START, object=0x66)
    script.add(70, "p", EventKind.SWITCH, ["main", "libc:sleep"], call="nanosleep", result=1)
    script.add(80, "", EventKind.WAKING, other="p", context=HRTIMER, object=0x66)
    script.did("p", 80.2, "nanosleep", 0)
    assert linked(graph_of(script), TIMER) == [("p/setter", "p")]


def ticking(*, late: bool) -> Script:
    """A thread waits for a timer that another one sets, after some work; the rest of the wait is as long as ever."""
    script = Script()
    script.thread("p")
    at = 20.0
    for turn in range(12):
        armed = at + (800 if late and turn == 9 else 1)
        script.busy("p/setter", at, armed - 0.1, ["start", "compute_delay"])
        script.add(armed, "p/setter", EventKind.TIMER_START, object=0x55)
        script.did("p/setter", armed + 0.01, "timerfd_settime", 0, ["start", "compute_delay"])
        script.asleep("p/setter", armed + 0.1, armed + 20, "nanosleep", ["start", "libc:sleep"], by="timer", returns=0)
        script.add(at + 0.1, "p", EventKind.SWITCH, ["main", "tick", "libc:read"], call="read", result=1)
        script.add(armed + 5, "", EventKind.WAKING, other="p", context=HRTIMER, object=0x55)
        script.add(armed + 5.01, "", EventKind.SWITCH, other="p")
        script.did("p", armed + 5.02, "read", 8, ["main", "tick", "libc:read"])
        script.asleep("p", armed + 6, armed + 18, "nanosleep", ["main", "libc:sleep"], by="timer", returns=0)
        at = armed + 22
    return script


def test_a_wait_that_a_timer_ended_leads_to_who_set_it_late() -> None:
    causes = find_causes(ticking(late=True).made(), [ticking(late=False).made()])
    stall = next(one for one in causes.stalls if causes.graph.thread(one.anomaly.thread).label == "p")
    link = stall.path.rungs[0].link
    assert link is not None and (link.mechanism, link.certainty) == ("timer", Certainty.STRONG)
    culprit = stall.path.culprit
    assert (causes.graph.thread(culprit.thread).label, culprit.ending) == ("p/setter", CulpritEnding.RAN)
    assert "compute_delay" in causes.graph.trace.stacks.functions(culprit.node)


def test_a_timer_that_was_set_before_is_not_its_setters_fault() -> None:
    script, normal = ticking(late=False), ticking(late=False)
    at = 1000.0
    script.add(at, "p/setter", EventKind.TIMER_START, object=0x55)
    script.add(at + 0.1, "p", EventKind.SWITCH, ["main", "tick", "libc:read"], call="read", result=1)
    script.add(at + 900, "", EventKind.WAKING, other="p", context=HRTIMER, object=0x55)
    script.add(at + 900.01, "", EventKind.SWITCH, other="p")
    script.did("p", at + 900.02, "read", 8, ["main", "tick", "libc:read"])
    for stall in find_causes(script.made(), [normal.made()]).stalls:
        assert all(rung.link is None or rung.link.mechanism != "timer" for rung in stall.path.rungs)


def test_what_goes_through_a_ring_is_a_message_too() -> None:
    script = Script()
    script.did("server", 5, "getpid", 1)
    script.add(10, "client", EventKind.SOCKET_SEND, result=7, **socket(1, 2))
    script.did("server", 12, "read", 7, **socket(2, 1))
    assert linked(graph_of(script), MESSAGE) == [("client", "server")]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=40))
def test_every_end_has_the_last_beginning_of_its_object(steps: list[tuple[bool, int]]) -> None:
    # GIVEN beginnings and ends of a few objects, in any order
    script = Script()
    script.did("p", 0.5, "getpid", 1)
    for at, (begins, item) in enumerate(steps, 1):
        script.add(at, "p", EventKind.WORK_QUEUE if begins else EventKind.WORK_START, object=item)
    events = graph_of(script).trace.events
    begins, ends = (
        [row for row, kind in enumerate(events.kind) if kind == one]
        for one in (EventKind.WORK_QUEUE, EventKind.WORK_START)
    )
    # WHEN
    found = begun_before(events, np.array(begins, np.int64), np.array(ends, np.int64))
    # THEN
    expected = []
    for end in ends:
        before = [row for row in begins if row < end and events.object[row] == events.object[end]]
        if before:
            expected.append((before[-1], end))
    assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected
