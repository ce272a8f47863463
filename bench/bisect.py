"""`whyperf bisect` beside plain `git bisect run` with a fixed threshold, on a busy machine.

A history of 60 commits of a small program is made: one in the middle makes it 1.5 times as slow, one does not build,
and most others change the slow function or its file without changing what it costs. How much a run has to do varies by
30% up and down. Each repetition starts anew; builds are kept. `git bisect run` gets the middle between both ends as
threshold: between the medians of nine runs each.

    python -m bench.bisect [--repetitions 10] [--load 2]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.histories import Planted, planted
from bench.load import neighbour
from bench.tool import whyperf_command

_REQUESTS = "8000000"
_THRESHOLD_RUNS = 9
_UNBUILDABLE = 125


@dataclass(frozen=True)
class Repetition:
    found: bool
    said: str
    comparisons: int
    runs: int
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--load", type=int, default=2, help="processes that come and go beside it")
    parser.add_argument("--commits", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyperf-bisect-") as scratch:
        repository = planted(Path(scratch) / "project", args.commits)
        print(
            f"{args.commits} commits, slow since {repository.slow[:10]}, {repository.unbuildable[:10]} does not build"
        )
        with neighbour(args.load) if args.load else nullcontext():
            ours = [by_whyperf(repository, Path(scratch)) for _ in _shown("whyperf bisect", args.repetitions)]
            theirs = [by_threshold(repository, Path(scratch)) for _ in _shown("git bisect run", args.repetitions)]
    _print("whyperf bisect", ours)
    _print("git bisect run", theirs)


def by_whyperf(repository: Planted, scratch: Path) -> Repetition:
    began = time.monotonic()
    answer = scratch / "found.json"
    command = [
        *whyperf_command(), "bisect", "--good", "v1.0", "--bad", "main", "--build", "make", "--json", str(answer),
        "-o", str(scratch / "recordings"), "--force", "--", "./serve", _REQUESTS,
    ]  # fmt: skip
    environment = os.environ | {"XDG_CACHE_HOME": str(scratch / "cache")}
    answer.unlink(missing_ok=True)
    done = subprocess.run(
        command, cwd=repository.history.folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - began
    if not answer.exists():
        return Repetition(False, f"status {done.returncode}: {done.stderr.strip()[-300:]}", 0, 0, seconds)
    said = json.loads(answer.read_text())
    if "first_slow" not in said:  # the verdict of the ends
        return Repetition(False, f"the ends: {said['verdict']}", 1, 6, seconds)
    named = [one["commit"] for one in said["first_slow"]]
    sure = f"{', '.join(one[:10] for one in named)} {said['probability']:.1%}, {said['ending']}"
    # The ends, the search, and the commit beside its parent; of the first and the last, three pairs are recorded.
    comparisons = len(said["comparisons"]) + (2 if said["found"] else 1)
    runs = said["runs"] + (12 if said["found"] else 6)
    return Repetition(said["found"] and named == [repository.slow], sure, comparisons, runs, seconds)


def by_threshold(repository: Planted, scratch: Path) -> Repetition:
    """One run of each commit, as people do."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        clone = Path(folder) / "clone"
        git = ["git", "-C", str(clone)]
        subprocess.run(["git", "clone", "--quiet", str(repository.history.folder), str(clone)], check=True)
        ends = [_end(clone, revision) for revision in ("v1.0", "main")]
        threshold = math.sqrt(ends[0] * ends[1])
        subprocess.run([*git, "bisect", "start", "main", "v1.0"], capture_output=True, check=True)
        probe = [sys.executable, "-m", "bench.bisect_probe", str(threshold), _REQUESTS]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        done = subprocess.run(
            [*git, "bisect", "run", *probe], cwd=clone, env=environment, capture_output=True, text=True, check=False
        )
        log = subprocess.run([*git, "bisect", "log"], capture_output=True, text=True, check=True).stdout
    named = [line.split()[4].strip("[]") for line in log.splitlines() if line.startswith("# first bad commit")]
    tried = sum(line.startswith(("git bisect good", "git bisect bad")) for line in log.splitlines())
    said = named[0][:10] if named else (done.stdout.strip().splitlines() or ["nothing"])[-1][:80]
    return Repetition(named == [repository.slow], said, tried, tried + 2 * _THRESHOLD_RUNS, time.monotonic() - began)


def _end(clone: Path, revision: str) -> float:
    subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", revision], check=True)
    subprocess.run(["make", "-B", "-C", str(clone)], capture_output=True, check=True)
    return statistics.median(cpu_seconds(clone, _REQUESTS) for _ in range(_THRESHOLD_RUNS))


def cpu_seconds(folder: Path, requests: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["./serve", requests], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def probe(threshold: float, requests: str) -> int:
    """What `git bisect run` runs: 0 fast, 1 slow, 125 does not build."""
    if subprocess.run(["make", "-B"], capture_output=True, check=False).returncode:
        return _UNBUILDABLE
    return int(cpu_seconds(Path(), requests) > threshold)


def _shown(what: str, count: int) -> Sequence[int]:
    print(f"{what}: {count} repetitions ...", file=sys.stderr, flush=True)
    return range(count)


def _print(title: str, repetitions: Sequence[Repetition]) -> None:
    right = sum(one.found for one in repetitions)
    comparisons = [one.comparisons for one in repetitions]
    print(f"\n{title}: right {right} of {len(repetitions)}")
    print(
        f"  comparisons {statistics.mean(comparisons):.1f} (most {max(comparisons)}), "
        f"runs {statistics.mean(one.runs for one in repetitions):.0f}, "
        f"seconds {statistics.mean(one.seconds for one in repetitions):.0f}"
    )
    for one in repetitions:
        mark = "right" if one.found else "WRONG"
        print(f"  {mark}  {one.comparisons:3} comparisons {one.runs:4} runs {one.seconds:5.0f} s  {one.said}")


if __name__ == "__main__":
    main()
