"""In which branches do runs of two inputs differ, and what does it cost to find out? For known cases with one build:

    python -m bench.decisions            # the development set below
    python -m bench.decisions CASE ...

Prints for each case how many blocks its program has, how many a bad run enters, how many conditional jumps lead bad
runs to code that good ones never enter, how many of those are in a function with the mistake, and the CPU time of a run
that notes blocks, divided by that of a plain run of the same round (median of the rounds).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
from collections.abc import Callable

from bench.cache import SubjectError
from bench.cases.case import CASES, Side, commands, load
from whyperf.collect.blocks.run import EnteredBlocks, run_noting_blocks
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.errors import WhyperfError
from whyperf.investigation.decisions import OtherDecision, other_decisions

KNOWN = (
    "bsdcpio-owners",
    "busybox-keys",
    "duktape-backwards",
    "freetype-faces",
    "gawk-quotes",
    "libconfig-groups",
    "libxslt-variables",
    "luajit-rules",
    "mke2fs-links",
    "sqlite-count",
    "sqlite-digits",
    "tommath-riesel",
    "xmllint-entities",
)
"""One build each; in none of them a chain of values led to a proof when decisions were first looked at, but in
tommath-riesel."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=KNOWN)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print("| case | blocks | entered | other decisions | in the cause | CPU time |\n|---|---|---|---|---|---|")
    for name in args.cases:
        try:
            print(_row(name, args.rounds), flush=True)
        except (SubjectError, WhyperfError) as error:
            print(f"| {name} | {str(error).splitlines()[0]} |", flush=True)


def _row(name: str, rounds: int) -> str:
    case = load(CASES / name)
    of = commands(case)
    good, bad = _noted(of.good), _noted(of.bad)
    found = other_decisions(good, bad)
    planned = sum(len(one.plan.patches) for one in bad.modules)
    entered = sum(int((one.noted["entered"] > 0).sum()) for one in bad.modules)
    inside = sum(bool(_functions(one).intersection(case.truth.cause)) for one in found)
    ratios = [_cpu_s(lambda: _noted(of.bad)) / _cpu_s(lambda: _plain(of.bad)) for _ in range(rounds)]
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    return f"| {name} | {planned:,} | {entered:,} | {len(found)} | {inside} | {ratio} |"


def _noted(side: Side) -> EnteredBlocks:
    environment = dict(os.environ)
    return run_noting_blocks(find_program(side.command, environment), lifecycle=Lifecycle(), environment=environment)


def _plain(side: Side) -> None:
    subprocess.run(side.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _cpu_s(run: Callable[[], object]) -> float:
    """Of the processes that it starts."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def _functions(decision: OtherDecision) -> set[str]:
    """The one that holds the jump, and those that it is inlined into."""
    binary = describe(str(decision.module))
    return {binary.functions.names[row] for row in binary.resolve([decision.address]).function.tolist()}


if __name__ == "__main__":
    main()
