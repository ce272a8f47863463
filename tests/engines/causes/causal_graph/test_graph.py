"""Waits, segments and edges of scripts whose truth is plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.causes.scripted import MS, PIPE, SOCKET, Script, socket
from whyperf.engines.causes.causal_graph.edges import MESSAGE, NEIGHBOUR
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.messages import _match
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.settings import CausesSettings
from whyperf.engines.kernel.rules import LinkStrength
from whyperf.recording.schemas.events import EventKind

READ = ["main", "serve", "libc:read"]
COND = ["main", "work", "libc:pthread_cond_wait"]


def graph(script: Script) -> Graph:
    return Graph(script.made(), CausesSettings())


def test_sleeps_within_one_system_call_are_one_wait() -> None:
    # GIVEN a read that is woken for nothing once, then by the writer
    script = Script()
    script.asleep("client", 10, 20, "read", READ, by="server", object=PIPE | 7, waker_call="read")
    script.asleep("client", 20.5, 90, "read", READ, by="server", object=PIPE | 7, waker_call="write", returns=4)
    # WHEN / THEN
    waits = graph(script).waits
    assert len(waits) == 1
    assert (waits.begin[0], waits.woken[0], waits.sleeps[0]) == (10 * MS, 90 * MS, 2)
    assert waits.result[0] == 4


def test_a_loop_of_short_sleeps_is_one_poll() -> None:
    script = Script()
    for step in range(5):
        begin = 10 + step * 11
        script.asleep(
            "main", begin, begin + 10, "nanosleep", ["main", "poll_flag", "libc:usleep"], by="timer", returns=0
        )
    waits = graph(script).waits
    assert len(waits) == 1
    assert waits.sleeps[0] == 5
    assert waits.ended[0] == Ended.TIMER


@pytest.mark.parametrize(
    ("woken", "polls"), [("[ksoftirqd]", 1), ("contained", 5)], ids=["kernel", "child of process 2 in a name space"]
)
def test_only_an_interrupt_that_wakes_a_thread_of_the_kernel_ends_no_poll(woken: str, polls: int) -> None:
    script, usleep = Script(), ["main", "libc:usleep"]
    for step in range(5):
        begin = 10 + step * 11
        script.asleep("main", begin, begin + 10, "nanosleep", usleep, by="timer", returns=0)
        script.add(begin + 10.3, "main", EventKind.WAKING, usleep, call="nanosleep", other=woken, result=1)
    assert len(graph(script).waits) == polls


def test_what_is_sent_between_sleeps_ends_the_poll() -> None:
    script = Script()
    for step in range(3):
        begin = 10 + step * 11
        script.asleep("main", begin, begin + 10, "nanosleep", ["main", "libc:usleep"], by="timer", returns=0)
        script.did("main", begin + 10.5, "write", 1, object=PIPE | 3)
    assert len(graph(script).waits) == 3


def test_a_thread_that_acts_is_awake_even_if_its_wake_up_was_lost() -> None:
    script = Script()
    script.add(10, "main", EventKind.SWITCH, READ, call="read", result=1)
    script.did("main", 50, "write", 3)
    waits = graph(script).waits
    assert waits.ended[0] == Ended.NOBODY
    assert waits.woken[0] == 50 * MS


def test_whoever_runs_when_a_timer_expires_woke_nobody() -> None:
    script = Script()
    script.asleep("a", 10, 20, "futex", COND, by="b", waker_call="write", waker_context=2)
    assert graph(script).waits.ended[0] == Ended.TIMER


def test_the_shallowest_repeated_wait_is_the_loop() -> None:
    # GIVEN a server that polls, and waits for a disk within each request
    script = Script()
    for turn in range(5):
        begin = 10 + turn * 100
        script.asleep("server", begin, begin + 50, "epoll_wait", ["main", "loop", "libc:epoll_wait"], by="client",
                      waker_call="write", returns=1)  # fmt: skip
        script.asleep("server", begin + 60, begin + 65, "pread64", ["main", "loop", "handle", "libc:pread"], by="timer")
    one = graph(script)
    (site,) = one.loops.values()
    assert one.trace.stacks.functions(site[1])[:2] == ("epoll_wait", "loop")
    assert one.in_loop.sum() == 5


def test_who_paces_itself_has_no_loop() -> None:
    script = Script()
    for turn in range(5):
        begin = 10 + turn * 100
        script.asleep("ticker", begin, begin + 50, "nanosleep", ["main", "libc:sleep"], by="timer", returns=0)
        script.did("ticker", begin + 52, "write", 1, object=PIPE | 3)
        script.asleep(
            "ticker", begin + 60, begin + 65, "read", ["main", "tick", "libc:read"], by="x", waker_call="write"
        )
    assert not graph(script).loops


def test_a_message_is_a_strong_edge_from_its_writer() -> None:
    script = Script()
    script.did("client", 10, "write", 8, object=PIPE | 7)
    script.did("server", 12, "read", 8, object=PIPE | 7)
    one = graph(script)
    (edge,) = one.edges.into(one.segments.of(one.trace.thread_of_tid[200]).start)
    assert one.edges.mechanism[edge] == MESSAGE
    assert one.edges.strength[edge] == LinkStrength.STRONG
    assert one.segments.thread[one.edges.source[edge]] == one.trace.thread_of_tid[100]


def test_sockets_pair_by_peer_and_by_ports() -> None:
    script = Script()
    script.did("a", 10, "sendto", 8, **socket(70, 71))
    script.did("b", 12, "recvfrom", 8, **socket(71, 70))
    script.did("a", 20, "sendto", 5, object=SOCKET | 80, peer=(40000 << 16) | 6379)
    script.did("b", 22, "recvfrom", 5, object=SOCKET | 81, peer=(6379 << 16) | 40000)
    one = graph(script)
    pairs = [(round(one.trace.events.time[a] / MS), round(one.trace.events.time[b] / MS))
             for a, b in zip(one.messages.send, one.messages.receive, strict=True)]  # fmt: skip
    assert sorted(pairs) == [(10, 12), (20, 22)]


def test_clients_of_one_turn_are_kept_apart() -> None:
    """Over-connection: a batch of two clients' requests is two segments, and no cause of each other."""
    script = Script()
    script.did("server", 10, "recvfrom", 5, ["main", "loop", "serve_a"], **socket(1, 2))
    script.did("server", 11, "sendto", 5, ["main", "loop", "serve_a"], **socket(1, 2))
    script.did("server", 12, "recvfrom", 5, ["main", "loop", "serve_b"], **socket(3, 4))
    one = graph(script)
    assert len(one.segments) == 2
    symbols = one.symbols
    assert "serve_a" in symbols.of(0) and "serve_a" not in symbols.of(1)


