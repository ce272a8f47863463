"""Who holds the lock that others wait for."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from tests.engines.made import recording
from whyperf.diagnose.diagnosis import diagnose

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


def test_nobody_is_named_who_is_elsewhere_while_others_wait():
    # GIVEN the same waits, and nobody in that function meanwhile
    good = [run(2.0, looks(SLEEP, 3, 0.0, 1.5)) for _ in range(3)]
    spans = [(FUTEX, 2, 0.1, 8.1), *looks(READ, 1, 8.2, 9.0), *looks(SLEEP, 3, 0.0, 8.2)]
    verdict = diagnose(good, [run(10.0, spans) for _ in range(3)])
    assert not any(one.engine == "locks" for suspect in verdict.suspects for one in suspect.evidence)
