"""Figures of the method, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CausesSettings:
    # Waits at one site with less than this between them, and nothing done meanwhile, are one poll: usleep loops take
    # microseconds between sleeps, PostgreSQL's deadlock timer interrupts a wait for less than a millisecond.
    poll_gap_ns: int = 2_000_000
    # A send's end may be seen this much after the receive that it fed.
    late_send_ns: int = 2_000_000
    # What a user notices; the same behaviour twice showed excesses up to 20 ms on 22 recorded pairs.
    least_excess_ns: int = 250_000_000
    # A shorter stall is told apart where the normal run has so many waits of the kind, from this excess on, or from so
    # many times as much as the normal run's own pieces differ.
    short_excess_ns: int = 30_000_000
    short_normal_waits: int = 20
    short_spread_factor: float = 2.0
    # How many times the normal maximum a wait must last.
    excess_factor: float = 3.0
    # Within one recording the normal maximum is this quantile of the site's other waits, of which so many are needed.
    own_normal_quantile: float = 0.9
    own_normal_waits: int = 5
    # Waits are told apart by so many innermost frames.
    signature_frames: int = 6
    # A site is one where a thread waits between turns from so many waits on.
    loop_waits: int = 3
    # Of them, this part must look like waiting for work.
    loop_part: float = 0.7
    # Parts of one sleep from which on it is polling something.
    polls: int = 4
    # A busy thread of the polling process is guessed to be what is polled for from this part of the time on.
    guess_part: float = 0.3
    # A chain of waits is followed so far.
    longest_chain: int = 16
    # Candidates that are followed, largest first.
    most_candidates: int = 60
    # Paths that are reported.
    most_findings: int = 10
    # A turn belongs to a wait that began at most this long before or after.
    turn_slack_ns: int = 50_000_000


@dataclass(frozen=True)
class CausesPaperSettings:
    """Section 6.1 of the paper."""

    beam: int = 5
    lookback: int = 5
    a: int = 3
    b: int = 2
    rare_symbols: float = 0.10  # section 5: bottom of the frequencies
    longest_path: int = 400  # ours: a looping program has no vertex that ends a path
    similar: float = 0.8  # ours: the paper does not say how similar signatures must be
    different_time: float = 3.0  # ours: how many times as long makes a vertex behave differently
    recursion: int = 5  # ours
