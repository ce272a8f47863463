"""Proofs by function on the cases that compare two builds.

python -m bench.transplants                     the cases that the method was developed on
python -m bench.transplants --only ID           this one; may be repeated
python -m bench.transplants --innocents 6       so many other functions of each, one after the other
python -m bench.transplants --every             all functions of each bad program at once, moved from both builds
python -m bench.transplants --changed           only how many functions changed, and whether the cause is among them

The cause is searched as a user without a suspect would: among all functions that changed. Innocents are functions that
run where the time is spent, or that changed as well: their shares should be 0. With --every the good build's functions
and the bad build's own take the place of all that can be moved, and the output is compared with the bad program's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench.cache import SubjectError
from bench.cases.case import CASES, Case, commands, load
from whyperf.collect.observation.recorder import LIBRARY
from whyperf.collect.observation.transplants import Transplants
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.transplants.counterparts import source_of
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import plan_transplant
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import SymbolKind
from whyperf.diagnose.origin import Proof, Share
from whyperf.proof.by_function import prove_by_functions
from whyperf.proof.modules import ProofBuilds, different_modules
from whyperf.proof.rounds import ProofRounds, ProofSide, Put, Trying
from whyperf.proof.search import Search
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

_DEVELOPED_ON = ("kv-range-release", "lua-long-keys", "json-c-keys", "rsync-hash-table")
_RUNS = 3
_PROOF = ("case", "function", "finding", "removed", "sham", "reverse", "runs", "seconds")
_EVERY = ("case", "functions", "moved of the bad build", "of the good build", "output")
_CHANGED = ("case", "changed", "edited", "entered by a bad run", "the cause is among those")
_OF_THE_COMPILER = (
    "_start",
    "_init",
    "_fini",
    "__do_global",
    "register_tm",
    "deregister_tm",
    "frame_dummy",
    "call_weak",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this case; may be repeated")
    parser.add_argument("--innocents", type=int, default=4, metavar="N", help="of each case (4)")
    parser.add_argument("--every", action="store_true", help="move all functions at once instead")
    parser.add_argument("--changed", action="store_true", help="count functions that changed instead")
    options = parser.parse_args()
    columns = _EVERY if options.every else _CHANGED if options.changed else _PROOF
    print(f"| {' | '.join(columns)} |")
    print("|" + "---|" * len(columns))
    for name in options.only or _DEVELOPED_ON:
        case = load(CASES / name)
        try:
            good, bad = _sides(case)
        except SubjectError as error:
            print(f"{case.id}: {error}", file=sys.stderr)
            continue
        if options.every:
            _print_every(case, good, bad)
        elif options.changed:
            _print_changed(case, good, bad)
        else:
            _print_proof(case, good, bad)
            _print_innocents(case, good, bad, options.innocents)
    return 0


def _sides(case: Case) -> tuple[ProofSide, ProofSide]:
    wanted = commands(case)
    environment = dict(os.environ)
    good, bad = (
        ProofSide(find_program(side.command, environment), Lifecycle(), environment)
        for side in (wanted.good, wanted.bad)
    )
    return good, bad


def _print_proof(case: Case, good: ProofSide, bad: ProofSide) -> None:
    started = time.monotonic()
    proofs = prove_by_functions(good, bad, (), Trying())
    seconds = time.monotonic() - started
    for proof in proofs:
        print(f"| {case.id} | {proof.what} | {_told(proof)} | {proof.runs} | {seconds:.0f} |", flush=True)
        print(proof.sentence, file=sys.stderr)
    if not proofs:
        print(f"| {case.id} | none found | | | | | | {seconds:.0f} |", flush=True)


def _print_changed(case: Case, good: ProofSide, bad: ProofSide) -> None:
    search = Search[str](good, bad, Trying(), lambda _kind, _changes: Put())
    functions = [(builds, one) for builds in different_modules(good, bad) for one in builds.changed]
    edited = sum(bool(builds.edited.among(one.holds)) for builds, one in functions)
    sites = [builds.entries(one) for builds, one in functions]
    passed = iter(search.is_passed([site for some in sites for site in some]))
    entered = [one for (_, one), some in zip(functions, sites, strict=True) if sum(islice(passed, len(some)))]
    has_cause = any(one.names & set(case.truth.cause) for one in entered)
    told = (case.id, len(functions), edited, len(entered), "yes" if has_cause else "no")
    print(f"| {' | '.join(map(str, told))} |", flush=True)


def _told(proof: Proof) -> str:
    return " | ".join((proof.finding.value, _percent(proof.removed), _percent(proof.sham), _percent(proof.reverse)))


def _percent(share: Share | None) -> str:
    return "-" if share is None else f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def _print_innocents(case: Case, good: ProofSide, bad: ProofSide, most: int) -> None:
    rounds = ProofRounds(good, bad, Trying(), lambda _kind: Put(transplants=()))
    for name, plan in list(_innocents(case, list(different_modules(good, bad))))[:most]:
        put = {
            TrialKind.GOOD: Put(transplants=()),
            TrialKind.BAD: Put(transplants=()),
            TrialKind.FORCED: Put(transplants=[plan]),
        }
        runs: dict[TrialKind, list[TrialRun]] = {kind: [] for kind in put}
        for _ in range(_RUNS):
            for kind, what in put.items():
                runs[kind].append(rounds.run(kind, what))
        told = f"`{name}`, innocent | {_outcome(runs[TrialKind.FORCED], runs[TrialKind.BAD])} | {_share(runs)}"
        print(f"| {case.id} | {told} | | | {_RUNS} | |", flush=True)


def _innocents(case: Case, modules: list[ProofBuilds]) -> Iterator[tuple[str, PatchPlan]]:
    """That changed, without the cause; then where the time is spent."""
    for builds in modules:
        guilty = {one.symbol for one in builds.changed if one.names & set(case.truth.cause)}
        names = [*(one.symbol for one in builds.changed), *case.truth.spent]
        for name in dict.fromkeys(names):
            if name not in guilty and name not in case.truth.cause:
                try:
                    yield name, plan_transplant(builds.good, builds.bad, [name])
                except RefusedError:
                    continue


def _outcome(runs: list[TrialRun], usual: list[TrialRun]) -> str:
    if any(run.ending is not RunEnding.EXITED for run in runs):
        return ", ".join(sorted({run.ending.value for run in runs}))
    return "same output" if {run.output for run in runs} == {run.output for run in usual} else "other output"


def _share(runs: dict[TrialKind, list[TrialRun]]) -> str:
    good, bad, forced = (
        statistics.median(run.amount for run in runs[kind])
        for kind in (TrialKind.GOOD, TrialKind.BAD, TrialKind.FORCED)
    )
    return f"{(bad - forced) / (bad - good):.0%}"


def _print_every(case: Case, good: ProofSide, bad: ProofSide) -> None:
    receiver, other = TransplantModule(Path(bad.program.path)), TransplantModule(Path(good.program.path))
    names = sorted(_functions(receiver))
    plain = _output(bad, None)
    moved, outputs = [], []
    for giver in (receiver, other):
        plan, refused = _all_but_refused(giver, receiver, names)
        moved.append(f"{len(names) - len(refused)}")
        outputs.append(_output(bad, plan) == plain)
    same = "the same both times" if all(outputs) else f"the same: {outputs}"
    print(f"| {case.id} | {len(names)} | {' | '.join(moved)} | {same} |", flush=True)


def _functions(module: TransplantModule) -> set[str]:
    return {
        source_of(one.name)
        for one in module.symbols.symbols
        if one.kind is SymbolKind.FUNCTION
        if one.size and ".cold" not in one.name and not one.name.startswith(_OF_THE_COMPILER)
    }


def _all_but_refused(
    giver: TransplantModule, receiver: TransplantModule, names: list[str]
) -> tuple[PatchPlan, list[str]]:
    refused = []
    for name in names:
        try:
            plan_transplant(giver, receiver, [name])
        except RefusedError as error:
            print(error, file=sys.stderr)
            refused.append(name)
    return plan_transplant(giver, receiver, [name for name in names if name not in refused]), refused


def _output(side: ProofSide, plan: PatchPlan | None) -> tuple[int, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        moved = Transplants(Path(folder) / "plans", None if plan is None else [plan])
        loaded = {} if plan is None else {"LD_PRELOAD": str(LIBRARY), **moved.environment()}
        done = subprocess.run(
            side.program.command,
            env={**os.environ, **loaded},
            capture_output=True,
            check=False,
            cwd=side.program.folder,
        )
        if plan is not None and moved.why_not():
            raise SystemExit(moved.why_not())
        return done.returncode, done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
