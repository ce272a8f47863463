"""Many recordings at once: time and memory of a diagnosis on one machine and on a cluster of two workers.

A few real runs (of the demo's program, or those that `compare` left in a folder), copied to as many recordings as asked
for: how much there is to do grows with their number, what is found does not matter. Every verdict is compared, byte by
byte, with that of a single process.

    python -m bench.fleet [--sizes 4 16 64] [--of FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distributed import Client
from tests.diagnose.dask import OwnCluster

from bench.tool import record, whyperf_command
from whyperf.cli.demo import BAD_ARGUMENT, GOOD_ARGUMENT, build
from whyperf.recording.compared import compared_in

_ANSWERS = {0, 3, 4}
_RUNS = 2  # of each kind that are really recorded


@dataclass(frozen=True)
class Cost:
    wall_s: float
    peak_bytes: int  # of the largest process
    worker_bytes: int  # of the largest worker, on a cluster


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 16, 64], help="recordings in all")
    parser.add_argument("--of", type=Path, metavar="FOLDER", help="what compare recorded; else the demo is recorded")
    args = parser.parse_args(arguments)
    same = True
    with tempfile.TemporaryDirectory(prefix="whyperf-fleet-") as scratch:
        folder = Path(scratch)
        runs = compared_in(args.of or record_runs(folder / "recorded"))
        print("| recordings | who | wall | largest process | largest worker | same verdict |")
        print("|---|---|---|---|---|---|")
        for size in args.sizes:
            fleet = make_fleet(folder, runs, size)
            alone = folder / f"alone-{size}.json"
            show(size, "one process", measured(fleet, alone, "--jobs", "1"), "")
            for who, options in (("two processes", ["--jobs", "2"]), ("two workers", [])):
                verdict = folder / f"verdict-{size}.json"
                cost = measured(fleet, verdict, *options) if options else on_cluster(fleet, verdict, folder)
                equal = verdict.read_bytes() == alone.read_bytes()
                same &= equal
                show(size, who, cost, "yes" if equal else "NO")
    return 0 if same else 1


def record_runs(folder: Path) -> Path:
    folder.mkdir()
    for kind, argument in (("good", GOOD_ARGUMENT), ("bad", BAD_ARGUMENT)):
        for run in range(1, _RUNS + 1):
            record(folder / f"{kind}-{run}", [str(build()), argument])
    return folder


def make_fleet(folder: Path, runs: tuple[list[Path], list[Path]], size: int) -> dict[str, list[str]]:
    """Recordings by kind, half of the size each."""
    fleet: dict[str, list[str]] = {}
    for kind, recorded in zip(("good", "bad"), runs, strict=True):
        fleet[kind] = [str(folder / f"{size}-{kind}-{number}") for number in range(size // 2)]
        for number, path in enumerate(fleet[kind]):
            shutil.copytree(recorded[number % len(recorded)], path)
    return fleet


def measured(fleet: dict[str, list[str]], verdict: Path, *options: str) -> Cost:
    command = [*whyperf_command(), "diagnose", "--good", *fleet["good"], "--bad", *fleet["bad"], "--json", str(verdict)]
    begun = time.perf_counter()
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in _ANSWERS:
        raise ValueError(f"diagnose ended with {process.returncode}: {said.decode()[-2000:]}")
    return Cost(time.perf_counter() - begun, used.ru_maxrss * 1024, 0)


def on_cluster(fleet: dict[str, list[str]], verdict: Path, folder: Path) -> Cost:
    """Workers of its own, so that their peak is of this work alone."""
    cluster = OwnCluster(Path(tempfile.mkdtemp(dir=folder)))
    try:
        with Client(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(2)
        cost = measured(fleet, verdict, "--cluster", cluster.address.replace("tcp://", "dask://"))
        return Cost(cost.wall_s, cost.peak_bytes, max(peak_of(pid) for pid in cluster.worker_pids))
    finally:
        cluster.stop()


def peak_of(pid: int) -> int:
    """Bytes that a living process has held at most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def show(size: int, who: str, cost: Cost, same: str) -> None:
    worker = f"{cost.worker_bytes / 1e6:.0f} MB" if cost.worker_bytes else ""
    print(f"| {size} | {who} | {cost.wall_s:.1f} s | {cost.peak_bytes / 1e6:.0f} MB | {worker} | {same} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
