"""Ranks of the known causes: case by case, taken up where another run left off."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.accuracy import store
from bench.accuracy.comparing import compare, record, recordings_in
from bench.accuracy.outcome import Outcome, peer_ranks
from bench.accuracy.table import markdown
from bench.cache import SubjectError, cache_folder
from bench.cases.case import Case, commands
from bench.peers.book import ask
from bench.peers.peer import Peer, Recordings, Trial


def run_cases(cases: Sequence[Case], peers: Sequence[Peer], options: argparse.Namespace) -> bool:
    """Prints the tables; whether every case has its outcome."""
    if options.take_over:
        store.take_over(Path(options.take_over))
    for number, case in enumerate(cases, start=1):
        with store.held(case.id) as free:
            if not free:
                print(f"[{number}/{len(cases)}] {case.id}: another run is at it", file=sys.stderr)
                continue
            print(f"[{number}/{len(cases)}] {case.id}: {case.title}", file=sys.stderr, flush=True)
            try:
                _run(case, peers, options)
            except (SubjectError, subprocess.SubprocessError, ValueError) as error:
                print(f"  left out: {error}", file=sys.stderr)
    outcomes = [one for case in cases if (one := _read(case)) is not None]
    print(markdown(outcomes))
    if options.json:
        store.write(outcomes, Path(options.json))
    return len(outcomes) == len(cases)


def _run(case: Case, peers: Sequence[Peer], options: argparse.Namespace) -> None:
    folder = cache_folder() / "recordings" / "accuracy" / case.id
    anew = options.again or options.kept
    before = _read(case) if options.resume or anew else None
    outcome = None if anew else before
    if outcome is None and not options.kept:
        shutil.rmtree(folder, ignore_errors=True)
    kept = options.keep or folder.exists()
    folder.mkdir(parents=True, exist_ok=True)

    @cache
    def recordings() -> Recordings:
        found = recordings_in(folder / "whyperf")
        return found if found.good and found.bad else record(commands(case), options.runs, folder / "whyperf")

    if outcome is None:
        started = time.monotonic()
        outcome = replace(compare(case, recordings()), peers=before.peers if before else {})
        if options.kept and before:
            outcome = replace(outcome, load=before.load)  # that of the recording
        store.write([outcome], store.stored(case.id))
        print(f"  whyperf {outcome.ours} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)
    trial = Trial(case, folder, recordings)
    for peer in peers:
        if peer.name in outcome.peers:
            continue
        started = time.monotonic()
        ranks = peer_ranks(peer, ask(peer, trial), case.truth)
        outcome = replace(outcome, peers={**outcome.peers, peer.name: ranks})
        store.write([outcome], store.stored(case.id))
        print(f"  {peer.name} {ranks} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)
    if not kept:
        shutil.rmtree(folder)


def _read(case: Case) -> Outcome | None:
    path = store.stored(case.id)
    if not path.exists():
        return None
    try:
        (outcome,) = store.read(path)
    except (KeyError, TypeError, ValueError):
        return None  # stored by another version
    return outcome
