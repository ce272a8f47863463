"""`python -m bench.false_alarms`: how often two sets of runs of the same behaviour yield a suspect.

For every program a pool of runs is recorded one after another, once on a quiet machine and once with a busy neighbour.
Consecutive runs are then dealt in turn to a "good" and a "bad" side, as `compare` alternates them, which gives pairs
of 3 + 3 (or 1 + 1) runs that share no recording within one dealing. Further dealings of the same pool begin one run
later and flip the sides; they share recordings with the first, so the pairs are not fully independent, and the number
of recordings is printed beside the number of pairs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError, cache_folder
from bench.intervals import rate_upper_bound
from bench.load import neighbour
from bench.tool import record, whyperf
from bench.workloads import Workload, quiet_programs


@dataclass(frozen=True)
class Pair:
    good: tuple[Path, ...]
    bad: tuple[Path, ...]


@dataclass(frozen=True)
class Alarm:
    program: str
    machine: str  # quiet or loaded
    runs: int
    verdict: str
    suspects: tuple[str, ...]


def deal(pool: Sequence[Path], runs: int, dealings: int) -> Iterator[Pair]:
    """Pairs of `runs` + `runs` recordings, alternated in time; see the module's text about their independence."""
    for dealing in range(dealings):
        rest = pool[dealing:]
        for first in range(0, len(rest) - 2 * runs + 1, 2 * runs):
            even, odd = tuple(rest[first : first + 2 * runs : 2]), tuple(rest[first + 1 : first + 2 * runs : 2])
            yield Pair(even, odd) if dealing % 2 == 0 else Pair(odd, even)


def main() -> int:
    options = _options()
    alarms: list[Alarm] = []
    recordings = 0
    programs = [one for one in quiet_programs() if not options.only or one.name in options.only]
    for machine in options.machines:
        for program in programs:
            with neighbour() if machine == "loaded" else nullcontext():
                pool = _record_pool(program, machine, options.pool, options.reuse)
            recordings += len(pool)
            for runs, dealings in ((3, options.dealings), (1, 1)):
                alarms += _diagnose_all(program.name, machine, list(deal(pool, runs, dealings)), runs)
            _print_rows([one for one in alarms if one.program == program.name and one.machine == machine])
    print(f"\n{recordings} recordings of {len(programs)} programs")
    for runs in (3, 1):
        _print_rate([one for one in alarms if one.runs == runs], runs)
    if options.json:
        Path(options.json).write_text(json.dumps([vars(one) for one in alarms], indent=1) + "\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.false_alarms", description="False alarms of `diagnose`.")
    parser.add_argument("--pool", type=int, default=30, help="recordings a program and machine state (default: 30)")
    parser.add_argument("--dealings", type=int, default=2, help="times a pool is dealt into 3 + 3 (default: 2)")
    parser.add_argument("--machines", nargs="+", choices=("quiet", "loaded"), default=["quiet", "loaded"])
    parser.add_argument("--only", action="append", default=[], metavar="PROGRAM")
    parser.add_argument("--reuse", action="store_true", help="diagnose the recordings of the last time again")
    parser.add_argument("--json", metavar="FILE", help="write every verdict")
    return parser.parse_args()


def _record_pool(program: Workload, machine: str, count: int, reuse: bool) -> list[Path]:
    folder = cache_folder() / "recordings" / "false-alarms" / machine / program.name
    paths = [folder / f"{number:03}.whyperf" for number in range(count)]
    if reuse and all((path / "manifest.json").exists() for path in paths):
        return paths
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = program.command("")
    for number, path in enumerate(paths):
        record(path, command)
        print(f"\r{program.name} ({machine}): {number + 1}/{count} recorded ", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return paths


def _diagnose_all(program: str, machine: str, pairs: list[Pair], runs: int) -> list[Alarm]:
    def diagnose(pair: Pair) -> Alarm:
        answer = whyperf("diagnose", "--good", *map(str, pair.good), "--bad", *map(str, pair.bad))
        suspects = tuple(suspect["function"] for suspect in answer["suspects"])
        return Alarm(program, machine, runs, answer["verdict"], suspects)

    with ThreadPoolExecutor(max_workers=2) as workers:
        return list(workers.map(diagnose, pairs))


def _print_rows(alarms: list[Alarm]) -> None:
    for runs in (3, 1):
        chosen = [one for one in alarms if one.runs == runs]
        if not chosen:
            continue
        named = sorted({one.suspects[0] for one in chosen if one.suspects})
        print(
            f"{chosen[0].program:16} {chosen[0].machine:7} {runs}+{runs}: "
            f"{sum(bool(one.suspects) for one in chosen)} of {len(chosen)} pairs with a suspect"
            + (f" ({', '.join(named)})" if named else ""),
            flush=True,
        )


def _print_rate(alarms: list[Alarm], runs: int) -> None:
    if not alarms:
        return
    raised = sum(bool(one.suspects) for one in alarms)
    different = sum(one.verdict == "difference" for one in alarms)
    insufficient = sum(one.verdict == "insufficient" for one in alarms)
    bound = rate_upper_bound(raised, len(alarms))
    print(
        f"{runs}+{runs} runs: {raised} of {len(alarms)} pairs with any suspect: {100 * raised / len(alarms):.1f}%, "
        f"below {100 * bound:.1f}% with 95% confidence; "
        f"{different} called different, {insufficient} insufficient"
    )


if __name__ == "__main__":
    started = time.monotonic()
    try:
        status = main()
    except (SubjectError, ValueError) as error:
        sys.exit(str(error))
    print(f"({time.monotonic() - started:.0f} s)")
    sys.exit(status)
