"""How the flight recorder does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from whyperf.collect.tracer.flight.dumping import open_pinned
from whyperf.collect.tracer.flight.state import Flight, read_flight
from whyperf.collect.tracer.holder import holder
from whyperf.collect.tracer.opening import trace_of
from whyperf.collect.usage.totals import usage_of
from whyperf.recording.sealed.manifest import TraceSummary


@dataclass(frozen=True)
class RecorderStatus:
    flight: Flight
    daemon: int | None  # None: it has died
    daemon_cpu_s: float
    running_s: float
    events: int  # since the start
    held_s: float  # how far back the rings reach now
    trace: TraceSummary
    counters: dict[str, int] = field(default_factory=dict)


def status() -> RecorderStatus:
    """WhyperfError when none is running."""
    flight = read_flight()
    who = holder()
    daemon = who.pid if who is not None and who.flight else None
    tracer = open_pinned()
    try:
        now = time.monotonic_ns()
        firsts = tracer.oldest()
        counters = tracer.counters()
        trace = trace_of(tracer, "all", flight.sample_hz, flight.started_monotonic)
    finally:
        tracer.close()
    return RecorderStatus(
        flight,
        daemon,
        usage_of([daemon]).cpu_user_s + usage_of([daemon]).cpu_system_s if daemon else 0.0,
        (now - flight.started_monotonic) / 1e9,
        counters["events"],
        (now - max(firsts)) / 1e9 if firsts else 0.0,  # before that some CPU's events are gone
        trace,
        counters,
    )
