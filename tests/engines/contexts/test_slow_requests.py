"""The slowest requests of a server against its others."""

from __future__ import annotations

import pytest

from tests.engines.contexts.traced import SOCKET, Thread, ran, slept, traced, waited
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.slow_requests import examine_slow_requests
from whyperf.diagnose.verdict import VerdictKind
from whyperf.engines.contexts.requests import latency_seen
from whyperf.engines.run import Run
from whyperf.errors import WhyperfError


def request(*work):
    return [
        waited("main serve libc:read kernel:tcp_recvmsg", 5, "read", object=SOCKET, result=8),
        ran("main serve handle", 1),
        *work,
        waited("main serve libc:write kernel:tcp_sendmsg", 0.1, "write", object=SOCKET, result=8),
    ]


def server(count, slow, *work):
    steps = [step for number in range(count) for step in request(*(work if number in slow else ()))]
    return traced([Thread(steps, main=True)], stopped_by="driver")


def test_what_only_the_slowest_do_is_named():
    # GIVEN 200 requests, of which every fortieth compacts a file
    verdict = examine_slow_requests(server(200, range(0, 200, 40), slept("main serve handle compact", 80)))
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.unit) == (VerdictKind.DIFFERENCE, "latency", "request")
    (suspect,) = verdict.suspects
    assert (suspect.function, suspect.confidence) == ("compact", "high")
    assert suspect.share == pytest.approx(1.0, abs=0.02)
    assert suspect.why.startswith("In 100% of the slowest requests it sleeps for 80.0 ms on average; in the others")
    assert (verdict.next_command or "").startswith("whyperf view --open ")


def test_waiting_for_the_next_request_is_no_part_of_one():
    verdict = examine_slow_requests(server(200, (), ran("main serve handle", 1)))
    assert verdict.suspects == ()
    assert verdict.symptom.bad == pytest.approx(1.1e-3, rel=0.2)


def test_a_few_requests_are_not_judged():
    with pytest.raises(WhyperfError, match="fewer than 50 requests"):
        examine_slow_requests(server(20, ()))


def accepted(count, *work):
    first = waited("main libc:accept4", 2, "accept4", object=SOCKET, result=5)
    return traced(
        [Thread([first, *(step for _ in range(count) for step in request(*work))], main=True)], stopped_by="driver"
    )


def test_requests_that_kernel_events_show_are_compared():
    # GIVEN a server whose driver says nothing of latency
    good, bad = accepted(600), accepted(600, slept("main serve handle settle", 9))
    # WHEN every request of the bad run sleeps
    verdict = examine([good] * 3, [bad] * 3).verdict
    # THEN latency is the symptom, with its percentiles, and who sleeps is named
    assert (verdict.symptom.kind, verdict.symptom.unit) == ("latency", "request")
    assert verdict.symptom.good == pytest.approx(1.1e-3, rel=0.05)
    assert verdict.symptom.bad == pytest.approx(10.1e-3, rel=0.05)
    assert {one.percentile for one in verdict.percentiles if one.certain} >= {50.0, 99.0}
    assert verdict.suspects[0].function == "settle"


def test_a_client_that_writes_after_it_has_read_answers_nobody():
    run = Run(server(200, range(0, 200, 40), slept("main serve handle compact", 80)))
    assert latency_seen(run) is None
    assert latency_seen(Run(accepted(60))).count == 60
