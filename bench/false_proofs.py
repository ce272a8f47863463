"""`python -m bench.false_proofs`: how often a value is called the cause that is not.

Seven groups of trials, on the benchmarks' own programs in runs of a fraction of a second:

    planted  values that differ between good and bad runs, compiled into programs whose excess has another cause
             (bench/innocents.c)
    ordered  the same with values that change from call to call: the n-th is forced at the n-th call
    late     instructions of the programs themselves whose results differ, and that first run when nine tenths of the
             bad run are over: they cannot have caused what was spent before
    same     the planted values again, in pairs of runs that behave alike: there is nothing to be proven
    begins   variables that begin with another value in another build, put from build to build
    spread   all those instructions again, their numbers spread evenly in the bad run and made few in the good one
    decided  decisions that only bad runs make, planted as the values are: each is forced to go as in good runs

None may be proven. What is printed is how many of each group were said to be what. A run that was interrupted goes on
where it was: results are kept, and `--anew` forgets them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bench.cache import BENCH, SubjectError, cache_folder
from bench.intervals import rate_upper_bound
from bench.subjects import own
from whyperf.collect.blocks.run import run_noting_blocks
from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import ObservationLimits, Observed, ObservedSite, Spread
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.debuginfo.machines import Machine, machine_of
from whyperf.debuginfo.machines.machine import FlowStep, Row
from whyperf.debuginfo.probes.spreading import MOST_BITS
from whyperf.debuginfo.transplants.initial_values import ChangedVariable
from whyperf.diagnose.origin import ProofFinding, ProofMeans
from whyperf.errors import WhyperfError
from whyperf.investigation.decisions import OtherDecision, other_decisions
from whyperf.proof.by_decision import DecisionPlace, prove_decision
from whyperf.proof.by_spreading import SpreadPlace, prove_spread
from whyperf.proof.by_value import ForcedPlace, ProofSide, Trying, prove_value
from whyperf.proof.modules import ProofBuilds, different_modules
from whyperf.proof.rounds import Put
from whyperf.proof.search import Search
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind

PROGRAMS = {
    "planner": ("200 60", "200 400"),
    "gateway": ("1000 0 0", "1000 0 12"),
    "status": ("200 1500 400", "12000 1500 400"),
    "reclaim": ("100 20 0", "100 20 1"),
    "vhosts": ("30 1000", "3000 31"),
    "catalogue": ("40 1500 10", "40 1500 9"),
    "probe": ("1000 8 1", "1000 8 40"),
    "kv": ("cluster 4 60", "cluster 160 60"),
    "pool": ("3 6000 60 64", "3 6000 60 1"),
}
"""Arguments of a good and of a bad run."""
_GROUPS = ("planted", "ordered", "late", "same", "begins", "spread", "decided")
_PLANTED = ["stored", "size", "bound", "choice", "mask", "argument", "often", "unused"]
_ORDERED = ["row", "index", "flag", "length"]
_GOOD_INNOCENT, _BAD_INNOCENT = 7, 31
_OTHER_BUILD = f"-DINNOCENT_BUILD={_BAD_INNOCENT}"
_FEW_BITS = 1
_LATE_FROM = 0.9
_MOST_SITES = 1000
_LATE_OF_A_PROGRAM = 8
_FEW = ObservationLimits(records=4, traps=16)
_SMALL = 1 << 32  # larger ones may be addresses


@dataclass(frozen=True)
class Trial:
    program: str
    group: str
    what: str
    finding: str
    runs: int
    sentence: str
    seconds: float


def main() -> int:
    options = _options()
    kept = cache_folder() / "false-proofs.jsonl"
    if options.anew:
        kept.unlink(missing_ok=True)
    done = _read(kept)
    begun = len(done)
    for program in options.only or PROGRAMS:
        try:
            binaries = [own(program, flags, added=(BENCH / "innocents.c",)) for flags in ("", _OTHER_BUILD)]
        except SubjectError as why:
            print(why)
            continue
        for group in options.groups:
            for what, trial in _trials(binaries, program, group):
                if len(done) - begun >= options.most:
                    break
                if any((one.program, one.group, one.what) == (program, group, what) for one in done):
                    continue
                made = trial()
                done.append(made)
                with kept.open("a") as file:
                    file.write(json.dumps(asdict(made)) + "\n")
                print(f"{program} {group} {what}: {made.sentence}", file=sys.stderr, flush=True)
    _print(done)
    return int(any(one.finding == ProofFinding.PROVEN.value for one in done))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="PROGRAM", help=" ".join(PROGRAMS))
    parser.add_argument("--groups", nargs="+", default=list(_GROUPS))
    parser.add_argument("--most", type=int, default=10_000, metavar="N", help="so many further trials")
    parser.add_argument("--anew", action="store_true", help="forget what was done before")
    return parser.parse_args()


def _read(kept: Path) -> list[Trial]:
    if not kept.exists():
        return []
    return [Trial(**json.loads(line)) for line in kept.read_text().splitlines()]


def _print(done: list[Trial]) -> None:
    findings = [finding.value for finding in ProofFinding]
    print(f"{'group':10}{'trials':>8}" + "".join(f"{name:>14}" for name in findings))
    for group in (*_GROUPS, "all"):
        some = [one for one in done if group in (one.group, "all")]
        counts = Counter(one.finding for one in some)
        print(f"{group:10}{len(some):>8}" + "".join(f"{counts[name]:>14}" for name in findings))
    proven = [one for one in done if one.finding == ProofFinding.PROVEN.value]
    if done:
        bound = rate_upper_bound(len(proven), len(done))
        print(f"wrongly proven: {len(proven)} of {len(done)}, at most {bound:.1%} with 95% certainty")
    for one in proven:
        print(f"  {one.program} {one.group} {one.what}: {one.sentence}")


def _trials(
    binaries: Sequence[Path], program: str, group: str
) -> Iterator[tuple[str, _Try | _Begins | _Spreading | _Deciding]]:
    binary = binaries[0]
    good, bad = (
        _side(binary, words, innocent)
        for words, innocent in zip(PROGRAMS[program], (_GOOD_INNOCENT, _BAD_INNOCENT), strict=True)
    )
    if group == "begins":
        bad = _side(binaries[1], PROGRAMS[program][1], _GOOD_INNOCENT)
        for builds in different_modules(good, bad):
            for one in builds.variables:
                yield one.name, _Begins(program, good, bad, builds, one)
        return
    if group == "decided":
        for what, decision in _decided(binary, good, bad):
            yield what, _Deciding(program, what, good, bad, decision)
        return
    if group == "same":
        good = _side(binary, PROGRAMS[program][0], _GOOD_INNOCENT)
        bad = _side(binary, PROGRAMS[program][0], _BAD_INNOCENT)
    if group == "spread":
        for some in (_planted, _ordered, _late):
            for what, place in some(binary, good, bad):
                yield what, _Spreading(program, what, good, bad, place)
        return
    places = {"late": _late, "ordered": _ordered}.get(group, _planted)
    for what, place in places(binary, good, bad):
        yield what, _Try(program, group, what, good, bad, place)


@dataclass(frozen=True, eq=False)
class _Try:
    program: str
    group: str
    what: str
    good: ProofSide
    bad: ProofSide
    place: ForcedPlace

    def __call__(self) -> Trial:
        begun = time.monotonic()
        good, bad = (", ".join(f"{value:,}" for value in values) for values in (self.place.good, self.place.bad))
        claim = ProofClaim(self.what, self.program, "", 0, self.what, good, bad, in_order=self.place.in_order)
        try:
            proof = prove_value(self.good, self.bad, [self.place], claim, Trying())
            finding, runs, sentence = proof.finding.value, proof.runs, proof.sentence
        except WhyperfError as error:
            finding, runs, sentence = ProofFinding.NOT_TESTABLE.value, 0, str(error)
        return Trial(self.program, self.group, self.what, finding, runs, sentence, time.monotonic() - begun)


@dataclass(frozen=True, eq=False)
class _Begins:
    program: str
    good: ProofSide
    bad: ProofSide
    builds: ProofBuilds
    variable: ChangedVariable

    def __call__(self) -> Trial:
        begun, what = time.monotonic(), self.variable.name
        claim = ProofClaim(what, self.program, "", 0, f"`{what}`", "", "", means=ProofMeans.VARIABLE)
        proof = Search(self.good, self.bad, Trying(), self._put).proof(claim, [self.variable])
        took = time.monotonic() - begun
        return Trial(self.program, "begins", what, proof.finding.value, proof.runs, proof.sentence, took)

    def _put(self, kind: TrialKind, changes: Sequence[ChangedVariable]) -> Put:
        is_usual = kind in (TrialKind.GOOD, TrialKind.BAD)
        return Put(transplants=() if is_usual else [self.builds.plan(kind, tuple(changes))])


@dataclass(frozen=True, eq=False)
class _Spreading:
    program: str
    what: str
    good: ProofSide
    bad: ProofSide
    place: ForcedPlace

    def __call__(self) -> Trial:
        begun = time.monotonic()
        spread, own, gathered = ((self._site(bits),) for bits in (MOST_BITS, None, _FEW_BITS))
        claim = ProofClaim(self.what, self.program, "", 0, self.what, "", "", means=ProofMeans.SPREAD)
        made = prove_spread(self.good, self.bad, [SpreadPlace(claim, spread, own, (gathered,))])
        took = time.monotonic() - begun
        if made is None:
            return Trial(self.program, "spread", self.what, ProofFinding.NOT_TESTABLE.value, 0, "No excess.", took)
        proof = made[1]
        return Trial(self.program, "spread", self.what, proof.finding.value, proof.runs, proof.sentence, took)

    def _site(self, bits: int | None) -> ObservedSite:
        place = self.place
        return ObservedSite(place.module, place.address, after=place.after, spread=Spread(place.register, 8, bits))


@dataclass(frozen=True, eq=False)
class _Deciding:
    program: str
    what: str
    good: ProofSide
    bad: ProofSide
    decision: OtherDecision

    def __call__(self) -> Trial:
        begun = time.monotonic()
        claim = ProofClaim(self.what, self.program, "", 0, self.what, "", "", means=ProofMeans.DECISION)
        jump = ObservedSite(self.decision.module, self.decision.address)
        place = DecisionPlace(claim, jump, self.decision.taken_in_good)
        proof = next(iter(prove_decision(self.good, self.bad, [place], most_looks=1)), None)
        took = time.monotonic() - begun
        if proof is None:
            why = "In one run, it removes less than half of the excess."
            return Trial(self.program, "decided", self.what, ProofFinding.REFUTED.value, 0, why, took)
        return Trial(self.program, "decided", self.what, proof.finding.value, proof.runs, proof.sentence, took)


def _decided(binary: Path, good: ProofSide, bad: ProofSide) -> Iterator[tuple[str, OtherDecision]]:
    runs = (run_noting_blocks(one.program, lifecycle=one.lifecycle, environment=one.environment) for one in (good, bad))
    code = describe(str(binary))
    for one in other_decisions(*runs):
        names = [code.functions.names[row] for row in code.resolve([one.address]).function.tolist()]
        if any(name.startswith("innocent_ways") for name in names):
            yield f"innocent_ways+{one.address:#x}", one


def _side(binary: Path, words: str, innocent: int) -> ProofSide:
    environment = {**os.environ, "WHYPERF_INNOCENT": f"{innocent:03}"}
    return ProofSide(find_program([str(binary), *words.split()], environment), Lifecycle(), environment)


def _planted(binary: Path, good: ProofSide, bad: ProofSide) -> Iterator[tuple[str, ForcedPlace]]:
    """The instructions right before the returns of the planted functions."""
    yield from _that_differ(binary, _returning(binary, _PLANTED), good, bad, late=False)


def _ordered(binary: Path, _good: ProofSide, _bad: ProofSide) -> Iterator[tuple[str, ForcedPlace]]:
    for row in _returning(binary, _ORDERED):
        what = f"{row.function}+{row.address:#x}"
        yield what, ForcedPlace(binary, row.address, True, row.register, 8, (), (), in_order=True)


def _returning(binary: Path, names: list[str]) -> list[_Result]:
    wanted = {f"innocent_{name}" for name in names}
    return [row for name, row in _results(binary) if re.split(r"[.(]", name)[0] in wanted and row.is_last]


def _late(binary: Path, good: ProofSide, bad: ProofSide) -> Iterator[tuple[str, ForcedPlace]]:
    rows = [row for name, row in _results(binary) if not name.startswith("innocent_")]
    random.Random(1).shuffle(rows)
    found = list(_that_differ(binary, rows[:_MOST_SITES], good, bad, late=True))
    yield from found[:_LATE_OF_A_PROGRAM]


@dataclass(frozen=True)
class _Result:
    function: str
    address: int
    register: int
    is_last: bool
    """Before a return."""


def _results(binary: Path) -> Iterator[tuple[str, _Result]]:
    """Instructions that write a general register, function by function."""
    elf = read_elf(binary)
    assert elf is not None
    machine = machine_of(elf)
    assert machine is not None
    listed = subprocess.run(["nm", "-S", "-C", str(binary)], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split(maxsplit=3)
        if len(words) != 4 or words[2] not in "tT":
            continue
        low, size = int(words[0], 16), int(words[1], 16)
        rows = list(machine.rows(elf.code(low, low + size), low))
        for row, following in itertools.pairwise(rows):
            register = _written(machine, row)
            if register is not None:
                is_last = following[2].startswith("ret")
                yield words[3], _Result(words[3], row[0], register, is_last)


def _written(machine: Machine, row: Row) -> int | None:
    if machine.step(row[2]) is not FlowStep.NEXT:
        return None
    operation = machine.operation(row[2], row[3], row[0] + row[1])
    targets = {effect.target for effect in operation.effects if isinstance(effect.target, int)}
    general = {one for one in targets if one < 31 and one not in (machine.registers.stack, machine.registers.frame)}
    return general.pop() if len(targets) == len(general) == 1 else None


def _that_differ(
    binary: Path, rows: list[_Result], good: ProofSide, bad: ProofSide, *, late: bool
) -> Iterator[tuple[str, ForcedPlace]]:
    """Those that make one value in the good run and another one in the bad run."""
    sites = [ObservedSite(binary, row.address, after=True, register=row.register) for row in rows]
    seen = [_observed(side, sites) for side in (good, bad)]
    if not all(len(one.records) for one in seen):
        return
    begun, ended = int(seen[1].records["order"][0]), int(seen[1].records["order"][-1])
    for number, row in enumerate(rows):
        values = [_only_value(one, number) for one in seen]
        if None in values or values[0] == values[1]:
            continue
        first = int(seen[1].of(number)["order"][0])
        if late and first < begun + _LATE_FROM * (ended - begun):
            continue
        what = f"{row.function}+{row.address:#x}"
        yield what, ForcedPlace(binary, row.address, True, row.register, 8, (values[0] or 0,), (values[1] or 0,))


def _observed(side: ProofSide, sites: list[ObservedSite]) -> Observed:
    return observe(side.program, sites, lifecycle=side.lifecycle, environment=side.environment, limits=_FEW)


def _only_value(seen: Observed, site: int) -> int | None:
    values = np.unique(seen.of(site)["after"]).tolist()
    return int(values[0]) if len(values) == 1 and values[0] < _SMALL else None


if __name__ == "__main__":
    sys.exit(main())
