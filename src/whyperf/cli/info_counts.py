"""What `whyperf info` says of a recording of call counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from whyperf.recording.sealed.manifest import Counting
    from whyperf.recording.sealed.reader import Recording

_SITE = ["function", "callee", "frame", "order", "kind"]


def counting_lines(recording: Recording, counting: Counting) -> Iterator[tuple[str, str]]:
    calls = recording.table("call_counts")
    total = pc.sum(calls.column("count")).as_py() or 0
    passed = calls.group_by(_SITE).aggregate([]).num_rows  # in one process or another
    yield "counted", f"{total:,} calls and entries at {passed:,} of {counting.counted:,} counted sites"
    left = counting.sites - counting.counted
    if left:
        why = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counting.reasons.items()))
        yield "not counted", f"{left:,} sites ({why})"
    for module in counting.uncounted_modules:
        yield "not counted", f"{module.path}: {module.reason}"
