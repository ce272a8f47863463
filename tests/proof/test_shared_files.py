"""No value is forced into a program while another one works with its files."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.collect.observation.programs import RESULT, compiled, last_before_return
from tests.report import verdicts
from tests.strangers import stranger
from whyperf.collect.observation.sites import ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import ProofMeans
from whyperf.investigation import investigate as investigating
from whyperf.investigation.investigate import investigate, investigate_functions
from whyperf.investigation.proving import tried_functions
from whyperf.investigation.starts import Beginning
from whyperf.investigation.subject import ProofBounds, Subject
from whyperf.investigation.trials import Investigated
from whyperf.origin.starts import start_at_variable
from whyperf.proof.by_decision import DecisionPlace, prove_decision
from whyperf.proof.by_value import ForcedPlace, ProofSide, prove_value
from whyperf.proof.rounds import SharedFileError
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind

# With a forced value it overwrites its table.
TABLE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline, noclone, noipa)) long rows_for(long rows) { return rows * STEP; }
int main(int count, char **words) {
    long rows = rows_for(atol(words[1]));
    int table = open(words[2], O_RDWR);
    if (table < 0) return 3;
    static volatile long i;
    for (i = 0; i < rows * 10000; i++) {}
    if (rows != atol(words[1]) * STEP && write(table, "damaged", 7) != 7) return 4;
    printf("done\n");
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("table"), TABLE, "-DSTEP=8")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "table"
    file.write_text("rows and rows")
    return file


def _side(program: Path, words: str, table: Path) -> ProofSide:
    return ProofSide(find_program([str(program), words, str(table)], os.environ), Lifecycle(), dict(os.environ))


def _place(program: Path) -> ForcedPlace:
    return ForcedPlace(program, last_before_return(program, "rows_for").address, True, RESULT, 8, (8000,), (72000,))


_CLAIM = ProofClaim("rows_for", "program", "program.c", 6, "rows_for()", "8,000", "72,000")


def _holder(table: Path) -> list[str]:
    code = "import signal, sys; file = open(sys.argv[1]); print('ready', flush=True); signal.pause()"
    return [sys.executable, "-c", code, str(table)]


def test_a_value(program: Path, table: Path) -> None:
    good, bad = (_side(program, words, table) for words in ("1000", "9000"))
    with (
        stranger(_holder(table)) as pid,
        pytest.raises(SharedFileError, match=rf"{table} is also open in python.* \({pid}\)"),
    ):
        prove_value(good, bad, [_place(program)], _CLAIM)
    assert table.read_text() == "rows and rows"
    # WHEN nobody else uses it
    prove_value(good, bad, [_place(program)], _CLAIM)
    assert table.read_text().startswith("damaged")


def test_a_decision(program: Path, table: Path) -> None:
    good, bad = (_side(program, words, table) for words in ("1000", "9000"))
    jump = ObservedSite(program, _place(program).address)
    place = DecisionPlace(replace(_CLAIM, means=ProofMeans.DECISION), jump, True)
    with stranger(_holder(table)), pytest.raises(SharedFileError, match="also open in python"):
        prove_decision(good, bad, [place], most_looks=10)


def test_a_function(program: Path, table: Path, tmp_path: Path) -> None:
    faster = compiled(tmp_path, TABLE, "-DSTEP=1")
    programs = (_side(one, "9000", table).program for one in (faster, program))
    subject = Subject(*programs, (Lifecycle(), Lifecycle()), dict(os.environ))
    with stranger(_holder(table)):
        tried = tried_functions([], Investigated(subject, "cpu_s", ProofBounds(math.inf), lambda _what: None))
    assert not tried.proofs and "also open in python" in tried.forbidden
    assert table.read_text() == "rows and rows"


def test_what_the_first_trial_is_refused_for_is_told_once(
    program: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN two builds, of which the bad one has a suspect with a value to follow
    faster = compiled(tmp_path, TABLE, "-DSTEP=1")
    sides = (_side(faster, "1000", table), _side(program, "9000", table))
    subject = Subject(*(one.program for one in sides), (Lifecycle(), Lifecycle()), dict(os.environ))
    forced: list[TrialKind] = []
    monkeypatch.setattr(Investigated, "_say_run", lambda _self, _what, kind, _number: forced.append(kind))
    bounds = ProofBounds(time.monotonic() + 60)
    with stranger(_holder(table)):
        first = investigate_functions(verdicts.difference(), subject, bounds, lambda _what: None)
        assert first is not None and forced
        forced.clear()
        start = Beginning(verdicts.difference().suspects[0], start_at_variable(program, "rows_for", "rows"))
        monkeypatch.setattr(investigating, "beginnings", lambda *_: iter([start]))
        again = investigate(
            verdicts.difference(),
            subject,
            lambda _module: program,
            bounds,
            lambda _what: None,
            again="",
            functions=first,
        )
    # THEN nothing is tried again, and the reason is told once
    assert not forced
    said = [*again.notes, *(one.sentence for suspect in again.suspects for one in suspect.proofs)]
    assert sum("also open in" in one for one in said) == 1, said
