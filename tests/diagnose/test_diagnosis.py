"""Verdicts, one situation each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.made import recording
from whyperf.diagnose.diagnosis import diagnose, examine
from whyperf.diagnose.verdict import VerdictKind
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Losses, Unfollowed

STACKS = [(("main", "parse"), 1.0), (("main", "store"), 1.0), (("main", "render", "libc:memcpy"), 1.0)]
SLOW = [*STACKS, (("main", "store"), 4.0)]
NOISE = (1.0, 1.01, 0.99)


def runs(stacks, noise=NOISE, **more):
    return [recording([(words, seconds * factor) for words, seconds in stacks], **more) for factor in noise]


def scaled(stacks, factor):
    return [(words, seconds * factor) for words, seconds in stacks]


def test_a_slower_function_is_named_with_high_confidence():
    verdict = diagnose(runs(STACKS), runs(SLOW))
    assert verdict.kind is VerdictKind.DIFFERENCE
    assert (verdict.symptom.kind, verdict.symptom.measure, verdict.symptom.runs) == ("cpu", "cpu_s", (3, 3))
    (suspect,) = verdict.suspects
    assert (suspect.function, suspect.confidence, suspect.rank) == ("store", "high", 1)
    assert suspect.score == suspect.share == pytest.approx(1.0, abs=0.02)


def test_the_same_behaviour_is_no_difference():
    verdict = diagnose(runs(STACKS), runs(STACKS, (0.99, 1.0, 1.01)))
    assert (verdict.kind, verdict.suspects) == (VerdictKind.NONE, ())
    assert "5% or more would have shown" in verdict.symptom.sentence


def test_a_difference_within_the_spread_asks_for_more_runs():
    verdict = diagnose(runs(STACKS, (0.9, 1.0, 1.1)), runs(STACKS, (1.05, 1.15, 1.25)))
    assert (verdict.kind, verdict.suspects) == (VerdictKind.INSUFFICIENT, ())
    assert "--runs" in (verdict.next_command or "")


def test_a_machine_that_changes_its_speed_does_not_hide_a_difference():
    # GIVEN runs that differ among themselves by more than good and bad do, each of them in all that it does
    slower = [*STACKS, (("main", "store"), 0.8)]
    verdict = diagnose(runs(STACKS, (0.8, 1.0, 1.2)), runs(slower, (0.9, 1.1, 1.3)))
    # THEN what they do alike tells, and the sentence says so
    assert verdict.kind is VerdictKind.DIFFERENCE
    assert verdict.suspects[0].function == "store"
    assert verdict.symptom.sentence.startswith("Bad runs use 27% more CPU time, measured by what all runs do alike")


def test_single_runs_need_a_large_difference_and_say_so():
    small = diagnose(runs(STACKS, [1.0]), runs(STACKS, [1.2]))
    assert small.kind is VerdictKind.INSUFFICIENT
    assert "3 runs of each would tell" in small.symptom.sentence
    large = diagnose(runs(STACKS, [1.0]), runs(SLOW, [1.0]))
    assert large.kind is VerdictKind.DIFFERENCE
    assert {suspect.confidence for suspect in large.suspects} == {"low"}
    assert any("Spread unknown" in note for note in large.notes)


def test_more_work_at_the_same_cost_is_no_regression():
    good = runs(STACKS, units=1000)
    bad = runs(scaled(STACKS, 4), units=4000)
    verdict = diagnose(good, bad)
    assert (verdict.kind, verdict.suspects) == (VerdictKind.MORE_WORK, ())
    assert "4.0 times the work" in verdict.symptom.sentence


def test_more_work_and_slower_is_a_difference_per_unit():
    verdict = diagnose(runs(STACKS, units=1000), runs(scaled(SLOW, 4), units=4000))
    assert (verdict.kind, verdict.symptom.unit) == (VerdictKind.DIFFERENCE, "request")
    assert verdict.suspects[0].function == "store"
    assert verdict.symptom.good == pytest.approx(0.003, rel=0.01)


def test_different_units_are_not_divided_by():
    verdict = diagnose(runs(STACKS, units=10, unit="pages"), runs(SLOW, units=10, unit="rows"))
    assert verdict.symptom.unit == "run"
    assert any("different units" in note for note in verdict.notes)


def test_bad_faster_than_good_suggests_to_swap_them():
    verdict = diagnose(runs(SLOW), runs(STACKS))
    assert (verdict.kind, verdict.suspects) == (VerdictKind.NONE, ())
    assert "swapped" in verdict.symptom.sentence
    assert "whyperf diagnose --good" in (verdict.next_command or "")


def test_waiting_is_not_cpu_time():
    verdict = diagnose(runs(STACKS, wall_s=3.0), runs(STACKS, wall_s=30.0))
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (VerdictKind.DIFFERENCE, "wait", "wall_s")
    assert verdict.suspects == ()
    assert "--clock wall" in (verdict.next_command or "")


def test_an_unclear_wait_comes_before_a_smaller_unclear_cpu_time():
    # GIVEN runs that wait, one of them much longer, and CPU time that is a little higher within its spread
    def timed(walls, noise):
        return [runs(STACKS, [factor], wall_s=wall)[0] for wall, factor in zip(walls, noise, strict=True)]

    verdict = diagnose(timed((6.5, 8.3, 4.2), (0.95, 1.0, 1.1)), timed((14.0, 40.7, 14.2), (1.05, 1.1, 1.15)))
    # THEN the wait is what is said, and how to see it
    assert (verdict.kind, verdict.symptom.measure) == (VerdictKind.INSUFFICIENT, "wall_s")
    assert "--clock wall --runs" in (verdict.next_command or "")


def test_wall_time_that_grew_is_told_where_cpu_time_cannot_tell():
    # GIVEN a busy machine: bad runs wait, mostly for a CPU, and use a little more CPU time, within its spread
    good = [runs(STACKS, [factor], wall_s=4.0, cpu_wait_s=1.0)[0] for factor in (0.9, 1.0, 1.1)]
    bad = [runs(STACKS, [factor], wall_s=12.0, cpu_wait_s=7.0)[0] for factor in (1.0, 1.1, 1.2)]
    verdict = diagnose(good, bad)
    assert (verdict.kind, verdict.symptom.measure) == (VerdictKind.INSUFFICIENT, "cpu_s")
    assert any("Wall time did grow, to 12.0 s from 4.00 s: 6.00 s of that" in note for note in verdict.notes)


def test_a_wait_that_was_recorded_names_who_waits():
    def waiting(seconds):
        blocked = [(("main", "fetch", "libc:poll"), seconds)]
        return runs(STACKS, blocked=blocked, clock="wall", wall_s=3.0 + seconds)

    verdict = diagnose(waiting(1.0), waiting(20.0))
    assert verdict.symptom.kind == "wait"
    assert (verdict.suspects[0].function, verdict.suspects[0].pattern) == ("fetch", "long-wait")


def test_waits_explain_what_computing_does_not():
    # GIVEN runs that take 13 s more, compute for 6 s of them, and were seen to wait for 2.5 s of the rest
    def waiting(stacks, seconds, wall_s):
        return runs(stacks, blocked=[(("main", "fetch", "libc:poll"), seconds)], clock="wall", wall_s=wall_s)

    busier = [(words, seconds * 3.0) for words, seconds in STACKS]
    verdict = diagnose(waiting(STACKS, 0.5, 4.0), waiting(busier, 3.0, 17.0))
    # THEN who waits is named
    assert (verdict.symptom.kind, verdict.suspects[0].function) == ("wait", "fetch")


def test_who_waits_for_a_waiter_only_waits_along():
    # GIVEN a worker that waits for the network, and main that waits for the worker
    def waiting(seconds):
        blocked = [(("main", "libc:futex"), seconds), (("worker", "fetch", "libc:poll"), seconds)]
        return runs(STACKS, blocked=blocked, clock="wall", wall_s=3.0 + seconds)

    # THEN only the worker's wait is suspected
    verdict = diagnose(waiting(1.0), waiting(20.0))
    assert [suspect.function for suspect in verdict.suspects] == ["fetch"]
    assert any("only pass on another wait" in note for note in verdict.notes)


def test_threads_that_only_wait_for_each_other_are_suspected_nonetheless():
    def waiting(seconds):
        return runs(STACKS, blocked=[(("main", "lock", "libc:futex"), seconds)], clock="wall", wall_s=3.0 + seconds)

    assert diagnose(waiting(1.0), waiting(20.0)).suspects[0].function == "lock"


@pytest.mark.parametrize(("threads", "said"), [(1, False), (8, True)])
def test_waits_of_several_threads_are_said_to_be_summed(threads, said):
    def waiting(seconds):
        blocked = [(("worker", "lock", "libc:futex"), seconds)]
        return runs(STACKS, blocked=blocked, clock="wall", wall_s=3.0 + seconds / 4, threads=threads)

    assert ("summed over 8 threads" in diagnose(waiting(1.0), waiting(20.0)).suspects[0].why) is said


def test_one_long_wait_is_not_noise_for_having_one_sample():
    # GIVEN a recorder that stores a wait as one sample however long it lasts
    def waiting(seconds):
        return runs(
            STACKS,
            blocked=[(("main", "fetch", "libc:poll"), seconds)],
            rate_hz=0.01,
            clock="wall",
            cpu_s=3.0,
            wall_s=3.0 + seconds,
        )

    assert diagnose(waiting(1.0), waiting(20.0)).suspects[0].function == "fetch"


def test_waiting_for_a_cpu_is_no_wait_of_the_programs():
    # GIVEN a machine so busy that a second of CPU time takes four
    verdict = diagnose(runs(STACKS, wall_s=12.0, cpu_wait_s=9.0), runs(SLOW, wall_s=28.0, cpu_wait_s=21.0))
    # THEN the added CPU time is the symptom, though it is a quarter of the added wall time
    assert verdict.symptom.kind == "cpu"
    assert [suspect.function for suspect in verdict.suspects] == ["store"]


def test_wall_time_outside_of_the_threads_is_external():
    verdict = diagnose(runs(STACKS, clock="wall", wall_s=3.0), runs(STACKS, clock="wall", wall_s=30.0))
    assert (verdict.symptom.kind, verdict.suspects) == ("external", ())


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"major_faults": 200_000, "swap_bytes": 1 << 28}, "memory"),
        ({"major_faults": 200_000}, "io"),
        ({"read_bytes": 20 << 30}, "io"),
        ({}, "wait"),
    ],
)
def test_totals_tell_what_the_wait_is_for(more, kind):
    verdict = diagnose(runs(STACKS, wall_s=3.0), runs(STACKS, wall_s=30.0, **more))
    assert verdict.symptom.kind == kind


def test_cpu_time_of_unfollowed_programs_is_external():
    losses = Losses(unfollowed=(Unfollowed("/bin/static", "statically linked", 2),))
    verdict = diagnose(runs(STACKS), runs(STACKS, cpu_s=20.0, losses=losses))
    assert (verdict.kind, verdict.symptom.kind, verdict.suspects) == (VerdictKind.DIFFERENCE, "external", ())
    assert any("/bin/static was not followed (statically linked, 2 times)" in note for note in verdict.notes)
    assert any("Samples miss up to 85%" in note for note in verdict.notes)


def test_daemons_that_nobody_waited_for_are_judged_by_samples():
    verdict = diagnose(runs(STACKS, cpu_s=0.01), runs(SLOW, cpu_s=0.01))
    assert verdict.symptom.measure == "sampled_cpu_s"
    assert verdict.suspects[0].function == "store"


def test_too_few_samples_say_how_much_longer():
    verdict = diagnose(runs(scaled(STACKS, 0.005)), runs(scaled(SLOW, 0.005)))
    assert (verdict.kind, verdict.suspects) == (VerdictKind.INSUFFICIENT, ())
    assert "times as long" in verdict.symptom.sentence
    assert "--rate" in (verdict.next_command or "")


def test_even_growth_is_nobodys_fault():
    verdict = diagnose(runs(STACKS), runs(scaled(STACKS, 3)))
    assert (verdict.kind, verdict.suspects) == (VerdictKind.DIFFERENCE, ())
    assert "All functions slowed down by the same factor" in verdict.symptom.sentence
    assert any("--work-count" in note for note in verdict.notes)


def test_different_programs_are_refused():
    other = [(("main", "draw"), 1.0), (("main", "paint"), 1.0)]
    with pytest.raises(WhyperfError, match="no function in common"):
        diagnose(runs(STACKS), runs(other, program="game"))


def test_different_stripped_programs_are_refused():
    nameless = [(("?",), 1.0)]
    with pytest.raises(WhyperfError, match="no function in common"):
        diagnose(runs(nameless, program="ls", debug="none"), runs(nameless, program="sort", debug="none"))


@pytest.mark.parametrize("sides", [(STACKS, []), ([], SLOW), ([], [])])
def test_runs_too_short_to_be_sampled_are_compared_all_the_same(sides):
    good, bad = (runs(stacks, program=name) for stacks, name in zip(sides, ("v1", "v2"), strict=True))
    verdict = diagnose(good, bad)
    assert (verdict.kind is VerdictKind.DIFFERENCE) == (sides == ([], SLOW))


def test_two_builds_under_two_names_are_fine():
    verdict = diagnose(runs(STACKS, program="v1", folder="/a"), runs(SLOW, program="v2", folder="/b"))
    assert verdict.suspects[0].function == "store"


def test_nothing_to_compare_is_refused():
    with pytest.raises(WhyperfError):
        diagnose([], runs(STACKS))


def test_losses_are_told_in_plain_words():
    losses = Losses(samples_dropped=1200, damaged_bytes=17, stacks_cut={"no unwind row": 90}, overwritten_s=2.5)
    bad = runs(SLOW, losses=losses, exit_signal=11, exit_status=None)
    bad[0] = recording(SLOW, stopped_by="recorder-killed", debug="symbols")
    notes = "\n".join(diagnose(runs(STACKS), bad).notes)
    for words in (
        "Bad run 2, bad run 3: the program crashed by itself (SIGSEGV)",
        "1,200 samples were dropped",
        "17 damaged bytes",
        "6% of the stacks are incomplete (no unwind row)",
        "the first 2.50 s were overwritten",
        "Bad run 1: the recorder was killed",
        "tool has no line numbers",
    ):
        assert words in notes


def test_how_compiled_code_gets_names_is_told():
    compiled = [*STACKS, (("main", "nowhere:?"), 8.0)]
    notes = "\n".join(diagnose(runs(STACKS), runs(compiled)).notes)
    assert "of the bad runs' CPU time is in code that no file holds" in notes and "perf-PID.map" in notes
    assert "no file holds" not in "\n".join(diagnose(runs(STACKS), runs(SLOW)).notes)


def test_a_program_with_only_exported_symbols_is_told_to_have_none():
    stacks = [(("tool+0x40", "tool+0x80"), 1.0)]
    notes = "\n".join(diagnose(runs(stacks, debug="symbols"), runs(scaled(stacks, 5), debug="symbols")).notes)
    assert "tool has no symbols for its functions" in notes


def test_missing_symbols_of_modules_that_do_not_matter_are_not_told():
    alike = diagnose(runs(STACKS, debug="symbols"), runs(STACKS, debug="symbols"))
    elsewhere = [*STACKS, (("main", "lib:load"), 8.0)]
    slower = diagnose(runs([*STACKS, (("main", "lib:load"), 1.0)], debug="symbols"), runs(elsewhere, debug="symbols"))
    assert slower.suspects[0].function == "load"
    assert not any("line numbers" in note for note in (*alike.notes, *slower.notes))


def test_accounts_are_kept_on_demand_even_without_a_difference():
    assert examine(runs(STACKS), runs(STACKS)).excess is None
    kept = examine(runs(STACKS), runs(STACKS), keep_accounts=True).excess
    assert kept is not None and len(kept.accounts) == 5


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.02, 0.10])
def test_at_most_one_in_twenty_pairs_of_the_same_behaviour_has_a_suspect(noise):
    # GIVEN pairs of three and three runs of one program on a machine with this noise, sampled at random
    random = np.random.default_rng(7)
    leaves = [(("main", f"phase{k % 4}", f"work{k}"), 0.1 * (1 + k % 5)) for k in range(12)]

    def same():
        return [
            recording(scaled(leaves, factor), noise=random, cpu_s=sum(s for _, s in leaves) * factor)
            for factor in np.exp(random.normal(0, noise, 3))
        ]

    # WHEN 100 of them are diagnosed
    alarms = sum(bool(diagnose(same(), same()).suspects) for _ in range(100))
    # THEN false alarms stay well below one in twenty
    assert alarms <= 3


@pytest.mark.parametrize("count", [1, 3])
def test_milliseconds_of_waiting_are_the_schedulers(count):
    brief = scaled(STACKS, 0.001)
    verdict = diagnose(runs(brief, NOISE[:count], wall_s=0.004), runs(brief, NOISE[:count], wall_s=0.008))
    assert verdict.kind is not VerdictKind.DIFFERENCE


def test_microseconds_of_waiting_per_request_add_up():
    many = {"units": 100_000}
    verdict = diagnose(runs(STACKS, wall_s=3.0, **many), runs(STACKS, wall_s=30.0, **many))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "wait")
