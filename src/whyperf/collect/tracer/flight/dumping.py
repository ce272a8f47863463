"""A recording of what the rings hold, while they are being written."""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whyperf.collect.sampling.sampler import tables_folder
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.start import start_of, write_start
from whyperf.collect.tracer.facts import FACTS, Fact, mappings_of
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.flight.state import Flight, facts_path, read_flight
from whyperf.collect.tracer.holder import holder, pins_folder
from whyperf.collect.tracer.kallsyms import KernelNames
from whyperf.collect.tracer.opening import not_loaded, trace_of
from whyperf.collect.tracer.proc_files import living_processes, read_process, read_threads
from whyperf.collect.tracer.session import EVENTS_AT_ONCE, kernel_addresses
from whyperf.collect.tracer.system_call_numbers import with_recorded_numbers
from whyperf.collect.tracer.traced import EVERYBODY, RECORD, TRACED_SAMPLES
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.sealed.manifest import Sampling

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer


@dataclass(frozen=True)
class Dumped:
    path: Path
    events: int
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Taken:
    """A copy of the rings."""

    events: list[tuple[int, bytes]]
    stacks: bytes
    first: int  # time of the oldest event
    now: int

    @property
    def seconds(self) -> float:
        return (self.now - self.first) / 1e9


def dump(path: Path, last_s: float | None, *, force: bool) -> Dumped:
    """Writes an open recording; sealing it is the next step."""
    flight = read_flight()
    tracer = open_pinned()
    try:
        taken = _take(tracer, last_s)
        notes = tuple(_notes(tracer, flight, last_s, taken.seconds))
        folder = folders.create(path, force=force)
        try:
            with folder.removed_unless_begun():  # the rings hold all of it still
                _write(folder.raw, tracer, flight, taken, notes)
        except OSError as error:
            raise WhyperfError(f"{path} cannot be written: {error.strerror}.", f"df -h {path.parent}") from None
        finally:
            folder.release()
    finally:
        tracer.close()
    return Dumped(path, sum(len(part) for _, part in taken.events) // RECORD.itemsize, taken.seconds, notes)


def _take(tracer: Tracer, last_s: float | None) -> _Taken:
    now = time.monotonic_ns()
    events, stacks = tracer.snapshot(0 if last_s is None else max(0, now - round(last_s * 1e9)))
    firsts = [int(np.frombuffer(part, RECORD, 1)["time"][0]) for _, part in events if part]
    if not firsts:
        raise WhyperfError("The flight recorder's rings hold no event of that time yet.", "whyperf trace status")
    return _Taken(with_recorded_numbers(events), stacks, min(firsts), now)


def open_pinned() -> Tracer:
    from whyperf.collect._tracer import Tracer

    try:
        return Tracer.pinned(pins_folder(), tables_folder())
    except OSError as error:
        raise not_loaded(error) from None


def _write(raw: Path, tracer: Tracer, flight: Flight, taken: _Taken, notes: tuple[str, ...]) -> None:
    start = start_of(EVERYBODY, {}, Sampling(float(flight.sample_hz), "cpu", TRACED_SAMPLES), "run", 0)
    real = start.start_real - (start.start_monotonic - taken.first)
    write_start(raw, replace(start, start_monotonic=taken.first, start_real=real))
    began = time.process_time()
    with RawLogWriter(raw) as log:
        for _, part in taken.events:
            for at in range(0, len(part), EVENTS_AT_ONCE):
                log.append(ChunkKind.EVENTS, part[at : at + EVENTS_AT_ONCE])
                log.rotate()
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(facts_path(), raw / FACTS)
        facts = FactsFile(raw / FACTS)
        facts.add_stacks(taken.stacks)
        facts.add(_living(tracer))
        facts.add(
            [
                KernelNames().code(kernel_addresses(taken.stacks)),
                trace_of(tracer, "all", flight.sample_hz, flight.started_monotonic),
            ]
        )
        facts.close()
        log.append_json({"type": "losses", "notes": list(notes), "counters": {}})
        stop = {"exit_status": None, "exit_signal": None, "stopped_by": "dump"}
        log.append_json({"type": "stop", "time": taken.now, **stop, "recorder_cpu_s": time.process_time() - began})


def _living(tracer: Tracer) -> list[Fact]:
    """What lives now, in case that nobody was there to write it down when it started."""
    facts: list[Fact] = []
    daemon = holder()
    for pid in living_processes():
        process = read_process(pid)
        facts += [process, *read_threads(pid)] if process else []
        if daemon is None:
            with contextlib.suppress(OSError):
                facts.append(mappings_of(time.monotonic_ns(), pid, tracer.learn(pid)))
    return facts


def _notes(tracer: Tracer, flight: Flight, last_s: float | None, held_s: float) -> list[str]:
    notes = []
    age_s = (time.monotonic_ns() - flight.started_monotonic) / 1e9
    if last_s is not None and held_s < 0.95 * min(last_s, age_s):
        larger = round(flight.ring_bytes * last_s / max(held_s, 0.1)) >> 20
        notes.append(
            f"The rings hold the last {held_s:.1f} s, not the {last_s:g} s asked for: events came faster than "
            f"{flight.ring_bytes >> 20} MB can keep (whyperf trace start --size {larger}M)."
        )
    if holder() is None:
        uncovered = tracer.counters().get("stacks_before_modules", 0)
        notes.append(
            "The flight recorder's daemon has died: programs that started since then have no stacks "
            f"({uncovered:,} stacks so far); whyperf trace start gives it a new one."
        )
    return notes
