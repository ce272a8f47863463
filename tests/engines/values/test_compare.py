"""What is abnormal and what is not: one small comparison for each rule."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.made import recording
from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.findings import findings
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.variable_test import VariableStatus
from whyperf.recording.names.identity import FunctionKey

N = 400


def runs(make, count=3, first=0):
    return [Run(make(np.random.default_rng(first + seed))) for seed in range(count)]


def judged(good, bad, count=3, **more):
    """Compares runs of work's variable x made by two functions of a random generator."""

    def made(values):
        return lambda rng: one_function(Read("work", "x", values(rng), **more), samples=N)

    return compare(runs(made(good), count), runs(made(bad), count, first=100))


def abnormal(values):
    return {one.variable.name: one for one in values.abnormal}


def uniform(low, high):
    return lambda rng: rng.integers(low, high, N)


def test_values_that_moved_are_abnormal():
    found = abnormal(judged(uniform(0, 50), uniform(40, 90)))["x"]
    assert found.dimension is Dimension.VALUE
    assert found.anomaly > 0.5
    assert (found.p or 0.0) < 1e-4  # no p where whole runs stand apart
    # and the values and the place are told
    assert found.contrast.good.high < 50 < found.contrast.bad.high
    assert found.contrast.abnormal[-1][1] == 89
    assert found.contrast.read_at[0].line == 20


def seldom_read(limit):
    """Compares good runs of five readings each with bad ones of many, below the limit."""

    def made(most, samples):
        return lambda rng: one_function(Read("work", "x", rng.integers(0, most, samples)), samples=samples)

    return compare(runs(made(10, 5)), runs(made(limit, N), first=100))


def test_a_few_readings_a_run_tell_where_all_runs_stand_apart():
    found = abnormal(seldom_read(1000))["x"]
    assert found.contrast.good.high < 10 < found.contrast.bad.high
    assert not seldom_read(10).abnormal


