"""What recording dependences costs: SQLite filling and querying a table, natively, under Valgrind's own tools, and
under ours in each of its modes. All in one run, so that the machine is the same.

    python -m bench.relations_cost [--rows N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.subjects import sqlite
from whyperf.collect import _dependences
from whyperf.collect.dependence_stream import read_stream
from whyperf.collect.dependences.instruments import HeapUse, Instruments, Mode, to_text
from whyperf.collect.dependences.loaded import LoadedFile, files_of
from whyperf.collect.dependences.planning import sketch_instruments
from whyperf.collect.program import Program

_TOOLS = Path(_dependences.__file__).parent / "valgrind"
_ONE_FUNCTION = ("sqlite3BtreeNext",)
_ONE_FILE = ("sqlite3Btree", "btree", "balance", "cellSize", "allocate", "insertCell", "dropCell", "moveTo")
_EVERYTHING = ("",)


@dataclass(frozen=True)
class Cost:
    name: str
    seconds: float
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


def fastest(command: Sequence[str], text: str, environment: dict[str, str], rounds: int) -> float:
    """CPU seconds: others may be at work on the machine."""
    best = float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=text, env=environment, text=True, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def recorded(name: str, program: str, instruments: Instruments, text: str, rounds: int, *, pairs: bool = False) -> Cost:
    environment = {**os.environ, "VALGRIND_LIB": str(_TOOLS)}
    with tempfile.TemporaryDirectory() as folder:
        plan, best = Path(folder) / "plan", float("inf")
        lines = to_text(instruments).split("\n")
        plan.write_text("\n".join([lines[0], *(["pairs yes"] if pairs else []), *lines[1:]]))
        for number in range(rounds):
            stream = Path(folder) / f"stream{number}"
            options = [f"--plan={plan}", f"--stream={stream}"]
            best = min(best, fastest(["valgrind", "--tool=dependences", "-q", *options, program], text, environment, 1))
        started = time.process_time()
        read = read_stream(stream)
        decoded = read.decode()
        return Cost(
            name,
            best,
            read.events,
            read.producers,
            int((decoded.regions["kind"] == 1).sum()),
            stream.stat().st_size,
            time.process_time() - started,
        )


def print_costs(costs: Sequence[Cost]) -> None:
    native, null = costs[0].seconds, costs[1].seconds
    print(f"{'':34} {'CPU s':>7} {'x native':>9} {'x none':>7} {'events':>12} {'events/s':>11} {'activations':>12} "
          f"{'bytes/event':>12} {'decoding s':>11}")  # fmt: skip
    for cost in costs:
        records = cost.events or cost.activations
        print(f"{cost.name:34} {cost.seconds:7.2f} {cost.seconds / native:9.1f} {cost.seconds / null:7.2f} "
              f"{cost.events or '':>12} {round(cost.events / cost.seconds) if cost.events else '':>11} "
              f"{cost.activations or '':>12} {f'{cost.bytes / records:.2f}' if records else '':>12} "
              f"{f'{cost.decode_seconds:.2f}' if records else '':>11}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program, text = str(sqlite() / "sqlite3"), script(options.rows)
    environment = dict(os.environ)
    files = files_of(Program(program, (program,)), environment)
    costs = [
        Cost("native", fastest([program], text, environment, options.rounds)),
        *(
            Cost(
                f"valgrind --tool={tool}",
                fastest(["valgrind", f"--tool={tool}", "-q", *more, program], text, environment, options.rounds),
            )
            for tool, more in (("none", []), ("callgrind", ["--callgrind-out-file=/dev/null"]))
        ),
        recorded("sketch", program, sketch_instruments(files), text, options.rounds),
        recorded("sketch with memory pairs", program, sketch_instruments(files), text, options.rounds, pairs=True),
    ]
    for what, starts in (("one function", _ONE_FUNCTION), ("one file", _ONE_FILE), ("whole program", _EVERYTHING)):
        for how, passes in (("tag", False), ("pass", True)):
            instruments = zoomed(files, starts, values_pass=passes)
            costs.append(recorded(f"zoom, {what}, outside {how}", program, instruments, text, options.rounds))
    print(f"SQLite, {options.rows} rows, fastest of {options.rounds}; load {os.getloadavg()[0]:.1f}")
    print_costs(costs)


if __name__ == "__main__":
    main()
