"""Which source line of the good build is which of the bad one (Perspect, 4.3: a diff of the sources)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from whyperf.engines.run import Run, ints, texts

SourceLines = Mapping[int, str]


def source_lines(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """The stored source of every file, as far as it was stored, by line."""
    found: dict[str, dict[int, str]] = {}
    for run in runs:
        table = run.recording.table("source")
        for file, first, text in zip(
            texts(table, "file"), ints(table, "first_line"), texts(table, "text"), strict=True
        ):
            lines = found.setdefault(file, {})
            for number, line in enumerate(text.split("\n"), first):
                lines.setdefault(number, line)
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
