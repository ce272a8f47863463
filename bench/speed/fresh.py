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
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.counted import counted, counting
from bench.speed.memory import peak_bytes
from bench.speed.steps import STEPS


@dataclass(frozen=True)
class Spent:
    wall_s: float
    cpu_s: float
    peak_bytes: int
    told: Mapping[str, float] = field(default_factory=dict)  # what the step says besides


class FailedStepError(Exception):
    """What was to be measured did not work; the words are those of the process."""


def measured(step: str, *paths: Path) -> Spent:
    command = [sys.executable, "-m", "bench.speed.fresh", step, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedStepError(done.stderr.strip()[-2000:])
    return Spent(**json.loads(done.stdout.splitlines()[-1]))


def command_measured(command: Sequence[str], statuses: Sequence[int]) -> Spent:
    """A whole command, the start of its process and the loading of its code included."""
    with tempfile.NamedTemporaryFile() as file:
        counter = counting(Path(file.name))
        done = subprocess.run([*counter, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode not in statuses:
            raise FailedStepError(f"`{' '.join(command)}` ended with {done.returncode}.")
        used = counted(Path(file.name))
    return Spent(used.elapsed_s, used.cpu_s, used.peak_bytes)


def _spent(step: Callable[[Sequence[Path]], Mapping[str, float]], paths: Sequence[Path]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    told = step(paths)
    return Spent(time.perf_counter() - wall, time.process_time() - cpu, peak_bytes("self"), told)


if __name__ == "__main__":
    print(json.dumps(asdict(_spent(STEPS[sys.argv[1]], [Path(path) for path in sys.argv[2:]]))))
