"""Ranks with one setting changed at a time, as a table: a row a setting, a column a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.accuracy.table import rows


@dataclass(frozen=True)
class Found:
    """The rank of the cause with one setting changed."""

    setting: str
    case: str
    rank: int | None


def markdown(found: Sequence[Found]) -> str:
    """Counts are of cases that all settings could be tried on."""
    if not found:
        return "Nothing to compare: see `python -m bench.sensitivity --help` for what has to be recorded before."
    settings = list(dict.fromkeys(one.setting for one in found))
    ranks = {(one.setting, one.case): one.rank for one in found}
    cases = list(dict.fromkeys(one.case for one in found))
    complete = [case for case in cases if all((setting, case) in ranks for setting in settings)]
    return rows(
        ("setting", f"first, of {len(complete)}", "first 3", "first 5", *cases),
        (
            (
                setting,
                *(str(sum((ranks[setting, case] or most + 1) <= most for case in complete)) for most in (1, 3, 5)),
                *(str(ranks[setting, case] or "-") if (setting, case) in ranks else "not run" for case in cases),
            )
            for setting in settings
        ),
    )
