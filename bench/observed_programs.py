"""`python -m bench.observed_programs`: do programs behave the same while thousands of their instructions are observed.

Of Debian's own programs, instructions are picked by chance, all over the file; half of them have their result observed
as well. Each program runs plain and observed; status and output must be the same. Printed are the sites that were
placed, those that were passed, how often, and the CPU time of both runs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from bench.probed import observed_sites
from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import ObservationLimits
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import executed_file, find_program
from whyperf.debuginfo.elf_files.elf import read_elf

_SITES = 3000
_SECONDS = 120.0
_PYTHON = """
import json, re
print(sum(len(json.dumps({str(i): [i] * 3})) for i in range(20000)), len(re.findall("a+b?", "aab" * 9999)))
"""
_PERL = 'my %h; $h{$_ % 97} .= "x$_" for 1..60000; print join ",", map {length} @h{sort keys %h}'
_BASH = "x=0; for i in $(seq 300); do x=$((x + i % 7)); y=$(echo $i); done; echo $x"
_SQL = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 60000) select sum(x * 7 % 13) from n;"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="so many times, with other instructions")
    seeds = parser.parse_args().seeds
    different = 0
    print(f"{'program':16}{'seed':>5}{'placed':>8}{'passed':>8}{'hits':>12}{'plain s':>9}{'observed s':>11}  same")
    with tempfile.TemporaryDirectory() as folder:
        for command in _commands(Path(folder)):
            for seed in range(seeds if shutil.which(command[0]) else 0):
                different += not _compared(command, seed)
    return int(different > 0)


def _commands(folder: Path) -> list[list[str]]:
    text = folder / "text"
    text.write_bytes(random.Random(1).randbytes(300_000) + b"hello world\n" * 40_000)
    return [
        ["gzip", "-c", str(text)],
        ["xz", "-1", "-c", str(text)],
        ["sort", str(text)],
        ["/usr/bin/python3", "-c", _PYTHON],
        ["perl", "-e", _PERL],
        ["bash", "-c", _BASH],
        ["git", "--no-pager", "log", "-20", "--stat"],
        ["sqlite3", ":memory:", _SQL],
    ]


def _compared(command: list[str], seed: int) -> bool:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    program = find_program(command, environment)
    elf = read_elf(executed_file(program).resolve())
    assert elf is not None
    sites = observed_sites([elf], _SITES, seed)
    plain, seen = (
        observe(
            program, some, lifecycle=Lifecycle(), environment=environment, limits=ObservationLimits(seconds=_SECONDS)
        )
        for some in ((), sites)
    )
    same = (plain.status, plain.output) == (seen.status, seen.output)
    passed = sum(count > 0 for count in seen.hits)
    print(
        f"{Path(command[0]).name:16}{seed:>5}{sum(seen.placed):>8}{passed:>8}{sum(seen.hits):>12,}"
        f"{plain.totals.cpu_s:>9.2f}{seen.totals.cpu_s:>11.2f}  {'yes' if same else 'NO'}",
        flush=True,
    )
    return same


if __name__ == "__main__":
    sys.exit(main())
