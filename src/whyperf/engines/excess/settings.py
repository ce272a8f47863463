"""The constants of the method, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExcessSettings:
    # A function is new if, at its share of the bad runs, the good runs should hold this many samples of it ...
    # (ten: by Poisson the chance of none is below 1 in 20,000)
    new_expected_samples: float = 10.0
    # even if its time grows with the square of all other work (a small input hides a quadratic function) ...
    new_growth_power: float = 2.0
    # ... and hold almost none: at most this part of that share. Measured on eight real bugs: strict zero loses
    # functions that also run once at start-up.
    new_share_left: float = 0.002
    # Whose doing a new path is: mostly the function's that took it if the code was there before, else the new
    # code's. Chosen on the same eight bugs (the cause came first in seven, second in one).
    new_path_to_caller: float = 2 / 3
    new_code_to_caller: float = 0.1
    # ... but where the caller's decisions were compared and are what they were, it probably called before as well, and
    # the callee came back too soon to be seen.
    new_path_to_normal_caller: float = 1 / 3
    # A callee that repeats nothing takes no longer than it did: whoever calls it from a loop calls it more often.
    new_calls_to_caller: float = 0.9
    # Two builds at the same work: what code that is the same in both would answer for goes to code that differs, but
    # for a part, since files and surroundings may differ, too.
    same_code_answers: float = 0.25
    # Where growth is concentrated in none of them, so many changed functions still tell something; those on the stack
    # so many times as much as others. Of more than `most_changes` nobody's part would make a suspect of him.
    telling_changes: float = 3.0
    change_on_stack: float = 2.0
    most_changes: int = 12
    # Half of the time goes to where growth comes in along the stack, if it at least doubles there; the other half to
    # abnormal data, or to the code in which the time is.
    structure: float = 0.5
    clear_rise: float = 0.7
    # Growth is concentrated in a context that has grown half as much (in logarithms) as the most on its path.
    concentrated: float = 0.5
    # A function whose loops were compared and go as far as they did keeps so much of what it takes longer: it must be
    # called more often.
    steady_keeps: float = 0.1
    # Samples that every context may have missed.
    unseen_samples: float = 4.0
    # So many good samples show how a function behaves elsewhere.
    elsewhere_samples: float = 20.0
    # ... and so many what a loop does beside a callee: fewer, since their error is allowed for (from ten on Poisson's
    # distribution is near enough to a normal one).
    beside_samples: float = 10.0
    # The deepest function under which half of the new or multiplied time lies is the hub.
    hub_cover: float = 0.5
    # Time of a context counts as multiplied from here on: twice as many calls, or calls that take twice as long.
    multiplied: float = 2.0
    # A suspect's own excess must stand out of the noise of its own time by so many standard errors: with a few
    # hundred functions of one program the chance that one of them does by luck is below one half of a percent
    # of the functions; and the total must have passed already.
    suspect_sigma: float = 3.0
    # and must be worth reading about.
    suspect_share: float = 0.02
    # Whoever is named beside a suspect, as its caller or callee, needs less: two-sided 95%.
    runner_up_sigma: float = 1.96
    # Two-sided 95% of a normal distribution, for the printed intervals.
    interval_sigma: float = 1.96
