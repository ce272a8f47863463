"""The constants of the method, each with its source (Perspect: "Relational Debugging", OSDI 2023)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RelationsSettings:
    # A relation has changed if two-sample Kolmogorov-Smirnov says so at 95% (Perspect, 3.3.2) ...
    critical_distance: float = 1.358
    # ... or, with fewer events than this on one side, where the test cannot say anything, if no value occurs on both
    few_events: int = 8
    # ... and if it matters: the means differ by this part of the larger one,
    means_apart: float = 0.10
    # the relation explains this part of the symptom's change,
    least_contribution: float = 0.05
    # and the symptom changed by this part of its larger value. Without these gates two runs of the same behaviour
    # differ in thousands of relations: the test finds any difference in ten million events.
    symptom_changed: float = 0.20
    # A closure takes every instruction once, so that recurrences end, but what only copies a value more often: a
    # value's way through calls is made of the same few pushes and moves.
    copies_per_closure: int = 16
    producers_max: int = 150
    # How far a test's operands are followed through registers to the stores they were read from.
    first_hop_steps: int = 60
    # Symptoms looked at: one in so many, in contiguous windows.
    one_symptom_in: int = 1
    # Tests looked at per decision, in so many contiguous windows: neighbours share their producers' history.
    tests_per_decision: int = 2000
    windows: int = 20
    # Callers of a producer that are told apart: beyond this they are the same for every producer.
    producer_callers: int = 8
    # Of several producers that explain as much as the best, within this factor, the closest one is the cause's line.
    as_good_as_best: float = 0.95
    # A branch is an effect if the shift in where its operands come from explains this part of its change (rule 2).
    explained_by_producers: float = 0.5
    # Two arms lead to the same code if so much of the symptom below them is in the same classes of regions.
    same_code: float = 0.5
    # What a few events bring is uncertain by the square root of their number: by so many times that, at 95%.
    deviations: float = 1.96
    # A loop's trip count follows an event inside it if both grow alike, within this factor (rule 2 for loops).
    grows_alike: float = 1.67
    # A negation symptom: after a value from there, the symptom's arm is hardly ever taken.
    negation_events: int = 20
    negation_taken: float = 0.05
    # Contributions within one twentieth of the best are equal: the shallower decision goes first.
    rank_steps: int = 20
    # What a decision counts for in the order of candidates if only its values' origin changed, not its outcome.
    only_origins: float = 0.5
    candidates_max: int = 3
    # Executions that a zoom may record in one run: of functions between which a relation changed ...
    zoom_changed: float = 40e6
    # ... the one that explains most even if it alone takes more, as long as the zoom can be read (80 bytes each) ...
    zoom_first: float = 80e6
    # ... and of what may have fed them. Ten million take some seconds to record and some to compare.
    zoom_others: float = 10e6
