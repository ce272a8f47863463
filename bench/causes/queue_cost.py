"""What probes at queues of tasks cost the program: a GLib main loop that is given a thousand tasks a second.

python -m bench.causes.queue_cost [--runs N]

CPU time of the program itself a task, alternated: untraced, traced without probes, traced with them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.causes.cases import Case, Truth

PROGRAM = Case("idle-tasks", ("{program}", "2000"), Truth(""), "idle_tasks.c", packages=("glib-2.0",))
WAYS: dict[str, tuple[str, ...] | None] = {
    "untraced": None,
    "traced, no queues": ("--trace", "--no-queues"),
    "traced": ("--trace",),
}


def ran(way: tuple[str, ...] | None, command: list[str], folder: Path) -> float:
    """Nanoseconds of CPU time a task."""
    recorder = [
        sys.executable,
        "-m",
        "whyperf",
        "record",
        "--no-values",
        *(way or ()),
        "--force",
        "-o",
        folder / "out",
        "--",
    ]
    environment = {**os.environ, "WHYPERF_TRACE_FOLDER": str(folder / "tracer")}
    done = subprocess.run(
        [*(recorder if way else ()), *command], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyperf-queue-cost-") as name:
        folder = Path(name)
        command = PROGRAM.commands(folder)["normal"]
        spent: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(args.runs):
            for way, options in WAYS.items():
                spent[way].append(ran(options, command, folder))
        for way, each in spent.items():
            print(f"{way:18} median {statistics.median(each) / 1e3:6.1f} us a task, least {min(each) / 1e3:6.1f}")
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
