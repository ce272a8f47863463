"""What an open recording of counts holds beside its log: plans, counters, and what was counted before it was ready."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from whyperf.collect.counts.counter_files import CountedModule, CountedProcess, Counts, counted_processes

COUNTERS = "counters"
PLANS = "plans"
_BEFORE = "before-ready.npz"


def holds_counts(raw: Path) -> bool:
    return (raw / COUNTERS).is_dir()


def keep_counts_so_far(raw: Path) -> None:
    """What is counted before the target is ready belongs to no comparison."""
    pairs = [(process, module) for process in counted_processes(raw / COUNTERS) for module in process.modules]
    kept: dict[str, Any] = {_key(process, module): module.counts for process, module in pairs}
    np.savez(raw / _BEFORE, **kept)


def counted_since_ready(raw: Path) -> list[CountedProcess]:
    before = _before(raw)

    def since(process: CountedProcess, module: CountedModule) -> CountedModule:
        earlier = before.get(_key(process, module))
        if earlier is None or len(earlier) != len(module.counts):
            return module
        return replace(module, counts=module.counts - earlier)

    return [
        replace(process, modules=tuple(since(process, module) for module in process.modules))
        for process in counted_processes(raw / COUNTERS)
    ]


def _key(process: CountedProcess, module: CountedModule) -> str:
    return f"{process.pid}-{process.start_ns}-{module.build_id or module.path.replace('/', '!')}"


def _before(raw: Path) -> dict[str, Counts]:
    try:
        with np.load(raw / _BEFORE, allow_pickle=False) as kept:
            return {name: kept[name].astype(np.uint64) for name in kept.files}
    except (OSError, ValueError, BadZipFile, EOFError):
        return {}
