"""What must hold before anything is called a difference, each figure with its source."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Floors:
    relative: float  # with two or more runs of each kind
    single_relative: float  # with a single run of either kind, whose spread nobody knows


@dataclass(frozen=True)
class DiagnoseSettings:
    # Runs of one behaviour differ by a few percent through memory layout alone (Mytkowicz et al., "Producing wrong
    # data without doing anything obviously wrong", 2009): less than 5% is never called a difference.
    # Two single runs on a shared machine: CPU time varies by about 10% from run to run, so the logarithm of their
    # ratio by 14%; 35% is 2.1 standard deviations, crossed by luck in fewer than 2% of pairs.
    cpu: Floors = field(default_factory=lambda: Floors(relative=0.05, single_relative=0.35))
    # Wall time also waits for the CPU that other programs have: about twice the noise.
    wall: Floors = field(default_factory=lambda: Floors(relative=0.10, single_relative=0.80))
    # The tail of requests varies more from run to run than their sum does. Chosen, not measured.
    latency: Floors = field(default_factory=lambda: Floors(relative=0.5, single_relative=1.5))
    # Waiting that a run of milliseconds adds is the scheduler's: a tick to be woken, a tick to be moved, twice. Nor can
    # it be seen: threads that wait are looked at some hundred times a second.
    least_wait_s: float = 0.02
    # More runs than this to tell a difference from the spread: the advice is a quieter machine instead.
    most_runs_to_ask_for: int = 30
    # Runs of each kind to ask for when there was a single one: complete separation is then 5% by luck alone.
    usual_runs: int = 3
    # Excess samples below which no function can be named: ten per suspect for three of them.
    minimum_excess_samples: float = 30.0
    # Who has too few is told to sample for this many times of what is missing: the next run differs, too.
    sampling_margin: float = 1.5
    highest_rate_hz: float = 5000.0
    # Two suspects are close from this ratio of their scores on: what engines say of the next runs may turn it round.
    close_scores: float = 0.8
    # Time is a wait when CPU time explains less than half of what was added to the wall clock.
    cpu_part_of_wall: float = 0.5
    # Below this part of the measured excess the samples do not show where it is: it is outside what was followed.
    sampled_part: float = 0.3
    # Sampled and measured CPU time may differ this much before the report says so.
    sampled_disagreement: float = 0.2
    # Units of work differ clearly from here on.
    more_work: float = 1.2
    # A read or written byte explains at most this much wall time (500 MB/s, a plain SSD), a major fault this much
    # (0.1 ms, the same SSD); when they explain a third of the added wall time they are the symptom.
    io_s_per_byte: float = 1 / 500e6
    major_fault_s: float = 1e-4
    io_part: float = 1 / 3
    # Memory is a symptom when its peak is twice as high, by at least 64 MB: less comes and goes with the allocator.
    memory: Floors = field(default_factory=lambda: Floors(relative=1.0, single_relative=1.0))
    memory_bytes: int = 64 << 20
    # Recordings of memory name functions, so that less is worth a word. Chosen, not measured.
    held_memory: Floors = field(default_factory=lambda: Floors(relative=0.05, single_relative=0.25))
    # So many times as much allocated for each byte in use: blocks live half as long. That is what the pattern means.
    churn: float = 2.0
    # Part of the samples with cut stacks that is worth a note, and that costs confidence.
    cut_stacks_note: float = 0.05
    cut_stacks_doubt: float = 0.25
    # Part of the excess from which on a module's missing symbols are worth a note, without a suspect in it.
    module_part: float = 0.10
    # Confidence, see docs/how-excess-works.md.
    high_sigma: float = 5.0
    high_share: float = 0.10
    high_runs: int = 3
    # A changed relation's share of the symptom from which on it is the likely cause, and a possible one.
    relation_high_share: float = 0.5
    relation_medium_share: float = 0.2
    # Time in the kernel varies by this much between runs under Valgrind.
    least_uncounted_s: float = 0.05
    # What could not be followed exactly is worth a note from this part of the executions on.
    inexact_part: float = 0.02
