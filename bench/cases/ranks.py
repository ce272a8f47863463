"""Where a known function stands in a list of suspects."""

from __future__ import annotations

import re
from collections.abc import Sequence


def plain(name: str) -> str:
    """A symbol without parameters and without the suffixes that compilers give to clones."""
    name = re.sub(r"(?<!operator)\(.*\)(\s*const)?$", "", name)
    return re.sub(r"(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$", "", name).strip()


def same(name: str, wanted: str) -> bool:
    """Names from tools that qualify less or more than the ground truth does still count."""
    got = plain(name)
    if "<" not in wanted:
        got = _without_arguments(got)
    return got == wanted or got.endswith(f"::{wanted}") or wanted.endswith(f"::{got}")


def _without_arguments(name: str) -> str:
    """A template's function without what it is made for."""
    depth = 0
    for at in range(len(name) - 1, 0, -1) if name.endswith(">") else ():
        depth += {">": 1, "<": -1}.get(name[at], 0)
        if depth == 0:
            return name if name[:at].endswith("operator") else name[:at]
    return name


def rank(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """1 for the first; the best of the wanted ones; None when none is listed."""
    for position, name in enumerate(names, start=1):
        if any(same(name, one) for one in wanted):
            return position
    return None
