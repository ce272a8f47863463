"""A recording made of stacks that come with names already, and with nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whyperf.collect.setup import folder as folders
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.schema import Table
from whyperf.recording.schemas.tables import SAMPLES, TABLES, Clock
from whyperf.recording.sealed.manifest import Host, Losses, Manifest, Overhead, Sampling, Totals, Window
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import write_recording
from whyperf.recording.version import FORMAT_VERSION
from whyperf.seal.tables import table_of
from whyperf.version import __version__

MOST_SAMPLES = 20_000_000


@dataclass(frozen=True)
class NamedPlace:
    function: str
    module: str = ""  # empty: the program itself
    file: str = ""
    line: int = 0
    declared: int = 0  # line of the function's declaration


@dataclass(frozen=True)
class NamedStack:
    path: tuple[NamedPlace, ...]  # outermost first
    seconds: float
    samples: int
    clock: Clock = Clock.CPU
    thread: str = ""


@dataclass(frozen=True)
class NamedProfile:
    program: str
    stacks: tuple[NamedStack, ...]
    rate_hz: float
    wall_s: float = 0.0  # 0: unknown
    start_real: int = 0
    notes: tuple[str, ...] = ()


def store(profile: NamedProfile, output: Path, *, force: bool) -> Recording:
    """Makes the recording `output`."""
    count = sum(stack.samples for stack in profile.stacks)
    if not 0 < count <= MOST_SAMPLES:
        what = "holds no samples" if not count else f"holds {count:,} samples, more than anybody can mean"
        raise WhyperfError(f"The profile {what}.", "whyperf import --help")
    manifest, tables = _manifest(profile), _tables(profile)  # before an earlier recording is replaced
    kept = folders.create(output, force=force)
    try:
        write_recording(output, manifest, tables)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
    finally:
        kept.release()
    return Recording(output)


class _Rows:
    """Rows of one table, each distinct one once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any, **row: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(row)
        return self._numbers[key]


def _tables(profile: NamedProfile) -> dict[str, pa.Table]:
    modules, functions, frames, stacks, threads = _Rows(), _Rows(), _Rows(), _Rows(), _Rows()
    nodes = []
    for stack in profile.stacks:
        node = -1
        for place in stack.path:
            name = place.module or profile.program
            module = modules.number(name, name=name.rsplit("/", 1)[-1], path=name, origin=_origin(place))
            function = functions.number(
                (module, place.function, place.file),
                module=module,
                name=place.function,
                file=place.file,
                line=place.declared,
            )
            frame = frames.number(
                (function, place.file, place.line), module=module, function=function, file=place.file, line=place.line
            )
            node = stacks.number((node, frame), parent=node, frame=frame)
        nodes.append(node)
    of_stack = [threads.number(stack.thread, name=stack.thread or profile.program) for stack in profile.stacks]
    constant: dict[str, dict[str, Any]] = {
        "modules": {"build_id": "", "debug": "symbols"},
        "functions": {"order": 0, "inlined": False, "sampled": True},
        "frames": {"offset": 0, "inlined_in": -1, "block": -1, "in_loop": -1},
        "threads": {"process": 0, "tid": 1, "start": 0, "cpu": -1},
    }
    process = {"process": 0, "pid": 1, "parent_pid": 0, "start": 0, "origin": "exec", "executable": profile.program}
    rows: dict[str, list[dict[str, Any]]] = {
        "modules": modules.rows,
        "functions": functions.rows,
        "frames": frames.rows,
        "stacks": stacks.rows,
        "threads": threads.rows,
        "processes": [{**process, "command": [profile.program]}],
        "work": [{"time": 0, "unit": "run", "count": 1.0}],
    }
    names = {"modules": "module", "functions": "function", "frames": "frame", "stacks": "node", "threads": "thread"}
    made = {
        table.name: _table(table, rows[table.name], constant.get(table.name, {}), names.get(table.name))
        for table in TABLES
        if table.name in rows
    }
    return {**made, "samples": _samples(profile, nodes, of_stack)}


def _origin(place: NamedPlace) -> str:
    """Without a file to look at, the name must do."""
    if not place.module:
        return "program"
    name = place.module.rsplit("/", 1)[-1]
    if name.startswith(("[kernel", "vmlinux")):
        return "kernel"
    return "libc" if name.startswith(("libc.so", "libc-2", "ld-linux")) else "library"


def _table(table: Table, rows: list[dict[str, Any]], constant: dict[str, Any], number: str | None) -> pa.Table:
    absent = {column.name: column.absent for column in table.columns if column.absent is not None}
    whole = [{**absent, **constant, **row, **({number: n} if number else {})} for n, row in enumerate(rows)]
    return pa.Table.from_pylist(whole, schema=table.schema)


def _samples(profile: NamedProfile, nodes: Sequence[int], threads: Sequence[int]) -> pa.Table:
    counts = np.array([stack.samples for stack in profile.stacks])
    weights = np.array([stack.seconds * 1e9 / max(stack.samples, 1) for stack in profile.stacks])
    total = int(counts.sum())
    return table_of(
        SAMPLES,
        time=np.arange(total, dtype=np.int64),  # nothing is known of the order
        process=np.zeros(total, np.int32),
        thread=np.repeat(np.array(threads, np.int32), counts),
        stack=np.repeat(np.array(nodes, np.int32), counts),
        weight=np.repeat(np.rint(weights).astype(np.int64), counts),
        clock=np.repeat(np.array([stack.clock for stack in profile.stacks], np.int8), counts),
        wait=np.full(total, -1, np.int16),
    )


def _manifest(profile: NamedProfile) -> Manifest:
    cpu = sum(stack.seconds for stack in profile.stacks if stack.clock is Clock.CPU)
    blocked = any(stack.clock is Clock.BLOCKED for stack in profile.stacks)
    end = sum(stack.samples for stack in profile.stacks)
    return Manifest(
        format=FORMAT_VERSION,
        whyperf=__version__,
        command=(profile.program,),
        environment_names=(),
        host=Host("", "", "", 0),
        start_monotonic=0,
        start_real=profile.start_real,
        end_monotonic=end,
        window=Window(0, end),
        sampling=Sampling(profile.rate_hz, "wall" if blocked else "cpu", "imported"),
        totals=Totals(profile.wall_s or cpu, cpu, 0.0, 0, 0, 0, 0, 0, 0),
        overhead=Overhead(0.0, 0.0, 0.0, 0.0),
        losses=Losses(notes=profile.notes),
        exit_status=None,
        exit_signal=None,
        stopped_by="imported",
        work_unit="run",
    )
