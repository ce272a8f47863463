"""Which decision is forced, and what a trial of it shows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.observation.programs import compiled
from whyperf.collect.blocks.run import run_noting_blocks
from whyperf.collect.observation.plans import MOST_SITES
from whyperf.collect.observation.sites import ObservedSite
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program, find_program
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans, Share
from whyperf.errors import WhyperfError
from whyperf.investigation.decisions import OtherDecision, other_decisions
from whyperf.origin.program_code import ProgramCode
from whyperf.proof import by_decision
from whyperf.proof.by_decision import DecisionPlace, Effect, OfInput, OutOf, first_that_removes, prove_decision
from whyperf.proof.judging import ProofJudgement, Shares
from whyperf.proof.rounds import NotPutError, ProofRounds, ProofSide, Put, Trying
from whyperf.proof.screening import Screened
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun


@given(st.lists(st.sampled_from(["nothing", "removes", "breaks"]), max_size=12), st.integers(0, 40))
def test_the_first_decision_that_removes_the_excess_alone_is_found(kinds: list[str], most: int) -> None:
    # GIVEN decisions of which some remove the excess and some break the program, alone and together with others
    looks: list[tuple[int, ...]] = []

    def effect(numbers: Sequence[int]) -> Effect | None:
        if len(looks) == most:
            return None
        looks.append(tuple(numbers))
        found = {kinds[number] for number in numbers}
        if "breaks" in found:
            return Effect.OTHER_WORK
        return Effect.REMOVES if "removes" in found else Effect.NOTHING

    first = first_that_removes(range(len(kinds)), effect)
    # THEN it is the first of all, unless there was no room for looks
    if len(looks) < most:
        assert first == (kinds.index("removes") if "removes" in kinds else None)
    else:
        assert first is None or kinds[first] == "removes"
    assert len(looks) == len(set(looks)) <= max(0, 2 * len(kinds) - 1)


def test_where_nothing_removes_anything_one_look_is_enough() -> None:
    looks: list[Sequence[int]] = []

    def effect(numbers: Sequence[int]) -> Effect:
        looks.append(numbers)
        return Effect.NOTHING

    assert first_that_removes(range(50), effect) is None and len(looks) == 1


CACHE = Path(__file__).parents[1] / "investigation" / "programs" / "emptied.c"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("cache"), CACHE.read_text(), name="cache")


def sides(cache: Path, good: str, bad: str) -> tuple[ProofSide, ProofSide]:
    environment = dict(os.environ)
    first, second = (
        ProofSide(find_program([str(cache), *words.split()], environment), Lifecycle(), environment)
        for words in (good, bad)
    )
    return first, second


def compared(*of: ProofSide) -> list[OtherDecision]:
    good, bad = (run_noting_blocks(one.program, lifecycle=one.lifecycle, environment=one.environment) for one in of)
    return other_decisions(good, bad)


def place(code: ProgramCode, one: OtherDecision) -> DecisionPlace:
    where = code.module(one.module).places(one.address)[0]
    claim = ProofClaim(where.function, "cache", where.file, where.line, "x", "", "", means=ProofMeans.DECISION)
    return DecisionPlace(claim, ObservedSite(one.module, one.address), one.taken_in_good)


def proof(
    cache: Path, good: str, bad: str, tmp_path: Path, *, without: str = "", trying: Trying | None = None
) -> Proof | None:
    of = sides(cache, good, bad)
    code = ProgramCode(cache, cache, tmp_path)
    places = [one for one in (place(code, other) for other in compared(*of)) if one.claim.function != without]
    return first_of(prove_decision(*of, places, trying or Trying(), most_looks=10))


def first_of(found: tuple[Proof, ...]) -> Proof | None:
    return next(iter(found), None)


@needs_gcc
@pytest.mark.process
def test_the_decision_to_empty_the_cache_is_proven(cache: Path, tmp_path: Path) -> None:
    found = proof(cache, "8", "12", tmp_path)
    assert found is not None and found.function == "make_room", found
    assert found.means is ProofMeans.DECISION
    # Emptying it at every question makes the good run slow as well.
    assert found.finding is ProofFinding.PROVEN, found.sentence
    assert found.removed is not None and found.removed.value > 0.9
    assert found.reverse is not None and found.reverse.value > 0.5
    assert "count_odd" not in found.sentence  # the other decision


@needs_gcc
@pytest.mark.process
def test_where_nothing_is_printed_nothing_is_proven(cache: Path, tmp_path: Path) -> None:
    found = proof(cache, "8 silent", "12 silent", tmp_path)
    assert found is not None and found.finding is ProofFinding.SUPPORTED and not found.is_settled
    assert "--output-file" in found.sentence


@needs_gcc
@pytest.mark.process
def test_a_named_file_that_is_empty_or_not_written_proves_nothing(cache: Path, tmp_path: Path) -> None:
    names = ("absent", "old")
    (tmp_path / "old").write_text("from an earlier run")
    os.utime(tmp_path / "old", (1, 1))
    trying = Trying(output_files=tuple(tmp_path / name for name in names))
    found = proof(cache, "8 silent", "12 silent", tmp_path, trying=trying)
    assert found is not None and found.finding is ProofFinding.SUPPORTED, found


@needs_gcc
@pytest.mark.process
def test_an_output_that_is_the_same_but_for_numbers_proves_no_decision(cache: Path, tmp_path: Path) -> None:
    # GIVEN a program that prints a time: a count of what was left out could hide beside it
    found = proof(cache, "8 timed", "12 timed", tmp_path)
    assert found is not None and found.finding is ProofFinding.SUPPORTED, found
    assert "in numbers" in found.sentence


@needs_gcc
@pytest.mark.process
def test_innocent_decisions_are_not_called_the_cause(cache: Path, tmp_path: Path) -> None:
    # GIVEN the same runs, but for the decision that matters: counting key 9 happens in bad runs only as well
    of = sides(cache, "8", "12")
    code = ProgramCode(cache, cache, tmp_path)
    functions = {place(code, one).claim.function for one in compared(*of)}
    assert {"make_room", "count_odd"} <= functions
    assert proof(cache, "8", "12", tmp_path, without="make_room") is None


@needs_gcc
@pytest.mark.process
def test_a_decision_about_the_input_is_a_trigger(cache: Path, tmp_path: Path) -> None:
    of = sides(cache, "8", "12")
    code = ProgramCode(cache, cache, tmp_path)
    places = [place(code, one) for one in compared(*of)]
    asked: list[str] = []

    def of_input(one: DecisionPlace) -> OfInput:
        asked.append(one.claim.function)
        return OfInput.HANDED_ON

    (found,) = prove_decision(*of, places, of_input=of_input, most_looks=10)
    assert asked == ["make_room"]
    # THEN it is told as what differs, and not as the cause
    assert found.finding is ProofFinding.TRIGGER and not found.is_settled, found
    assert found.function == "make_room" and "its condition tests a value that comes" in found.sentence
    # ... or as one about what the program makes of the input
    (made,) = prove_decision(*of, places, of_input=lambda _place: OfInput.MADE, most_looks=10)
    assert "its condition tests a value that is made directly from the input" in made.sentence


@needs_gcc
@pytest.mark.process
def test_a_forced_crash_of_a_program_that_always_crashes_is_not_told(tmp_path: Path) -> None:
    # GIVEN a decision that only bad runs make, in a program that ends by a signal whatever is forced
    source = r"""
