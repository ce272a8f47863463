"""How the memory of a process goes over time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, mean

_EVERY_S = 0.5
_MEASURED_FROM = 0.5  # of the time: before that, tables are read and caches filled
_ALLOWED_BYTES, _ALLOWED_SHARE = 4 << 20, 0.05  # an allocator's rounding is no growth


@dataclass(frozen=True)
class Growth:
    first_bytes: float  # mean of the third quarter
    last_bytes: float  # mean of the last quarter
    bytes_per_minute: float  # slope from the third quarter on

    @property
    def is_flat(self) -> bool:
        return self.last_bytes - self.first_bytes <= max(_ALLOWED_BYTES, _ALLOWED_SHARE * self.first_bytes)

    def __str__(self) -> str:
        return (
            f"{self.first_bytes / 1e6:.1f} MB in the third quarter, {self.last_bytes / 1e6:.1f} MB in the last, "
            f"{self.bytes_per_minute / 1e6:+.2f} MB a minute"
        )


class MemoryWatch:
    """Asks for a process's own resident memory, without mapped files, until it is told to stop, or the process ends."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: list[tuple[float, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def growth(self) -> Growth:
        self._stop.set()
        self._thread.join()
        begin, end = self._seen[0][0], self._seen[-1][0]
        late = [one for one in self._seen if one[0] >= begin + _MEASURED_FROM * (end - begin)]
        half = max(len(late) // 2, 1)
        sizes = [size for _, size in late]
        slope = linear_regression([at for at, _ in late], sizes).slope if len(late) > 1 else 0.0
        return Growth(mean(sizes[:half]), mean(sizes[-half:]), slope * 60)

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY_S):
            try:
                lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
            except OSError:
                return
            size = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)
            if size:
                self._seen.append((time.monotonic(), size))
