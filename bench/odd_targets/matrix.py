"""The matrix: every odd target plain and recorded, and what differs in status, stdout or stderr, byte by byte."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.odd_targets.target import AbsentError, Target, first_line
from bench.ways import WAYS

_TIMEOUT_S = 300
_OWN_LINES = re.compile(rb"whyperf: [^\n]*\n(  try: [^\n]*\n)?")  # also where the program's last line has no end


@dataclass(frozen=True)
class Ended:
    """What a caller of the command gets, and what whyperf said beside it."""

    status: int  # as a shell says it: 128 and the signal's number, where one ended it
    stdout: bytes
    stderr: bytes
    said: str = ""

    def same_as(self, other: Ended) -> bool:
        return (self.status, self.stdout, self.stderr) == (other.status, other.stdout, other.stderr)


@dataclass(frozen=True)
class Cell:
    answer: str  # same, known, different, refused, skipped
    why: str = ""


@dataclass(frozen=True)
class Row:
    target: str
    plain: str  # its status, or why there was no run
    cells: dict[str, Cell]


def compare_targets(targets: Iterable[Target], ways: Sequence[str]) -> list[Row]:
    """Prints each row when it is there."""
    rows = []
    print(f"| target | plain | {' | '.join(ways)} |\n|{'---|' * (len(ways) + 2)}")
    with tempfile.TemporaryDirectory(prefix="odd-targets-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # some of them become another user
        for target in targets:
            row = _row(target, folder, ways)
            rows.append(row)
            print(f"| {row.target} | {row.plain} | {' | '.join(_shown(row.cells[way]) for way in ways)} |", flush=True)
    return rows


def totals(rows: Sequence[Row], ways: Sequence[str]) -> list[str]:
    """One line for each way: how many targets gave which answer."""
    lines = []
    for way in ways:
        answers = Counter(row.cells[way].answer for row in rows)
        lines.append(f"{way}: " + ", ".join(f"{answers[word]} {word}" for word in _WORDS))
    return lines


_WORDS = ("same", "known", "different", "refused", "skipped")


def _shown(cell: Cell) -> str:
    text = f"{cell.answer.upper() if cell.answer == 'different' else cell.answer}"
    return f"{text}: {cell.why}" if cell.why else text


def _row(target: Target, folder: Path, ways: Sequence[str]) -> Row:
    try:
        if target.as_root and os.geteuid() != 0:
            raise AbsentError("needs root")
        command = target.command(folder)
    except AbsentError as absent:
        return Row(target.name, f"skipped: {absent}", {way: Cell("skipped") for way in ways})
    plain = _run(command, target, folder)
    again = _run(command, target, folder)
    if not plain.same_as(again):
        why = f"skipped: two plain runs differ: {_difference(plain, again)}"
        return Row(target.name, why, {way: Cell("skipped") for way in ways})
    return Row(target.name, f"status {plain.status}", {way: _cell(command, target, folder, way, plain) for way in ways})


def _cell(command: list[str], target: Target, folder: Path, way: str, plain: Ended) -> Cell:
    if way == "trace" and os.geteuid() != 0:
        return Cell("skipped", "needs root")
    with tempfile.TemporaryDirectory() as kept:
        said = Path(kept, "recording")
        try:
            ended = _run(WAYS[way].words(said, command), target, folder)
        except subprocess.TimeoutExpired:
            return Cell("different", f"did not end within {_TIMEOUT_S} s")
        if ended.same_as(plain):
            return Cell("same", WAYS[way].missing(said))
        if ended.status in {1, 2} and ended.said and not ended.stdout and not said.exists():
            return Cell("refused", first_line(ended.said).removeprefix("whyperf: ").replace(f"{folder}/", ""))
        if way in target.known:
            return Cell("known", target.known[way])
        return Cell("different", f"{_difference(plain, ended)} {_last_sentence(ended.said)}".strip())


def _run(command: list[str], target: Target, folder: Path) -> Ended:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | target.environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=_TIMEOUT_S,
        check=False,
    )
    said = b"\n".join(match.group().strip() for match in _OWN_LINES.finditer(done.stderr))
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(status, done.stdout, _OWN_LINES.sub(b"", done.stderr), said.decode(errors="replace"))


def _last_sentence(said: str) -> str:
    return next((line for line in reversed(said.splitlines()) if line.startswith("whyperf: ")), "")


def _difference(plain: Ended, other: Ended) -> str:
    if plain.status != other.status:
        return f"status {other.status} instead of {plain.status}"
    for name, before, after in (("stdout", plain.stdout, other.stdout), ("stderr", plain.stderr, other.stderr)):
        if before != after:
            at = next(
                (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
            )
            begin = max(at - 20, 0)
            return f"{name} has {after[begin : at + 60]!r}, plain {before[begin : at + 60]!r}"
    return "nothing"
