"""What `whyperf info` says of timed calls, or of requests that a driver reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whyperf.cli.quantities import seconds_in_words

if TYPE_CHECKING:
    from whyperf.recording.sealed.latency import Latency

_SHOWN = (50.0, 90.0, 99.0, 99.9)
_SLOWEST = 3


def latency_lines(latency: Latency) -> Iterator[tuple[str, str]]:
    known = ((which, latency.percentile(which)) for which in _SHOWN)
    told = ", ".join(f"p{which:g} {seconds_in_words(value)}" for which, value in known if value is not None)
    whose = f"calls of {latency.function}" if latency.function else "requests"
    yield "latency", f"{latency.count} {whose}: {told}" if latency.count else told
    if latency.slowest:
        slowest = (
            f"{seconds_in_words(one.seconds)} (begun at {one.begins_s:.3f} s, thread {one.tid})"
            for one in latency.slowest[:_SLOWEST]
        )
        yield "slowest", ", ".join(slowest)
    others = {
        "within other calls of it": latency.nested,
        "unfinished": latency.unfinished,
        "lost (left by an exception or longjmp)": latency.lost,
    }
    if latency.function and any(others.values()):
        yield "", ", ".join(f"{number} {what}" for what, number in others.items() if number)
