"""The sites that were passed, of all processes and modules, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.counts.counter_files import CountedModule, CountedProcess
from whyperf.debuginfo.probes.plan_cache import load_plan
from whyperf.debuginfo.probes.sites import Sites, sites_of
from whyperf.seal.counts.symbol_lookup import Linking
from whyperf.seal.symbols import DebugInfo

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Passed:
    """A row for each site and process. Modules are numbered as `Linking` does, -1 for none."""

    process: Ints
    module: Ints
    address: Ints
    function: Ints
    """Of the module's binary; -1 when unknown."""
    callee_module: Ints
    callee_address: Ints
    order: Ints
    kind: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.count)


class PlannedSites:
    """The sites of modules by the plans that they were counted by."""

    def __init__(self, plans: Path, symbols: DebugInfo) -> None:
        self._plans, self._symbols = plans, symbols
        self._known: dict[tuple[str, str], Sites | None] = {}

    def of(self, module: CountedModule) -> Sites | None:
        """None when the plan is gone, or another one."""
        key = module.path, module.build_id
        if module.reason:
            return None
        if key not in self._known:
            plan = load_plan(self._plans, module.build_id)
            same = plan is not None and plan.checksum == module.plan_checksum
            self._known[key] = sites_of(self._symbols.describe(*key), plan) if plan is not None and same else None
        return self._known[key]


def passed_sites(processes: list[CountedProcess], planned: PlannedSites, linking: Linking) -> Passed:
    parts = list(_parts(processes, planned, linking))
    none = np.zeros(0, np.int64)
    names = [field.name for field in fields(Passed)]
    return Passed(*(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in names))


def _parts(processes: list[CountedProcess], planned: PlannedSites, linking: Linking) -> Iterator[Passed]:
    for number, process in enumerate(processes):
        for module in process.modules:
            sites = planned.of(module)
            if sites is not None:
                yield _part(number, module, sites, linking)


def _part(process: int, module: CountedModule, sites: Sites, linking: Linking) -> Passed:
    counts = np.zeros(len(sites.counter), np.int64)
    counted = module.counts
    known = (sites.counter >= 0) & (sites.counter < len(counted))
    counts[known] = counted[sites.counter[known]].astype(np.int64)
    rows = np.flatnonzero(counts > 0)
    own = linking.number[module.path, module.build_id]
    inside = sites.callee[rows] >= 0
    callee_module = np.where(inside, own, -1)
    callee_address = np.where(inside, sites.target[rows], -1)
    by_name = [at for at, row in enumerate(rows.tolist()) if sites.imported[row]]
    for at in by_name:
        callee_module[at], callee_address[at] = linking.found(process, sites.imported[int(rows[at])])
    return Passed(
        np.full(len(rows), process),
        np.full(len(rows), own),
        sites.address[rows].astype(np.int64),
        sites.function[rows].astype(np.int64),
        callee_module,
        callee_address,
        sites.order[rows].astype(np.int64),
        sites.kind[rows].astype(np.int64),
        counts[rows],
    )
