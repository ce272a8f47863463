"""Recordings of two kinds: what was sampled is compared with the like, and so is what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from whyperf.engines.recorded import Recorded
from whyperf.errors import WhyperfError

R = TypeVar("R", bound=Recorded)


@dataclass(frozen=True)
class Mixture(Generic[R]):
    good: Sequence[R]
    bad: Sequence[R]
    counted_good: Sequence[R]
    counted_bad: Sequence[R]


def are_deep(recordings: Sequence[Recorded]) -> bool:
    return bool(recordings) and all(recording.manifest.deep is not None for recording in recordings)


def parted(good: Sequence[R], bad: Sequence[R]) -> Mixture[R]:
    """Either kind on both sides, or not at all."""
    counted = next((one for one in (*good, *bad) if one.manifest.counting is not None), None)
    if counted is not None:
        raise WhyperfError(
            f"{counted.path} holds call counts and no samples; a diagnosis needs sampled recordings.",
            "whyperf record -o NAME -- COMMAND",
            status=2,
        )
    (sampled_good, counted_good), (sampled_bad, counted_bad) = (_by_kind(side) for side in (good, bad))
    if bool(counted_good) != bool(counted_bad) or bool(sampled_good) != bool(sampled_bad):
        one = (*counted_good, *counted_bad)[0].path
        raise WhyperfError(
            f"{one} is a deep recording and others are not: what was counted cannot be compared with what was sampled. "
            f"Both kinds can be joined if good and bad runs have both.",
            "whyperf compare --deep --good COMMAND --bad COMMAND",
            status=2,
        )
    return Mixture(sampled_good, sampled_bad, counted_good, counted_bad)


def _by_kind(recordings: Sequence[R]) -> tuple[list[R], list[R]]:
    sampled = [one for one in recordings if one.manifest.deep is None]
    return sampled, [one for one in recordings if one.manifest.deep is not None]
