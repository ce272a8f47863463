"""How long threads were ready to run while other programs had the CPUs: time that says nothing of the program."""

from __future__ import annotations

import numpy as np

from whyperf.collect.tracer.traced import Records
from whyperf.recording.schemas.events import EventKind

_RUNNABLE = 0


def longest_wait_for_a_cpu_s(records: Records) -> float:
    """Of the thread that waited the longest in all; `records` are in time order.

    A thread that was preempted waits until something is seen of it again: perf shows who leaves a CPU, but not always
    who comes.
    """
    order = np.argsort(records["tid"], kind="stable")
    tid, time = records["tid"][order], records["time"][order].astype(np.int64)
    preempted = (records["kind"][order] == EventKind.SWITCH) & (records["result"][order] == _RUNNABLE) & (tid != 0)
    seen_again = np.flatnonzero(preempted[:-1] & (tid[1:] == tid[:-1]))
    if not len(seen_again):
        return 0.0
    threads, number = np.unique(tid[seen_again], return_inverse=True)
    waited = np.bincount(number, time[seen_again + 1] - time[seen_again], minlength=len(threads))
    return float(waited.max()) / 1e9
