"""Recordings of several kinds: samples, deep recordings and call counts are each compared with their like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from whyperf.engines.recording_protocol import Recorded
from whyperf.errors import WhyperfError

R = TypeVar("R", bound=Recorded)


class RecordingKind(Enum):
    SAMPLED = "a sampled recording"
    DEEP = "a deep recording"
    COUNTED = "a recording of call counts"


# How to record the kind that one side lacks.
_OPTIONS = {RecordingKind.SAMPLED: "", RecordingKind.DEEP: " --deep", RecordingKind.COUNTED: " --counts"}


@dataclass(frozen=True)
class Sides(Generic[R]):
    good: Sequence[R]
    bad: Sequence[R]


@dataclass(frozen=True)
class Mixture(Generic[R]):
    sampled: Sides[R]
    deep: Sides[R]
    counted: Sides[R]


def are_deep(recordings: Sequence[Recorded]) -> bool:
    return bool(recordings) and all(_kind(recording) is RecordingKind.DEEP for recording in recordings)


def parted(good: Sequence[R], bad: Sequence[R]) -> Mixture[R]:
    """Each kind on both sides, or not at all."""
    sides = {kind: Sides(_of_kind(kind, good), _of_kind(kind, bad)) for kind in RecordingKind}
    for kind, side in sides.items():
        if bool(side.good) != bool(side.bad):
            one = (*side.good, *side.bad)[0].path
            other = "bad" if side.good else "good"
            raise WhyperfError(
                f"{one} is {kind.value}, and no {other} recording is: each kind is compared with its like.",
                f"whyperf record{_OPTIONS[kind]} -o {other.upper()} -- COMMAND",
                status=2,
            )
    mixture = Mixture(sides[RecordingKind.SAMPLED], sides[RecordingKind.DEEP], sides[RecordingKind.COUNTED])
    if mixture.counted.good and not mixture.sampled.good:
        raise WhyperfError(
            f"{mixture.counted.good[0].path} holds call counts and no samples; a diagnosis needs samples too.",
            "whyperf record -o NAME -- COMMAND",
            status=2,
        )
    return mixture


def _of_kind(kind: RecordingKind, recordings: Sequence[R]) -> list[R]:
    return [one for one in recordings if _kind(one) is kind]


def _kind(recording: Recorded) -> RecordingKind:
    if recording.manifest.counting is not None:
        return RecordingKind.COUNTED
    return RecordingKind.SAMPLED if recording.manifest.deep is None else RecordingKind.DEEP
