"""A neighbour on the machine: a bounded busy loop that comes and goes, as other people's programs do."""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_S = 3600.0


@contextmanager
def neighbour(processes: int = 1) -> Iterator[None]:
    """Busy for a tenth to two seconds, then idle for as long, until the block ends (an hour at most)."""
    stop = multiprocessing.Event()
    workers = [multiprocessing.Process(target=_work, args=(stop, seed), daemon=True) for seed in range(processes)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stop.set()
        for worker in workers:
            worker.join(5)


def _work(stop: multiprocessing.synchronize.Event, seed: int) -> None:
    chance = random.Random(seed)
    end = time.monotonic() + _LONGEST_S
    while not stop.is_set() and time.monotonic() < end:
        busy_until = time.monotonic() + chance.uniform(0.1, 2.0)
        while time.monotonic() < busy_until:
            sum(i * i for i in range(2000))
        stop.wait(chance.uniform(0.1, 2.0))
