"""`python -m bench.speed.before_after CHECKOUT`: what `record --trace` costs here and in another checkout, in one run.

python -m bench.speed.before_after ../main --only redis pgbench --rounds 8

In every round the program runs alone, under the other checkout's whyperf and under this one's, in an order drawn anew.
Another checkout is a folder with its own `.venv`. Nothing is stored.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.intervals import paired_ratio
from bench.speed import overhead, seeds
from bench.speed.meter import Cost
from bench.speed.rounds import Rounds, run_rounds
from bench.speed.table import change, markdown
from bench.speed.tools import NONE, RATE_HZ, Tool
from bench.tool import whyperf_command
from bench.workloads import all_workloads

_MEASURES: tuple[tuple[str, Callable[[Cost], float]], ...] = (
    ("elapsed", lambda cost: cost.elapsed_s),
    ("CPU of the program", lambda cost: cost.cpu_s),
    ("CPU of the machine, start and sealing included", lambda cost: cost.machine_s),
)


def traced_by(name: str, whyperf: list[str]) -> Tool:
    def around(folder: Path) -> list[str]:
        recording = str(folder / "recording")
        return [*whyperf, "record", "--quiet", "--trace", "--rate", str(RATE_HZ), "-o", recording, "--"]

    return Tool(name, around)


def table(measured: dict[str, Rounds], tools: list[Tool]) -> str:
    rows = []
    for workload, rounds in measured.items():
        for title, figure in _MEASURES:
            plain = [figure(cost) for cost in rounds.of(NONE.name)]
            cells = [workload, title, f"{median(plain):.2f} s"]
            for tool in tools:
                without, watched = rounds.pairs(tool.name, figure)
                cells.append(change(paired_ratio(without, watched)) if without else rounds.problems.get(tool.name, "-"))
            rows.append(cells)
    return markdown(("work", "", "plain", *(tool.name for tool in tools)), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, metavar="CHECKOUT")
    parser.add_argument("--only", nargs="+", choices=overhead.WORKLOADS, default=["redis", "pgbench"])
    parser.add_argument("--rounds", type=int, default=overhead.ROUNDS)
    options = parser.parse_args()
    os.environ.setdefault("WHYPERF_TRACE_FOLDER", str(seeds.folder() / f"tracer-{os.getpid()}"))
    before = traced_by("whyperf --trace, there", [str((options.other / ".venv/bin/whyperf").resolve())])
    after = traced_by("whyperf --trace, here", whyperf_command())
    print(f"load average before: {os.getloadavg()[0]:.1f}", flush=True)
    workloads = [one for one in all_workloads() if one.name in options.only]
    measured = {
        one.name: run_rounds(one, [NONE, before, after], options.rounds, Rounds(), lambda _rounds: None)
        for one in workloads
    }
    print(table(measured, [before, after]))
    print(f"load average after: {os.getloadavg()[0]:.1f}, {options.rounds} rounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
