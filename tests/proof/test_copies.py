"""Copies of an instruction: which are forced, and in which runs. No process is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from whyperf.collect.observation.sites import RECORD, WRITE, Observed, ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import Proof, ProofFinding
from whyperf.proof import rounds
from whyperf.proof.by_value import ForcedPlace, prove_value
from whyperf.proof.rounds import ProofSide, Trying
from whyperf.proof.sentences import ProofClaim
from whyperf.recording.sealed.manifest import Totals

GOOD_PROGRAM, BAD_PROGRAM = (Program(f"/nowhere/{name}", (name,)) for name in ("good", "bad"))
CLAIM = ProofClaim("planned", "program", "program.c", 9, "planned()", "5", "50")
OWN, COPY = (ForcedPlace(Path("/nowhere/bad"), address, False, 0, 8, (5,), (50,)) for address in (16, 32))


@dataclass
class _Programs:
    """What they hold at each address, in good and bad runs; nothing where they do not come to it. Forcing 5 makes them
    fast, forcing 50 makes them slow."""

    good: dict[int, int]
    bad: dict[int, int]
    unrecorded: frozenset[int] = frozenset()
    often: bool = False
    """Too often for all hits to be counted."""
    forced: list[tuple[str, list[int]]] = field(default_factory=list)
    """In which program, and where."""

    def observe(self, program: Program, sites: Sequence[ObservedSite], **_limits: object) -> Observed:
        held = self.good if program is GOOD_PROGRAM else self.bad
        values = {one.forced.values for one in sites if one.forced is not None and one.address in held}
        is_slow = (program is BAD_PROGRAM or (50,) in values) and (5,) not in values
        if any(one.forced is not None for one in sites):
            self.forced.append((program.path, [one.address for one in sites]))
        seen = [(row, one.address) for row, one in enumerate(sites) if one.address in held]
        records = np.zeros(len(seen), RECORD)
        records["site"] = [row for row, _ in seen]
        records["registers"][:, 0] = [held[address] for _, address in seen]
        kept = [address not in self.unrecorded for _, address in seen]
        return Observed(
            status=0,
            totals=Totals(1.0, 3.0 if is_slow else 1.0, 0.0, *[0] * 6),
            output="",
            hits=tuple(int(one.address in held) for one in sites),
            complete=(not self.often,) * len(sites),
            placed=(True,) * len(sites),
            records=records[kept],
            writes=np.zeros(0, WRITE),
            modules=(),
            lost=0,
            refused=("",) * len(sites),
            beyond=(0,) * len(sites),
        )


def _proof(monkeypatch: pytest.MonkeyPatch, programs: _Programs, *places: ForcedPlace) -> Proof:
    monkeypatch.setattr(rounds, "observe", programs.observe)
    good, bad = (ProofSide(one, Lifecycle(), {}) for one in (GOOD_PROGRAM, BAD_PROGRAM))
    return prove_value(good, bad, places, CLAIM, Trying())


def test_a_copy_that_the_good_build_does_not_have_is_forced_in_bad_runs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = _Programs(good={16: 5}, bad={16: 50, 32: 50})
    _proof(monkeypatch, programs, OWN, replace(COPY, has_reverse=False))
    assert ("/nowhere/good", [16]) in programs.forced and ("/nowhere/bad", [16, 32]) in programs.forced


def test_a_copy_that_runs_and_has_no_records_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = _Programs(good={16: 5, 32: 5}, bad={16: 50, 32: 50}, unrecorded=frozenset({32}))
    _proof(monkeypatch, programs, OWN, COPY)
    assert programs.forced and all(where == [16] for _, where in programs.forced)
    # THEN one that does not run is no reason to leave it alone
    programs = _Programs(good={16: 5}, bad={16: 50})
    _proof(monkeypatch, programs, OWN, COPY)
    assert programs.forced and all(where == [16, 32] for _, where in programs.forced)
    # THEN nothing is forced where nothing is known of the place itself
    programs = _Programs(good={16: 5}, bad={16: 50}, unrecorded=frozenset({16}))
    proof = _proof(monkeypatch, programs, OWN)
    assert not programs.forced and "its values could not be recorded in the bad run" in proof.sentence


def test_good_runs_that_come_to_another_copy_only_do_not_reach_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN places that are forced by a jump, which counts no hits, and a copy that has another value in good runs
    programs = _Programs(good={32: 99}, bad={16: 50, 32: 50}, often=True)
    proof = _proof(monkeypatch, programs, OWN, COPY)
    # THEN nothing is forced in good runs
    assert {where for where, _ in programs.forced} == {"/nowhere/bad"}
    assert proof.finding is ProofFinding.SUPPORTED and proof.reverse is None, proof
