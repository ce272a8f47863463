"""Tasks that programs put into queues of their own."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.engines.causes.causal_graph.test_handovers import graph_of, linked
from tests.engines.causes.scripted import Script
from tests.engines.causes.walk.test_stall_walk import COND_WAIT, EPOLL, label
from tests.engines.made import Made
from whyperf.engines.causes.causal_graph.edges import TASK, queue_of
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.tasks import find_tasks
from whyperf.engines.causes.diagnosis import Causes, find_causes
from whyperf.engines.causes.findings import findings
from whyperf.engines.causes.path import Certainty, CulpritEnding
from whyperf.engines.causes.settings import CausesSettings
from whyperf.engines.kernel.rules import LinkStrength
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import TaskQueue, TraceSummary

PUT, RUN = EventKind.TASK_PUT, EventKind.TASK_RUN


def put(script: Script, at: float, who: str, task: int, stack: tuple[str, ...] = ("start", "ask", "put")) -> None:
    script.add(at, who, PUT, stack, detail=0, object=task)


def run(script: Script, at: float, who: str, task: int, stack: tuple[str, ...] = ("main", "loop", "show")) -> None:
    script.add(at, who, RUN, stack, detail=0, object=task)


def with_queue(script: Script, strength: str = "strong") -> Made:
    made = script.made()
    trace = replace(made.manifest.trace or TraceSummary("bpf", "all", 49.0), queues=(TaskQueue("loop", strength),))
    return replace(made, manifest=replace(made.manifest, trace=trace))


steps = st.lists(
    st.tuples(
        st.sampled_from((PUT, RUN)), st.sampled_from(("p", "p/w", "q")), st.integers(0, 1), st.integers(0, 2),
        st.sampled_from((0, 7 << 44)),
    ),
    max_size=40,
)  # fmt: skip


@given(steps)
def test_every_task_is_begun_by_the_last_put_of_its_like_and_each_put_begins_one_at_most(
    script_of: list[tuple[EventKind, str, int, int, int]],
) -> None:
    # GIVEN puts and runs in any order, by several processes, queues, tasks and functions
    script = Script()
    for who in ("p", "p/w", "q"):
        script.thread(who)
    script.did("p", 0.5, "getpid", 1)
    for at, (kind, who, queue, task, function) in enumerate(script_of, 1):
        script.add(at, who, kind, detail=queue, object=task, peer=function)
    events, trace = (graph := graph_of(script)).trace.events, graph.trace
    # WHEN
    found = find_tasks(events, trace.pids)
    # THEN it is what looking at all earlier ones says
    expected, known = [], []

    def like(row: int) -> tuple[int, int, int, int]:
        return (
            int(trace.pids[events.thread[row]]),
            int(events.call[row]),
            int(events.peer[row]),
            int(events.object[row]),
        )

    for row in range(len(events)):
        if events.kind[row] != RUN:
            continue
        before = [one for one in range(row) if events.kind[one] in (PUT, RUN) and like(one) == like(row)]
        if before and events.kind[before[-1]] == PUT:
            expected.append((before[-1], row))
        if any(events.kind[one] == PUT for one in before):
            known.append(row)
    assert list(zip(found.put.tolist(), found.run.tolist(), strict=True)) == expected
    assert [row for row in range(len(events)) if found.begins[row]] == known


def two_tasks() -> Script:
    """One turn of a loop runs two threads' tasks."""
    script = Script()
    script.thread("p")
    for who in ("p/a", "p/b"):
        script.did(who, 5, "getpid", 1)
    script.asleep("p", 1, 20, "poll", EPOLL, by="p/b", waker_call="write", returns=1, argument1=2)
    put(script, 10, "p/a", 0x10)
    put(script, 19, "p/b", 0x20)
    run(script, 21, "p", 0x10, ("main", "loop", "first"))
    script.did("p", 22, "getpid", 1, ["main", "loop", "first"])
    run(script, 23, "p", 0x20, ("main", "loop", "second"))
    script.did("p", 24, "getpid", 1, ["main", "loop", "second"])
    return script


def test_tasks_of_one_turn_are_segments_of_their_own_each_brought_about_by_who_put_it() -> None:
    graph = graph_of(two_tasks())
    assert linked(graph, TASK) == [("p/a", "p"), ("p/b", "p")]
    edges, thread = graph.edges, graph.segments.thread
    rows = [row for row in range(len(edges.source)) if edges.mechanism[row] == TASK]
    first, second = (int(edges.target[row]) for row in rows)
    assert (graph.segments.begin[first], graph.segments.begin[second]) == (21_000_000, 23_000_000)
    # AND nothing leads from one to the other
    assert not any(edges.source[row] == first and edges.target[row] == second for row in range(len(edges.source)))
    assert [graph.thread(int(thread[edges.source[row]])).label for row in edges.into(second)] == ["p/b"]


