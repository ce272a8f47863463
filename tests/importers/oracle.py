"""What perf itself says of a perf.data file."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_HEAD = re.compile(r"^\s*(\d+)\s+(\d+)\.(\d+):\s+(\d+)\s*(\S*)")
_FRAME = re.compile(r"^\s+[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)?$")


@dataclass(frozen=True)
class Sample:
    tid: int
    microseconds: int
    period: int
    functions: tuple[str, ...]  # innermost first


def samples(path: Path) -> list[Sample]:
    """By `perf script`, inlined functions left out."""
    done = subprocess.run(
        ["perf", "script", "-i", path, "-F", "tid,time,period,ip,sym", "--no-inline"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[Sample] = []
    head, functions = None, []
    for line in [*done.stdout.splitlines(), ""]:
        if head is None and (match := _HEAD.match(line)):
            head = match
            alone = re.search(r":\s+\d+\s+[0-9a-f]+ (\S.*)$", line)  # without a call chain all is on one line
            functions = [_plain(alone[1])] if alone else []
            if alone:
                found.append(_sample(head, functions))
                head = None
        elif head is not None and (frame := _FRAME.match(line)):
            functions.append(_plain(frame[1]))
        elif head is not None and not line.strip():
            found.append(_sample(head, functions))
            head = None
    return found


def _sample(head: re.Match[str], functions: list[str]) -> Sample:
    return Sample(int(head[1]), int(head[2]) * 1_000_000 + int(head[3]), int(head[4]), tuple(functions))


def _plain(name: str) -> str:
    return re.sub(r"\.(isra|constprop|part|cold)(\.\d+)?", "", name.strip())


def shares(path: Path) -> dict[str, float]:
    """By `perf report`: what is spent in each function itself."""
    done = subprocess.run(
        ["perf", "report", "-i", path, "--stdio", "--no-children", "-g", "none", "-F", "overhead,sym", "-t", ";"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        if match := re.match(r"^\s*([\d.]+)%?\s*;\s*\[[.k]\] (\S+)", line):
            found[_plain(match[2])] += float(match[1]) / 100
    return dict(found)