def test_readings_are_not_lumped_together_because_the_other_side_has_many():
    # GIVEN twenty readings a run on one side and fifty times as many on the other, which overlap
    def made(low, samples):
        return lambda rng: one_function(Read("work", "x", rng.integers(low, low + 50, samples)), samples=samples)

    found = compare(runs(made(0, 20)), runs(made(20, 20 * N // 8), first=100))
    # THEN there are enough blocks of both to test
    assert abnormal(found)["x"].distance < 0.9
    assert not compare(runs(made(0, 20)), runs(made(0, 20 * N // 8), first=100)).abnormal


@pytest.mark.parametrize("count", [1, 3])
def test_the_same_values_are_not(count):
    found = judged(uniform(0, 50), uniform(0, 50), count)
    assert not found.abnormal
    assert not found.anomaly


def test_one_run_of_each_is_tested_within_the_runs():
    found = judged(uniform(0, 50), uniform(40, 90), count=1)
    assert abnormal(found)["x"].p < 0.01


def test_constants_that_differ_between_all_runs_are_not_abnormal():
    assert not judged(lambda rng: np.full(N, rng.integers(1e6)), lambda rng: np.full(N, rng.integers(1e6))).abnormal


def test_a_setting_that_all_runs_of_a_kind_share_is():
    found = abnormal(judged(lambda rng: np.full(N, 410), lambda rng: np.full(N, 0)))["x"]
    assert (found.distance, found.p) == (1.0, None)


def test_a_constant_of_single_runs_is_only_mentioned():
    found = judged(lambda rng: np.full(N, 410), lambda rng: np.full(N, 0), count=1)
    assert not found.abnormal
    assert [variable.name for variable in found.run_constants] == ["x"]


def test_a_constant_that_one_of_several_runs_read_is_not():
    def made(value, first):
        return lambda rng: one_function(Read("work", "x", np.full(N, value), lines=[next(first)] * N), samples=N)

    found = compare(runs(made(410, iter([20, 21, 22]))), runs(made(0, iter([20, 31, 32]))))
    assert not found.run_constants


def test_what_the_good_runs_never_read_is_a_new_path():
    def bad(rng):
        return one_function(Read("work", "x", rng.integers(0, 9, N)), Read("work", "y", np.full(N, 3)), samples=N)

    found = compare(
        runs(lambda rng: one_function(Read("work", "x", rng.integers(0, 9, N)), samples=N)), runs(bad, first=9)
    )
    assert not found.abnormal
    assert [one.status for one in found.outcomes if one.variable.name == "y"] == [VariableStatus.NEW]


def test_samples_that_land_on_other_lines_are_no_anomaly():
    # GIVEN a variable that is small at line 20 and large at line 30
    def made(share):
        def make(rng):
            there = rng.random(N) < share
            values = np.where(there, rng.integers(900, 1000, N), rng.integers(0, 100, N))
            return one_function(Read("work", "x", values, lines=np.where(there, 30, 20).tolist()), samples=N)

        return make

    # WHEN the bad runs are mostly at line 30
    found = compare(runs(made(0.2)), runs(made(0.8), first=9))
    # THEN its values at each line are what they were
    assert "x" not in abnormal(found) or abnormal(found)["x"].dimension is not Dimension.VALUE
    assert (
        next(one.status for one in found.outcomes[0].tests if one.dimension is Dimension.VALUE) is VariableStatus.SAME
    )


def test_a_clock_is_no_anomaly():
    def clock(rate):
        return lambda rng: 1_700_000_000 * 10**9 + rng.integers(10**15) + np.arange(N) * rate

    assert not judged(clock(1), clock(1)).abnormal


def test_a_counter_that_counts_as_much_per_unit_is_no_anomaly():
    def counted(total):
        return lambda rng: np.sort(rng.integers(0, total, N))

    assert not judged(counted(10_000), counted(10_100)).abnormal


def test_a_counter_that_counts_more_per_unit_is():
    def counted(total):
        return lambda rng: np.sort(rng.integers(0, total, N))

    found = abnormal(judged(counted(10_000), counted(100_000), roles="loop"))["x"]
    assert found.growth is not None
    assert found.growth.bad / found.growth.good == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("count", [1, 2])
def test_a_counter_of_one_or_two_runs_cannot_be_judged(count):
    def counted(total):
        return lambda rng: np.sort(rng.integers(0, total, N))

    found = judged(counted(10_000), counted(100_000), count=count)
    assert not found.abnormal
    assert found.outcomes[0].status is VariableStatus.INSUFFICIENT


def test_a_loop_seen_halfway_through_is_not_reported():
    # GIVEN a loop so slow that a run sees only a part of one pass, now a longer and now a shorter one
    def partly(rng):
        return rng.integers(0, 2000) + np.cumsum(rng.integers(1, 4, N)) * rng.integers(1, 9)

    for seed in range(20):
        sides = [
            [Run(one_function(Read("work", "x", partly(np.random.default_rng((seed, side)))), samples=N))]
            for side in (0, 1)
        ]
        assert not compare(*sides).abnormal


def test_a_value_that_changed_only_a_few_times_is_not_reported():
    # GIVEN a variable that stays at one of fifty values for about a hundred samples: two or three values in a run
    def seldom(rng):
        moves = rng.random(N // 2) < 0.01
        moves[0] = True
        return rng.integers(0, 50, moves.sum())[np.cumsum(moves) - 1]

    for seed in range(40):
        sides = [
            [Run(one_function(Read("work", "x", seldom(np.random.default_rng((seed, side)))), samples=N))]
            for side in (0, 1)
        ]
        assert not compare(*sides).abnormal


def test_a_lively_value_that_froze_is_found_in_single_runs():
    found = judged(uniform(4100, 4300), lambda rng: np.zeros(N, np.int64), count=1)
    assert abnormal(found)["x"].dimension is Dimension.VALUE


def test_more_units_of_work_excuse_a_counter():
    def made(total, units):
        return lambda rng: one_function(Read("work", "x", np.sort(rng.integers(0, total, N))), samples=N, units=units)

    assert not compare(runs(made(10_000, 10)), runs(made(100_000, 100), first=9)).abnormal
    assert compare(runs(made(10_000, 10)), runs(made(100_000, 100), first=9), per_unit=False).abnormal


def test_a_value_that_stays_for_long_is_abnormal_by_duration():
    def stay(mean):
        def make(rng):
            moves = rng.random(N) < 1 / mean
            return np.cumsum(moves) % 7

        return make

    found = abnormal(judged(stay(2), stay(12)))["x"]
    assert found.dimension is Dimension.DURATION
    # a slower callee does that to its caller, too: it counts half
    assert found.anomaly == pytest.approx(found.distance / 2)


def test_what_merely_changes_more_slowly_from_sample_to_sample_is_not_cited():
    # GIVEN a counter that goes round and round; in the bad runs at a tenth of the pace
    def pace(step):
        return lambda rng: np.cumsum(rng.integers(step - 3, step + 4, N)) % 997

    slower = judged(pace(300), pace(30))
    assert [one.dimension for one in slower.abnormal] == [Dimension.DELTA]
    assert slower.cited == () and findings(slower) == []
    # THEN that it changes by more may be: no slower loop explains it
    faster = judged(pace(30), pace(300))
    assert [one.variable.name for one in faster.cited] == ["x"] and len(findings(faster)) == 1


def test_that_a_value_stays_longer_in_a_function_that_takes_longer_says_nothing():
    # GIVEN as many changes in four times the samples: everything in the function takes four times as long
    def made(samples):
        return lambda rng: one_function(
            Read("work", "x", np.cumsum(rng.random(samples) < N / 3 / samples) % 7), samples=samples
        )

    found = compare(runs(made(N)), runs(made(4 * N), first=9)).abnormal
    assert not [one for one in found if one.dimension is Dimension.DURATION]


def test_pointers_are_compared_by_class_only():
    def heap(share):
        return lambda rng: np.where(rng.random(N) < share, (2 << 56) | rng.integers(1, 1 << 40, N), 0)

    assert not judged(heap(0.5), heap(0.5), kind="pointer").abnormal
    found = abnormal(judged(heap(0.9), heap(0.1), kind="pointer"))["x"]
    assert found.dimension is Dimension.VALUE


def test_too_few_readings_say_nothing():
    found = judged(lambda rng: rng.integers(0, 9, 2), uniform(500, 900))
    assert not found.abnormal
    assert found.outcomes[0].status is VariableStatus.FEW


def test_recordings_without_values_have_nothing_to_say():
    plain = [Run(recording([(("main@5", "work@20"), 1.0)]))]
    assert compare(plain, plain) is None


def test_a_global_counts_for_no_function():
    def made(value):
        return lambda rng: one_function(Read("", "limit", np.full(N, value)), samples=N)

    found = compare(runs(made(5)), runs(made(9), first=9))
    assert abnormal(found)["limit"].function is None
    assert not found.anomaly


class TestDeciding:
    """What no condition and no loop of a function looks at cannot have changed its course."""

    def made(self, low, high, roles):
        return lambda rng: one_function(
            Read("work", "x", rng.integers(low, high, N), roles=roles),
            Read("work", "known", rng.integers(0, 5, N), roles="loop"),
            samples=N,
        )

    @pytest.mark.parametrize(
        ("roles", "decides"), [("condition", True), ("loop|argument", True), ("argument", False), ("", False)]
    )
    def test_only_deciding_data_count(self, roles, decides):
        found = compare(runs(self.made(0, 50, roles)), runs(self.made(400, 450, roles), first=9))
        work = FunctionKey("tool", "work", "")
        assert abnormal(found)["x"].decides is decides
        assert (work in found.anomaly) is decides
        # AND a function whose other decisions are what they were is normal
        assert (work in found.normal) is not decides

    def test_without_source_everything_may_decide(self):
        made = [
            runs(
                lambda rng, low=low: one_function(Read("work", "x", rng.integers(low, low + 50, N)), samples=N), first=f
            )
            for low, f in ((0, 0), (400, 9))
        ]
        assert abnormal(compare(*made))["x"].decides


def test_streamed_and_held_recordings_give_the_same(tmp_path):
    from whyperf.recording.sealed.reader import Recording
    from whyperf.recording.sealed.writer import write_recording

    def made(low, high):
        return lambda rng: one_function(
            Read("work", "x", rng.integers(low, high, N)), Read("work", "y", rng.integers(0, 5, N)), samples=N
        )

    held = {}
    for kind, make in (("good", made(0, 50)), ("bad", made(40, 90))):
        held[kind] = [make(np.random.default_rng(seed + 7 * (kind == "bad"))) for seed in range(3)]
        for number, one in enumerate(held[kind]):
            write_recording(tmp_path / f"{kind}{number}", one.manifest, one.tables)
    stored = {k: [Run(Recording(tmp_path / f"{k}{number}")) for number in range(3)] for k in held}
    first = compare(stored["good"], stored["bad"])
    second = compare([Run(one) for one in held["good"]], [Run(one) for one in held["bad"]])
    assert first.abnormal == second.abnormal
    assert abnormal(first).keys() == {"x"}