def test_a_queue_is_as_strong_as_its_rule_and_one_that_nobody_tells_of_is_weak() -> None:
    for made, strength in (
        (with_queue(two_tasks()), LinkStrength.STRONG),
        (with_queue(two_tasks(), "weak"), LinkStrength.WEAK),
        (two_tasks().made(), LinkStrength.WEAK),
    ):
        edges = Graph(made, CausesSettings()).edges
        (found,) = {
            int(edges.strength[row]) for row in range(len(edges.source)) if queue_of(int(edges.mechanism[row])) == 0
        }
        assert found == strength


def shown(*, late: bool) -> Script:
    """A client waits until a loop has run the task that a loader puts, once late; others put tasks all the time."""
    script = Script()
    script.thread("p")
    task = 0x1000
    at = 50.0
    for turn in range(12):
        begin = at
        done = begin + (800 if late and turn == 9 else 2)
        script.asleep("p/loader", begin - 5, begin, "futex", ["start", "take", "libc:pthread_cond_wait"],
                      by="p/client", waker_call="futex", returns=0)  # fmt: skip
        script.busy("p/loader", begin + 0.5, done - 0.5, ["start", "decode"])
        gossip = begin + 3
        while gossip < done - 6:
            script.asleep("p", gossip - 3, gossip, "poll", EPOLL, by="p/gossip", waker_call="write", returns=1,
                          argument1=1)  # fmt: skip
            put(script, gossip - 0.01, "p/gossip", 0x77, ("start", "gossip", "put"))
            script.asleep("p/gossip", gossip + 0.01, gossip + 2.5, "nanosleep", ["start", "gossip", "libc:sleep"],
                          by="timer", returns=0)  # fmt: skip
            run(script, gossip + 0.1, "p", 0x77, ("main", "loop", "chat"))
            gossip += 4
        # The loop is roused by gossip, and finds the loader's task as well.
        put(script, done, "p/loader", task + turn, ("start", "load", "put"))
        put(script, done + 0.01, "p/gossip", 0x77, ("start", "gossip", "put"))
        script.asleep("p", done - 1.5, done + 0.02, "poll", EPOLL, by="p/gossip", waker_call="write", returns=1,
                      argument1=1)  # fmt: skip
        run(script, done + 0.1, "p", 0x77, ("main", "loop", "chat"))
        script.did("p", done + 0.11, "getpid", 1, ["main", "loop", "chat"])
        run(script, done + 0.2, "p", task + turn, ("main", "loop", "show"))
        script.asleep("p/client", begin + 0.2, done + 0.3, "futex", ["start", *COND_WAIT], by="p", waker_call="futex",
                      waker_stack=["main", "loop", "show", "libc:pthread_cond_signal"], returns=0)  # fmt: skip
        script.asleep("p/client", done + 0.5, done + 9, "nanosleep", ["start", "libc:sleep"], by="timer", returns=0)
        at = done + 10
    return script


def of_client(causes: Causes) -> tuple[list[str], str]:
    stall = next(one for one in causes.stalls if label(causes, one.anomaly.thread) == "p/client")
    return [label(causes, rung.thread) for rung in stall.path.rungs], label(causes, stall.path.culprit.thread)


def test_who_put_the_task_late_is_found_though_somebody_else_roused_the_loop() -> None:
    causes = find_causes(with_queue(shown(late=True)), [with_queue(shown(late=False))])
    assert of_client(causes) == (["p/client", "p"], "p/loader")
    (stall, *_) = causes.stalls
    link = stall.path.rungs[1].link
    assert link is not None and (link.mechanism, link.certainty) == ("loop", Certainty.STRONG)
    assert stall.path.culprit.ending is CulpritEnding.RAN
    # AND the same twice is nothing
    assert not find_causes(with_queue(shown(late=False)), [with_queue(shown(late=False))]).stalls


