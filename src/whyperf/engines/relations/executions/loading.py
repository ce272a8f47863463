"""From the tables of zoomed recordings to one trace a side and the catalogue that both share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Int8s, Int32s, Ints
from whyperf.engines.recording_protocol import columns_of
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue, RegionClass
from whyperf.engines.relations.executions.matching import SharedSites, match_sites
from whyperf.engines.relations.executions.trace import ExecutionTrace, joined
from whyperf.engines.relations.executions.tree_passes import distinct, last_events
from whyperf.engines.run import Run
from whyperf.recording.schemas.deep_tables import DependenceKind, RegionKind, SiteKind

_ROOTS = (RegionKind.THREAD, RegionKind.SIGNAL)


@dataclass(frozen=True, eq=False)
class Zoomed:
    """Both sides of a comparison of zooms."""

    catalogue: Catalogue
    good: ExecutionTrace
    bad: ExecutionTrace

    @property
    def sides(self) -> tuple[ExecutionTrace, ExecutionTrace]:
        return self.good, self.bad


def load(good: Sequence[Run], bad: Sequence[Run]) -> Zoomed:
    shared = match_sites(good, bad)
    classes = _Classes(shared)
    loaded = {run: _load(run, shared) for run in (*bad, *good)}
    for run in loaded.values():
        classes.learn_loop_tests(run)
    good_trace, bad_trace = (joined([_trace(loaded[run], shared, classes) for run in side]) for side in (good, bad))
    return Zoomed(_catalogue(shared, classes), good_trace, bad_trace)


@dataclass(frozen=True, eq=False)
class _Loaded:
    """One run's columns, in shared sites."""

    run: Run
    site: Int32s
    region: Int32s
    kind: Int8s  # by region
    parent: Int32s
    region_site: Int32s
    last: Int32s


def _load(run: Run, shared: SharedSites) -> _Loaded:
    sites = np.append(shared.of_run[run], NONE).astype(np.int32)  # -1 stays -1
    executions = columns_of(run.recording, "executions", ("site", "region", "joined"))
    regions = columns_of(run.recording, "regions", ("parent", "kind", "site"))
    site, region = sites[executions["site"]], _own(executions["region"])
    for joining in np.unique(site[executions["joined"]]).tolist():
        shared.copies[joining] = shared.nameless[joining] = True
    parent = _own(regions["parent"])
    return _Loaded(
        run=run,
        site=site,
        region=region,
        kind=np.array(regions["kind"], np.int8),
        parent=parent,
        region_site=sites[regions["site"]],
        last=last_events(parent, region),
    )


@dataclass(eq=False)
class _Classes:
    """Numbers the classes of regions and the decisions between them."""

    shared: SharedSites
    classes: list[RegionClass] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)
    _class_number: dict[Hashable, int] = field(default_factory=dict)
    _decision_number: dict[Hashable, int] = field(default_factory=dict)
    _ends: dict[int, Counter[int]] = field(default_factory=dict)
    """By header: which branches were seen to end the loop."""

    def learn_loop_tests(self, loaded: _Loaded) -> None:
        loops = (loaded.kind == RegionKind.LOOP) & (loaded.last >= 0)
        header, ending = loaded.region_site[loops], loaded.site[loaded.last[loops]]
        sites = len(self.shared.site_place) + 1
        pairs, of_loop = distinct((header.astype(np.int64) + 1) * sites + ending + 1)
        for pair, times in zip(pairs.tolist(), np.bincount(of_loop).tolist(), strict=True):
            at, end = pair // sites - 1, pair % sites - 1
            if end >= 0 and self.shared.kind[end] == SiteKind.BRANCH and self._same_function(at, end):
                self._ends.setdefault(at, Counter())[end] += times

    def exits(self) -> frozenset[tuple[int, int]]:
        """Pairs of a loop's decision and a branch that ends it."""
        number = self._decision_number
        return frozenset(
            (number["loop", header], site)
            for header, ends in self._ends.items()
            if ("loop", header) in number
            for site in ends
        )

    def number(self, kind: RegionKind, site: int, arm: int) -> int:
        key: Hashable
        if kind in _ROOTS:
            key = (kind,)
        elif kind == RegionKind.ACTIVATION:
            key = (kind, self.shared.outer[site])
        elif kind == RegionKind.ARM:
            key = (kind, site, arm if self.shared.same_build or arm < 0 else ("line", self.shared.site_place[arm]))
        else:
            key = (kind, site)
        number = self._class_number.setdefault(key, len(self.classes))
        if number == len(self.classes):
            self.classes.append(self._describe(kind, site, arm))
        return number

    def last_test(self, iteration: int) -> int:
        """The class of what a loop's last test is within; a part of the loop, decided by nothing else."""
        number = self._class_number.setdefault(("last test", iteration), len(self.classes))
        if number == len(self.classes):
            self.classes.append(replace(self.classes[iteration], decision=NONE))
        return number

    def _describe(self, kind: RegionKind, site: int, arm: int) -> RegionClass:
        if kind in _ROOTS or site < 0:
            return RegionClass(kind, NONE, NONE, NONE)
        outer, places = self.shared.outer[site], self.shared.site_place
        if kind == RegionKind.ACTIVATION:
            return RegionClass(kind, outer, places[site], NONE)
        if kind == RegionKind.ARM:
            target = places[arm] if arm >= 0 else NONE
            return RegionClass(kind, outer, places[site], self._decision_of_branch(site), target)
        test = self._test(site)
        place = places[test if test >= 0 else site]
        decision = self._decision(("loop", site), test) if kind == RegionKind.ITERATION else NONE
        return RegionClass(kind, outer, place, decision)

    def _decision_of_branch(self, site: int) -> int:
        """A loop's own test and its iterations are one decision; a way out of its middle is another."""
        header = self._headers.get(site)
        return self._decision(("branch", site) if header is None else ("loop", header), site)

    @cached_property
    def _headers(self) -> dict[int, int]:
        """By test: the loop that it ends, once all runs were looked at."""
        return {self._test(header): header for header in self._ends}

    def _test(self, header: int) -> int:
        """The branch that ends the loop at its header's line; where there is none, the one that mostly ends it."""
        ends = self._ends.get(header)
        if not ends:
            return NONE
        places = self.shared.site_place
        return max(ends, key=lambda site: (places[site] == places[header], ends[site], -site))

    def _decision(self, key: Hashable, site: int) -> int:
        number = self._decision_number.setdefault(key, len(self.decisions))
        if number == len(self.decisions):
            self.decisions.append(site)
        return number

    def _same_function(self, one: int, other: int) -> bool:
        return self.shared.outer[one] == self.shared.outer[other]


