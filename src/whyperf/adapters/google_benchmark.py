"""google-benchmark: every batch of iterations is in its log, also those that only find out how many are needed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from whyperf.adapters.adapted_benchmark import Adapted
from whyperf.errors import WhyperfError
from whyperf.recording.layout import OUTPUT
from whyperf.recording.safe_files.limits import MOST_LOG_BYTES
from whyperf.recording.safe_files.regular_files import map_regular

MARKS = (b"libbenchmark.so", b"benchmark_filter")  # linked as a library, or within the program
_BATCH = re.compile(rb"Running (.+) for (\d+)\s*$", re.MULTILINE)
_THREADS = re.compile(rb"/threads:(\d+)\b")


def adapt(words: Sequence[str], name: str) -> Adapted:
    command = (*words, f"--benchmark_filter=^{re.escape(name)}$", "--v=2")
    listing = shlex.join([*words, "--benchmark_list_tests"])
    missing = WhyperfError(f"{words[0]} has no benchmark {name}, or its log does not tell iterations.", listing)
    return Adapted(command, missing, lambda recording: _logged(recording / OUTPUT[1]))


def _logged(log: Path) -> float | None:
    try:
        text = bytes(map_regular(log, MOST_LOG_BYTES))
    except (OSError, WhyperfError):
        return None
    return iterations_in(text)


def iterations_in(log: bytes) -> float | None:
    """Of all batches, by all threads."""
    total = 0
    for name, count in _BATCH.findall(log):
        threads = _THREADS.search(name)
        total += int(count) * (int(threads[1]) if threads else 1)
    return float(total) or None
