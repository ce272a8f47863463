"""Starting and stopping the flight recorder."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.collect.tracer.facts import Fact, mappings_of
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.flight.state import Flight, facts_path, flight_folder, forget, read_flight, write_flight
from whyperf.collect.tracer.holder import TracerHolder, alone, holder, pins_folder, rings_are_pinned, say
from whyperf.collect.tracer.opening import Allowance, not_loaded, open_tracer
from whyperf.collect.tracer.proc_files import living_processes, read_process, read_threads
from whyperf.collect.tracer.traced import RECORD
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

NAME = "whyperf trace start"
_MEASURED_S = 1.0
_SMALLEST = 1 << 20
_OF_FREE_MEMORY = 0.25
_MARGIN = 2.0  # events do not come evenly
_ALLOWANCE = Allowance(0.05)  # it is always on
_STOPPED_IN_S = 5.0
_LOG = "daemon.log"


@dataclass(frozen=True)
class Started:
    flight: Flight
    pid: int
    adopted: bool  # it ran already, and only its daemon had gone
    events_per_s: float  # when it was measured; 0: it was not


def start(ring_bytes: int | None, seconds: float | None, sample_hz: int) -> Started:
    """Returns when it runs. With `seconds` the rings are as large as the events of the next second let expect."""
    with alone(NAME, flight=True) as lock:
        if rings_are_pinned():
            return Started(read_flight(), _start_daemon(lock), True, 0.0)
        forget()
        events_per_s = 0.0
        if seconds is not None:
            events_per_s = _events_per_s(sample_hz)
            ring_bytes = _bytes_for(seconds, events_per_s)
        assert ring_bytes is not None
        tracer = open_tracer("all", ring_bytes, sample_hz, _ALLOWANCE)
        try:
            flight = Flight(ring_bytes, sample_hz, time.monotonic_ns(), time.time_ns())
            write_flight(flight)
            _introduce_everybody(tracer)
            tracer.resume()
            try:
                tracer.pin(pins_folder())
            except OSError as error:
                forget()
                raise not_loaded(error) from None
        finally:
            tracer.close()
        return Started(flight, _start_daemon(lock), False, events_per_s)


def stop() -> bool:
    """Ends it, whatever is left of it; whether there was anything."""
    who = holder()
    if who is not None and who.flight:
        _end(who.pid)
    there = rings_are_pinned()
    if there:
        from whyperf.collect._tracer import unpin

        try:
            unpin(pins_folder())
        except OSError as error:
            raise WhyperfError(
                f"The flight recorder could not be removed from {pins_folder()}: {error.strerror}.",
                f"sudo rm -r {pins_folder()}",
            ) from None
    forget()
    return there or (who is not None and who.flight)


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            deadline = time.monotonic() + _STOPPED_IN_S
            while time.monotonic() < deadline:
                signal.pidfd_send_signal(descriptor, 0)
                time.sleep(0.02)
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _start_daemon(lock: int) -> int:
    """A process of its own, small because it loads only what it needs. It inherits the lock that keeps others out."""
    flight_folder().mkdir(mode=0o700, exist_ok=True)
    with (flight_folder() / _LOG).open("ab") as log:
        ready, said = os.pipe()
        try:
            daemon = subprocess.Popen(
                [sys.executable, "-m", "whyperf.collect.tracer.flight.daemon", str(said)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock, said),
                start_new_session=True,
                cwd="/",
            )
        finally:
            os.close(said)
        answer = os.read(ready, 16)  # nothing when it ended first
        os.close(ready)
    if answer != b"ready":
        daemon.wait()
        lines = (flight_folder() / _LOG).read_text(errors="replace").splitlines()
        why = f": {lines[-1]}" if lines else ""
        raise WhyperfError(f"The flight recorder's daemon did not start{why}.", "whyperf trace stop")
    say(lock, TracerHolder(NAME, daemon.pid, flight=True))
    return daemon.pid


def _introduce_everybody(tracer: Tracer) -> None:
    """What already runs: its modules to the kernel, its names to whoever will read the rings."""
    facts: list[Fact] = []
    for pid in living_processes():
        process = read_process(pid)
        if process is None:
            continue
        facts += [process, *read_threads(pid)]
        with contextlib.suppress(OSError):
            modules = tracer.learn(pid)
            facts += [mappings_of(time.monotonic_ns(), pid, modules)] if modules else []
    file = FactsFile(facts_path())
    try:
        file.add(facts)
    finally:
        file.close()


def _events_per_s(sample_hz: int) -> float:
    tracer = open_tracer("all", 1 << 22, sample_hz, _ALLOWANCE)
    try:
        tracer.resume()
        before, began = tracer.counters()["events"], time.monotonic()
        time.sleep(_MEASURED_S)
        return (tracer.counters()["events"] - before) / (time.monotonic() - began)
    finally:
        tracer.close()


def _bytes_for(seconds: float, events_per_s: float) -> int:
    wanted = max(_SMALLEST, round(seconds * events_per_s * RECORD.itemsize * _MARGIN))
    most = round(_free_memory() * _OF_FREE_MEMORY)
    if wanted > most:
        fitting = max(1, int(seconds * most / wanted))
        raise WhyperfError(
            f"At {events_per_s:,.0f} events a second, as now, the last {seconds:g} s take {wanted / 1e9:.1f} GB, "
            "more than a quarter of the free memory.",
            f"whyperf trace start --seconds {fitting}",
        )
    return wanted


def _free_memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 1 << 30
