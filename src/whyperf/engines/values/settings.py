"""The constants of both methods, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValuesSettings:
    # Fewer readings on either side say nothing: a distance between eight and eight values is mostly noise.
    minimum_readings: int = 8
    # The screen: k-sample Anderson-Darling, as in the paper (section 3.4.1). Whatever passes is tested properly.
    screen_level: float = 0.05
    # False discoveries tolerated among the reported variables (Benjamini and Hochberg 1995). Fitted tails are inexact:
    # at 0.05 two of twenty families of unchanged variables held a false one.
    discovery_rate: float = 0.02
    # Blocks of so many autocorrelation times are as good as independent (measured: false alarms at the nominal rate).
    block_times: float = 3.0
    # With fewer blocks on either side the autocorrelation time itself is a guess. Measured on slow drifts: with 8, one
    # in 200 unchanged ones got p < 0.001, with 12 none, while changed variables lost nothing.
    minimum_blocks: int = 12
    # More blocks than this add time, not power.
    most_blocks: int = 150
    # Permutations of the sequential test: stop as soon as enough of them reach the observed statistic
    # (Besag and Clifford 1991), else go on.
    permutation_stages: tuple[int, ...] = (200, 2000)
    enough_exceedances: int = 10
    # Tail fit (Knijnenburg et al. 2009): a generalised Pareto to the largest permuted statistics.
    tail_points: int = 250
    tail_step: int = 25
    # Sorted values fall into so many bins of equal share; fewer where a variable has fewer distinct values.
    bins: int = 64
    # ... and fewer where runs have few readings, so that a bin holds some of every run.
    readings_per_bin: int = 8
    fewest_bins: int = 4
    # The run is the unit: how far bad must be from good, in terms of how far runs of one kind are from each other.
    gate_factor: float = 1.25
    gate_distance: float = 0.1
    # Where a run has too few independent readings for a test of its own, whole runs must stand apart this clearly.
    run_level_factor: float = 2.5
    run_level_distance: float = 0.5
    run_level_runs: int = 3
    run_level_readings: int = 3
    # With fewer readings than needed a number still tells if it stays within this factor in all runs of a kind and
    # differs by this factor between kinds: what two groups of seeds, ports or ids will hardly do.
    few_spread: float = 1.5
    few_apart: float = 2.0
    # A slower callee makes every value of its callers stay longer and step more slowly. Half of what these two
    # dimensions say is therefore left to whoever is deeper in the stack.
    indirect_weight: float = 0.5
    # A value tracks time where ranks correlate this well with order (prototype on eight real bugs), ...
    tracking_correlation: float = 0.9
    # ... it is a clock where a straight line fits so well and its slope is so much the same in all runs, ...
    clock_fit: float = 0.999
    clock_slope: float = 0.02
    # ... and a counter's growth per unit of work must differ by this factor. A run is one reading of it: that takes
    # as many runs, as far apart, as for whole runs above. (A loop seen halfway through looks like a counter; of 1,992
    # unchanged ones 15 were reported when single runs were believed.)
    counter_factor: float = 1.25
    # Lines that both sides read must cover this part of the readings, else two builds' lines do not correspond.
    common_lines: float = 0.5
    # A variable grew from this factor of its typical value on; it holds one value from this share on.
    grown: float = 1.5
    one_value: float = 0.9
    # A variable stays longer than its function's slowness explains from this factor on.
    stays_longer: float = 2.0
    # A bin of values is abnormal where the bad runs' share of it is this many times the good runs'.
    abnormal_factor: float = 2.0
    # Cells of the printed histograms.
    histogram_cells: int = 16
    # Variables shown per function, lines shown per variable.
    shown_variables: int = 3
    shown_lines: int = 3
    # From this many readings on compiled kernels pay for the second that loading them takes.
    compiled_from: int = 5_000_000
    # Fixed, so that the same recordings always give the same verdict.
    seed: int = 20240607


@dataclass(frozen=True)
class ValuesPaperSettings:
    """Section 3.4; sensitivity in 3.5.3."""

    level: float = 0.05  # of the Anderson-Darling test
    default_discount: float = 0.8
    valid_discount: float = 0.1
    unwind_depth: int = 3  # section 3.3: callers whose variables are read
    # How the Hellinger distance is taken is not said: over distinct values where there are few, else over bins of
    # equal share.
    distinct_values: int = 256
    bins: int = 64
    shown: int = 20
