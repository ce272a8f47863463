"""Deep comparisons of memory where the program's allocator is not malloc."""

from __future__ import annotations

import pytest

from tests.engines.relations.sketched import sketch
from whyperf.diagnose.relations import examine_deep
from whyperf.diagnose.verdict import VerdictKind
from whyperf.errors import WhyperfError
from whyperf.recording.symptom import parse_symptom

MB = 1_000_000
LINES = ("main 1 500", "main>fill 60 6000 | 60:1", "main>fill>arena_take 60 600 | 1:60")


def compared(peaks, handed_out=(0, 0), live=(0, 0)):
    good, bad = (
        sketch(*LINES, peak_bytes=peak * MB, allocated={"main": amount}, live={"main": kept})
        for peak, amount, kept in zip(peaks, handed_out, live, strict=True)
    )
    return examine_deep([good], [bad], parse_symptom("memory"))


@pytest.mark.parametrize("few", [0, 72_704], ids=["no-malloc", "only-the-c-library's"])
def test_memory_that_malloc_did_not_hand_out_is_told(few):
    # GIVEN memory that grew by 400 MB, while malloc handed out next to nothing
    verdict = compared((100, 500), (few, few), (few, few))
    # THEN that is said, instead of "no difference", with what to name as the symptom
    assert verdict.kind is VerdictKind.INSUFFICIENT
    assert "from 100 MB to 500 MB, but malloc and its kin handed out only 0 MB in all" in verdict.symptom.sentence
    assert "--symptom function:NAME" in (verdict.next_command or "")


def test_memory_that_was_given_back_is_no_other_allocators():
    # GIVEN a peak that malloc explains: all of it was freed in the end
    verdict = compared((100, 500), (600 * MB, 600 * MB), (72_704, 72_704))
    assert verdict.symptom.sentence.startswith("No difference")


def test_memory_that_did_not_grow_is_told_as_ever():
    assert compared((100, 101), (72_704, 72_704), (72_704, 72_704)).symptom.sentence.startswith("No difference")
    with pytest.raises(WhyperfError, match="There were no"):
        compared((100, 101))
