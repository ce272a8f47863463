"""Plans by build-id, in a folder where the target finds them: made once for each build."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.probes.plan_file import PatchPlan, read, written
from whyperf.debuginfo.probes.planner import DEFAULT_KINDS, make_plan
from whyperf.recording.safe_files.limits import MOST_TEXT_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.schemas.call_tables import CallKind

SUFFIX = ".plan"


def load_plan(folder: Path, build_id: str) -> PatchPlan | None:
    """None when there is none, or none that can be trusted. WhyperfError where it is no regular file."""
    try:
        plan = read(read_regular(folder / f"{build_id}{SUFFIX}", MOST_TEXT_BYTES))
    except OSError:
        return None
    return plan if plan is not None and plan.build_id == build_id else None


def counting_plan(binary: Binary, kinds: frozenset[CallKind] = DEFAULT_KINDS) -> PatchPlan | None:
    made = make_plan(binary, kinds)
    return None if made is None else made[0]


def ensure_plan(
    folder: Path, binary: Binary, make: Callable[[Binary], PatchPlan | None] = counting_plan
) -> PatchPlan | None:
    """A folder is for one way to make plans. None for what cannot be planned. OSError when the plan cannot be
    written."""
    known = load_plan(folder, binary.build_id) if binary.build_id else None
    if known is not None:
        return known
    made = make(binary)
    if made is None:
        return None
    content = written(made)
    descriptor, aside = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(aside).replace(folder / f"{binary.build_id}{SUFFIX}")
    except OSError:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise
    return read(content)
