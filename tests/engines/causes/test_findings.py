"""What is said of a stall."""

from __future__ import annotations

import pytest

from tests.engines.causes.scripted import FILE, Script, socket
from tests.engines.causes.walk.test_stall_walk import ASK, EPOLL, conversation, signalled, two_deep
from whyperf.engines.causes.detail import ShownLink
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.findings import findings

PACE = ["main", "loop", "pace", "libc:usleep"]


def test_a_long_run_names_function_thread_and_ladder() -> None:
    found = findings(find_causes(conversation(slow=True).made(), [conversation(slow=False).made()]))
    (one,) = found
    assert (one.engine, one.rank, one.function.name, one.pattern) == ("causes", 1, "scan_all", "long-run")
    assert one.path == ("main", "loop", "scan_all")
    ladder = one.detail.ladder
    assert [rung.process for rung in ladder] == ["client", "server"]
    assert ladder[0].link == ShownLink("message", "strong", "data was sent to it")
    assert ladder[1].did == "was busy in scan_all for 1,000 ms"
    assert "client (100) stalled for 1,000 ms in one wait" in one.why
    assert "in the good run (12 of them)" in one.why


def test_a_sleep_two_processes_away() -> None:
    one = findings(find_causes(two_deep(stalled=True).made(), [two_deep(stalled=False).made()]))[0]
    assert (one.function.name, one.pattern) == ("throttle", "long-wait")
    assert [rung.process for rung in one.detail.ladder] == ["client", "server", "back"]


def _paced(pauses: int, pause: float, work: float) -> Script:
    """client -> server, which pauses so often before it answers, and works in between; at the end a request without."""
    script = Script()
    for number in range(12):
        _asked(script, 100.0 * number, 0, pause, work)
    _asked(script, 2000.0, pauses, pause, work)
    _asked(script, 9000.0, 0, pause, work)
    return script


def _asked(script: Script, begin: float, pauses: int, pause: float, work: float) -> None:
    script.asleep("server", begin - 8, begin, "epoll_wait", EPOLL, by="client", waker_call="write", returns=1)
    at = begin + 0.1
    for _ in range(pauses):
        script.asleep("server", at, at + pause, "nanosleep", PACE, by="timer", returns=0)
        script.busy("server", at + pause + 0.1, at + pause + work, ["main", "loop", "work"])
        at += pause + work
    answer = at + 3
    script.asleep("client", begin + 0.05, answer, "read", ASK, by="server", **socket(1, 2), waker_call="write",
                  returns=4)  # fmt: skip
    script.did("server", answer + 0.02, "write", 4, ["main", "loop", "libc:write"], **socket(2, 1))


@pytest.mark.parametrize(
    ("pauses", "pause", "said"),
    [
        (10, 60.0, "server (200) slept in pace 10 times, 600 ms in all"),
        (1, 600.0, "server (200) slept in pace for 600 ms"),
    ],
)
def test_many_short_sleeps_are_told_by_number_and_sum(pauses: int, pause: float, said: str) -> None:
    stalled, normal = _paced(pauses, pause, 40.0).made(), _paced(0, pause, 40.0).made()
    one = findings(find_causes(stalled, [normal]))[0]
    assert (one.function.name, one.detail.ending) == ("pace", "slept")
    assert said in one.why


def test_a_signal_that_was_left_out_says_what_was_skipped() -> None:
    one = findings(find_causes(signalled(forgotten=True).made(), [signalled(forgotten=False).made()]))[0]
    assert one.function.name == "on_error"
    assert "did not reach" in one.why and "publish" in one.why


def _polling(sleeps: int, *, for_lock: bool = False) -> Script:
    script = Script()
    for number in range(sleeps):
        begin = 10 + number * 101
        if for_lock:
            script.did("main", begin - 0.5, "fcntl", -11, ["main", "until_free"], object=FILE | 7)
        script.asleep("main", begin, begin + 100, "nanosleep", ["main", "until_free", "libc:usleep"], by="timer",
                      returns=0)  # fmt: skip
    script.busy("main", 10 + sleeps * 101, 20 + sleeps * 101, ["main", "work"])
    return script


def test_a_poll_is_as_many_waits_as_it_has_sleeps() -> None:
    one = findings(find_causes(_polling(20).made(), [_polling(0).made()]))[0]
    assert "stalled for 2.02 s in 20 waits in a row; there is no such wait" in one.why


def test_who_polls_for_the_lock_of_a_file_polls_no_variable() -> None:
    # GIVEN a thread that is refused the lock of a file between its sleeps, and nobody who was seen to take it
    causes = find_causes(_polling(20, for_lock=True).made(), [_polling(0).made()])
    one = findings(causes)[0]
    # THEN this is what it polls for
    assert "for the lock of a file that nobody in the recording was seen to take" in one.why
    # AND no variable is to be watched
    assert any("Who holds the lock is seen with: lslocks" in note for note in causes.notes)
    assert not any("--watch" in note for note in causes.notes)
    # BUT without such a refusal, one is
    assert any("--watch VARIABLE" in note for note in find_causes(_polling(20).made(), [_polling(0).made()]).notes)
