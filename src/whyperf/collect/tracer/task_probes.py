"""Probes at functions that put and run tasks, wherever a traced process has such functions.

They are there while somebody holds their descriptors: nothing is left behind, however the recorder ends. The kernel
takes 10 ms to place one and 100 ms to take it away, most of it waiting, so that is done aside, several at once. One
that is hit too often costs the program too much, and goes.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from whyperf.collect.tracer.queue_rules import QueueRule
from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.debuginfo.code_maps.unwind_index import unwind_ranges
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.elf_files.named_symbols import NamedSymbol, function_symbols
from whyperf.recording.raw_log.ringrecords import CUT_REASONS
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Shed, TaskQueue

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

Module = tuple[int, int, int, int, str, str, int]  # as `_tracer` gives it

# A hit takes the program 0.6 microseconds, or 6 where the kernel has to step over the function's first instruction:
# these are 0.3 to 3% of a CPU.
MOST_HITS_A_SECOND = 5_000
_WINDOW_NS = 500_000_000
_EVERYBODY = -1
_AT_ONCE = 8
_FIRST_STACK = 0xC0000000  # the kernel's own count from 1
_STACK = struct.Struct("<IHH2Q")  # `struct traced_stack` and two addresses
_CUT = CUT_REASONS.index("only the function and its caller were asked for") << 8


_File = tuple[str, str, int]  # path, build-id, inode


@dataclass(frozen=True)
class _Probe:
    """A place in a file of a process, for a queue."""

    pid: int
    file: _File
    offset: int
    queue: int
    runs: bool


@dataclass(frozen=True)
class TakenTasks:
    records: bytes
    stacks: bytes  # those that are new, as `_tracer` packs them


class TaskProbes:
    def __init__(self, rules: Sequence[QueueRule], *, everywhere: bool) -> None:
        """`everywhere`: in all processes at once, not in each that is met."""
        self._rules = rules
        self._everywhere = everywhere
        self._placed: dict[_Probe, Future[int]] = {}  # descriptors
        self._aside = ThreadPoolExecutor(_AT_ONCE, "probes")
        self._modules: dict[int, list[Module]] = {}
        self._code = _Code()
        self._found: list[set[str]] = [set() for _ in rules]  # names that some file had
        self._stacks: dict[tuple[int, int], int] = {}
        self._hits: Counter[int] = Counter()
        self._lost = 0
        self._window = time.monotonic_ns()
        self._dropped: dict[int, int] = {}  # queue: when

    @property
    def queues(self) -> tuple[TaskQueue, ...]:
        return tuple(rule.recorded for rule in self._rules)

    def met(self, tracer: Tracer, pid: int, modules: Iterable[Module]) -> None:
        """Places what the rules say of the files that a process maps."""
        known = list(modules)
        if not self._rules or not known:
            return
        self._modules[pid] = known
        for module in known:
            for queue, rule in enumerate(self._rules):
                if rule.concerns(PurePosixPath(module[5]).name):
                    self._place_symbols(tracer, pid, module, queue, rule)

    def forked(self, tracer: Tracer, parent: int, child: int) -> None:
        self.met(tracer, child, self._modules.get(parent, ()))

    def ended(self, pid: int) -> None:
        self._modules.pop(pid, None)
        for probe in [one for one in self._placed if one.pid == pid]:
            self._remove(probe)

    def take(self, tracer: Tracer) -> TakenTasks:
        """What has come since the last time, with two frames of a stack each."""
        records = np.frombuffer(tracer.tasks(), RECORD).copy()
        self._place_functions(tracer, records)
        self._hits.update(records["detail"].tolist())
        self._drop_hot(tracer)
        packed = b""
        for row, place in enumerate(map(tuple, records["argument"][:, :2].tolist())):
            if place not in self._stacks:
                self._stacks[place] = _FIRST_STACK + len(self._stacks)
                packed += _STACK.pack(self._stacks[place], 2, _CUT, *place)
            records["stack"][row] = self._stacks[place]
        return TakenTasks(records.tobytes(), packed)

    def shed(self) -> tuple[Shed, ...]:
        now = time.monotonic_ns()
        return tuple(Shed(f"tasks of {self._rules[one].name}", since, now) for one, since in self._dropped.items())

    def notes(self) -> list[str]:
        often = dict.fromkeys(
            f"Tasks of {self._rules[one].name} came too often to be recorded to the end ({self._rules[one].put})."
            for one in self._dropped
        )
        return [*often, *dict.fromkeys(self._failures()), *self._in_vain()]

    def _in_vain(self) -> Iterator[str]:
        """Functions that the user's own rules name, and that nobody has."""
        for queue, rule in enumerate(self._rules):
            missing = {name for name in (rule.put, rule.run) if name and name not in self._found[queue]}
            if rule.file and missing:
                files = ", ".join(rule.files)
                yield f"No traced program has {' or '.join(sorted(missing))} in {files} ({rule.name} in {rule.file})."

    def _failures(self) -> Iterator[str]:
        for probe, placed in self._placed.items():
            error = placed.exception() if placed.done() else None
            if isinstance(error, OSError) and not _came_too_late(placed):
                rule = self._rules[probe.queue]
                yield f"Tasks of {rule.name} are not recorded: {error.strerror} ({rule.put} in {probe.file[0]})."

    def close(self) -> None:
        """When it returns they are gone."""
        for probe in list(self._placed):
            self._remove(probe)
        self._aside.shutdown()

    def _place_symbols(self, tracer: Tracer, pid: int, module: Module, queue: int, rule: QueueRule) -> None:
        for symbol in self._code.functions(pid, module, frozenset({rule.put, rule.run} - {""})):
            self._found[queue].add(symbol.name)
            self._place(tracer, pid, module, symbol.address, queue, runs=symbol.name == rule.run)

    def _place_functions(self, tracer: Tracer, records: Records) -> None:
        """At the functions of tasks that were put for the first time."""
        asked = (records["kind"] == EventKind.TASK_PUT) & (records["peer"] > 0)
        for pid, queue, function in sorted({(int(r["pid"]), int(r["detail"]), int(r["peer"])) for r in records[asked]}):
            module = next((one for one in self._modules.get(pid, ()) if one[0] <= function < one[1]), None)
            if module is not None and self._code.begins(pid, module, function - module[3]):
                self._place(tracer, pid, module, function - module[3], queue, runs=True)

    def _place(self, tracer: Tracer, pid: int, module: Module, address: int, queue: int, *, runs: bool) -> None:
        start, end, file_offset, bias = module[:4]
        if not start <= bias + address < end or queue in self._dropped:
            return
        offset = bias + address - start + file_offset
        whose = _EVERYBODY if self._everywhere else pid
        probe = _Probe(whose, _file(module), offset, queue, runs)
        if probe in self._placed and not _came_too_late(self._placed[probe]):
            return
        rule = self._rules[queue]
        cookie = rule.run_cookie(queue) if runs else rule.put_cookie(queue)
        self._placed[probe] = self._aside.submit(tracer.probe, whose, _path(pid, module), offset, cookie)

    def _drop_hot(self, tracer: Tracer) -> None:
        now = time.monotonic_ns()
        if now - self._window < _WINDOW_NS:
            return
        lost = tracer.counters().get("tasks_lost", 0)
        for queue, _ in self._hits.most_common(1):
            self._hits[queue] += lost - self._lost  # as likely as not: nobody knows whose they were
        self._lost = lost
        most = MOST_HITS_A_SECOND * (now - self._window) / 1e9
        for queue in [one for one, hits in self._hits.items() if hits > most]:
            self._dropped[queue] = now
            for probe in [one for one in self._placed if one.queue == queue]:
                self._remove(probe)
        self._hits.clear()
        self._window = now

    def _remove(self, probe: _Probe) -> None:
        self._aside.submit(_take_away, self._placed.pop(probe))


