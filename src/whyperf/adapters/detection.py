"""Which framework a command belongs to: by what it is called, or by what its file contains. Nothing is run for that."""

from __future__ import annotations

import mmap
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from whyperf.adapters import criterion, google_benchmark, pytest_benchmark
from whyperf.adapters.adapted_benchmark import Adapted
from whyperf.collect.target.program import find_program
from whyperf.errors import WhyperfError


def adapt(
    words: Sequence[str], name: str, environment: Mapping[str, str], scratch: Path, folder: Path | None = None
) -> Adapted:
    """The command that runs the benchmark `name` alone. `scratch` is a folder for this command's runs."""
    if pytest_benchmark.is_pytest(words):
        return pytest_benchmark.adapt(words, name, scratch)
    if Path(words[0]).name == "cargo":
        raise WhyperfError(
            "cargo would be recorded too: name the benchmark's own program, which cargo bench --no-run prints.",
            "cargo bench --no-run",
            status=2,
        )
    file = Path(find_program(words, environment, folder).path)
    if _contains(file, google_benchmark.MARKS):
        return google_benchmark.adapt(words, name)
    if _contains(file, criterion.MARKS):
        return criterion.adapt(words, name, scratch)
    raise WhyperfError(
        f"{words[0]} is neither a google-benchmark or Criterion program nor pytest, so --benchmark cannot choose one.",
        f"whyperf compare --good {shlex.quote(shlex.join(words))} --bad ...",
        status=2,
    )


def _contains(file: Path, marks: Sequence[bytes]) -> bool:
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(mark) >= 0 for mark in marks)
    except (OSError, ValueError):
        return False
