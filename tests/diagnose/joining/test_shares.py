"""Shares of one verdict."""

from __future__ import annotations

from whyperf.diagnose.joining.shares import counted_once
from whyperf.diagnose.verdict import Evidence, Suspect
from whyperf.engines.finding import Detail


def suspect(rank: int, share: float) -> Suspect:
    detail = Detail(interval=(share / 2, share * 1.5), good_runs=(1.0,), bad_runs=(2.0,))
    evidence = Evidence("contexts", rank, share, detail)
    return Suspect(
        rank, "cpu", f"f{rank}", "tool", "", 0, -1, None, None, (), share, share, "high", "", "", evidence=(evidence,)
    )


def test_shares_that_add_up_to_all_of_it_are_left_alone() -> None:
    """1 - 0.5 - 0.4 is less than 0.1 in floating point."""
    shown = (suspect(1, 0.5), suspect(2, 0.4), suspect(3, 0.1))
    assert counted_once(shown) == shown


def test_what_is_answered_for_already_is_not_counted_again() -> None:
    first, second, third = counted_once((suspect(1, 0.7), suspect(2, 0.5), suspect(3, 0.2)))
    assert (round(first.share, 9), round(second.share, 9), third.share) == (0.7, 0.3, 0.0)
    (interval,) = (one.detail.interval for one in second.evidence)
    assert interval is not None and interval[1] == second.share
    # AND beside a share of nothing there are no runs that show more
    assert [one.detail.bad_runs for one in third.evidence] == [None]
