"""Who holds the lock that others wait for."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from tests.engines.contexts.traced import _row
from tests.engines.made import recording
from whyperf.diagnose.diagnosis import diagnose
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.kernel.blocked_waits import in_locks
from whyperf.engines.kernel.lock_releases import lock_releases
from whyperf.engines.lock_holders import find_holder
from whyperf.engines.run import Run
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.schemas.tables import table_named

LOCK = ("worker", "serve", "libc:___pthread_mutex_lock", "libc:futex")
HELD = ("worker", "serve", "ask", "libc:read")
ELSEWHERE = ("helper", "answer", "libc:clock_nanosleep")


def timed(made, spans):
    """The recording with its waits at given times: (last function's caller, thread, begin, end), in order."""
    samples = made.tables["samples"]
    rows = samples.to_pylist()
    blocked = [row for row in rows if row["wait"] >= 0]
    stacks = {}
    for row in blocked:
        stacks.setdefault(row["wait"], row)
    kept = [row for row in rows if row["wait"] < 0]
    for wait, thread, begin, end in spans:
        kept.append({**stacks[wait], "thread": thread, "time": int(end * 1e9), "weight": int((end - begin) * 1e9)})
    window = replace(made.manifest.window, start=0, end=int(1e11))
    tables = {**made.tables, "samples": pa.Table.from_pylist(kept, schema=samples.schema)}
    return replace(made, tables=tables, manifest=replace(made.manifest, window=window))


FUTEX, READ, SLEEP = 202, 0, 230


def run(wall_s, spans):
    stacks = [(("worker", "serve", "weigh"), 0.5)]
    waits = [(LOCK, 1.0), (HELD, 1.0), (ELSEWHERE, 1.0)]
    made = recording(stacks, blocked=waits, clock="wall", wall_s=wall_s, threads=4, main_cpu_wait_s=0.0)
    return timed(made, spans)


def looks(wait, thread, begin, end, every=0.02):
    count = round((end - begin) / every)
    return [(wait, thread, begin + at * every, begin + (at + 1) * every) for at in range(count)]


def test_the_function_that_holds_the_lock_and_waits_is_named():
    # GIVEN threads that wait for a lock for 8 s, while another is in the same function and reads an answer
    good = [run(2.0, looks(READ, 1, 0.0, 0.5) + looks(SLEEP, 3, 0.0, 1.5)) for _ in range(3)]
    spans = [(FUTEX, 2, 0.1, 8.1), *looks(READ, 1, 0.0, 8.2), *looks(SLEEP, 3, 0.0, 8.2)]
    verdict = diagnose(good, [run(10.0, spans) for _ in range(3)])
    first = verdict.suspects[0]
    assert (verdict.symptom.kind, first.function) == ("wait", "serve")
    assert first.why.startswith("It holds a lock while it waits in ask (read).")
    assert first.evidence[0].engine == "locks"


UNDER = ("worker", "serve", "handle")
LOCK_IN_HANDLE, UNLOCK = (*UNDER, "libc:___pthread_mutex_lock", "libc:futex"), (*UNDER, "libc:___pthread_mutex_unlock")
IDLE = ("worker", "serve", "libc:read")


def served(waits_s, *, events, unlock=UNLOCK):
    """A thread waits for the lock of `handle` ten times, while others rest in `serve`; who holds it is never seen."""
    made = recording([(unlock, 0.5)], blocked=[(LOCK_IN_HANDLE, 1.0), (IDLE, 1.0)], clock="wall", threads=4)
    samples = made.tables["samples"].to_pylist()
    locking, releasing = (next(row["stack"] for row in samples if row["wait"] == wait) for wait in (FUTEX, -1))
    turns = [(FUTEX, 2, at, at + waits_s / 10) for at in range(10)]
    made = timed(made, [*turns, *looks(READ, 1, 0.0, 10.0)])
    rows = []
    for _, thread, begin, end in turns:
        rows.append(_row(1e3 * begin, thread, EventKind.SWITCH, stack=locking, detail=FUTEX, result=1))
        rows.append(_row(1e3 * end, 3, EventKind.WAKING, other=thread, stack=releasing, detail=FUTEX))
    told = table_named("events").completed(pa.Table.from_pylist(rows)) if events else made.tables["events"]
    return Run(replace(made, tables={**made.tables, "events": told}))


def holder(*, events, unlock=UNLOCK):
    good = [served(0.001, events=events, unlock=unlock) for _ in range(3)]
    bad = [served(9.0, events=events, unlock=unlock) for _ in range(3)]
    index = FunctionIndex(good, bad)
    found = find_holder(good, bad, index, added_wall_s=9.0, unit="run", per_unit=False)
    return found and found.finding


def test_who_releases_the_lock_held_it_and_not_who_rests_nearby():
    # GIVEN looks alone, the thread that rests cannot be told from a holder
    assert holder(events=False).function.name == "serve"
    # WHEN kernel events tell who wakes those that wait
    found = holder(events=True)
    assert found.function.name == "handle"
    assert found.why.endswith("100% of that waiting ends when a thread releases it here.")


def test_events_of_a_run_without_stacks_tell_of_no_release():
    made = recording([], clock="wall")
    rows = [_row(1.0, 2, EventKind.SWITCH, detail=FUTEX), _row(2.0, 3, EventKind.WAKING, other=2, detail=FUTEX)]
    events = table_named("events").completed(pa.Table.from_pylist(rows))
    made = replace(made, tables={**made.tables, "events": events})
    assert made.tables["stacks"].num_rows == 0
    assert not lock_releases(made, in_locks(made))


def test_a_lock_that_other_code_releases_has_no_holder():
    assert holder(events=True, unlock=("helper", "answer", "libc:___pthread_mutex_unlock")) is None


def test_nobody_is_named_who_is_elsewhere_while_others_wait():
    # GIVEN the same waits, and nobody in that function meanwhile
    good = [run(2.0, looks(SLEEP, 3, 0.0, 1.5)) for _ in range(3)]
    spans = [(FUTEX, 2, 0.1, 8.1), *looks(READ, 1, 8.2, 9.0), *looks(SLEEP, 3, 0.0, 8.2)]
    verdict = diagnose(good, [run(10.0, spans) for _ in range(3)])
    assert not any(one.engine == "locks" for suspect in verdict.suspects for one in suspect.evidence)
