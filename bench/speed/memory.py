"""What the sampler keeps in a process: the resident part of every mapping that is whyperf's."""

from __future__ import annotations

import re
from pathlib import Path

_OURS = re.compile(r"whyperf|/rings(\s|$)|\.unwind|/tables/")
_HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)$")


def sampler_memory(pid: int) -> int:
    """Bytes resident in mappings of our library, the rings and the unwind tables; shared pages count in full."""
    return own_resident(Path(f"/proc/{pid}/smaps").read_text())


def own_resident(smaps: str) -> int:
    total, ours = 0, False
    for line in smaps.splitlines():
        header = _HEADER.match(line)
        if header:
            ours = _OURS.search(header.group(1)) is not None
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total
