"""What is said of a stall."""

from __future__ import annotations

from tests.engines.causes.test_blame import conversation, signalled, two_deep
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.findings import findings


def test_a_long_run_names_function_thread_and_ladder() -> None:
    found = findings(find_causes(conversation(slow=True).made(), [conversation(slow=False).made()]))
    (one,) = found
    assert (one.engine, one.rank, one.function.name, one.pattern) == ("causes", 1, "scan_all", "long-run")
    assert one.path == ("main", "loop", "scan_all")
    ladder = one.detail["ladder"]
    assert [rung["process"] for rung in ladder] == ["client", "server"]
    assert ladder[0]["link"] == {"mechanism": "message", "certainty": "strong", "why": "data was sent to it"}
    assert ladder[1]["did"] == "was busy in scan_all for 1,000 ms"
    assert "client (100) stalled for 1,000 ms in one wait" in one.why
    assert "in the normal run (12 of them)" in one.why


def test_a_sleep_two_processes_away() -> None:
    one = findings(find_causes(two_deep(stalled=True).made(), [two_deep(stalled=False).made()]))[0]
    assert (one.function.name, one.pattern) == ("throttle", "long-wait")
    assert [rung["process"] for rung in one.detail["ladder"]] == ["client", "server", "back"]


def test_a_signal_that_was_left_out_says_what_was_skipped() -> None:
    one = findings(find_causes(signalled(forgotten=True).made(), [signalled(forgotten=False).made()]))[0]
    assert one.function.name == "on_error"
    assert "did not come to" in one.why and "publish" in one.why
