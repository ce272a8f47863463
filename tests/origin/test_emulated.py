"""The search on code of both machines: what an emulator saw of registers stands for observed runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.debuginfo.slices.traces import Moment, trace
from whyperf.collect.observation.sites import RECORD, WRITE, Observed, ObservedSite
from whyperf.collect.target.program import Program
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.origin import search as searching
from whyperf.origin.starts import start_at_variable
from whyperf.recording.sealed.manifest import Totals

from .conftest import PROGRAMS, line_of

pytestmark = pytest.mark.process


class _Emulated:
    """Knows registers only: what memory held is zero everywhere."""

    def __init__(self, program: Path, machine: str) -> None:
        code = ModuleCode(program, program.parent)
        self._sizes = {
            one.address: one.size
            for scope in code.whole_functions()
            if (slicer := code.slicer(scope)) is not None
            for one in slicer.function.code
        }
        self._program, self._machine = program, machine
        self._traces: dict[tuple[str, ...], list[Moment]] = {}

    def __call__(self, program: Program, sites: Sequence[ObservedSite], **_: Any) -> Observed:
        if program.command not in self._traces:
            self._traces[program.command] = trace(self._program, self._machine, *program.command[1:])
        moments = self._traces[program.command]
        rows, hits = [], [0] * len(sites)
        for order, moment in enumerate(moments[:-1]):
            for number, site in enumerate(sites):
                if site.address == moment.address:
                    rows.append(self._row(number, site, order, hits[number], moments))
                    hits[number] += 1
        records = np.concatenate([np.zeros(0, RECORD), *rows])
        all_of = (True,) * len(sites)
        modules, totals = ((str(self._program.resolve()), 0),), Totals(0.1, 0.1, *[0] * 7)
        return Observed(0, totals, "", tuple(hits), all_of, all_of, records, np.zeros(0, WRITE), modules, 0)

    def _row(self, number: int, site: ObservedSite, order: int, hit: int, moments: list[Moment]) -> Any:
        row = np.zeros(1, RECORD)
        row["site"], row["order"], row["hit"] = number, order, hit
        now, after = moments[order].registers, moments[order + 1].registers
        row["registers"][0, : len(now)] = now
        if site.after and site.register is not None:
            row["after"] = after[site.register]
        if site.is_entry and order:
            before = moments[order - 1].address
            row["caller"] = before + self._sizes.get(before, 0)
        return row


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_values_are_followed_on_both_machines(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which(f"{machine}-linux-gnu-gcc")
    if compiler is None or shutil.which(f"qemu-{machine}-static") is None:
        pytest.skip(f"there is no compiler or emulator of {machine}")
    made = tmp_path / "bare"
    flags = ["-O2", "-g", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-Wl,--build-id"]
    subprocess.run([compiler, *flags, str(PROGRAMS / "bare.c"), "-o", str(made)], check=True)
    monkeypatch.setattr(searching, "tables_folder", lambda: tmp_path)
    origin = searching.search(
        start_at_variable(made, "flush_all", "batch"),
        Program(str(made), (str(made),)),
        Program(str(made), (str(made), "slow")),
        environment={},
        observe=_Emulated(made, machine),
    ).origin
    found = {(hop.function, hop.line, hop.good, hop.bad) for hop in origin.hops}
    assert ("window", line_of("bare.c", "no window"), "1,211", "0") in found, origin
    assert ("planned", line_of("bare.c", "all is reserved"), "365", "4,096") in found, origin
