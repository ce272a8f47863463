"""Having files read by the worker, for as long as there is time."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Literal

from whyperf.source.uses import UseRole, Uses, Wanted

Reader = Literal["syntax", "semantics"]
_CRASHES_MAX = 3
_HANGS_S = 60.0  # of wall time: forty times the usual budget; a busy machine is no reason to give up earlier


@dataclass(frozen=True)
class Job:
    file: str
    language: str
    wanted: tuple[Wanted, ...]
    syntax: bool
    flags: tuple[str, ...] | None
    """For libclang; None: not by libclang."""


@dataclass(frozen=True)
class FileAnswer:
    job: int
    reader: Reader
    functions: dict[Wanted, Uses]


class _End(Enum):
    DONE = auto()
    CRASHED = auto()
    NO_MORE_CPU = auto()
    NO_MORE_TIME = auto()


_ENDS = {0: _End.DONE, -signal.SIGPROF: _End.NO_MORE_CPU}


def read_files(jobs: Sequence[Job], budget_s: float) -> list[FileAnswer]:
    """What was read within that many seconds of CPU time. Files at which the worker crashes are empty."""
    deadline = time.monotonic() + _HANGS_S
    answers: list[FileAnswer] = []
    left = dict(enumerate(jobs))

    def take(answer: FileAnswer) -> None:
        answers.append(answer)
        job = left[answer.job]
        left[answer.job] = replace(job, syntax=False) if answer.reader == "syntax" else replace(job, flags=None)

    for _ in range(_CRASHES_MAX + 1):
        numbers = [number for number, job in left.items() if job.syntax or job.flags is not None]
        remaining = deadline - time.monotonic()
        if not numbers or remaining <= 0 or budget_s <= 0:
            break
        used_before = _cpu_of_children()
        said, end = _asked([left[number] for number in numbers], budget_s, remaining)
        budget_s -= _cpu_of_children() - used_before
        understood = [answer for line in said if (answer := _understood(line, numbers)) is not None]
        for answer in understood:
            take(answer)
        culprit = _unanswered(left)
        if culprit is not None and (end is _End.CRASHED or (end is _End.NO_MORE_CPU and not understood)):
            take(FileAnswer(*culprit, {}))  # it would be the same the next time
        if end is not _End.CRASHED:
            break
    return answers


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _unanswered(left: dict[int, Job]) -> tuple[int, Reader] | None:
    """The first: the worker answers in order, grammars before libclang."""
    for number, job in left.items():
        if job.syntax:
            return number, "syntax"
    for number, job in left.items():
        if job.flags is not None:
            return number, "semantics"
    return None


def _asked(jobs: Sequence[Job], cpu_seconds: float, wall_seconds: float) -> tuple[list[bytes], _End]:
    """Whole lines of the worker's answer, and how it ended."""
    request = json.dumps({"cpu_seconds": cpu_seconds, "jobs": [vars(job) for job in jobs]}).encode()
    try:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "whyperf.source.worker"],  # -P: nothing of the working directory is imported
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return [], _End.NO_MORE_TIME
    with worker:
        try:
            said, _ = worker.communicate(request, timeout=wall_seconds)
            end = _ENDS.get(worker.returncode, _End.CRASHED)
        except subprocess.TimeoutExpired:
            worker.kill()
            said, _ = worker.communicate()
            end = _End.NO_MORE_TIME
        except BaseException:
            worker.kill()
            raise
    return said.split(b"\n")[:-1], end


def _understood(line: bytes, numbers: Sequence[int]) -> FileAnswer | None:
    try:
        said = json.loads(line)
        functions = {(int(at), str(name)): uses_of_rows(rows) for at, name, rows in said["functions"]}
        return FileAnswer(numbers[said["job"]], said["reader"], functions)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def rows_of_uses(uses: Uses) -> list[list[Any]]:
    return [[line, path, "|".join(sorted(roles))] for (line, path), roles in sorted(uses.items())]


def uses_of_rows(rows: list[list[Any]]) -> Uses:
    """ValueError or TypeError when they are something else."""
    return {(int(line), str(path)): frozenset(map(UseRole, roles.split("|"))) for line, path, roles in rows}
