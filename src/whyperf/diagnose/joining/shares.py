"""Shares of one verdict: every part of the excess is answered for once, whoever measured it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from whyperf.diagnose.verdict import Suspect

_ROUNDING = 1e-9


def counted_once(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Best first: what a suspect answers for is not counted again for those behind it."""
    counted, left = [], 1.0
    for one in suspects:
        counted.append(answering_for(one, left) if one.share > left + _ROUNDING else one)
        left = left - one.share if left - one.share > _ROUNDING else 0.0
    return tuple(counted)


def left_after(share: float, payers: Iterable[Suspect]) -> dict[int, float]:
    """What those still answer for, by rank, from whom this share is taken: as much from the first as it has, and so
    on. Others are left out."""
    left: dict[int, float] = {}
    for one in payers:
        if min(share, one.share) > _ROUNDING:
            left[one.rank] = one.share - share if one.share - share > _ROUNDING else 0.0
            share -= one.share
    return left


def answering_for(suspect: Suspect, share: float, interval: tuple[float, float] | None = None) -> Suspect:
    """With this share of the excess instead of its own. Runs that show more are not shown beside a share of nothing."""
    if not suspect.evidence:
        return replace(suspect, share=share)
    first, *others = suspect.evidence
    was = first.detail.interval
    clipped = None if was is None else (min(was[0], share), min(was[1], share))
    first = replace(first, detail=replace(first.detail, interval=interval or clipped))
    evidence = (
        (first, *others)
        if share
        else tuple(replace(one, detail=replace(one.detail, good_runs=None, bad_runs=None)) for one in (first, *others))
    )
    return replace(suspect, share=share, evidence=evidence)
