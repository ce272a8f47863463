"""Recordings made from a list of stacks, for tests: as sealed ones look to engines.

A stack is a list of words, outermost first: `main`, `lookup@41` (at line 41), `~probe` (inlined into the word before
it), `libc:memcpy`, `sys:deflate` (a system library), `lib:parse` (the program's own library), `hdr:std::sort` (from a
system header), `kernel:schedule`, `plug:filter` (a dlopened library), `jit:add` (compiled while running), `?` (in the
program, but nameless), `nowhere:?` (in no file). A star at a word's end, `plan*` or `plan@12*`: a loop of that very
function repeats the place; without it nothing is known of loops. An exclamation mark, `plan!`: the place is reached
once in every call of the function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whyperf.recording.names.identity import COMPILED_WHILE_RUNNING
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.tables import TABLES, Clock
from whyperf.recording.sealed.manifest import Host, Losses, Manifest, Overhead, Sampling, Totals, Window
from whyperf.recording.version import FORMAT_VERSION

Stacks = Iterable[tuple[Sequence[str], float]]

_MODULES = {
    "": ("program", "full"),
    "libc": ("libc", "symbols"),
    "sys": ("system-library", "symbols"),
    "lib": ("library", "full"),
    "hdr": ("program", "full"),
    "kernel": ("kernel", "symbols"),
    "plug": ("library", "symbols"),
    "jit": ("jit", "symbols"),
}
_MODULE_NAMES = {
    "libc": "libc.so.6",
    "sys": "libz.so.1",
    "lib": "libown.so.1",
    "kernel": "[kernel]",
    "plug": "mod_plug.so",
    "jit": COMPILED_WHILE_RUNNING,
}


@dataclass(frozen=True)
class Made:
    path: Path
    manifest: Manifest
    tables: Mapping[str, pa.Table]

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


@dataclass
class _Builder:
    program: str
    folder: str
    debug: str
    declared: Mapping[str, int]
    build: str = ""
    library_build: str = ""
    modules: list[dict[str, Any]] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)
    stacks: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    ids: dict[Any, int] = field(default_factory=dict)
    every_call: set[int] = field(default_factory=set)  # frames

    def intern(self, rows: list[dict[str, Any]], key: Any, row: dict[str, Any], number: str) -> int:
        at = self.ids.setdefault((id(rows), key), len(rows))
        if at == len(rows):
            rows.append({number: at, **row})
        return at

    def module(self, kind: str) -> int:
        name = _MODULE_NAMES.get(kind, self.program)
        origin, debug = _MODULES[kind]
        row = {
            "name": name,
            "path": f"{self.folder}/{name}",
            "build_id": {"program": self.build, "system-library": self.library_build}.get(origin, ""),
            "origin": origin,
            "debug": self.debug if kind == "" else debug,
            "plug_in": kind == "plug",
        }
        return self.intern(self.modules, name, row, "module")

    def function(self, word: str, *, sampled: bool = True) -> int:
        kind, name = _kind(word)
        if name in ("?", "nowhere:?"):
            return -1
        file = {"": f"{self.folder}/{self.program}.c", "hdr": "/usr/include/c++/12/bits/stl_algo.h"}.get(kind, "")
        row = {
            "module": self.module(kind),
            "name": name,
            "file": file,
            "line": self.declared.get(name, 10 if file else 0),
            "order": 0,
            "inlined": False,
            "sampled": sampled,
        }
        return self.intern(self.functions, (kind, name), row, "function")

    def stack(self, words: Sequence[str]) -> int:
        node = -1
        for physical in _physical(words):
            frame = -1
            for word in physical:
                plain, _, at = word.lstrip("~").rstrip("*!").partition("@")
                kind, _ = _kind(plain)
                function = self.function(plain)
                row = {
                    "module": -1 if plain == "nowhere:?" else self.module(kind),
                    "offset": 0x1000 + (hash(plain) % 97 if function >= 0 else 0),
                    "function": function,
                    "inlined_in": frame,
                    "file": self.functions[function]["file"] if function >= 0 else "",
                    "line": int(at or 0),
                    "block": int(at or 0) // 10 if at else -1,
                    "in_loop": 1 if word.endswith("*") else -1,
                }
                frame = self.intern(self.frames, (plain, at, word[-1], frame), row, "frame")
                if word.endswith("!"):
                    self.every_call.add(frame)
            node = self.intern(self.stacks, (node, frame), {"parent": node, "frame": frame}, "node")
        return node


def recording(
    stacks: Stacks,
    *,
    blocked: Stacks = (),
    noise: np.random.Generator | None = None,
    rate_hz: float = 200.0,
    units: float | None = None,
    unit: str = "request",
    cpu_s: float | None = None,
    wall_s: float | None = None,
    clock: str = "cpu",
    program: str = "tool",
    folder: str = "/src",
    debug: str = "full",
    build: str = "",
    library_build: str = "",
    code: Mapping[str, int] | None = None,
    also: Sequence[str] = (),
    passed: Sequence[tuple[str, str]] = (),
    decided: Mapping[tuple[str, int], int] | None = None,
    every_round: Collection[tuple[str, int]] = (),
    declared: Mapping[str, int] | None = None,
    source: Mapping[str, tuple[int, str]] | None = None,
    digest: str = "",
    losses: Losses | None = None,
    path: str = "run.whyperf",
    threads: int = 1,
    **manifest: Any,
) -> Made:
    """`noise` draws each stack's number of samples from Poisson's distribution. `also`: functions never sampled,
    `passed`: calls that certainly happened, `decided`: by function and line the line that decides about it, `build` and
    `library_build`: build-ids of the program and of the system library, `code`: by function its fingerprint,
    `digest`: of the files of which source is stored.

    Samples take `threads` in turns.
    """
    stacks = list(stacks)
    made = _Builder(program, folder, debug, declared or {}, build, library_build)
    made.module("")
    used = 0.0
    time = 1_000
    for which, what in ((Clock.CPU, stacks), (Clock.BLOCKED, list(blocked))):
        for words, seconds in what:
            stack = made.stack(words)
            expected = seconds * rate_hz
            count = (
                int(noise.poisson(expected)) if noise is not None else max(1, round(expected)) if expected > 0 else 0
            )
            weight = 1e9 / rate_hz if noise is not None else seconds * 1e9 / max(count, 1)
            for number in range(count):
                time += 1
                made.samples.append(
                    {
                        "time": time,
                        "process": 0,
                        "thread": number % threads,
                        "stack": stack,
                        "weight": round(weight),
                        "clock": which,
                        "wait": _system_call(words[-1]) if which is Clock.BLOCKED else -1,
                    }
                )
            used += seconds if which is Clock.CPU else 0.0
    for word in also:
        made.function(word, sampled=False)
    calls = [{"caller": made.function(one), "callee": made.function(other)} for one, other in passed]
    choices = {(made.function(name), line): by for (name, line), by in (decided or {}).items()}
    rounds = {(made.function(name), line) for name, line in every_round}
    decisions = [
        {
            "frame": frame["frame"],
            "line": by,
            "every_round": (frame["function"], frame["line"]) in rounds,
            "every_call": frame["frame"] in made.every_call,
        }
        for frame in made.frames
        if (by := choices.get((frame["function"], frame["line"]), 0)) or frame["frame"] in made.every_call
    ]
    rows = {
        "fingerprints": [{"function": made.function(name), "code": what} for name, what in (code or {}).items()],
        "passed": calls,
        "decisions": decisions,
        "samples": made.samples,
        "stacks": made.stacks,
        "frames": made.frames,
        "functions": made.functions,
        "modules": made.modules,
        "mappings": [],
        "processes": [_process(program, folder)],
        "threads": [
            {"thread": number, "process": 0, "tid": 1 + number, "name": program, "start": 0, "cpu": -1}
            for number in range(threads)
        ],
        "work": [] if units is None else [{"time": time, "unit": unit, "count": float(units)}],
        "source": [
            {"file": file, "first_line": first, "text": text, "sha256": digest}
            for file, (first, text) in (source or {}).items()
        ],
    }
    tables = {table.name: pa.Table.from_pylist(rows.get(table.name, []), schema=table.schema) for table in TABLES}
    cpu = used if cpu_s is None else cpu_s
    return Made(
        Path(path),
        _manifest(cpu, cpu if wall_s is None else wall_s, time, clock, rate_hz, program, losses or Losses(), manifest),
        tables,
    )


def _system_call(word: str) -> int:
    """Of a library function of the same name, else poll's."""
    return NUMBERS.get(_kind(word)[1], NUMBERS["poll"])


