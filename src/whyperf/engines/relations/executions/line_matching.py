"""Which source line of the good build is which of the bad one (Perspect, 4.3: a diff of the sources)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from whyperf.engines.run import Run

SourceLines = Mapping[int, str]


def all_source_lines(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """The stored source of every file, as far as it was stored, by line."""
    found: dict[str, dict[int, str]] = {}
    for run in runs:
        for file, lines in run.source.items():
            found[file] = lines | found.get(file, {})
    return found


def matched_lines(good: SourceLines, bad: SourceLines) -> dict[int, int]:
    """Good line -> bad line: equal lines, and as many lines replaced by as many others."""
    good_numbers, bad_numbers = sorted(good), sorted(bad)
    old = [good[number].strip() for number in good_numbers]
    new = [bad[number].strip() for number in bad_numbers]
    matched: dict[int, int] = {}
    for what, first, end, new_first, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal" or (what == "replace" and end - first == new_end - new_first):
            matched.update(zip(good_numbers[first:end], bad_numbers[new_first:new_end], strict=True))
    return matched