def _trace(loaded: _Loaded, shared: SharedSites, classes: _Classes) -> ExecutionTrace:
    run = loaded.run
    sites = np.append(shared.of_run[run], NONE).astype(np.int32)
    regions = columns_of(run.recording, "regions", ("arm", "opener", "instructions"))
    updates = columns_of(run.recording, "updates", ("execution", "amount"))
    first_input, producer, through = _values(run)
    outer = np.append(np.array(shared.outer, np.int32), NONE)
    activations = loaded.kind == RegionKind.ACTIVATION
    return ExecutionTrace(
        site=loaded.site,
        region=loaded.region,
        first_input=first_input,
        producer=producer,
        through=through,
        label=_without_last_tests(
            _labels(classes, loaded.kind, loaded.region_site, sites[regions["arm"]]), loaded, classes
        ),
        parent=loaded.parent,
        opener=_own(regions["opener"]),
        last=loaded.last,
        instructions=np.array(regions["instructions"], np.int64),
        activation=np.where(activations, outer[loaded.region_site], NONE).astype(np.int32),
        updated=_own(updates["execution"]),
        amount=np.array(updates["amount"], np.int64),
        ends=loaded.region[-1:],
    )


def _without_last_tests(label: Int32s, loaded: _Loaded, classes: _Classes) -> Int32s:
    """A loop that is tested at its top comes once more to its test than it runs: that is no iteration."""
    decision = np.array([one.decision for one in classes.classes], np.int32)[label]
    above = np.maximum(loaded.parent, 0)
    goes_on = (
        (loaded.kind == RegionKind.ARM)
        & (loaded.kind[above] == RegionKind.ITERATION)
        & (decision == decision[above])
        & (decision >= 0)
    )
    tested_at_top = np.isin(label, np.unique(label[above[goes_on]]))
    ran = np.zeros(len(label), np.bool_)
    ran[above[goes_on]] = True
    only_tested = (loaded.kind == RegionKind.ITERATION) & tested_at_top & ~ran
    changed = label.copy()
    for iteration in np.unique(label[only_tested]).tolist():
        changed[only_tested & (label == iteration)] = classes.last_test(iteration)
    return changed


def _values(run: Run) -> tuple[Ints, Int32s, Int8s]:
    """Inputs that are values, not addresses."""
    inputs = columns_of(run.recording, "dependences", ("kind", "producer"))
    kind, kept = inputs["kind"], inputs["kind"] != DependenceKind.ADDRESS
    before = np.concatenate([[0], np.cumsum(kept)])
    first = np.append(columns_of(run.recording, "executions", ("dependences",))["dependences"], len(kind))
    return before[first].astype(np.int64), _own(inputs["producer"][kept]), np.array(kind[kept], np.int8)


def _labels(classes: _Classes, kind: Int8s, site: Int32s, arm: Int32s) -> Int32s:
    sites = len(classes.shared.site_place) + 1
    keys, where = distinct((kind.astype(np.int64) * sites + site + 1) * sites + arm + 1)
    numbers = [
        classes.number(RegionKind(key // sites // sites), key // sites % sites - 1, key % sites - 1)
        for key in keys.tolist()
    ]
    return np.array(numbers, np.int32)[where]


def _catalogue(shared: SharedSites, classes: _Classes) -> Catalogue:
    return Catalogue(
        functions=tuple(shared.functions),
        places=tuple(shared.places),
        classes=tuple(classes.classes),
        site_function=np.array(shared.site_function, np.int32),
        site_place=np.array(shared.site_place, np.int32),
        header_line=shared.header_line,
        site_kind=np.array(shared.kind, np.int8),
        copies=shared.flags("copies"),
        spills=shared.flags("spills"),
        loads=shared.flags("loads"),
        nameless=shared.flags("nameless"),
        entry=shared.flags("entry"),
        decisions=tuple(classes.decisions),
        exits=classes.exits(),
        notes=tuple(shared.notes),
    )


def _own(values: Int32s) -> Int32s:
    """Writable: compiled functions are compiled once, not also for what Arrow lends."""
    return np.require(values, np.int32, "W")
