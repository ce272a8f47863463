"""What keeps tracing cheap: stacks that are not walked again, calls that are counted only, bursts that are allowed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.tracer.tracing import Seen, Tracing, compiled, needs_bpf
from whyperf.collect.tracer.traced import RECORD
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind

_STORM = "import os\nfor i in range({count}): os.getppid()"
_TURNS, _QUICK = 50, 100  # as in quick_calls.c


def _complete(seen: Seen, pid: int, call: int) -> set[tuple[int, ...]]:
    """Stacks of a call as they are once the modules are known."""
    stacks = {
        tuple(seen.stacks[int(number)].addresses)
        for number in set(seen.of(EventKind.SYSCALL, pid=pid, detail=call)["stack"])
    }
    return {addresses for addresses in stacks if len(addresses) == max(map(len, stacks))}


@needs_bpf
def test_stacks_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    # GIVEN calls from one place, with one stack pointer, whose callers' callers take turns
    program = compiled("same_start.c", tmp_path)
    with Tracing(tmp_path, ring_bytes=16 << 20, kinds=[EventKind.SYSCALL]) as tracing:
        seen, pid, _ = tracing.run([str(program)])
        counters = tracing.tracer.counters()
    # WHEN nearly all of their stacks were read where the walk before had found them
    assert counters["stacks_again"] > 0.5 * 40000
    # THEN each has the right one
    (one,), (other,) = (_complete(seen, pid, NUMBERS[name]) for name in ("getppid", "getuid"))
    differing = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    assert len(one) > 5 and len(differing) == 2 and differing[1] == differing[0] + 1


@needs_bpf
def test_a_call_has_the_stack_of_its_own_wait_and_of_no_other(tmp_path: Path) -> None:
    # GIVEN reads from one place, with one stack pointer, of which every other one waits
    program = compiled("same_call.c", tmp_path)
    with Tracing(tmp_path, ring_bytes=16 << 20, kinds=[EventKind.SYSCALL, EventKind.SWITCH]) as tracing:
        seen, pid, _ = tracing.run([str(program)])
    whole = [number for number, stack in seen.stacks.items() if not stack.cut]  # once modules are known
    reads = seen.of(EventKind.SYSCALL, pid=pid, detail=NUMBERS["read"])
    waited = (reads["object"] >> np.uint64(60) == 1) & np.isin(reads["stack"], whole)
    zeros = (reads["object"] >> np.uint64(60) == 2) & np.isin(reads["stack"], whole)
    # THEN what waited has the stack of its wait
    waits = seen.of(EventKind.SWITCH, pid=pid, detail=NUMBERS["read"])
    waits = waits[(waits["result"] != 0) & np.isin(waits["stack"], whole)]
    assert len(waits) > 10
    for wait in waits:
        assert reads[reads["time"] > wait["time"]][0]["stack"] == wait["stack"]
    # AND the one after it, from the same place, its own
    assert not set(reads["stack"][waited]) & set(reads["stack"][zeros])
    one, other = (
        {tuple(seen.stacks[int(number)].addresses) for number in set(reads["stack"][chosen])}
        for chosen in (waited, zeros)
    )
    assert len(one) == len(other) == 1
    differing = [place for place, pair in enumerate(zip(*one, *other, strict=True)) if pair[0] != pair[1]]
    assert len(differing) == 2 and differing[1] == differing[0] + 1


@needs_bpf
def test_stacks_of_what_neither_waits_nor_wakes_are_left_out_first(tmp_path: Path) -> None:
    # GIVEN the first level
    program = compiled("quick_calls.c", tmp_path)
    with Tracing(tmp_path, ring_bytes=16 << 20, shed_floor=1) as tracing:
        seen, pid, _ = tracing.run([str(program), str(program)])
    reads = seen.of(EventKind.SYSCALL, pid=pid, detail=NUMBERS["read"])
    pipes, zeros = (reads[reads["object"] >> np.uint64(60) == kind] for kind in (1, 2))
    # THEN every call is recorded, and what waited or woke has its stack
    assert len(zeros) == _TURNS * _QUICK
    assert (pipes["stack"] != 0).sum() >= 0.9 * _TURNS
    wrote = seen.of(EventKind.SYSCALL, detail=NUMBERS["write"])
    assert (wrote["stack"][wrote["pid"] != pid] != 0).sum() >= 0.9 * _TURNS
    # AND the rest has none
    assert (zeros["stack"] != 0).sum() < 0.1 * len(zeros)


@needs_bpf
def test_calls_that_neither_wait_nor_wake_are_counted_only(tmp_path: Path) -> None:
    from whyperf.collect._tracer import SHED_LEVELS

    # GIVEN the level that leaves them out
    program = compiled("quick_calls.c", tmp_path)
    level = SHED_LEVELS.index("system calls that neither waited nor woke anybody")
    with Tracing(tmp_path, ring_bytes=16 << 20, shed_floor=level) as tracing:
        seen, pid, _ = tracing.run([str(program), str(program)])
        quick = tracing.tracer.counters()["quick_calls"]
    # WHEN a program waits, wakes, locks, and reads /dev/zero
    calls = {name: seen.of(EventKind.SYSCALL, pid=pid, detail=NUMBERS[name]) for name in ("read", "write", "flock")}
    pipes = calls["read"]["object"] >> np.uint64(60) == 1
    wrote = seen.of(EventKind.SYSCALL, detail=NUMBERS["write"])
    # THEN what waited, the call after it, what woke and what locked is recorded
    assert (wrote["pid"] != pid).sum() >= 0.9 * _TURNS
    assert pipes.sum() >= 0.9 * _TURNS
    assert len(calls["write"]) >= 0.9 * _TURNS
    assert len(calls["flock"]) == 2 * _TURNS
    # AND the rest is counted
    reads = _TURNS * (_QUICK + 1)
    assert len(calls["read"]) < 0.5 * reads
    assert quick >= reads - len(calls["read"])


@needs_bpf
@pytest.mark.parametrize(("burst", "sheds"), [(0.0, True), (1.0, False)])
def test_a_burst_is_recorded_as_a_whole(tmp_path: Path, burst: float, sheds: bool) -> None:
    with Tracing(tmp_path, ring_bytes=32 << 20, shed_budget=0.001, shed_burst=burst) as tracing:
        seen, pid, _ = tracing.run([sys.executable, "-c", _STORM.format(count=60000)])
        changes = tracing.tracer.sheds()
    assert bool(changes) == sheds
    assert (len(seen.of(EventKind.SYSCALL, pid=pid, detail=NUMBERS["getppid"])) == 60000) != sheds


@needs_bpf
def test_reading_counts_against_the_budget(tmp_path: Path) -> None:
    with Tracing(tmp_path, ring_bytes=32 << 20, shed_budget=0.05, shed_burst=0.5, read_cost=1e-4) as tracing:
        tracing.run([sys.executable, "-c", _STORM.format(count=60000)])
        assert tracing.tracer.sheds()


# Signals are recorded at every level.
_STORM_THEN_CALM = """
import os, signal, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
for _ in range(50000): os.kill(os.getpid(), signal.SIGUSR1)
while True:
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.04)
"""


@needs_bpf
def test_a_storm_at_the_last_level_is_not_paid_for_long_after_it(tmp_path: Path) -> None:
    from whyperf.collect._tracer import SHED_LEVELS

    last = len(SHED_LEVELS) - 1
    # GIVEN a storm that costs 5 s where 1% is allowed, with nothing left to shed
    options = {"kinds": [EventKind.SIGNAL], "shed_budget": 0.01, "read_cost": 1e-4}
    with Tracing(tmp_path, ring_bytes=16 << 20, **options) as tracing:  # type: ignore[arg-type]
        program = tracing.spawn([sys.executable, "-c", _STORM_THEN_CALM], stdin=subprocess.DEVNULL)
        try:
            # WHEN it is calm again, THEN levels are taken back within seconds
            end = time.monotonic() + 200  # 5 s at 1% would be 500
            while not any(before == last and after < last for _, _, before, after in tracing.tracer.sheds()):
                assert time.monotonic() < end, tracing.tracer.sheds()
                time.sleep(0.05)
        finally:
            program.kill()
            program.wait()


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from([EventKind.SWITCH, EventKind.EXEC, EventKind.EXIT]),
        st.integers(0, 9),
        st.integers(0, 9),
        st.integers(0, 9),
    )
)


@given(_EVENTS, st.sets(st.integers(0, 7)))
def test_unknown_processes_are_named_once(events: list[tuple[EventKind, int, int, int]], known: set[int]) -> None:
    unknown_processes = pytest.importorskip("whyperf.collect._tracer").unknown_processes
    records = np.zeros(len(events), RECORD)
    expected, now = [], set(known)
    for row, (kind, pid, tid, other) in enumerate(events):
        records[row]["kind"], records[row]["pid"], records[row]["tid"] = kind, pid, tid
        records[row]["other"] = other << 32 | 1
        if kind == EventKind.EXEC:
            now.discard(pid)
        for one in (pid, other):
            if 0 < one < 8 and one not in now:  # there is no room for more
                expected.append(one)
                now.add(one)
    now -= {pid for kind, pid, tid, _ in events if kind == EventKind.EXIT and pid == tid}
    flags = bytearray(pid in known for pid in range(8))
    assert unknown_processes(records.tobytes(), flags) == expected
    assert {pid for pid in range(8) if flags[pid]} == now
