"""Figures as they stand in tables."""

from __future__ import annotations

from collections.abc import Sequence

from bench.intervals import Ratio

_TIMES = 2.0  # from here on a cost is told in times, not in per cent


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def change(ratio: Ratio) -> str:
    """By how much more, with its 95% interval where there are runs enough for one."""
    if ratio.median >= _TIMES:
        shown, low, high = f"{ratio.median:.1f} times", f"{ratio.low:.1f}", f"{ratio.high:.1f}"
    else:
        shown, low, high = (_percent(one) for one in (ratio.median, ratio.low, ratio.high))
        shown += "%"
    return f"{shown} [{low}, {high}]" if ratio.pairs > 1 else shown


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}"


def size_of(count: float) -> str:
    """Bytes, in the unit that leaves up to three digits."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 99.5 else f"{value:.3g} s"
