"""Call frame information of this machine's libraries as readelf interprets it."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_LINE = re.compile(r"^([0-9a-f]{16}) (\S+) +(.*?) *$")
_HEAD = re.compile(r"^ +LOC +CFA +(.*?) *$")


def rules_of_binutils(library: Path) -> Iterator[tuple[int, str, dict[str, str]]]:
    """(address, CFA, register -> rule) as readelf interprets the section."""
    columns: list[str] = []
    command = ["readelf", "--debug-dump=frames-interp", "-W", library]
    # It also complains about what it finds strange, and then fails.
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in text.splitlines():
        if head := _HEAD.match(line):
            columns = head[1].split()
        elif rule := _LINE.match(line):
            yield int(rule[1], 16), rule[2], dict(zip(columns, rule[3].split(), strict=False))


def saved_words(rule: str) -> int | None:
    """0 where the register is as it was; None where it cannot be said in words below the CFA."""
    if rule in ("u", "s"):
        return 0
    offset = re.fullmatch(r"c([+-]\d+)", rule)
    return int(offset[1]) // 8 if offset and int(offset[1]) < 0 else None


def libraries() -> list[Path]:
    names = ("libc.so.6", "libcrypto.so.3", "libz.so.1", "libstdc++.so.6")
    folder = Path("/lib") / f"{platform.machine()}-linux-gnu"
    return [path for name in names if (path := folder / name).exists()]
