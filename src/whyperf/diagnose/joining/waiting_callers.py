"""Who in the user's own code waits for a program that it started, by the stacks on which it was seen waiting.

What a child does is nothing that the user can look into where the child is not theirs: no line of it is known. The
innermost function with known lines that waits for it meanwhile is where the user's own code comes in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa

from whyperf.diagnose.verdict import Suspect
from whyperf.engines.causes.detail import CausesDetail, OwnPlace, ShownRung
from whyperf.engines.finding import Detail
from whyperf.engines.functions import is_system_source
from whyperf.engines.kernel.rules import load_rules
from whyperf.engines.kernel.system_calls import SLEEPS
from whyperf.engines.modules import OWN_ORIGINS
from whyperf.engines.run import Floats, Ints, Run, column, ints, texts
from whyperf.recording.names.identity import without_version
from whyperf.recording.names.system_calls import system_call_name
from whyperf.recording.schemas.tables import Clock

_PRESENT = {"slept": "sleeps", "polled": "polls", "waited": "waits", "was busy": "computes"}


@dataclass(frozen=True)
class Caller:
    function: str
    module: str
    file: str
    line: int
    path: tuple[str, ...]  # outermost first
    program: str  # that it waits for
    does: str  # what that does meanwhile: "sleeps"


def caller_in_ladder(detail: Detail) -> Caller | None:
    """Of a stall that was followed from thread to thread."""
    ladder = detail.ladder if isinstance(detail, CausesDetail) else ()
    if len(ladder) < 2 or _with_lines(ladder[-1]) is not None:
        return None
    for rung, awaited in reversed(list(pairwise(ladder))):
        own = _with_lines(rung)
        if own is not None and rung.pid != awaited.pid and awaited.process:
            program, does = awaited.process.split()[-1], _present(ladder[-1].did)
            return Caller(own.function, own.module, own.file, own.line, own.path, program, does)
    return None


def _with_lines(rung: ShownRung) -> OwnPlace | None:
    return rung.own if rung.own is not None and rung.own.line > 0 else None


def _present(did: str) -> str:
    """`slept in usleep` as `sleeps`: where in a program without lines says nothing."""
    return next((now for past, now in _PRESENT.items() if did.startswith(past)), did)


def caller_by_samples(suspect: Suspect, runs: Sequence[Run]) -> Caller | None:
    """Of samples of waiting threads, in the run that shows most of it."""
    found = [one for run in runs for one in _callers(suspect, run)]
    return max(found, key=lambda one: one[0])[1] if found else None


def _callers(suspect: Suspect, run: Run) -> Iterator[tuple[float, Caller]]:
    processes, samples = run.recording.table("processes"), run.recording.table("samples")
    names = [without_version(PurePosixPath(path).name) for path in texts(processes, "executable")]
    rows = [row for row, name in enumerate(names) if name == suspect.module]
    if not rows:
        return
    blocked = column(samples, "clock") == Clock.BLOCKED
    times, of_process, waits = (column(samples, name) for name in ("time", "process", "wait"))
    weights = column(samples, "weight") / 1e9
    parents, pids = ints(processes, "parent_pid"), ints(processes, "pid")
    seconds: dict[tuple[int, str, str], float] = defaultdict(float)
    own, interpreters = _OwnCode(run), load_rules().interpreters
    for row in rows:
        inside = of_process == row
        if not inside.any():
            continue
        does = _does(waits[inside & blocked], weights[inside & blocked], float(weights[inside & ~blocked].sum()))
        meanwhile = blocked & (times >= times[inside].min()) & (times <= times[inside].max())
        awaited, pid = row, parents[row]
        while pid > 0 and (above := [one for one, known in enumerate(pids) if known == pid]):
            seen = meanwhile & np.isin(of_process, above)
            waited = own.seconds(column(samples, "stack")[seen].tolist(), weights[seen].tolist())
            if waited:
                node = max(waited, key=lambda one: waited[one])
                seconds[node, _shown(processes, awaited, interpreters), does] += waited[node]
                break
            awaited, pid = above[-1], parents[above[-1]]
    for (node, program, does), lasted in seconds.items():
        yield lasted, own.caller(node, program, does)


def _does(waits: Ints, weights: Floats, cpu_s: float) -> str:
    if weights.sum() <= cpu_s:
        return "computes"
    numbers, at = np.unique(waits, return_inverse=True)
    call = system_call_name(int(numbers[np.argmax(np.bincount(at, weights=weights))]))
    return "sleeps" if call in SLEEPS else f"waits in {call}"


class _OwnCode:
    """Where a run's stacks are in the user's own code, of which lines are known."""

    def __init__(self, run: Run) -> None:
        self._run = run
        modules, functions = run.recording.table("modules"), run.recording.table("functions")
        self._modules, self._names, self._files = (
            texts(modules, "name"),
            functions.column("name"),
            texts(functions, "file"),
        )
        self._module, self._function = ints(run.frames, "module"), ints(run.frames, "function")
        own = [origin in OWN_ORIGINS for origin in texts(modules, "origin")]
        foreign = [is_system_source(file) for file in self._files]
        self._is_own = [
            module >= 0 and function >= 0 and line > 0 and own[module] and not foreign[function]
            for module, function, line in zip(self._module, self._function, run.frame_line, strict=True)
        ]

    def frame(self, node: int) -> int | None:
        """The innermost such frame at a node."""
        chain = self._run.frame_chain[self._run.stack_frame[node]]
        return next((frame for frame in reversed(chain) if self._is_own[frame]), None)

    def seconds(self, stacks: list[int], seconds: list[float]) -> dict[int, float]:
        """By the innermost node with such a frame, how long threads waited there."""
        found: dict[int, float] = defaultdict(float)
        for node, lasted in zip(stacks, seconds, strict=True):
            while node >= 0 and self.frame(node) is None:
                node = self._run.stack_parent[node]  # noqa: PLW2901
            if node >= 0:
                found[node] += lasted
        return found

    def caller(self, node: int, program: str, does: str) -> Caller:
        path: list[int] = []
        while node >= 0:
            if (frame := self.frame(node)) is not None:
                path.append(frame)
            node = self._run.stack_parent[node]
        inner, names = path[0], [self._names[self._function[frame]].as_py() for frame in path]
        return Caller(
            names[0],
            without_version(self._modules[self._module[inner]]),
            self._files[self._function[inner]],
            self._run.frame_line[inner],
            tuple(names[::-1]),
            program,
            does,
        )


def _shown(processes: pa.Table, row: int, interpreters: Sequence[str]) -> str:
    """A program's name; of what an interpreter runs that of the script."""
    name = PurePosixPath(processes.column("executable")[row].as_py() or "").name
    if name.rstrip("0123456789.") not in interpreters:
        return name
    words = (processes.column("command")[row].as_py() or [])[1:]
    script = next((word for word in words if word.strip() and not word.startswith("-")), name)
    return PurePosixPath(script.split()[0]).name
