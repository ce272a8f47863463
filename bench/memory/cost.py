"""`python -m bench.memory.cost`: CPU time of programs that allocate much, alone and under each tool, in alternated
rounds. Of heaptrack only what it does inside the program; memray, where it is installed, of Python programs; massif in
the first round only."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.server import free_port, wait_for_port
from bench.tool import record
from bench.workloads import sql_script

_CHURN = """
#include <stdlib.h>
#include <string.h>
static char *held[1000];
int main(void) {
    unsigned seed = 1;
    for (int i = 0; i < 10000000; i++) {
        seed = seed * 1664525u + 1013904223u;
        char **at = &held[seed >> 8 & 511];
        free(*at);
        memset(*at = malloc(16 + (seed >> 20 & 255)), 1, 16);
    }
    return 0;
}
"""
_TOUCH = """
#include <sys/mman.h>
int main(void) {
    for (int i = 0; i < 60; i++) {
        volatile char *all = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED || madvise((void *)all, 64 << 20, MADV_NOHUGEPAGE)) return 1;
        for (unsigned at = 0; at < 64 << 20; at += 4096) all[at] = 1;
        munmap((void *)all, 64 << 20);
    }
    return 0;
}
"""
_OPERATORS = """
#include <new>
static void *held[512];
int main() {
    unsigned seed = 1;
    for (int i = 0; i < 10000000; i++) {
        seed = seed * 1664525u + 1013904223u;
        void *&at = held[seed >> 8 & 511];
        ::operator delete(at);
        at = ::operator new(16 + (seed >> 20 & 255));
    }
}
"""
_PARSE = (
    "import json; text = json.dumps([{str(n): [n] * 5} for n in range(2000)]); [json.loads(text) for _ in range(250)]"
)
_SQL_ROWS = 150_000
_HEAPTRACK = Path("/usr/lib/heaptrack/libheaptrack_preload.so")


@dataclass(frozen=True)
class _Subject:
    """`drive` is the load of a server on `port`, else empty."""

    command: list[str]
    drive: tuple[str, ...] = ()
    port: int = 0

    @property
    def python(self) -> int | None:
        return self.command.index(sys.executable) + 1 if sys.executable in self.command else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", help="words of their names (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for what, subject in _subjects(Path(name)).items():
            if args.subjects and not any(word in what for word in args.subjects):
                continue
            costs: dict[str, list[float]] = {}
            plain: list[float] = []
            for number in range(args.rounds):
                plain.append(_cost(subject, subject.command))
                for tool, cost in _under_tools(subject, Path(name), with_massif=number == 0):
                    costs.setdefault(tool, []).append(cost / plain[-1])
            print(f"{what}: alone {statistics.median(plain):.2f} s", flush=True)
            for tool, found in costs.items():
                low, high = min(found), max(found)
                print(f"  {tool} {statistics.median(found):.3f} times ({low:.3f} to {high:.3f})", flush=True)


def _subjects(folder: Path) -> dict[str, _Subject]:
    for name, text, compiler in (
        ("churn.c", _CHURN, "gcc"),
        ("touch.c", _TOUCH, "gcc"),
        ("operators.cc", _OPERATORS, "g++"),
    ):
        source = folder / name
        source.write_text(text)
        subprocess.run([compiler, "-O2", "-fno-builtin", "-o", source.with_suffix(""), source], check=True)
    found = {
        "ten million mallocs and frees": _Subject([str(folder / "churn")]),
        "ten million news and deletes": _Subject([str(folder / "operators")]),
        "a million page faults": _Subject([str(folder / "touch")]),
        "Python parsing JSON, PYTHONMALLOC=malloc": _Subject(
            ["env", "PYTHONMALLOC=malloc", sys.executable, "-c", _PARSE]
        ),
        "Python parsing JSON": _Subject([sys.executable, "-c", _PARSE]),
    }
    if shutil.which("sqlite3"):
        found["sqlite3"] = _Subject(["sqlite3", ":memory:", f".read {sql_script(_SQL_ROWS)}"])
    if shutil.which("redis-server"):
        port = str(free_port())
        load = ("redis-benchmark", "-p", port, "-n", "60000", "-c", "20", "-P", "4", "-r", "100000", "-q")
        server = ["redis-server", "--port", port, "--save", "", "--appendonly", "no"]
        found["redis-server"] = _Subject(server, (*load, "-t", "set,get,lpush,hset,zadd"), int(port))
    return found


def _under_tools(subject: _Subject, folder: Path, *, with_massif: bool) -> Iterable[tuple[str, float]]:
    yield "sampling", _recorded(subject, folder / "r")
    yield "sampling and memory", _recorded(subject, folder / "r", "--memory")
    if _HEAPTRACK.exists():
        settings = [f"LD_PRELOAD={_HEAPTRACK}", f"DUMP_HEAPTRACK_OUTPUT={folder / 'heaptrack'}"]
        yield "heaptrack", _cost(subject, ["env", *settings, *subject.command])
    if subject.python and importlib.util.find_spec("memray"):
        tool = ["-m", "memray", "run", "--native", "-f", "-q", "-o", str(folder / "memray")]
        yield "memray", _cost(subject, [*subject.command[: subject.python], *tool, *subject.command[subject.python :]])
    if with_massif and shutil.which("valgrind"):
        at = subject.python - 1 if subject.python else 0
        tool = ["valgrind", "--tool=massif", f"--massif-out-file={folder / 'massif'}"]
        yield "massif", _cost(subject, [*subject.command[:at], *tool, *subject.command[at:]])


def _cost(subject: _Subject, command: list[str]) -> float:
    """CPU time of the program itself, and of nothing that drives it."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if subject.port:
        wait_for_port(subject.port)
        subprocess.run(subject.drive, check=True, stdout=subprocess.DEVNULL)
        os.kill(started.pid, signal.SIGTERM)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise ValueError(f"`{shlex.join(command)}` ended with {started.returncode}")
    return usage.ru_utime + usage.ru_stime


def _recorded(subject: _Subject, folder: Path, *options: str) -> float:
    under_load = ["--ready", f"tcp:{subject.port}", "--drive", shlex.join(subject.drive)] if subject.port else []
    record(folder, subject.command, "--no-values", *under_load, *options)
    totals = json.loads((folder / "manifest.json").read_text())["totals"]
    return float(totals["cpu_user_s"] + totals["cpu_system_s"])


if __name__ == "__main__":
    main()
