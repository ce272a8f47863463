"""`python -m bench.passes`: tests that start programs, again and again on a starved machine; none is tried again.

There are two ways. `crowd`: nine at once on one CPU, so that each has a load of 8 beside it. `quarter`: four at once,
each pinned to a CPU of which it may use a quarter, as in a small container (as root).

    python -m bench.passes --way crowd --go-on bench/passes.json --seconds 3600

A pass takes about an hour on one CPU. With --go-on the tests that ran least often come first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from bench.cpu_quota import cpu_quota

_WAYS = {"crowd": (9, None), "quarter": (4, 0.25)}  # how many at once on one CPU, and how much of it each may use
_CHOSEN = ("-m", "process and not long", "--force-reruns", "0", "-p", "no:cacheprovider")
_NO_RESULT = "no result"


@dataclass
class Tally:
    """Of one file of tests."""

    runs: int = 0
    tests: int = 0
    failed: dict[str, int] = field(default_factory=dict)  # by test, how often

    def add(self, results: dict[str, bool]) -> None:
        self.runs += 1
        self.tests = max(self.tests, len(results))
        for test, passed in results.items():
            if not passed:
                self.failed[test] = self.failed.get(test, 0) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders (default: all)")
    parser.add_argument("--way", choices=list(_WAYS), default="crowd")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="where (default: the last one)")
    parser.add_argument("--passes", type=int, default=1, help="how often each, in all (default 1)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no file after that")
    parser.add_argument("--go-on", metavar="FILE", type=Path, help="add to what earlier pieces found")
    parser.add_argument("--logs", metavar="FOLDER", type=Path, help="keep what failed tests printed")
    args = parser.parse_args()
    ways = read(args.go_on)
    tallies = ways.setdefault(args.way, {})
    try:
        _pass(args, tallies, lambda: write(args.go_on, ways))
    except KeyboardInterrupt:
        print("Stopped: what had ended by then is counted.", file=sys.stderr)
    failed = {test: (times, one.runs) for one in tallies.values() for test, times in one.failed.items()}
    runs = sum(one.tests * one.runs for one in tallies.values())
    passes = min((one.runs for one in tallies.values()), default=0)
    print(f"{args.way}: {passes} passes of {len(tallies)} files, {runs:,} tests, {len(failed)} failed at least once")
    for test, (times, of) in sorted(failed.items()):
        print(f"  {times} of {of} times {test}")
    return int(bool(failed))


def read(file: Path | None) -> dict[str, dict[str, Tally]]:
    """By way and file of tests."""
    kept = json.loads(file.read_text()) if file and file.exists() else {}
    return {way: {name: Tally(**row) for name, row in rows.items()} for way, rows in kept.items()}


def write(file: Path | None, ways: Mapping[str, Mapping[str, Tally]]) -> None:
    """Files of tests that ran."""
    if file is None:
        return
    ran = {way: {name: vars(one) for name, one in sorted(rows.items()) if one.runs} for way, rows in ways.items()}
    file.write_text(json.dumps(ran, indent=1) + "\n")


def _pass(args: argparse.Namespace, tallies: dict[str, Tally], keep: Callable[[], None]) -> None:
    at_once, part = _WAYS[args.way]
    left = {name: args.passes - tallies.setdefault(name, Tally()).runs for name in _files(args.tests)}
    wanted = [name for turn in range(args.passes, 0, -1) for name, times in left.items() if times >= turn]
    end = time.monotonic() + args.seconds
    stopped: list[bool] = []
    one_writes = threading.Lock()

    def run(slot: int) -> None:
        with cpu_quota(part, str(slot)) if part else contextlib.nullcontext() as group:
            while wanted and time.monotonic() < end:
                name = wanted.pop(0)
                begun = time.monotonic()
                results = results_of(name, args.cpu, group, args.logs)
                if stopped:
                    return  # Ctrl-C ends the tests too
                with one_writes:
                    tallies[name].add(results)
                    keep()
                bad = [test for test, passed in results.items() if not passed]
                said = "; ".join(bad) or "passed"
                print(f"{name}: {len(results)} tests, {time.monotonic() - begun:.0f} s: {said}", flush=True)

    with ThreadPoolExecutor(at_once) as pool:
        try:
            for done in [pool.submit(run, slot) for slot in range(at_once)]:
                done.result()
        except KeyboardInterrupt:
            stopped.append(True)
            raise


def _files(tests: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "pytest", *tests, *_CHOSEN, "--collect-only", "-q"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line.rpartition(": ")[0] for line in said.splitlines() if line.startswith("tests/") and ": " in line]


def results_of(name: str, cpu: int, group: Path | None, logs: Path | None) -> dict[str, bool]:
    """By test, whether it passed; of skipped ones nothing."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        enter = f'echo $$ > {group}/cgroup.procs && exec "$@"' if group else 'exec "$@"'
        pinned = ["taskset", "-c", str(cpu), sys.executable, "-m", "pytest", name, *_CHOSEN, f"--junitxml={report}"]
        done = subprocess.run(["sh", "-c", enter, "sh", *pinned], capture_output=True, text=True, check=False)
        results = _read(name, report) if report.exists() else {f"{name}: {_NO_RESULT}": False}
    if logs and not all(results.values()):
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"{name.replace('/', '-')}-{time.time_ns()}.txt").write_text(done.stdout + done.stderr)
    return results


def _read(name: str, report: Path) -> dict[str, bool]:
    results: defaultdict[str, bool] = defaultdict(lambda: True)
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            results[f"{name}::{case.get('name')}"] &= case.find("failure") is None and case.find("error") is None
    return dict(results)


if __name__ == "__main__":
    sys.exit(main())
