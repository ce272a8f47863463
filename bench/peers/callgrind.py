"""callgrind: instructions a function, bad minus good.

Programs run some fifty times slower, so the smaller runs are taken that a case has for `compare --deep`. Where a side
does not end within the limit all the same it is cut short, and shares of the instructions are compared, not counts.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

from bench.cases.case import CASES, Case, Scenario, Side, commands, told
from bench.peers.peer import PeerError, Ranking, Trial
from bench.peers.runs import installed, run_under
from bench.relations import case as relations

_CPU_LIMIT_S = 30


def ranking(trial: Trial) -> Ranking:
    smaller = commands(_smaller(trial.case))
    good, good_ended = _instructions(trial, "good", smaller.good, smaller.ready)
    bad, bad_ended = _instructions(trial, "bad", smaller.bad, smaller.ready)
    return Ranking(by_growth(good, bad, counts=good_ended and bad_ended))


def _smaller(case: Case) -> Scenario:
    folder = CASES / case.id
    return relations.load(folder) if "relations" in told(folder) else case


def by_growth(good: Counter[str], bad: Counter[str], *, counts: bool) -> tuple[str, ...]:
    per_good = 1.0 if counts else 1.0 / max(1, good.total())
    per_bad = 1.0 if counts else 1.0 / max(1, bad.total())
    grown = {name: count * per_bad - good[name] * per_good for name, count in bad.items()}
    return tuple(sorted((name for name in grown if grown[name] > 0), key=lambda name: (-grown[name], name)))


def _instructions(trial: Trial, name: str, side: Side, ready: str) -> tuple[Counter[str], bool]:
    """Of all processes of one side; and whether it came to its end."""
    valgrind = installed("valgrind", "valgrind")
    pattern = trial.folder / f"callgrind.{name}."
    tool = [valgrind, "--quiet", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={pattern}%p"]
    ended = run_under(tool, side, ready, cpu_limit_s=_CPU_LIMIT_S)
    found: Counter[str] = Counter()
    for path in sorted(trial.folder.glob(f"{pattern.name}*")):
        found += _annotated(path)
    if not found:
        raise PeerError("callgrind counted nothing.")
    return found, ended


def _annotated(path: Path) -> Counter[str]:
    command = [installed("callgrind_annotate", "valgrind"), "--threshold=100", "--auto=no", str(path)]
    return parse_annotation(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def parse_annotation(text: str) -> Counter[str]:
    """Lines such as `  1,234 (5.6%)  file.c:function [/path/of/object]`; cycles of recursion are marked `'2`."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        row = re.match(r"\s*([\d,]+) \([\d. ]+%\)\s+(\S.*?)(?: \[[^\]]*\])?$", line)
        if row and ":" in row.group(2):
            function = re.sub(r"'\d+$", "", row.group(2).split(":", 1)[1])
            found[function] += int(row.group(1).replace(",", ""))
    return found
