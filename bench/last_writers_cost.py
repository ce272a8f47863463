"""`python -m bench.last_writers_cost`: what a run of `origin --deep` costs that asks who wrote what one load reads.

SQLite fills and queries a table, natively, under `valgrind --tool=none`, and under whyperf's tool; the load is the
first one of a function that is called often. Prints CPU seconds, the least of some runs in turns, and ratios.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from bench.speed.deep import fastest, script
from bench.subjects import sqlite
from whyperf.collect.dependences.instruments import Instruments, WatchedModule, WatchedReader, to_text
from whyperf.collect.dependences.stream import read_stream
from whyperf.collect.dependences.valgrind import find_valgrind
from whyperf.collect.sampling.sampler import tables_folder
from whyperf.debuginfo.slices.definitions import DefinitionKind
from whyperf.debuginfo.slices.module import ModuleCode

_FUNCTION = "sqlite3BtreeNext"


def read_by(program: Path, function: str) -> Instruments:
    """The function's first load of other memory than its stack."""
    code = ModuleCode(program, tables_folder())
    slicer = code.slicer_at(code.entries(function)[0])
    assert slicer is not None and code.binary.elf is not None
    made = (one for row in slicer.function.code for one in slicer.made_by(row.address))
    load = next(one for one in made if one.kind is DefinitionKind.LOAD and slicer.address_registers(one))
    module = WatchedModule(program.name, code.binary.elf.build_id)
    return Instruments((module,), (), readers=(WatchedReader(0, load.address, 0, load.size),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program, valgrind = sqlite() / "sqlite3", find_valgrind(os.environ)
    valgrind.prepare()
    with tempfile.TemporaryDirectory() as folder:
        plan, stream = Path(folder) / "plan", Path(folder) / "stream"
        plan.write_text(to_text(read_by(program, _FUNCTION)))
        tool = ["valgrind", "-q", "--tool=dependences", f"--plan={plan}", f"--stream={stream}", str(program)]
        ways = {
            "native": ([str(program)], dict(os.environ)),
            "valgrind --tool=none": (["valgrind", "-q", "--tool=none", str(program)], dict(os.environ)),
            "last writers": (tool, valgrind.environment(os.environ)),
        }
        least = dict.fromkeys(ways, (float("inf"), 0))
        for _ in range(options.rounds):
            for name, (command, environment) in ways.items():
                stream.unlink(missing_ok=True)
                found = fastest(command, script(options.rows), environment, 1)
                least[name] = min(least[name], found)
        loads = int(read_stream(stream).pairs["loads"].sum())
    native, none = least["native"][0], least["valgrind --tool=none"][0]
    print(f"{options.rows:,} rows, {loads:,} loads by {_FUNCTION}, load average {os.getloadavg()[0]:.0f}")
    for name, (seconds, peak) in least.items():
        print(f"{name}: {seconds:.2f} s, {seconds / native:.1f} x native, {seconds / none:.2f} x none, {peak >> 20} MB")


if __name__ == "__main__":
    main()