def test_neighbours_across_a_loop_wait_are_not_connected() -> None:
    script = Script()
    for turn in range(4):
        begin = 10 + turn * 100
        script.asleep("server", begin, begin + 50, "epoll_wait", ["main", "loop", "libc:epoll_wait"], by="client",
                      waker_call="write", returns=1)  # fmt: skip
        script.did("server", begin + 55, "getpid", 1, ["main", "loop", "handle"])
    one = graph(script)
    assert NEIGHBOUR not in one.edges.mechanism[one.edges.target >= 0].tolist()


def test_conditions_are_strong_and_mutexes_weak() -> None:
    script = Script()
    script.asleep("p/a", 10, 20, "futex", COND, by="p/b", waker_call="futex",
                  waker_stack=["main", "libc:pthread_cond_signal"])  # fmt: skip
    script.asleep("p/a", 30, 40, "futex", ["main", "libc:pthread_mutex_lock"], by="p/b", waker_call="futex",
                  waker_stack=["main", "libc:pthread_mutex_unlock"])  # fmt: skip
    one = graph(script)
    rules = one.rules.wakes
    assert [rules[rule].name for rule in one.wakes.rule] == ["condition variable", "mutex"]
    assert [rules[rule].strength for rule in one.wakes.rule] == [LinkStrength.STRONG, LinkStrength.WEAK]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.lists(st.integers(1, 50), min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_bytes_come_out_as_they_went_in(sent: list[int], read: list[int]) -> None:
    """All sends, then all receives: pairs are the overlaps of their byte ranges."""
    amounts = np.array([*sent, *read], np.int64)
    sends = np.array([True] * len(sent) + [False] * len(read))
    times = np.arange(len(amounts), dtype=np.int64)
    send, receive = np.empty((2, 2 * len(amounts)), np.int32)
    pairs = _match(times, np.ones(len(amounts), np.uint64), sends, amounts, 0, send, receive)
    got = list(zip(send[:pairs].tolist(), receive[:pairs].tolist(), strict=True))
    expected, first = [], 0
    for receive, amount in enumerate(read):
        begin, end, position = first, first + amount, 0
        for send, length in enumerate(sent):
            if position < end and position + length > begin:
                expected.append((send, len(sent) + receive))
            position += length
        first = end
    assert got == expected


def test_a_switch_may_bring_one_thread_back_and_show_that_another_had_come_back() -> None:
    """Of a thread that only took turns with the recorded one not every switch is known."""
    script = Script()
    for name in ("p", "q"):
        script.did(name, 1, "getpid", 1)
        script.add(5, name, EventKind.SWITCH, ["main", "libc:read"], call="read", result=1)
    script.add(20, "q", EventKind.SWITCH, other="p")
    script.did("p", 21, "getpid", 1)
    graph = Graph(script.made(), CausesSettings())
    for thread in (0, 1):
        assert [int(graph.segments.before[one]) >= 0 for one in graph.segments.of(thread)] == [False, True]