def _process(program: str, folder: str) -> dict[str, Any]:
    row = {"process": 0, "pid": 1, "parent_pid": 0, "start": 0, "origin": "exec"}
    return {**row, "executable": f"{folder}/{program}", "command": [program]}


def _manifest(
    cpu_s: float,
    wall_s: float,
    end: int,
    clock: str,
    rate_hz: float,
    program: str,
    losses: Losses,
    more: dict[str, Any],
) -> Manifest:
    totals = {
        "max_rss_bytes": 1 << 20,
        "read_bytes": 0,
        "written_bytes": 0,
        "voluntary_switches": 0,
        "involuntary_switches": 0,
        "major_faults": 0,
        "cpu_wait_s": 0.0,
        "main_cpu_wait_s": None,
        "throttled_s": 0.0,
        "quota_cpus": 0.0,
        "latency": None,
        "swap_bytes": 0,
    }
    totals["threads"] = more.pop("thread_times", ())
    totals |= {key: more.pop(key) for key in totals if key in more}
    fields = {
        "host": Host("host", "6.1", "x86_64", 2),
        "command": (f"./{program}", "input"),
        "exit_status": 0,
        "exit_signal": None,
        "stopped_by": "exit",
        "work_unit": "run",
    } | more
    return Manifest(
        format=FORMAT_VERSION,
        whyperf="0",
        environment_names=(),
        start_monotonic=0,
        start_real=0,
        end_monotonic=end,
        window=Window(0, end),
        sampling=Sampling(rate_hz, clock, "cpu-timer"),
        totals=Totals(wall_s=wall_s, cpu_user_s=cpu_s, cpu_system_s=0.0, **totals),
        overhead=Overhead(0.0, 0.0, 0.0, 0.0),
        losses=losses,
        **fields,
    )


def _kind(word: str) -> tuple[str, str]:
    kind, colon, name = word.partition(":")
    return (kind, name) if colon and kind in _MODULES and not name.startswith(":") else ("", word)


def _physical(words: Sequence[str]) -> list[list[str]]:
    """Words grouped by the out-of-line function that holds them."""
    groups: list[list[str]] = []
    for word in words:
        if word.startswith("~"):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups
