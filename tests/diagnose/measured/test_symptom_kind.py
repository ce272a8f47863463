"""Kinds of trouble, told from totals."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from tests.diagnose.test_diagnosis import NOISE, STACKS, runs
from tests.schemas import verdict_schema
from whyperf.cli.diagnose import exit_status
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.measured.significance import Direction
from whyperf.diagnose.measured.symptom_kind import Nature, TotalsGrowth, nature_of
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import VerdictKind
from whyperf.report.json import as_plain

NOTHING = TotalsGrowth(Direction.SAME, Direction.SAME, Direction.SAME, 0.0, 0.0, 0.0, 0.0, 0.0)
WAITED = replace(NOTHING, wall=Direction.GREW, wall_s=9.0)
RAN = replace(NOTHING, cpu=Direction.GREW, wall=Direction.GREW, cpu_s=9.0, wall_s=9.0)
MB = 1_000_000


@pytest.mark.parametrize(
    ("growth", "nature"),
    [
        (NOTHING, None),
        (RAN, Nature.CPU),
        (WAITED, Nature.WAIT),
        (replace(WAITED, cpu=Direction.GREW, cpu_s=1.0), Nature.WAIT),
        (replace(WAITED, transfer_s=4.0), Nature.IO),
        (replace(WAITED, transfer_s=4.0, paging_s=4.0), Nature.IO),
        (replace(WAITED, transfer_s=4.0, paging_s=4.0, swaps=True), Nature.MEMORY),
        (replace(WAITED, paging_s=4.0), Nature.IO),
        (replace(WAITED, cpu_wait_s=8.0), Nature.EXTERNAL),
        (replace(RAN, cpu_s=4.0, cpu_wait_s=5.0), Nature.CPU),
        (replace(NOTHING, memory=Direction.GREW), Nature.MEMORY),
        (replace(RAN, memory=Direction.GREW), Nature.CPU),
        (replace(WAITED, wall=Direction.UNCLEAR), None),
    ],
)
def test_what_grew_says_what_kind_of_trouble_it_is(growth, nature):
    assert nature_of(growth, DiagnoseSettings()) is nature


def test_more_memory_alone_is_a_difference_that_is_no_slowness():
    verdict = diagnose(runs(STACKS, max_rss_bytes=200 * MB), runs(STACKS, max_rss_bytes=900 * MB))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "memory")
    assert (verdict.symptom.measure, verdict.symptom.unit, verdict.suspects) == ("peak_bytes", "run", ())
    assert verdict.symptom.sentence == (
        "Bad runs are not slower, but use 4.5 times the memory: 900 MB at the peak, not 200 MB (3+3 runs)."
    )
    assert exit_status(verdict, 5.0) == 0
    jsonschema.validate(as_plain(verdict), verdict_schema())


@pytest.mark.parametrize("sizes", [(200, 390), (10, 70), (0, 900)], ids=["not-twice", "not-much", "unknown"])
def test_little_or_unknown_memory_is_none(sizes):
    good, bad = (runs(STACKS, max_rss_bytes=size * MB) for size in sizes)
    assert diagnose(good, bad).kind is VerdictKind.NONE


def test_more_memory_beside_more_time_is_a_note():
    slow = [(words, seconds * 3) for words, seconds in STACKS]
    verdict = diagnose(runs(STACKS, max_rss_bytes=200 * MB), runs(slow, max_rss_bytes=900 * MB))
    assert verdict.symptom.kind == "cpu"
    assert any("peak memory 900 MB, was 200 MB" in note for note in verdict.notes)


def test_a_program_that_got_no_cpu_is_not_slower():
    # GIVEN the same CPU time, while other programs had the CPUs in the bad runs
    verdict = diagnose(runs(STACKS, NOISE, wall_s=3.1), runs(STACKS, NOISE, wall_s=12.0, cpu_wait_s=8.8))
    # THEN that is said, and is no difference of the program's
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (VerdictKind.NONE, "external", "wall_s")
    assert "was starved of CPU: 12.0 s wall time per run instead of 3.10 s" in verdict.symptom.sentence
