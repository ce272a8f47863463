"""One run under a tool, measured on real processes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench.server import free_port
from bench.speed.meter import FailedRunError, machine_cpu_s, measure
from bench.speed.tools import NONE, RATE_HZ, tools_named
from bench.workloads import Workload

from tests.patience import PATIENCE_S

_BUSY = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
_LIMIT_S = PATIENCE_S


def _script(text: str) -> Workload:
    return Workload("script", lambda _: ["/bin/sh", "-c", text], [])


def test_plain_run_costs_its_own_time_and_no_tool() -> None:
    before = machine_cpu_s()
    cost = measure(_script(_BUSY), NONE, _LIMIT_S)
    assert cost.cpu_s > 0
    assert cost.elapsed_s > 0.9 * cost.cpu_s
    assert cost.machine_s >= 0.5 * cost.cpu_s  # counted in ticks
    assert machine_cpu_s() >= before + cost.machine_s
    assert (cost.tool_bytes, cost.written_bytes, cost.inside) == (0, 0, None)


def test_recorder_is_told_apart_from_the_program() -> None:
    # WHEN a program runs under our recorder
    (_, ours) = tools_named(["whyperf --no-values"])
    cost = measure(_script(_BUSY), ours, _LIMIT_S)
    # THEN the program's time is its own, and memory and files are the recorder's
    plain = measure(_script(_BUSY), NONE, _LIMIT_S)
    assert cost.cpu_s < 5 * plain.cpu_s
    assert cost.tool_bytes > 20e6
    assert cost.written_bytes > 1000
    assert cost.inside is not None
    assert 0 <= cost.inside.share < 0.5


def test_a_recording_without_samples_is_no_measurement() -> None:
    # GIVEN a recorder that samples once a second of CPU time, and a program that uses far less, however slow it is
    (_, ours) = tools_named(["whyperf --no-values"])
    rarely = replace(
        ours, around=lambda folder: ["1" if word == str(RATE_HZ) else word for word in ours.around(folder)]
    )
    with pytest.raises(FailedRunError, match="sampled nothing"):
        measure(_script("exec sleep 0.1"), rarely, _LIMIT_S)


def test_server_is_driven_and_ended() -> None:
    # GIVEN a server that would go on for ever, and has a child of its own
    port = free_port()
    serve = f"import http.server as h; h.HTTPServer(('127.0.0.1', {port}), h.BaseHTTPRequestHandler).serve_forever()"
    text = f"trap 'kill $server; exit 0' TERM; python3 -c \"{serve}\" & server=$!; wait"
    server = Workload("server", lambda _: ["/bin/sh", "-c", text], ["sleep", "0.3"], port)
    # WHEN its load ends, THEN it is ended too, and the load's time is what counts
    cost = measure(server, NONE, _LIMIT_S)
    assert cost.elapsed_s >= 0.3


def test_what_fails_is_said_in_a_word(tmp_path: Path) -> None:
    with pytest.raises(FailedRunError, match=r"crashed \(7\)"):
        measure(_script("exit 7"), NONE, _LIMIT_S)
    # AND what hangs is ended with all that it started
    mark = tmp_path / "pid"
    with pytest.raises(FailedRunError, match="timed out"):
        measure(_script(f"echo $$ > {mark}; sleep 1000"), NONE, 1.0)
    if mark.exists():  # a busy machine may have had no time for it
        end = time.monotonic() + PATIENCE_S
        while _alive(int(mark.read_text())) and time.monotonic() < end:
            time.sleep(0.05)
        assert not _alive(int(mark.read_text()))


def _alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
