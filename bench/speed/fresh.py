"""Steps measured in a process of their own each: its time, its peak memory, nobody else's.

`python -m bench.speed.fresh STEP PATH...` is that process; it prints what the step cost as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bench.counted import counted, counting
from bench.speed.anonymous import AnonymousMemory
from bench.speed.memory import peak_bytes
from bench.speed.steps import STEPS


@dataclass(frozen=True)
class Spent:
    wall_s: float
    cpu_s: float
    peak_bytes: int  # files that are mapped included
    told: Mapping[str, float] = field(default_factory=dict)  # what the step says besides
    anonymous_bytes: int = 0  # most at any time; 0: nobody looked


class FailedStepError(Exception):
    """What was to be measured did not work; the words are those of the process."""


def measured(step: str, *paths: Path) -> Spent:
    command = [sys.executable, "-m", "bench.speed.fresh", step, *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with AnonymousMemory(process.pid) as anonymous:
        said, wrong = process.communicate()
    if process.returncode:
        raise FailedStepError(wrong.strip()[-2000:])
    return replace(Spent(**json.loads(said.splitlines()[-1])), anonymous_bytes=anonymous.peak_bytes)


def command_measured(command: Sequence[str], statuses: Sequence[int]) -> Spent:
    """A whole command, the start of its process and the loading of its code included."""
    with tempfile.NamedTemporaryFile() as file:
        counter = counting(Path(file.name))
        process = subprocess.Popen([*counter, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with AnonymousMemory(process.pid) as anonymous:
            status = process.wait()
        if status not in statuses:
            raise FailedStepError(f"`{' '.join(command)}` ended with {status}.")
        used = counted(Path(file.name))
    return Spent(used.elapsed_s, used.cpu_s, used.peak_bytes, anonymous_bytes=anonymous.peak_bytes)


def _spent(step: Callable[[Sequence[Path]], Mapping[str, float]], paths: Sequence[Path]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    told = step(paths)
    return Spent(time.perf_counter() - wall, time.process_time() - cpu, peak_bytes("self"), told)


if __name__ == "__main__":
    print(json.dumps(asdict(_spent(STEPS[sys.argv[1]], [Path(path) for path in sys.argv[2:]]))))
