"""Memory as the kernel tells it: what a process held at most, and what of it is the sampler's."""

from __future__ import annotations

import re
from pathlib import Path

_OURS = re.compile(r"whyperf|/rings(\s|$)|\.unwind|/tables/")
_HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)$")


def peak_bytes(pid: int | str) -> int:
    """Most that the process ever held, since it became the program that it is; 0 when it is gone.

    What getrusage() says has the memory in it of whoever started the process.
    """
    return _said_of(pid, "VmHWM")


def anonymous_bytes(pid: int | str) -> int:
    """What the process holds now apart from files: what only swapping could take from it; 0 when it is gone."""
    return _said_of(pid, "RssAnon")


def _said_of(pid: int | str, what: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((one for one in status.splitlines() if one.startswith(f"{what}:")), f"{what}: 0 kB")
    return int(line.split()[1]) * 1024


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
