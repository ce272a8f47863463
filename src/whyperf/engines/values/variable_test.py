"""Is one variable abnormal? Screen, gate, test: the three things that must hold, in each of its dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.bins import (
    bin_edges,
    block_histograms,
    distances,
    in_bins,
    largest_within,
    run_histograms,
)
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.matched_lines import LineReadings, Matched, match_lines
from whyperf.engines.values.permutation import permutation_p
from whyperf.engines.values.readings import Sequence
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.statistics import Compare, compare_sorted, critical

# The window of the sum, in autocorrelation times (Sokal 1997, "Monte Carlo methods in statistical mechanics").
_WINDOW = 5.0
# So many readings tell the time well enough.
_ENOUGH = 1 << 14


class VariableStatus(Enum):
    NEW = "new"  # read in the bad runs only: a new path, no anomaly
    FEW = "few"  # too few readings
    SAME = "same"
    INSUFFICIENT = "insufficient"  # differs, but readings depend on each other so much that nothing follows
    RUN_CONSTANT = "run-constant"  # one value throughout each run, and only one run of a kind to learn from
    TESTED = "tested"  # `p` tells
    APART = "apart"  # whole runs stand apart: no test within runs is needed


@dataclass(frozen=True)
class Tested:
    dimension: Dimension
    status: VariableStatus
    distance: float = 0.0  # Hellinger, between bad and good runs
    within: float = 0.0  # the largest between runs of one kind
    p: float = 1.0

    @property
    def telling(self) -> bool:
        """Whether it may come out as abnormal, once all variables are known."""
        return self.status in (VariableStatus.APART, VariableStatus.TESTED)


def examine_dimension(
    dimension: Dimension,
    good: Sequence,
    bad: Sequence,
    settings: ValuesSettings,
    *,
    same_text: bool,
    merge: Compare | None = None,
) -> Tested:
    """`same_text`: both sides ran one build, so that their lines correspond."""
    matched = match_lines(good, bad, fallback_below=0.0 if same_text else settings.common_lines)
    if matched is None or min(len(matched.good), len(matched.bad)) < settings.minimum_readings:
        return Tested(dimension, VariableStatus.FEW)
    first, second = np.sort(matched.good.codes), np.sort(matched.bad.codes)
    if first[0] == first[-1] == second[0] == second[-1]:
        return Tested(dimension, VariableStatus.SAME)
    constant = _constants(dimension, matched)
    if constant is not None:
        return constant
    screened = compare_sorted(first, second, distinct=settings.bins, bins=settings.bins, merge=merge)
    if screened is None or screened.statistic <= critical(settings.screen_level):
        return Tested(dimension, VariableStatus.SAME, 0.0 if screened is None else screened.distance)
    edges = bin_edges(first, second, _bins(matched, settings))
    return _gate_and_test(dimension, matched, edges, settings)


def examine_few(good: Floats, bad: Floats, runs: tuple[int, int], settings: ValuesSettings) -> Tested | None:
    """A number that was read too seldom to test, but is about the same in all runs of a kind and far apart between
    kinds: a size, a bound or a setting. `runs` are those of each kind that have readings."""
    if min(runs) < settings.run_level_runs or min(float(good.min()), float(bad.min())) < 0:
        return None
    steady = all(float(side.max()) <= settings.few_spread * float(side.min()) for side in (good, bad))
    low, high = sorted((good, bad), key=lambda side: float(side.max()))
    if steady and float(high.min()) > settings.few_apart * float(low.max()):
        return Tested(Dimension.VALUE, VariableStatus.APART, 1.0, 0.0, 0.0)
    return None


def _constants(dimension: Dimension, matched: Matched) -> Tested | None:
    """A variable with one value per run: the runs themselves are all the readings there are."""
    sides = []
    for side in (matched.good, matched.bad):
        present = [side.codes[start:stop] for start, stop in side.runs]
        if any(codes.min() != codes.max() for codes in present):
            return None
        sides.append([int(codes[0]) for codes in present])
    good, bad = sides
    if min(len(good), len(bad)) < 2:
        return Tested(dimension, VariableStatus.RUN_CONSTANT, 1.0)
    if len(set(good)) == len(set(bad)) == 1:
        return Tested(dimension, VariableStatus.APART, 1.0, 0.0, 0.0)
    return Tested(dimension, VariableStatus.SAME, 0.0, 1.0)


def _gate_and_test(dimension: Dimension, matched: Matched, edges: Ints, settings: ValuesSettings) -> Tested:
    count = len(edges)
    good_bins, bad_bins = in_bins(matched.good.codes, edges), in_bins(matched.bad.codes, edges)
    fewest = settings.minimum_readings
    good_runs = run_histograms(matched.good, good_bins, count, matched.share, fewest)
    bad_runs = run_histograms(matched.bad, bad_bins, count, matched.share, fewest)
    distance = float(np.median(distances(good_runs, bad_runs)))
    within = max(largest_within(good_runs), largest_within(bad_runs))
    if distance <= max(settings.gate_distance, settings.gate_factor * within):
        return Tested(dimension, VariableStatus.SAME, distance, within)
    stay = min(_mean_stay(matched.good), _mean_stay(matched.bad))
    time = max(_time(matched.good, good_bins, count), _time(matched.bad, bad_bins, count), stay)
    length = max(1, int(np.ceil(settings.block_times * time)))
    blocks = min(_whole_blocks(matched.good, length), _whole_blocks(matched.bad, length))
    p = None
    if blocks >= settings.minimum_blocks:
        first = _some(block_histograms(matched.good, good_bins, count, length), settings)
        second = _some(block_histograms(matched.bad, bad_bins, count, length), settings)
        p = permutation_p(np.concatenate((first, second)), len(first), settings)
    # Few blocks have few permutations: where whole runs stand apart, no smaller p is asked for.
    possible = p is None or p <= settings.discovery_rate
    if possible and _stand_apart(matched, (good_bins, bad_bins), count, settings):
        return Tested(dimension, VariableStatus.APART, distance, within, 0.0)
    if p is None:
        return Tested(dimension, VariableStatus.INSUFFICIENT, distance, within)
    return Tested(dimension, VariableStatus.TESTED, distance, within, p)


def _stand_apart(matched: Matched, bins: tuple[Ints, Ints], count: int, settings: ValuesSettings) -> bool:
    """Whether all runs of a kind are alike and those of the other far from them. Runs with few readings count, too:
    what differs from run to run by itself would not be alike in those of a kind."""
    rows = [
        run_histograms(side, at, count, matched.share, settings.run_level_readings)
        for side, at in zip((matched.good, matched.bad), bins, strict=True)
    ]
    if min(map(len, rows)) < settings.run_level_runs:
        return False
    within = max(map(largest_within, rows))
    apart = float(np.median(distances(rows[0], rows[1])))
    return apart >= max(settings.run_level_distance, settings.run_level_factor * within)


def _bins(matched: Matched, settings: ValuesSettings) -> int:
    """As many as the runs can fill: between two runs of one kind sparse histograms differ by noise alone."""
    sizes = [stop - start for side in (matched.good, matched.bad) for start, stop in side.runs]
    smallest = min((size for size in sizes if size >= settings.minimum_readings), default=0)
    return min(settings.bins, max(settings.fewest_bins, smallest // settings.readings_per_bin))


def _time(side: LineReadings, bins: Ints, count: int) -> float:
    """Mean autocorrelation time of the runs in which the variable varies, of ranks so that no outlier rules it."""
    occupied = np.bincount(bins, minlength=count)
    rank: Floats = np.cumsum(occupied) - occupied / 2
    runs = [rank[bins[start:stop]] for start, stop in side.runs]
    times = [autocorrelation_time(one) for one in runs if one.min() != one.max()]
    return float(np.mean(times)) if times else 1.0


def _mean_stay(side: LineReadings) -> float:
    """Readings per stay at one value: a few stays are a few observations, whatever their autocorrelation looks like.

    The livelier side tells: if both behaved alike, the other would change as often.
    """
    changes = side.codes[1:] != side.codes[:-1]
    stays = sum(1 + int(np.count_nonzero(changes[start : stop - 1])) for start, stop in side.runs)
    return len(side) / stays


def _some(blocks: Floats, settings: ValuesSettings) -> Floats:
    """Evenly: more of them add time, not power. Longer ones would leave the other side with too few."""
    if len(blocks) <= settings.most_blocks:
        return blocks
    return blocks[np.arange(settings.most_blocks) * len(blocks) // settings.most_blocks]


def _whole_blocks(side: LineReadings, length: int) -> int:
    return sum((stop - start) // length for start, stop in side.runs)


def autocorrelation_time(values: Floats) -> float:
    """How many readings in a row say the same: the integrated autocorrelation time. 1 for independent ones, and for a
    value that never changes.
    """
    series = values[:_ENOUGH]
    size = len(series)
    series = series - series.mean() if size else series
    if size < 4 or not np.any(series):
        return 1.0
    padded = 1 << (2 * size - 1).bit_length()
    spectrum = np.fft.rfft(series, padded)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum), padded)[:size]
    correlation /= correlation[0]
    times = 2.0 * np.cumsum(correlation) - 1.0
    enough = np.flatnonzero(np.arange(size) >= _WINDOW * times)
    window = int(enough[0]) if len(enough) else size - 1
    return max(1.0, float(times[window]))
