"""CPU time that was used against what a recording holds of it and what it says is missing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

_ALLOWED_SHARE = 0.1  # samples come by chance, and a process that ends between two of them gives none


@dataclass(frozen=True)
class Account:
    used_s: float
    sampled_s: float
    missing_s: float  # as the recording says
    dropped: int

    @property
    def holds(self) -> bool:
        return abs(self.used_s - self.sampled_s - self.missing_s) <= _ALLOWED_SHARE * self.used_s

    def __str__(self) -> str:
        return (
            f"{self.used_s:.1f} s of CPU used, {self.sampled_s:.1f} s sampled, {self.missing_s:.1f} s said to be "
            f"missing, {self.dropped:,} samples said to be dropped"
        )


def account_of(recording: Path) -> Account:
    manifest = json.loads((recording / "manifest.json").read_text())
    samples = parquet.read_table(recording / "samples.parquet", columns=["weight", "clock"])
    cpu = samples.filter(samples["clock"].to_numpy() == 0)["weight"].to_numpy()
    totals, losses = manifest["totals"], manifest["losses"]
    dropped = losses["samples_dropped"] + losses["records_lost"]
    period_s = 1 / manifest["sampling"]["rate_hz"]
    return Account(
        totals["cpu_user_s"] + totals["cpu_system_s"],
        float(cpu.sum()) / 1e9,
        losses["unsampled_cpu_s"] + dropped * period_s,
        dropped,
    )
