"""The flight recorder's daemon: gives the kernel the unwind tables of what starts, and writes down what that is.

It reads no event but the oldest, to forget processes that no event is of. Without it tracing goes on, and only the
stacks of programs that start later are cut.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from types import FrameType

from whyperf.collect._tracer import Tracer
from whyperf.collect.sampling.sampler import tables_folder
from whyperf.collect.tracer.facts import Fact, mappings_of
from whyperf.collect.tracer.flight.memory import FactsMemory
from whyperf.collect.tracer.flight.state import facts_path
from whyperf.collect.tracer.holder import pins_folder
from whyperf.collect.tracer.proc_files import read_process, read_threads

_WAIT_MS = 1000


class _Stop(BaseException):
    pass


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Stop


def main(said: int) -> None:
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    tracer = Tracer.pinned(pins_folder(), tables_folder())
    memory = FactsMemory(facts_path(), lambda: _reach_s(tracer))
    os.write(said, b"ready")
    os.close(said)
    with contextlib.suppress(_Stop):
        while True:
            _serve(tracer, memory)
    memory.close()


def _reach_s(tracer: Tracer) -> float:
    """How long ago the oldest event in any ring was."""
    return max(((time.monotonic_ns() - oldest) / 1e9 for oldest in tracer.oldest()), default=0.0)


def _serve(tracer: Tracer, memory: FactsMemory) -> None:
    facts: list[Fact] = []
    for kind, moment, pid, _, modules in tracer.serve(_WAIT_MS):
        if kind == "exit":
            memory.ended(pid)
        elif kind == "exec":
            process = read_process(pid)
            facts += [process, *read_threads(pid)] if process else []
        facts += [mappings_of(moment, pid, modules)] if modules else []
    memory.add(facts)


if __name__ == "__main__":
    main(int(sys.argv[1]))
