"""`python -m bench.probed --by observing --said FILE -- COMMAND`: runs a command with probes all over it.

Its streams and its exit status are the command's own. Observing: thousands of instructions of the command's ELF files
and their libraries, entries of functions and others picked by chance, as `origin` observes them. Counting: every call,
with plans for the ELF files that --in names, which the command's children may run. Noting: every basic block of the
command and its own libraries, as `prove` notes them. What came of it goes into --said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whyperf.collect.blocks.run import run_noting_blocks
from whyperf.collect.counts.counter_files import counted_processes
from whyperf.collect.counts.recorder import LIBRARY
from whyperf.collect.counts.run import plans_for
from whyperf.collect.observation.plans import MOST_SITES
from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import ObservedMemory, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import files_of, paths_of
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import machine_of
from whyperf.debuginfo.probes.stretches import stretches
from whyperf.errors import WhyperfError

_OWN_SITES = 3000  # of all sites; the rest is for libraries
_OBSERVED_SHARE = 4  # one of so many instructions
_REGISTERS = 16  # that both machines have


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by", choices=list(_BY), required=True)
    parser.add_argument("--said", type=Path, required=True, metavar="FILE")
    parser.add_argument("--in", dest="files", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    try:
        status, said = _BY[options.by](options.command, options.files)
    except WhyperfError as error:
        print(f"whyperf: {error}", file=sys.stderr)
        return error.status
    options.said.write_text(json.dumps(said))
    return status


def _observed(command: list[str], files: Sequence[Path]) -> tuple[int, dict[str, object]]:
    environment = dict(os.environ)
    program = find_program(command, environment)
    own = files or [Path(word) for word in (program.path, *command[1:])]
    sites = observed_sites(_elf_files(own), _OWN_SITES)
    libraries = {Path(path) for path in paths_of(program, environment)} - {site.module for site in sites}
    sites += observed_sites(_elf_files(sorted(libraries)), MOST_SITES - len(sites))
    seen = observe(program, sites, lifecycle=Lifecycle(), environment=environment, capture_output=False)
    said = {
        "placed": sum(seen.placed),
        "passed": sum(count > 0 for count in seen.hits),
        "times": sum(seen.hits),
        "notes": [*seen.notes, *seen.unseen],
    }
    return seen.status, said


def _counted(command: list[str], files: Sequence[Path]) -> tuple[int, dict[str, object]]:
    """By the library alone: `record --counts` makes plans of what it starts itself only."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        plans, out = Path(name) / "plans", Path(name) / "out"
        plans.mkdir()
        out.mkdir()
        for file in files:
            list(plans_for(files_of(find_program([str(file)], environment), environment), plans))
        environment |= {
            "LD_PRELOAD": str(LIBRARY),
            "WHYPERF_COUNTS_PLANS": str(plans),
            "WHYPERF_COUNTS_OUT": str(out),
        }
        status = subprocess.run(command, env=environment, check=False).returncode
        processes = counted_processes(out)
        counts = [module.counts for process in processes for module in process.modules]
    said: dict[str, object] = {
        "placed": sum(len(some) for some in counts),
        "passed": sum(int((some > 0).sum()) for some in counts),
        "times": sum(int(some.sum()) for some in counts),
        "notes": [f"{len(processes)} processes counted."],
    }
    return status if status >= 0 else 128 - status, said


def _noted(command: list[str], _files: Sequence[Path]) -> tuple[int, dict[str, object]]:
    environment = dict(os.environ)
    program = find_program(command, environment)
    seen = run_noting_blocks(program, lifecycle=Lifecycle(), environment=environment, capture_output=False)
    said: dict[str, object] = {
        "placed": sum(len(one.noted["entered"]) for one in seen.modules),
        "passed": sum(int((one.noted["entered"] > 0).sum()) for one in seen.modules),
        "notes": [] if seen.is_whole else ["Traps were taken out before it ended."],
    }
    return seen.status, said


_BY: dict[str, Callable[[list[str], Sequence[Path]], tuple[int, dict[str, object]]]] = {
    "observing": _observed,
    "counting": _counted,
    "noting": _noted,
}


def _elf_files(paths: Sequence[Path]) -> list[ElfFile]:
    found = (read_elf(path) for path in dict.fromkeys(path.resolve() for path in paths))
    return [elf for elf in found if elf is not None and elf.build_id]


def observed_sites(files: Sequence[ElfFile], most: int, seed: int = 0) -> list[ObservedSite]:
    """Entries and other instructions of functions picked by chance, all over each file; half of the others with their
    result, and with memory that may not be there."""
    chosen = random.Random(seed)
    return [site for elf in files for site in _sites_of(elf, most // len(files), chosen)]


def _sites_of(elf: ElfFile, most: int, chosen: random.Random) -> list[ObservedSite]:
    machine, image = machine_of(elf), Image(elf)
    functions = list(stretches(elf, image)) if machine is not None else []
    entries: set[int] = set()
    others: set[int] = set()
    while len(entries) + len(others) < most and functions and machine is not None:
        function = functions.pop(chosen.randrange(len(functions)))
        rows = [row[0] for row in machine.rows(image.read(function.low, function.high - function.low), function.low)]
        if not function.is_part:
            entries.update(rows[:1])
        others.update(chosen.sample(rows[1:], len(rows[1:]) // _OBSERVED_SHARE))
    sites = [ObservedSite(elf.path, address, is_entry=True) for address in entries]
    for address in others:
        memory = ObservedMemory(chosen.randrange(_REGISTERS), None, 1, 8, 8) if chosen.random() < 0.5 else None
        sites.append(ObservedSite(elf.path, address, after=chosen.random() < 0.5, register=0, memory=memory))
    return sorted(sites, key=lambda site: site.address)[:most]


if __name__ == "__main__":
    sys.exit(main())
