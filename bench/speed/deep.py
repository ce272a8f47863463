"""What recording dependences costs: SQLite filling and querying a table, natively, under Valgrind's own tools, and
under ours in each of its modes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.counted import counted, counting
from bench.speed import store
from bench.speed.table import markdown, seconds, size_of
from bench.subjects import sqlite
from whyperf.collect.dependences.instruments import HeapUse, Instruments, Mode, to_text
from whyperf.collect.dependences.planning import sketch_instruments
from whyperf.collect.dependences.stream import read_stream
from whyperf.collect.dependences.valgrind import find_valgrind
from whyperf.collect.target.loaded_files import LoadedFile, files_of
from whyperf.collect.target.program import Program

PART, NAME = "deep", "sqlite"
_ROWS = 4000
_ONE_FUNCTION = ("sqlite3BtreeNext",)
_ONE_FILE = ("sqlite3Btree", "btree", "balance", "cellSize", "allocate", "insertCell", "dropCell", "moveTo")
_EVERYTHING = ("",)


@dataclass(frozen=True)
class Cost:
    name: str
    seconds: float
    peak_bytes: int
    events: int = 0
    producers: int = 0
    activations: int = 0
    bytes: int = 0
    decode_seconds: float = 0.0


def script(rows: int) -> str:
    return f"""
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO t SELECT i, 'name' || (i * 7919 % {rows}), i * 31 % 1009 FROM n;
CREATE INDEX by_name ON t(name);
SELECT count(*), sum(size) FROM t WHERE name LIKE 'name1%';
SELECT sum(a.size) FROM t a JOIN t b ON a.id = b.size;
"""


def zoomed(files: Sequence[LoadedFile], starts: tuple[str, ...], *, values_pass: bool) -> Instruments:
    """Every instruction of the program's functions whose names start so."""
    code = files[0].binary.code
    names = {
        int(entry): code.function_name[int(function)]
        for entry, function in zip(code.scope_entry, code.scope_function, strict=True)
    }
    sketch = sketch_instruments(files)
    chosen = [
        replace(function, mode=Mode.ZOOM, heap=HeapUse.NONE)
        for function in sketch.functions
        if function.module == 0 and names.get(function.entry, "").startswith(starts)
    ]
    return replace(sketch, functions=tuple(chosen), values_pass=values_pass)


def fastest(command: Sequence[str], text: str, environment: dict[str, str], rounds: int) -> tuple[float, int]:
    """CPU seconds, since others may be at work on the machine, and bytes that the process held at most."""
    best, most = float("inf"), 0
    with tempfile.NamedTemporaryFile() as file:
        counter = counting(Path(file.name))
        for _ in range(rounds):
            whole = [*counter, *command]
            subprocess.run(whole, input=text, env=environment, text=True, check=True, stdout=subprocess.DEVNULL)
            used = counted(Path(file.name))
            best, most = min(best, used.cpu_s), max(most, used.peak_bytes)
    return best, most


def recorded(name: str, program: str, instruments: Instruments, text: str, rounds: int, *, pairs: bool = False) -> Cost:
    valgrind = find_valgrind(os.environ)
    valgrind.prepare()
    environment = valgrind.environment(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        plan, best, most = Path(folder) / "plan", float("inf"), 0
        lines = to_text(instruments).split("\n")
        plan.write_text("\n".join([lines[0], *(["pairs yes"] if pairs else []), *lines[1:]]))
        for number in range(rounds):
            stream = Path(folder) / f"stream{number}"
            options = [f"--plan={plan}", f"--stream={stream}"]
            command = ["valgrind", "--tool=dependences", "-q", *options, program]
            took, held = fastest(command, text, environment, 1)
            best, most = min(best, took), max(most, held)
        started = time.process_time()
        read = read_stream(stream)
        decoded = read.decode()
        return Cost(
            name,
            best,
            most,
            read.events,
            read.producers,
            int((decoded.regions["kind"] == 1).sum()),
            stream.stat().st_size,
            time.process_time() - started,
        )


def run(*, rounds: int, resume: bool) -> None:
    if resume and store.read(PART, NAME) is not None:
        return
    print("dependences: SQLite", file=sys.stderr, flush=True)
    store.write(PART, NAME, {"rounds": rounds, "costs": [asdict(one) for one in _costs(rounds)]})


def tables() -> str:
    told = store.read(PART, NAME)
    if told is None:
        return ""
    costs = [Cost(**one) for one in told["costs"]]
    native, null = costs[0].seconds, costs[1].seconds
    head = ("", "CPU time", "to native", "to none", "peak memory", "events", "activations", "bytes each", "s to decode")
    rows = [
        [
            one.name,
            seconds(one.seconds),
            f"{one.seconds / native:.1f}",
            f"{one.seconds / null:.2f}",
            size_of(one.peak_bytes),
            f"{one.events:,}" if one.events else "",
            f"{one.activations:,}" if one.activations else "",
            f"{one.bytes / records:.2f}" if (records := one.events or one.activations) else "",
            f"{one.decode_seconds:.2f}" if records else "",
        ]
        for one in costs
    ]
    when = f"{told['when']}, {told['commit']}, load average {told['load']}, {told['rounds']} rounds; {_ROWS} rows."
    return f"{when}\n\n{markdown(head, rows)}"


def _costs(rounds: int) -> list[Cost]:
    program, text = str(sqlite() / "sqlite3"), script(_ROWS)
    environment = dict(os.environ)
    files = files_of(Program(program, (program,)), environment)
    costs = [
        Cost("native", *fastest([program], text, environment, rounds)),
        *(
            Cost(
                f"valgrind --tool={tool}",
                *fastest(["valgrind", f"--tool={tool}", "-q", *more, program], text, environment, rounds),
            )
            for tool, more in (("none", []), ("callgrind", ["--callgrind-out-file=/dev/null"]))
        ),
        recorded("sketch", program, sketch_instruments(files), text, rounds),
        recorded("sketch with memory pairs", program, sketch_instruments(files), text, rounds, pairs=True),
    ]
    for what, starts in (("one function", _ONE_FUNCTION), ("one file", _ONE_FILE), ("whole program", _EVERYTHING)):
        for how, passes in (("tag", False), ("pass", True)):
            instruments = zoomed(files, starts, values_pass=passes)
            costs.append(recorded(f"zoom, {what}, outside {how}", program, instruments, text, rounds))
    return costs