#include <stdio.h>
#include <stdlib.h>
static volatile long spent;
__attribute__((noinline, noipa)) static void heavy(void) { for (long i = 0; i < 20000000; i++) spent++; }
int main(int count, char **words) {
    if (atoi(words[1]) > 100) heavy();
    puts("done");
    fflush(stdout);
    abort();
}
"""
    program = compiled(tmp_path, source)
    with pytest.raises(WhyperfError) as told:
        proof(program, "100", "101", tmp_path)
    assert told.value.sentence == (
        "No branch was forced: the program ends by SIGABRT in every run, so a forced crash could not be told from its "
        "own."
    )


class _Screening:
    """Forcing any decision alone removes everything."""

    def __init__(self, _rounds: object) -> None:
        pass

    def has_excess(self) -> bool:
        return True

    def forced(self, _put: Put) -> Screened:
        return Screened(TrialRun(1.0, 0), is_sound=True, share=1.0)


def test_a_decision_in_the_same_line_of_another_file_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN four decisions about the input; two are the same line, and one is as far down in another file
    monkeypatch.setattr(by_decision, "Screening", _Screening)
    side = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
    lines = [("a.c", 5), ("a.c", 5), ("b.c", 5), ("a.c", 6)]
    places = [
        DecisionPlace(
            ProofClaim("f", "m", file, line, "x", "", "", means=ProofMeans.DECISION),
            ObservedSite(Path("/m"), number),
            taken_in_good=True,
        )
        for number, (file, line) in enumerate(lines)
    ]
    asked: list[int] = []

    def of_input(one: DecisionPlace) -> OfInput:
        asked.append(one.jump.address)
        return OfInput.HANDED_ON

    def no_trial(_rounds: ProofRounds, *, from_outside: bool) -> ProofJudgement:
        raise NotPutError("there is no trial" if from_outside else "it is not about the input")

    monkeypatch.setattr(ProofRounds, "judged", no_trial)
    (found,) = prove_decision(side, side, places, of_input=of_input, most_looks=100)
    assert asked == [0, 2, 3]
    assert "there is no trial" in found.sentence


def test_decisions_that_are_left_untried_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking(_Screening):
        def forced(self, _put: Put) -> Screened:
            return Screened(TrialRun(1.0, 0), is_sound=False, share=0.0)

    monkeypatch.setattr(by_decision, "Screening", Breaking)
    side = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
    claim = ProofClaim("f", "m", "a.c", 5, "x", "", "")
    places = [DecisionPlace(claim, ObservedSite(Path("/m"), number), taken_in_good=True) for number in range(4)]

    def untried(most: int, budget_s: float | None = None) -> set[OutOf]:
        told: list[OutOf] = []
        trying = Trying(budget_s=budget_s)
        assert prove_decision(side, side, places, trying, most_looks=most, on_untried=told.append) == ()
        return {*told}

    # THEN each half and each single one takes a look
    assert not untried(7) and untried(6) == {OutOf.LOOKS}
    assert not untried(7, budget_s=100.0) and untried(7, budget_s=0.0) == {OutOf.TIME}


def test_a_proof_names_the_later_decisions_that_remove_the_excess_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN seven decisions, of which the second to the sixth remove everything; two of them are in one line
    class Removing(_Screening):
        def forced(self, put: Put) -> Screened:
            numbers = {site.address for site in put.sites}
            return Screened(TrialRun(1.0, 0), is_sound=True, share=1.0 if numbers - {0, 6} else 0.0)

    def proven(_rounds: ProofRounds, *, from_outside: bool) -> ProofJudgement:
        assert not from_outside
        share = Share(1.0, 1.0, 1.0)
        return ProofJudgement(ProofFinding.PROVEN, shares=Shares(share, Share(0.0, 0.0, 0.0), share))

    monkeypatch.setattr(by_decision, "Screening", Removing)
    monkeypatch.setattr(ProofRounds, "judged", proven)
    side = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
    places = [
        DecisionPlace(
            ProofClaim("f", "m", "a.c", line, f"x{line}", "", "", means=ProofMeans.DECISION),
            ObservedSite(Path("/m"), number),
            taken_in_good=True,
        )
        for number, line in enumerate([10, 11, 12, 12, 13, 14, 15])
    ]
    usual = {kind: [TrialRun(1.0, 0, output="x")] for kind in (TrialKind.GOOD, TrialKind.BAD)}
    (found,) = prove_decision(side, side, places, most_looks=100, usual=usual)
    assert found.finding is ProofFinding.PROVEN and found.line == 11
    listed = "; ".join(f"`x{line}` in f (line {line})" for line in (12, 13, 14))
    assert found.sentence.endswith(f" forced alone in one run: {listed}.")


def test_few_decisions_with_which_the_program_does_other_work_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN that one decision ends the program, that others change its output, and that the last one changes nothing
    def forcing(places: int) -> list[str]:
        class Breaking(_Screening):
            def forced(self, put: Put) -> Screened:
                numbers = {site.address for site in put.sites}
                ending = RunEnding.CRASHED if 0 in numbers else RunEnding.EXITED
                return Screened(TrialRun(1.0, 0, ending), is_sound=numbers == {places - 1}, share=0.0)

        monkeypatch.setattr(by_decision, "Screening", Breaking)
        side = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
        claims = (
            ProofClaim("f", "m", "a.c", number, f"x{number}", "", "", means=ProofMeans.DECISION)
            for number in range(places)
        )
        every = [DecisionPlace(one, ObservedSite(Path("/m"), one.line), taken_in_good=True) for one in claims]
        found = prove_decision(side, side, every, most_looks=100)
        assert all(one.finding is ProofFinding.NOT_TESTABLE and not one.is_settled for one in found)
        return [one.sentence for one in found]

    # THEN those that matter to it are told, each with what happens
    forced = "forced to the good run's branch in the bad run"
    assert forcing(3) == [
        f"Not testable: with `x0` in f {forced}, it crashes.",
        f"Not testable: with `x1` in f (line 1) {forced}, the output changes.",
    ]
    assert len(forcing(4)) == 3
    # ... but not where so many differ that they tell one input from the other
    assert forcing(5) == []


def test_decisions_that_are_too_many_for_one_run_are_forced_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []

    class Counting(_Screening):
        def forced(self, put: Put) -> Screened:
            forced.append(len(put.sites))
            return Screened(TrialRun(1.0, 0), is_sound=True, share=0.0)

    monkeypatch.setattr(by_decision, "Screening", Counting)
    side = ProofSide(Program("/bin/true", ("/bin/true",)), Lifecycle(), {})
    claim = ProofClaim("f", "m", "a.c", 5, "x", "", "")
    every = 2 * MOST_SITES + 2
    places = [DecisionPlace(claim, ObservedSite(Path("/m"), number), taken_in_good=True) for number in range(every)]
    assert prove_decision(side, side, places, most_looks=10) == ()
    # THEN no run has more than it can have, and all were forced
    assert max(forced) <= MOST_SITES and sum(forced) == every and len(forced) == 4


def test_nothing_runs_where_no_time_is_left() -> None:
    side = ProofSide(Program("/bin/false", ("/bin/false",)), Lifecycle(), {})
    place = DecisionPlace(ProofClaim("f", "m", "a.c", 5, "x", "", ""), ObservedSite(Path("/m"), 1), taken_in_good=True)
    made: list[TrialKind] = []
    trying = Trying(budget_s=0.0, on_run=lambda kind, _number: made.append(kind))
    assert prove_decision(side, side, [place], trying, most_looks=10) == () and made == []


@needs_gcc
@pytest.mark.process
def test_runs_that_behave_alike_decide_alike(cache: Path) -> None:
    assert compared(*sides(cache, "8", "8")) == []