def pool(*, slow: bool) -> Script:
    """A worker takes tasks; once another thread's task is before the main thread's."""
    script = Script()
    script.thread("p")
    at = 20.0
    for turn in range(30):
        takes = 900.0 if slow and turn == 20 else 1.0
        script.asleep("p/worker", at - 8, at, "futex", ["start", "take", "libc:pthread_cond_wait"], by="p",
                      waker_call="futex", waker_stack=["main", "libc:pthread_cond_signal"], returns=0)  # fmt: skip
        if turn == 20:
            put(script, at - 0.2, "p/archiver", 0x99, ("start", "archive", "put"))
            run(script, at + 0.1, "p/worker", 0x99, ("start", "archive_all"))
            script.asleep("p/worker", at + 0.2, at + takes, "nanosleep", ["start", "archive_all", "libc:sleep"],
                          by="timer", returns=0)  # fmt: skip
        put(script, at + 0.05, "p", 0x50, ("main", "give", "put"))
        run(script, at + takes + 0.5, "p/worker", 0x50, ("start", "look_up"))
        script.did("p/worker", at + takes + 0.6, "getpid", 1, ["start", "look_up"])
        # The main thread goes on with other things meanwhile.
        script.asleep("p", at + 0.1, at + takes + 5, "epoll_wait", EPOLL, by="timer", returns=0)
        at += takes + 10
    return script


def test_a_task_that_stayed_in_its_queue_leads_to_what_was_run_before_it() -> None:
    # GIVEN nobody waits for the task
    causes = find_causes(with_queue(pool(slow=True)), [with_queue(pool(slow=False))])
    # THEN
    stall = next(one for one in causes.stalls if one.anomaly.task >= 0)
    assert (label(causes, stall.path.culprit.thread), stall.path.culprit.ending) == ("p/worker", CulpritEnding.SLEPT)
    assert "archive_all" in causes.graph.trace.stacks.functions(stall.path.culprit.node)
    assert [label(causes, one) for one in stall.path.culprit.fed_by] == ["p/archiver"]
    (finding, *_) = findings(causes)
    assert "queued by p" in finding.why and "in give" in finding.why and "(loop)" in finding.why
    assert finding.detail.stall.what == "task"
    assert not find_causes(with_queue(pool(slow=False)), [with_queue(pool(slow=False))]).stalls


def test_without_a_normal_run_other_tasks_are_the_measure() -> None:
    causes = find_causes(with_queue(pool(slow=True)), [])
    assert any(one.anomaly.task >= 0 and label(causes, one.path.culprit.thread) == "p/worker" for one in causes.stalls)


def polled(*, slow: bool) -> Script:
    """The main thread looks again and again whether its task is done; the busiest thread is another one."""
    script = Script()
    script.thread("p")
    at = 20.0
    for turn in range(10):
        takes = 900.0 if slow and turn == 8 else 1.0
        put(script, at, "p", 0x50, ("main", "ask", "put"))
        run(script, at + 0.2, "p/worker", 0x50, ("start", "answer"))
        script.asleep("p/worker", at + 0.3, at + takes, "nanosleep", ["start", "answer", "libc:sleep"], by="timer",
                      returns=0)  # fmt: skip
        looked = at + 0.1
        while looked < at + takes + 0.5:
            script.asleep("p", looked, looked + 1, "nanosleep", ["main", "ask", "await", "libc:sleep"], by="timer",
                          returns=0)  # fmt: skip
            looked += 1.05
        script.busy("p/decoder", at, looked, ["start", "decode"])
        script.asleep("p", looked + 0.1, looked + 5, "nanosleep", ["main", "libc:sleep"], by="timer", returns=0)
        at = looked + 6
    return script


def test_a_thread_that_polls_for_its_task_waits_for_who_runs_it_not_for_the_busiest() -> None:
    causes = find_causes(with_queue(polled(slow=True)), [with_queue(polled(slow=False))])
    stall = next(one for one in causes.stalls if label(causes, one.anomaly.thread) == "p")
    link = stall.path.rungs[0].link
    assert link is not None and (link.mechanism, link.certainty) == ("loop", Certainty.INFERRED)
    assert label(causes, stall.path.culprit.thread) == "p/worker"
    # AND without knowledge of the queue it is a guess
    guessed = find_causes(blind(polled(slow=True)), [blind(polled(slow=False))])
    stall = next(one for one in guessed.stalls if label(guessed, one.anomaly.thread) == "p")
    assert stall.path.guessed and label(guessed, stall.path.culprit.thread) == "p/decoder"


def blind(script: Script) -> Made:
    """As it would be recorded where nobody told of the queue."""
    return replace(script, events=[one for one in script.events if one["kind"] not in (PUT, RUN)]).made()
