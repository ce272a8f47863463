"""What a command used, counted by `programs/cpu_of`, which stands between a tool and its target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.subjects import own


@dataclass(frozen=True)
class Counted:
    """Of a command and the children that it waited for."""

    user_s: float
    system_s: float
    elapsed_s: float
    peak_bytes: int  # of the largest process

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s


def counting(file: Path) -> list[str]:
    """Words to be put before a command, so that what it used is written to the file when it ends."""
    return [str(own("cpu_of")), str(file)]


def counted(file: Path) -> Counted:
    user, system, elapsed, peak_kb = file.read_text().split()
    return Counted(float(user), float(system), float(elapsed), 1024 * int(peak_kb))
