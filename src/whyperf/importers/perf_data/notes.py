"""What is missing or odd about a perf.data file, in words."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from whyperf.importers.perf_data.layout import SampleType
from whyperf.importers.perf_data.reading import PerfData, listed

_FILES_NAMED = 5


def notes_of(read: PerfData) -> list[str]:
    notes = list(read.container.notes)
    if not len(read.samples):
        notes.append("perf took no samples: what was recorded ended too soon, or slept all the time.")
    if read.decoded.foreign or read.decoded.damaged:
        odd = read.decoded.foreign + read.decoded.damaged
        notes.append(f"{odd:,} samples make no sense and were passed over.")
    if read.without_times and len(read.samples):
        notes.append("Recorded without times (perf record -T): how long it took is not known, only its CPU time.")
    if read.nameless:
        notes.append(f"{read.nameless:,} samples of threads that had all but ended were passed over.")
    if read.books.throttled:
        notes.append(f"The kernel throttled sampling {read.books.throttled:,} times, since it took too much time.")
    notes += [f"{count:,} records {what} were passed over." for what, count in read.books.skipped.items()]
    sampled = [one.name for one in read.container.events if one.is_tracepoint and (one.frequency or one.period > 1)]
    if sampled:
        notes.append(f"Not every one was recorded of: {', '.join(sampled[:_FILES_NAMED])} (perf record -F or -c).")
    if read.events.passed_over:
        total = sum(read.events.passed_over.values())
        notes.append(f"{total:,} events that say nothing of time or waits were passed over: "
                     f"{listed(read.events.passed_over)}.")  # fmt: skip
    if read.binaries.replaced:
        files = ", ".join(shlex.quote(Path(path).name) for path in sorted(read.binaries.replaced)[:_FILES_NAMED])
        notes.append(f"Changed since they were recorded, so that their functions have no names: {files}.")
    if read.kernel.note:
        notes.append(read.kernel.note)
    if not read.container.is_of_this_machine and any(one.copies_stacks for one in read.container.events):
        notes.append(
            f"Callers are unknown: stacks that perf copied on {read.container.machine} are unwound by whyperf on such "
            "a machine only."
        )
    if not any(one.sample_type & SampleType.CALLCHAIN or one.copies_stacks for one in read.container.events):
        notes.append("Recorded without call graphs: callers are unknown (perf record -g, or --call-graph dwarf).")
    elif _mostly_one_frame(read):
        notes.append(
            "Most call chains are one frame deep, so callers are unknown: the program was compiled without frame "
            "pointers. Record with perf record --call-graph dwarf."
        )
    return notes


def _mostly_one_frame(read: PerfData) -> bool:
    """Of the samples in programs' own code, by the chains that perf took. No program begins where it computes."""
    numbers = read.samples["user_stack"][read.timed.rows]
    numbers = numbers[numbers > 0]
    if not len(numbers):
        return False
    deep = np.diff(read.stacks.ends, prepend=np.int64(0))[numbers - 1]
    return 2 * int(np.count_nonzero(deep <= 1)) > len(deep)
