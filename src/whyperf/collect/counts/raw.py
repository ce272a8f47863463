"""What an open recording of counts holds beside its log: plans, counters, and what was counted before it was ready."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyperf.collect.counts.counter_files import CountedModule, CountedProcess, Counts, counted_processes
from whyperf.recording.safe_files.dataclass_json import Count, from_plain, to_plain
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES, MOST_TEXT_BYTES
from whyperf.recording.safe_files.regular_files import map_regular, read_regular

COUNTERS = "counters"
PLANS = "plans"
_BEFORE, _PLACES = "before-ready", "before-ready.json"
_COUNTER = np.dtype(np.uint64)


@dataclass(frozen=True)
class _Places:
    """Of the counts of each module of each process: where they begin, and how many there are."""

    places: dict[str, tuple[Count, Count]]


def holds_counts(raw: Path) -> bool:
    return (raw / COUNTERS).is_dir()


def keep_counts_so_far(raw: Path) -> None:
    """What is counted before the target is ready belongs to no comparison."""
    places: dict[str, tuple[int, int]] = {}
    with (raw / _BEFORE).open("wb") as file:
        for process in counted_processes(raw / COUNTERS):
            for module in process.modules:
                counts = module.counts
                places[_key(process, module)] = file.tell(), len(counts)
                file.write(counts.tobytes())
    (raw / _PLACES).write_text(json.dumps(to_plain(_Places(places))))


def counted_since_ready(raw: Path) -> list[CountedProcess]:
    before = _before(raw)

    def since(process: CountedProcess, module: CountedModule) -> CountedModule:
        return replace(module, before=before(_key(process, module)))

    return [
        replace(process, modules=tuple(since(process, module) for module in process.modules))
        for process in counted_processes(raw / COUNTERS)
    ]


def _key(process: CountedProcess, module: CountedModule) -> str:
    return f"{process.pid}-{process.start_ns}-{module.build_id or module.path}"


def _before(raw: Path) -> Callable[[str], Counts | None]:
    """By key; None of what is not known."""
    try:
        places = from_plain(_Places, json.loads(read_regular(raw / _PLACES, MOST_JSON_BYTES))).places
        content = map_regular(raw / _BEFORE, MOST_TEXT_BYTES)
    except (OSError, ValueError, RecursionError):
        return lambda _key: None

    def counts(key: str) -> Counts | None:
        at, count = places.get(key, (0, 0))
        end = at + count * _COUNTER.itemsize
        return np.frombuffer(content[at:end], _COUNTER) if count and end <= len(content) else None

    return counts
