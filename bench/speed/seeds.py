"""The recordings that larger ones are made of: real programs, recorded once and kept."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.cache import cache_folder
from bench.cases.case import all_cases, commands
from bench.causes.cases import named
from bench.causes.cases import record as record_stall
from bench.subjects import own
from bench.tool import record, whyperf, whyperf_argument

DRIVEN_CASE = "redis-lrem"
STALL_CASE = "redis-keys"
DEEP_SYMPTOM = "function:evict_page"

Pair = tuple[Path, Path]


def folder() -> Path:
    found = cache_folder() / "recordings" / "speed"
    found.mkdir(parents=True, exist_ok=True)
    return found


def sampled() -> Pair:
    """redis and a list that grows, with values."""
    return _driven("values")


def traced_work() -> Pair:
    """The same with kernel events. What the driver asked for was done, so that even a single pair can be compared: in
    windows of time that end anyhow a single run of a kind proves nothing."""
    return _driven("work", "--trace")


def _driven(name: str, *options: str) -> Pair:
    wanted = commands(next(one for one in all_cases() if one.id == DRIVEN_CASE))
    pair = folder() / f"{name}-good", folder() / f"{name}-bad"
    for path, side in zip(pair, (wanted.good, wanted.bad), strict=True):
        if not (path / "manifest.json").exists():
            driven = ("--ready", wanted.ready, "--drive", shlex.join(side.drive))
            record(path, side.command, "--quiet", *options, *driven)
    return pair


def traced() -> Pair:
    """redis and its clients, one of which asks for all keys: kernel events of all of them."""
    (case,) = named([STALL_CASE])
    normal, stalled = (record_stall(case, mode, folder()) for mode in ("normal", "stalled"))
    return normal, stalled


def deep(records: int) -> Pair:
    """Deletions in the order of an index and against another; what is walked grows with the square of the records."""
    program = str(own("documents"))
    good = [program, str(records), "up", "created"]
    return compared_deep(good, [*good, "latest"], DEEP_SYMPTOM, f"deep-{records}")


def compared_deep(good: Sequence[str], bad: Sequence[str], symptom: str, name: str) -> Pair:
    """The two zooms of a deep comparison."""
    path = folder() / name
    zooms = path / "good-zoom", path / "bad-zoom"
    if not all((one / "manifest.json").exists() for one in zooms):
        shutil.rmtree(path, ignore_errors=True)
        sides = ["--good", whyperf_argument(list(good)), "--bad", whyperf_argument(list(bad))]
        whyperf("compare", "--deep", "--symptom", symptom, *sides, "-o", str(path))
    return zooms
