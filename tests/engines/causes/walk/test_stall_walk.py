"""The walk on scripts whose culprit is known."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa

from tests.engines.causes.scripted import FILE, MS, PIPE, Script, socket
from whyperf.engines.causes.diagnosis import Causes, find_causes
from whyperf.engines.causes.path import Certainty, CulpritEnding
from whyperf.recording.schemas.events import EventKind

EPOLL = ["main", "loop", "libc:epoll_wait"]
ASK = ["main", "ask", "libc:read"]
COND_WAIT = ["main", "wait_for_result", "libc:pthread_cond_wait"]
LOCK = ["main", "enter", "libc:pthread_mutex_lock"]


def serve(script: Script, begin: float, answer: float, *, work: list[str], busy: bool) -> None:
    """A client asks a server that works until `answer`."""
    script.asleep("server", begin - 8, begin, "epoll_wait", EPOLL, by="client", waker_call="write", returns=1)
    script.did("client", begin + 0.005, "write", 10, **socket(1, 2))
    script.did("server", begin + 0.1, "read", 10, ["main", "loop", "receive", "libc:read"], **socket(2, 1))
    if busy:
        script.busy("server", begin + 0.2, answer, work)
    script.did("server", answer + 0.01, "write", 5, ["main", "loop", "reply", "libc:write"], **socket(2, 1))
    script.asleep("client", begin + 0.05, answer, "read", ASK, by="server", **socket(1, 2),
                  waker_call="write", waker_stack=["main", "loop", "reply", "libc:write"], returns=5)  # fmt: skip


def conversation(*, slow: bool, busy: bool = True) -> Script:
    script = Script()
    for turn in range(10):
        begin = 100 + turn * 20
        serve(script, begin, begin + 2, work=["main", "loop", "get"], busy=True)
    end = 1300 if slow else 302
    serve(script, 300, end, work=["main", "loop", "scan_all"], busy=busy)
    serve(script, end + 20, end + 22, work=["main", "loop", "get"], busy=True)
    return script


def label(causes: Causes, thread: int) -> str:
    return causes.graph.thread(thread).label


def test_a_server_that_computes_is_the_culprit_and_the_client_that_fed_it_is_named() -> None:
    # GIVEN
    causes = find_causes(conversation(slow=True).made(), [conversation(slow=False).made()])
    # THEN
    (stall,) = causes.stalls
    culprit = stall.path.culprit
    assert label(causes, stall.anomaly.thread) == "client"
    assert culprit.ending is CulpritEnding.RAN
    assert label(causes, culprit.thread) == "server"
    assert causes.graph.trace.stacks.functions(culprit.node)[0] == "scan_all"
    assert [label(causes, one) for one in culprit.fed_by] == ["client"]


def test_a_function_in_which_samples_are_at_several_lines_is_one_place() -> None:
    # GIVEN a server that is seen equally often at three lines of what it computes in
    script = conversation(slow=True)
    lines = itertools.cycle([["main", "loop", f"scan_all@{line}"] for line in (30, 31, 32)])
    for event in script.events:
        if event["kind"] == EventKind.SAMPLE and 300 * MS < event["time"] < 1300 * MS:
            event["stack"] = script.built.stack(next(lines))
    causes = find_causes(script.made(), [conversation(slow=False).made()])
    # THEN it is that, and not its caller
    (stall,) = causes.stalls
    assert causes.graph.trace.stacks.functions(stall.path.culprit.node)[0] == "scan_all"


def test_normal_against_normal_is_silent() -> None:
    assert not find_causes(conversation(slow=False).made(), [conversation(slow=False).made()]).stalls


def test_without_a_normal_recording_its_own_past_is_the_measure() -> None:
    causes = find_causes(conversation(slow=True).made(), [])
    assert label(causes, causes.stalls[0].path.culprit.thread) == "server"


def two_deep(*, stalled: bool) -> Script:
    """client -> server -> a back end that sleeps."""
    script = conversation(slow=False)
    begin, end = 400.0, 1600.0 if stalled else 403.0
    script.did("client", begin + 0.005, "write", 10, **socket(1, 2))
    script.asleep("server", begin - 8, begin, "epoll_wait", EPOLL, by="client", waker_call="write", returns=1)
    script.did("server", begin + 0.1, "write", 10, **socket(3, 4))
    script.asleep("back", begin + 0.2, end, "nanosleep", ["main", "handle", "throttle", "libc:sleep"], by="timer",
                  returns=0)  # fmt: skip
    script.asleep("server", begin + 0.2, end + 0.1, "read", ["main", "loop", "fetch", "libc:read"], by="back",
                  **socket(3, 4), waker_call="write", returns=4)  # fmt: skip
    script.asleep("client", begin + 0.05, end + 0.2, "read", ASK, by="server", **socket(1, 2),
                  waker_call="write", returns=5)  # fmt: skip
    return script


def test_the_chain_is_followed_to_its_end() -> None:
    causes = find_causes(two_deep(stalled=True).made(), [two_deep(stalled=False).made()])
    path = causes.stalls[0].path
    assert [label(causes, rung.thread) for rung in path.rungs] == ["client", "server", "back"]
    assert path.culprit.ending is CulpritEnding.SLEPT
    assert "throttle" in causes.graph.trace.stacks.functions(path.culprit.node)
    assert len(causes.stalls) == 1  # the others waited along


def test_two_mutexes_taken_crosswise_are_a_cycle() -> None:
    # GIVEN two threads, each waiting for a mutex that the other owns, to the end of the recording
    script = Script()
    for name in ("p", "p/a", "p/b"):
        script.thread(name)
    for thread, owner in (("p/a", 103), ("p/b", 102)):
        script.did(thread, 10, "getpid", 1)
        script.asleep(thread, 20, None, "futex", LOCK, object=0x1000 + owner, extra=(2 << 32) | owner)
    script.did("p", 2000, "getpid", 1)
    # WHEN
    causes = find_causes(script.made(), [])
    # THEN
    (stall,) = causes.stalls
    assert stall.path.culprit.ending is CulpritEnding.CYCLE
    assert {label(causes, rung.thread) for rung in stall.path.rungs} == {"p/a", "p/b"}


def signalled(*, forgotten: bool) -> Script:
    """A worker that signals its result at the end of each turn, but for one."""
    script = Script()
    turn_stack = ["main", "worker", "take_task", "libc:pthread_cond_wait"]
    for turn in range(6):
        begin = 100 + 30 * turn
        script.asleep("p/worker", begin - 20, begin, "futex", turn_stack, by="p", waker_call="futex",
                      waker_stack=["main", "submit", "libc:pthread_cond_signal"], returns=0)  # fmt: skip
        script.busy("p/worker", begin + 0.1, begin + 4, ["main", "worker", "compute"])
        if turn < 5 or not forgotten:
            script.asleep("p", begin + 0.1, begin + 5, "futex", COND_WAIT, by="p/worker", waker_call="futex",
                          waker_stack=["main", "worker", "publish", "libc:pthread_cond_signal"], returns=0)  # fmt: skip
        else:
            script.add(begin + 4.5, "p/worker", EventKind.SAMPLE, ["main", "worker", "on_error"])
            script.asleep("p", begin + 0.1, None, "futex", COND_WAIT)
    script.asleep("p/worker", 270, None, "futex", turn_stack)
    script.did("other", 2500, "getpid", 1)
    return script


def test_a_signal_that_never_came_is_charged_to_whoever_gives_it_as_a_rule() -> None:
    causes = find_causes(signalled(forgotten=True).made(), [signalled(forgotten=False).made()])
    path = causes.stalls[0].path
    assert label(causes, path.culprit.thread) == "p/worker"
    assert path.culprit.ending is CulpritEnding.NO_REPLY
    assert "publish" in path.culprit.skipped
    assert "on_error" in path.culprit.added
    assert path.rungs[0].link is not None and path.rungs[0].link.certainty is Certainty.INFERRED


def test_the_holder_of_a_file_lock_that_was_never_released() -> None:
    script = Script()
    script.did("holder", 10, "flock", 0, object=FILE | 9, argument1=2)
    script.asleep("holder", 20, None, "read", ["main", "ask_user", "libc:read"], object=0x2 << 60)
    script.asleep("job", 30, None, "flock", ["main", "libc:flock"], object=FILE | 9)
    script.did("other", 2000, "getpid", 1)
    causes = find_causes(script.made(), [])
    stall = next(one for one in causes.stalls if label(causes, one.anomaly.thread) == "job")
    assert label(causes, stall.path.culprit.thread) == "holder"
    assert "ask_user" in causes.graph.trace.stacks.functions(stall.path.culprit.node)


def test_a_full_pipe_leads_to_its_reader() -> None:
    script = Script()
    script.did("producer", 5, "write", 4096, object=PIPE | 7)
    script.did("consumer", 8, "read", 4096, object=PIPE | 7)
    script.asleep("consumer", 20, None, "nanosleep", ["main", "nap", "libc:sleep"])
    script.asleep("producer", 30, None, "write", ["main", "libc:write"], object=PIPE | 7)
    script.did("other", 2000, "getpid", 1)
    causes = find_causes(script.made(), [])
    assert causes.stalls[0].path.culprit.ending is CulpritEnding.SLEPT
    assert label(causes, causes.stalls[0].path.culprit.thread) == "consumer"


def test_a_disk_is_not_blamed_on_whoever_ran_when_it_answered() -> None:
    script = Script()
    script.add(10, "p", EventKind.SWITCH, ["main", "save", "libc:fsync"], call="fsync", result=2, object=FILE | 3)
    script.add(900, "q", EventKind.WAKING, other="p", context=16)
    script.add(900.1, "", EventKind.SWITCH, other="p")
    script.did("p", 901, "fsync", 0, object=FILE | 3)
    causes = find_causes(script.made(), [])
    assert causes.stalls[0].path.culprit.ending is CulpritEnding.DEVICE
    assert label(causes, causes.stalls[0].path.culprit.thread) == "p"


def test_a_watched_flag_names_its_writer() -> None:
    script = Script()
    for step in range(60):
        begin = 10 + step * 11
        script.asleep("p", begin, begin + 10, "nanosleep", ["main", "await_flag", "libc:usleep"], by="timer", returns=0)
    script.busy("p/worker", 10, 660, ["worker", "prepare"])
    script.add(660, "p/worker", EventKind.FLAG_ACCESS, ["worker", "set_flag"])
    causes = find_causes(script.made(), [])
    path = causes.stalls[0].path
    assert path.rungs[0].link is not None and path.rungs[0].link.mechanism == "watched flag"
    assert path.culprit.ending is CulpritEnding.RAN
    assert causes.graph.trace.stacks.functions(path.culprit.node)[0] == "prepare"


def test_a_background_thread_that_idles_until_the_end_is_no_stall() -> None:
    """jemalloc's thread waits at a second place once, until its process ends."""
    script = conversation(slow=False)
    for turn in range(5):
        begin = 10 + turn * 20
        script.asleep("server/background", begin, begin + 10, "futex", ["entry", "sleep_a", "libc:pthread_cond_wait"],
                      by="server", waker_call="futex", waker_stack=["libc:pthread_cond_signal"], returns=0)  # fmt: skip
    script.asleep("server/background", 120, 1900, "futex", ["entry", "sleep_b", "libc:pthread_cond_timedwait"],
                  by="server", waker_call="exit_group")  # fmt: skip
    script.asleep("server", 330, 1899, "epoll_wait", EPOLL, by="timer", returns=0)
    script.add(1900.5, "server/background", EventKind.EXIT)
    assert not find_causes(script.made(), [conversation(slow=False).made()]).stalls


def test_who_got_no_cpu_is_told_apart_and_blames_the_machine() -> None:
    """The server is woken at once, and gets a CPU 900 ms later: another program had it."""
    script = conversation(slow=False)
    script.thread("hog")
    script.add(500, "client", EventKind.WAKING, other="server", call="write")
    script.add(499, "server", EventKind.SWITCH, EPOLL, call="epoll_wait", result=1)
    script.asleep("client", 500.05, 1401, "read", ASK, by="server", **socket(1, 2), waker_call="write",
                  waker_stack=["main", "loop", "reply", "libc:write"], returns=5)  # fmt: skip
    script.add(1400, "hog", EventKind.SWITCH, other="server")
    script.did("server", 1400.1, "read", 10, **socket(2, 1))
    made = script.made()
    processes = made.tables["processes"].to_pylist()
    for process in processes:
        process["origin"] = "met" if process["executable"].endswith("hog") else process["origin"]
    schema = made.tables["processes"].schema
    tables = {**made.tables, "processes": pa.Table.from_pylist(processes, schema=schema)}
    causes = find_causes(replace(made, tables=tables), [conversation(slow=False).made()])
    assert not causes.stalls
    assert "got no CPU; running meanwhile: hog" in causes.notes[0]
