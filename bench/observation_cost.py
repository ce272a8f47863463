"""`python -m bench.observation_cost`: what an observed instruction costs, beside gdb's breakpoints and uprobes.

One program calls a small function many times; its first instruction is observed. Printed are, of each way to look
there, nanoseconds of CPU time for each hit (medians of alternated runs, less the plain run) and the slow-down of the
whole run. gdb's own time is elapsed time, because it stops the program for each hit. uprobes need root, and tracefs.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import Forced, ObservationLimits, Observed, ObservedSite
from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program

_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline, noclone, noipa)) long step(long x) { return (x * 3 + 1) ^ (x >> 7); }
int main(int count, char **words) {
    long x = count;
    for (long i = 0, end = atol(words[1]); i < end; i++) {
        for (int k = 0; k < 20; k++) __asm__ volatile("" : "+r"(x));
        x = step(x);
    }
    printf("%ld\n", x);
    return 0;
}
"""
_TIMED = "every call timed (--latency)"
_EVERY = ObservationLimits(traps=1 << 30)
_TRACING = Path("/sys/kernel/tracing")


@dataclass(frozen=True)
class Way:
    name: str
    hits: int
    cpu_s: Callable[[int], float]
    """Of a run with so many hits."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", metavar="TEXT", default="", help="ways whose names hold it")
    options = parser.parse_args()
    runs = options.runs
    with tempfile.TemporaryDirectory() as folder:
        program = _compiled(Path(folder))
        print(f"{'':34}{'hits':>12}{'ns a hit':>12}{'slow-down':>12}")
        for way in (one for one in _ways(program) if options.only in one.name):
            plain, with_it = [], []
            for _ in range(runs if way.name != "gdb" else 1):
                timed = way.name == _TIMED
                plain.append(_with_timing(program, way.hits, None) if timed else _seen(program, way.hits).totals.cpu_s)
                with_it.append(way.cpu_s(way.hits))
            base, cost = statistics.median(plain), statistics.median(with_it)
            each = (cost - base) / way.hits * 1e9
            print(f"{way.name:34}{way.hits:>12,}{each:>12,.1f}{cost / base:>11.2f}x", flush=True)
    return 0


def _ways(program: Path) -> list[Way]:
    low = _address(program, "step")
    entry, result = ObservedSite(program, low), ObservedSite(program, low, after=True, register=0)
    forced = [ObservedSite(program, low, after=True, forced=Forced(0, 8, None, by_jump=jump)) for jump in (False, True)]
    ways = [
        Way("observed as by default", 200_000_000, lambda hits: _seen(program, hits, result).totals.cpu_s),
        Way("every hit, one trap", 100_000, lambda hits: _seen(program, hits, entry, _EVERY).totals.cpu_s),
        Way("every hit, with the result", 100_000, lambda hits: _seen(program, hits, result, _EVERY).totals.cpu_s),
        Way("forced by a trap", 100_000, lambda hits: _seen(program, hits, forced[0]).totals.cpu_s),
        Way("forced by a jump", 200_000_000, lambda hits: _seen(program, hits, forced[1]).totals.cpu_s),
        Way(_TIMED, 2_000_000, lambda hits: _with_timing(program, hits)),
        Way("gdb", 2000, lambda hits: _under_gdb(program, hits)),
    ]
    if os.geteuid() == 0 and (_TRACING / "uprobe_events").exists():
        ways.append(Way("uprobe", 100_000, lambda hits: _with_uprobe(program, low, hits)))
    return ways


def _seen(
    program: Path, hits: int, site: ObservedSite | None = None, limits: ObservationLimits | None = None
) -> Observed:
    environment = dict(os.environ)
    started = find_program([str(program), str(hits)], environment)
    sites = [site] if site else []
    return observe(started, sites, lifecycle=Lifecycle(), environment=environment, limits=limits or ObservationLimits())


def _with_timing(program: Path, hits: int, function: str | None = "step") -> float:
    """Beside the sampler, which both runs have."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        return record_run(
            find_program([str(program), str(hits)], environment),
            Path(folder) / "timed",
            lifecycle=Lifecycle(),
            measuring=Measuring(latency=function),
            environment=environment,
            capture_output=True,
        ).totals.cpu_s


def _under_gdb(program: Path, hits: int) -> float:
    """Elapsed time, less that of a program that stops nowhere."""

    def took(*commands: str) -> float:
        begun = time.monotonic()
        words = [word for command in commands for word in ("-ex", command)]
        subprocess.run(
            ["gdb", "-q", "-batch", "-nx", *words, "-ex", "run", "--args", str(program), str(hits)],
            capture_output=True,
            check=True,
        )
        return time.monotonic() - begun

    without = took()
    return took("break step if 0") - without


def _with_uprobe(program: Path, address: int, hits: int) -> float:
    name = f"whyperf_cost_{os.getpid()}"
    register = "%x0" if platform.machine() == "aarch64" else "%di"
    _append(_TRACING / "uprobe_events", f"p:whyperf/{name} {program}:{address:#x} {register}")
    switch = _TRACING / "events" / "whyperf" / name / "enable"
    try:
        switch.write_text("1")
        return _seen(program, hits).totals.cpu_s
    finally:
        with suppress(OSError):
            switch.write_text("0")
        _append(_TRACING / "uprobe_events", f"-:whyperf/{name}")


def _append(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)  # tracefs does not let files be sought in
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def _compiled(folder: Path) -> Path:
    source, program = folder / "steps.c", folder / "steps"
    source.write_text(_SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", str(source), "-o", str(program)], check=True)
    return program


def _address(program: Path, function: str) -> int:
    listed = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {function}"))


if __name__ == "__main__":
    sys.exit(main())
