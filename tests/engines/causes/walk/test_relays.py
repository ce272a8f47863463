"""Threads that are idle most of the time and pass on what others send."""

from __future__ import annotations

from tests.engines.causes.scripted import Script, socket
from tests.engines.causes.walk.test_stall_walk import ASK, EPOLL, label
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.path import CulpritEnding
from whyperf.recording.schemas.events import EventKind

NAP = ["main", "answer", "nap", "libc:sleep"]


def passed(
    script: Script, at: float, source: str, *, rest: float, ends: tuple[int, int], onward: tuple[int, int]
) -> None:
    """The bus is woken by a message, after a rest, and passes it on in the same turn."""
    script.did(source, at - 0.005, "write", 10, **socket(*ends))
    script.asleep("bus", at - rest, at, "epoll_wait", EPOLL, by=source, waker_call="write", returns=1)
    script.did("bus", at + 0.05, "read", 10, ["main", "loop", "receive"], **socket(ends[1], ends[0]))
    script.did("bus", at + 0.1, "write", 12, ["main", "loop", "pass_on"], **socket(*onward))


def request(script: Script, begin: float, *, takes: float, chatter: bool) -> None:
    """client -> bus -> service, which naps, -> bus -> client; others talk through the bus meanwhile."""
    passed(script, begin, "client", rest=20, ends=(1, 2), onward=(4, 3))
    script.asleep("service", begin - 3, begin + 0.1, "read", ["main", "serve", "libc:read"], by="bus",
                  waker_call="write", returns=12, **socket(3, 4))  # fmt: skip
    script.asleep("service", begin + 0.2, begin + takes, "nanosleep", NAP, by="timer", returns=0)
    end = begin + takes + 3
    at = begin + 5.0
    while chatter and at < end - 4:
        passed(script, at, "gossip", rest=4.8, ends=(5, 6), onward=(8, 7))
        script.asleep("friend", at - 3, at + 0.1, "read", ["main", "listen", "libc:read"], by="bus",
                      waker_call="write", returns=12, **socket(7, 8))  # fmt: skip
        script.asleep("gossip", at + 0.2, at + 4, "nanosleep", ["main", "pace", "libc:sleep"], by="timer", returns=0)
        at += 5
    passed(script, end, "service", rest=2.8, ends=(3, 4), onward=(2, 1))
    script.asleep("client", begin + 0.02, end + 0.1, "read", ASK, by="bus", waker_call="write", returns=12,
                  **socket(1, 2))  # fmt: skip


def bus(*, slow: bool) -> Script:
    script = Script()
    for turn in range(8):
        request(script, 100 + 30 * turn, takes=1, chatter=False)
    request(script, 400, takes=900 if slow else 1, chatter=True)
    request(script, 1400, takes=1, chatter=False)
    return script


def test_a_relay_leads_to_whose_message_it_passed_on_not_to_who_else_talked_through_it() -> None:
    # GIVEN a bus that others keep busy while a service naps
    stalled, normal = bus(slow=True).made(), bus(slow=False).made()
    # WHEN
    causes = find_causes(stalled, [normal])
    # THEN
    stall = next(one for one in causes.stalls if label(causes, one.anomaly.thread) == "client")
    assert [label(causes, rung.thread) for rung in stall.path.rungs] == ["client", "bus", "service"]
    assert stall.path.culprit.ending is CulpritEnding.SLEPT
    assert "nap" in causes.graph.trace.stacks.functions(stall.path.culprit.node)


def delayed(*, slow: bool) -> Script:
    """A server with one thread that answers one request by its own clock."""
    script = Script()
    for turn in range(10):
        begin = 100 + 20 * turn
        late = 800.0 if slow and turn == 9 else 1.0
        script.asleep("server", begin - 15, begin, "epoll_wait", EPOLL, by="client", waker_call="write", returns=1)
        script.did("client", begin + 0.005, "write", 10, **socket(1, 2))
        script.did("server", begin + 0.1, "read", 10, ["main", "loop", "receive"], **socket(2, 1))
        script.asleep("server", begin + 0.2, begin + late, "epoll_wait", EPOLL, by="timer", returns=0)
        script.did("server", begin + late + 0.1, "write", 5, ["main", "loop", "reply"], **socket(2, 1))
        script.asleep("client", begin + 0.05, begin + late + 0.05, "read", ASK, by="server", waker_call="write",
                      waker_stack=["main", "loop", "reply"], returns=5, **socket(1, 2))  # fmt: skip
    return script


def test_a_server_that_answers_by_its_own_clock_is_the_one_that_slept() -> None:
    causes = find_causes(delayed(slow=True).made(), [delayed(slow=False).made()])
    culprit = causes.stalls[0].path.culprit
    assert (label(causes, culprit.thread), culprit.ending) == ("server", CulpritEnding.SLEPT)
    assert [label(causes, one) for one in culprit.fed_by] == ["client"]


def test_a_wake_up_on_the_way_to_sleep_ends_the_wait() -> None:
    """The waker runs on another CPU: its wake-up is recorded before the sleeper has left its own."""
    script = Script()
    script.did("q", 5, "getpid", 1)
    script.did("p", 9, "getpid", 1)
    script.add(9.998, "q", EventKind.WAKING, other="p", call="write")
    script.add(10, "p", EventKind.SWITCH, ASK, call="read", result=1)
    script.did("p", 10.01, "read", 5, ASK)
    waits = find_causes(script.made(), []).graph.waits
    assert len(waits) == 1
    assert waits.wake[0] >= 0 and waits.woken[0] == waits.begin[0]
