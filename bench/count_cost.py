"""What counting calls costs: CPU time of counted runs against plain ones, alternated, beside recording and other tools.

    python -m bench.count_cost [--pairs N] [--tools whyperf ...] [WORKLOAD ...]

Prints for each program: calls counted, the time that planning takes once for each build, and for each tool the median
of the ratios to the plain run right before it, with the least and the greatest. Of uftrace and callgrind there are
three pairs: they take long. CPU times are of the program and of what runs inside it; those of uftrace include its
own process.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import subjects
from bench.counted import counted, counting
from whyperf.collect.counts.counter_files import counted_processes
from whyperf.collect.counts.recorder import LIBRARY
from whyperf.collect.counts.run import plans_for
from whyperf.collect.target.loaded_files import files_of
from whyperf.collect.target.program import find_program

_LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local words = {}
for i = 1, 120000 do words[#words + 1] = string.format("%d:%s", i, tostring(i * i)) end
table.sort(words)
local text = table.concat(words, ","):gsub("%d+", function(found) return #found end)
print(fib(29), #text)
"""
_PYTHON = """
import json, re
def depth(n): return n if n < 2 else depth(n - 1) + depth(n - 2)
rows = [{"name": str(i), "values": list(range(i % 20))} for i in range(30000)]
again = json.loads(json.dumps(rows))
print(depth(24), len(re.findall("[0-9]+", json.dumps(again))), sum(sorted(hash(row["name"]) % 97 for row in again)))
"""
_SQL = """
create table t(a integer primary key, b, c);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 300000)
    insert into t select x, x * 7919 % 100003, 'row ' || x from n;
create index i on t(b);
select count(*), sum(a) from t where b between 1000 and 60000;
select c from t order by b desc, c limit 3;
select b % 100, count(*), max(c) from t group by 1 order by 2 desc limit 3;
"""
_SLOW_PAIRS = 3


@dataclass(frozen=True)
class Workload:
    name: str
    command: Callable[[Path], list[str]]
    """Of a folder for its input."""
    is_stripped: bool = False


@dataclass(frozen=True)
class Tool:
    name: str
    run: Callable[[list[str], Path], float]
    """CPU seconds of a command, with a folder of its own."""
    is_slow: bool = False
    needs_symbols: bool = False


def _lua(folder: Path) -> list[str]:
    (folder / "script.lua").write_text(_LUA)
    return [str(subjects.lua() / "lua"), str(folder / "script.lua")]


def _gzip(folder: Path) -> list[str]:
    lines = (f"{i} {i * i % 9973} {'abcdefgh'[i % 8] * (i % 11)}\n" for i in range(500_000))
    (folder / "lines").write_text("".join(lines))
    return [str(subjects.gzip() / "gzip"), "-6", "-c", str(folder / "lines")]


def _sqlite(folder: Path) -> list[str]:
    (folder / "script.sql").write_text(_SQL)
    return [str(subjects.sqlite() / "sqlite3"), ":memory:", f".read {folder / 'script.sql'}"]


def _python(folder: Path) -> list[str]:
    (folder / "script.py").write_text(_PYTHON)
    return ["/usr/bin/python3", str(folder / "script.py")]


def _xz(folder: Path) -> list[str]:
    (folder / "lines").write_bytes(Path("/usr/bin/python3").resolve().read_bytes()[: 3 << 20])
    return ["/usr/bin/xz", "-6", "-T1", "-c", str(folder / "lines")]


WORKLOADS = (
    Workload("lua", _lua),
    Workload("sqlite", _sqlite),
    Workload("python", _python, is_stripped=True),
    Workload("gzip", _gzip),
    Workload("xz", _xz, is_stripped=True),
)


def _cpu(command: Sequence[str], extra: dict[str, str] | None = None) -> float:
    """Of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    nowhere = subprocess.DEVNULL
    subprocess.run(command, env={**os.environ, **(extra or {})}, stdout=nowhere, stderr=nowhere, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _plain(command: list[str], _folder: Path) -> float:
    return _cpu(command)


def _counted(command: list[str], folder: Path) -> float:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    return _cpu(
        command,
        {
            "LD_PRELOAD": str(LIBRARY),
            "WHYPERF_COUNTS_PLANS": str(folder / "plans"),
            "WHYPERF_COUNTS_OUT": str(out),
        },
    )


def _recorded(command: list[str], folder: Path) -> float:
    whyperf = [sys.executable, "-m", "whyperf", "record", "--force", "-o", str(folder / "recording"), "--"]
    _cpu([*whyperf, *counting(folder / "used"), *command])
    return counted(folder / "used").cpu_s


def _uftrace(command: list[str], folder: Path) -> float:
    options = ["record", "-P", ".", "--no-libcall", "--no-event", "-d", str(folder / "uftrace")]
    shutil.rmtree(folder / "uftrace", ignore_errors=True)
    try:
        return _cpu(["uftrace", *options, *command])
    finally:
        shutil.rmtree(folder / "uftrace", ignore_errors=True)


def _callgrind(command: list[str], folder: Path) -> float:
    return _cpu(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind'}", *command])


TOOLS = (
    Tool("whyperf record --counts", _counted),
    Tool("whyperf record", _recorded),
    Tool("uftrace", _uftrace, is_slow=True, needs_symbols=True),
    Tool("callgrind", _callgrind, is_slow=True),
)


def _planning(command: list[str], folder: Path) -> float:
    """CPU seconds, with nothing known before."""
    plans = folder / "plans"
    plans.mkdir()
    began = time.process_time()
    list(plans_for(files_of(find_program(command, os.environ), os.environ), plans))
    return time.process_time() - began


def _calls(folder: Path) -> int:
    return sum(int(module.counts.sum()) for one in counted_processes(folder / "out") for module in one.modules)


def _ratios(tool: Tool, command: list[str], folder: Path, pairs: int) -> list[float]:
    found = []
    for _ in range(min(pairs, _SLOW_PAIRS) if tool.is_slow else pairs):
        plain = _plain(command, folder)
        found.append(tool.run(command, folder) / plain)
    return found


def _measured(workload: Workload, tools: Sequence[Tool], pairs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="whyperf-cost-") as temporary:
        folder = Path(temporary)
        command = workload.command(folder)
        planning = _planning(command, folder)
        plain = statistics.median(_plain(command, folder) for _ in range(3))
        _counted(command, folder)
        calls = _calls(folder)
        said = f"{calls / 1e6:.1f} million calls and entries, {calls / plain / 1e6:.0f} million a second"
        print(f"{workload.name}: {plain:.2f} s CPU, {said}; planning {planning:.2f} s CPU", flush=True)
        for tool in tools:
            if workload.is_stripped and tool.needs_symbols:
                continue
            ratios = _ratios(tool, command, folder, pairs)
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} pairs"
            print(f"  {tool.name:24} {statistics.median(ratios):6.2f} times ({spread})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--tools", nargs="+", choices=[tool.name for tool in TOOLS])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if not options.tools or tool.name in options.tools]
    tools = [tool for tool in tools if tool.run is not _uftrace or shutil.which("uftrace")]
    print(f"load average {os.getloadavg()[0]:.1f}")
    for workload in WORKLOADS:
        if not options.workloads or workload.name in options.workloads:
            _measured(workload, tools, options.pairs)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
