"""`python -m bench.observed_programs`: do programs behave the same while thousands of their instructions are observed.

Of Debian's own programs, instructions are picked by chance, all over the file; half of them have their result observed
as well. Each program runs plain, with all of them observed, and with as many of those that it passes as `origin`
observes at a time; status and output must be the same. Printed are the sites that were placed, those that were passed,
how often, and by which factor CPU time grew.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.probed import observed_sites
from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import ObservationLimits, Observed, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import executed_file, find_program
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.origin.evidence import MOST_POINTS

_SITES = 3000
_SECONDS = 120.0
_PYTHON = """
import json, re
print(sum(len(json.dumps({str(i): [i] * 3})) for i in range(200000)), len(re.findall("a+b?", "aab" * 99999)))
"""
_PERL = 'my %h; $h{$_ % 97} .= "x$_" for 1..600000; print join ",", map {length} @h{sort keys %h}'
_BASH = "x=0; for i in $(seq 1000); do x=$((x + i % 7)); y=$(echo $i); done; echo $x"
_SQL = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 600000) select sum(x * 7 % 13) from n;"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="so many times, with other instructions")
    seeds = parser.parse_args().seeds
    runs: list[tuple[_Run, ...]] = []
    print(f"{'program':16}{'seed':>5}{'placed':>8}{'passed':>8}{'hits':>12}{'plain s':>9}{'slow-down':>11}  same")
    with tempfile.TemporaryDirectory() as folder:
        for command in _commands(Path(folder)):
            for seed in range(seeds if shutil.which(command[0]) else 0):
                some = tuple(_compared(command, seed))
                for run in some:
                    print(f"{Path(command[0]).name:16}{seed:>5}{run}", flush=True)
                runs.append(some)
    for name, some in zip(("all over", "at a time"), zip(*runs, strict=True), strict=True):
        factors = [run.slow_down for run in some]
        print(f"{name}: slow-down {statistics.median(factors):.2f} (median), at most {max(factors):.2f}")
    return int(not all(run.is_same for some in runs for run in some))


@dataclass(frozen=True)
class _Run:
    plain: Observed
    seen: Observed

    @property
    def is_same(self) -> bool:
        return (self.plain.status, self.plain.output) == (self.seen.status, self.seen.output)

    @property
    def slow_down(self) -> float:
        return self.seen.totals.cpu_s / self.plain.totals.cpu_s

    def __str__(self) -> str:
        hits = self.seen.hits
        return (
            f"{sum(self.seen.placed):>8}{sum(count > 0 for count in hits):>8}{sum(hits):>12,}"
            f"{self.plain.totals.cpu_s:>9.2f}{self.slow_down:>10.2f}x  {'yes' if self.is_same else 'NO'}"
        )


def _commands(folder: Path) -> list[list[str]]:
    text = folder / "text"
    text.write_bytes(random.Random(1).randbytes(3_000_000) + b"hello world\n" * 400_000)
    return [
        ["gzip", "-c", str(text)],
        ["xz", "-1", "-c", str(text)],
        ["sort", str(text)],
        ["/usr/bin/python3", "-c", _PYTHON],
        ["perl", "-e", _PERL],
        ["bash", "-c", _BASH],
        ["git", "--no-pager", "log", "-200", "--stat"],
        ["sqlite3", ":memory:", _SQL],
    ]


def _compared(command: list[str], seed: int) -> Iterator[_Run]:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    program = find_program(command, environment)
    elf = read_elf(executed_file(program).resolve())
    assert elf is not None

    def run(sites: Sequence[ObservedSite]) -> Observed:
        limits = ObservationLimits(seconds=_SECONDS)
        return observe(program, sites, lifecycle=Lifecycle(), environment=environment, limits=limits)

    plain = run(())
    everywhere = observed_sites([elf], _SITES, seed)
    seen = run(everywhere)
    yield _Run(plain, seen)
    passed = [site for site, hits in zip(everywhere, seen.hits, strict=True) if hits]
    yield _Run(plain, run(random.Random(seed).sample(passed, min(MOST_POINTS, len(passed)))))


if __name__ == "__main__":
    sys.exit(main())