def _take_away(placed: Future[int]) -> None:
    with contextlib.suppress(OSError, ValueError):  # it could not be placed
        os.close(placed.result())


def _came_too_late(placed: Future[int]) -> bool:
    """The process had ended: no failure, and with another one it can be tried again."""
    return placed.done() and isinstance(placed.exception(), FileNotFoundError | ProcessLookupError)


def _path(pid: int, module: Module) -> str:
    """The mapped file itself, whatever lies at its path by now or in another file system's view."""
    mapped = f"/proc/{pid}/map_files/{module[0]:x}-{module[1]:x}"
    try:
        Path(mapped).stat()
    except OSError:  # it has ended, or a library was mapped next to another's end
        return module[5]
    return mapped


def _file(module: Module) -> _File:
    return module[5], module[4], module[6]


class _Code:
    """What files say of their functions, read once."""

    def __init__(self) -> None:
        self._functions: dict[tuple[_File, frozenset[str]], tuple[NamedSymbol, ...]] = {}
        self._beginnings: dict[_File, frozenset[int]] = {}

    def functions(self, pid: int, module: Module, names: frozenset[str]) -> tuple[NamedSymbol, ...]:
        key = _file(module), names
        if key not in self._functions:
            found = {one.address: one for one in function_symbols(Path(_path(pid, module)), names)}
            self._functions[key] = tuple(found.values())
        return self._functions[key]

    def begins(self, pid: int, module: Module, address: int) -> bool:
        """Whether a function does there. A probe elsewhere would change the program, and rules can be wrong."""
        file = _file(module)
        if file not in self._beginnings:
            elf = read_elf(Path(_path(pid, module)))
            self._beginnings[file] = frozenset() if elf is None else frozenset(unwind_ranges(elf).low.tolist())
        return address in self._beginnings[file]
