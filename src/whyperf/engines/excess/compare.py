"""The comparison itself: an account for every function of what it cost, and of what it answers for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from whyperf.engines.allocation import Novelty, spend
from whyperf.engines.changed_code import ChangedCode, compare_code
from whyperf.engines.excess.charges import NOTHING_KNOWN, Charges, ExcessAnomaly, charge, find_hub
from whyperf.engines.excess.costs import Costs, CostSide, in_own_code, measure
from whyperf.engines.excess.entry_points import find_entries
from whyperf.engines.excess.exact_calls import ExactCallCounts, ExactCalls
from whyperf.engines.excess.growth import ContextGrowth
from whyperf.engines.excess.indirect_calls import Dispatch
from whyperf.engines.excess.iteration_rates import IterationRates
from whyperf.engines.excess.novelty import by_function, find_novelty, own_by_function
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Run, sums
from whyperf.engines.source_change import is_old_text
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.tables import Clock


@dataclass(frozen=True)
class ExcessAccount:
    """One function. Seconds are per unit of work; own time is that of the program view."""

    function: int
    good_s: float
    bad_s: float
    good_inclusive_s: float
    bad_inclusive_s: float
    charged_s: float
    share: float  # of the total excess
    low: float  # 95% interval of the share, from sampling noise and from the spread between runs
    high: float
    sigma: float  # by how many standard errors what it answers for differs between good and bad
    separated: bool  # every bad run above every good run
    good_runs: tuple[float, ...]  # what it answers for, run by run
    bad_runs: tuple[float, ...]

    @property
    def own_gain_s(self) -> float:
        return self.bad_s - self.good_s


@dataclass(frozen=True)
class DataEvidence:
    """What is known of functions' data, 0 to 1: how much of the time under each, or in its own code, they explain."""

    anomaly: Mapping[FunctionKey, float]
    own: Mapping[FunctionKey, float]
    normal: Set[FunctionKey]  # whose decisions were compared and are what they were
    steady: Set[FunctionKey]  # whose loops were compared and go as far as they did


@dataclass(frozen=True)
class Excess:
    index: FunctionIndex
    code: ChangedCode
    units: dict[Run, float]
    clock: Clock
    settings: ExcessSettings
    costs: Costs
    novelty: Novelty
    growth: ContextGrowth
    charges: Charges
    spent: Floats
    accounts: tuple[ExcessAccount, ...]  # by what they answer for, largest first
    hub: int | None
    exact: ExactCallCounts = field(default_factory=dict)  # empty: calls were not counted

    @property
    def total_s(self) -> float:
        """Excess per unit of work as sampled: what all accounts add up to, with what no stack explains."""
        return float(self.spent.sum())

    @cached_property
    def full(self) -> Costs:
        """The same costs with every library and system function in its own right."""
        return measure(self.index, self.units, self.clock, folded=False)

    def account(self, function: int) -> ExcessAccount:
        return next(account for account in self.accounts if account.function == function)

    def exact_calls(self, caller: int, callee: int) -> ExactCalls | None:
        functions = self.index.functions
        return self.exact.get((functions[caller].key, functions[callee].key))

    def name(self, function: int) -> str:
        return self.index.functions[function].key.name


def compare(
    good: Sequence[Run],
    bad: Sequence[Run],
    *,
    per_unit: bool = True,
    clock: Clock = Clock.CPU,
    settings: ExcessSettings | None = None,
    same_work: bool | None = None,
) -> Excess:
    """Spend the bad runs' excess, as far as time alone tells whose it is. `same_work`: as in `compare_code`."""
    settings = settings or ExcessSettings()
    index = FunctionIndex(good, bad)
    code = compare_code(index, same_work=same_work)
    units = {run: run.work.count if per_unit else 1.0 for run in (*good, *bad)}
    costs = measure(index, units, clock, folded=True)
    dispatch = Dispatch(index, costs.tree, clock)
    novelty = find_novelty(
        costs,
        len(index.functions),
        settings,
        called_in_good=index.called_in_good,
        nobody_chose=dispatch.nobody_chose,
        compiled=index.compiled_while_running,
    )
    entries = find_entries(index, costs.tree)
    spent = spend(costs.tree, costs.excess, novelty)
    rounds = IterationRates(index, costs, units, clock, settings)
    own_code = in_own_code(index, costs.bad, units, clock)
    growth = ContextGrowth(costs, spent, own_code, entries=entries, rounds=rounds, settings=settings)
    charges = charge(
        costs.tree,
        novelty,
        growth,
        NOTHING_KNOWN,
        existed=partial(_existed, index),
        code=code,
        spent=spent,
        settings=settings,
    )
    hub = find_hub(costs, spent, novelty, entries, settings)
    accounts = _accounts(index, costs, charges, spent, settings)
    return Excess(index, code, units, clock, settings, costs, novelty, growth, charges, spent, accounts, hub)


def _existed(index: FunctionIndex, function: int) -> bool:
    """Whether it was there for the good runs, if only in the source."""
    return index.exists_in_good(function) or is_old_text(index, function)


def weigh(excess: Excess, data: DataEvidence) -> Excess:
    """The same excess, answered for in the light of what other engines know of functions' data."""
    index, costs, settings = excess.index, excess.costs, excess.settings
    anomaly = _numbered(data, index)
    charges = charge(
        costs.tree,
        excess.novelty,
        excess.growth,
        anomaly,
        existed=partial(_existed, index),
        code=excess.code,
        spent=excess.spent,
        settings=settings,
    )
    accounts = _accounts(index, costs, charges, excess.spent, settings)
    return replace(excess, charges=charges, accounts=accounts)


def _numbered(data: DataEvidence, index: FunctionIndex) -> ExcessAnomaly:
    def numbers(known: Mapping[FunctionKey, float]) -> dict[int, float]:
        return {number: value for key, value in known.items() if (number := index.number(key)) is not None}

    def among(known: Set[FunctionKey]) -> frozenset[int]:
        return frozenset(number for key in known if (number := index.number(key)) is not None)

    return ExcessAnomaly(numbers(data.anomaly), numbers(data.own), among(data.normal), among(data.steady))


def _accounts(
    index: FunctionIndex, costs: Costs, charges: Charges, spent: Floats, settings: ExcessSettings
) -> tuple[ExcessAccount, ...]:
    size = len(index.functions)
    total = float(spent.sum())
    own_good, own_bad = (own_by_function(costs.tree, side.mean, size) for side in (costs.good, costs.bad))
    all_good, all_bad = (by_function(costs.tree, side.mean, size) for side in (costs.good, costs.bad))
    charged = charges.sum(spent, size)
    good_runs, bad_runs = (_answered_for(charges, side, size) for side in (costs.good, costs.bad))
    good_noise, bad_noise = (_noise(charges, side, size) for side in (costs.good, costs.bad))
    error = np.sqrt(_variance(good_noise, good_runs) + _variance(bad_noise, bad_runs))
    difference = bad_runs.mean(axis=0) - good_runs.mean(axis=0)
    sigma = np.maximum(_in_errors(difference, error), _nearest_apart(good_runs, bad_runs, good_noise, bad_noise))
    margin = settings.interval_sigma * error
    accounts = [
        ExcessAccount(
            function=number,
            good_s=float(own_good[number]),
            bad_s=float(own_bad[number]),
            good_inclusive_s=float(all_good[number]),
            bad_inclusive_s=float(all_bad[number]),
            charged_s=float(charged[number]),
            share=_part(charged[number], total),
            low=_part(charged[number] - margin[number], total),
            high=_part(charged[number] + margin[number], total),
            sigma=float(sigma[number]),
            separated=bool(bad_runs[:, number].min() > good_runs[:, number].max()),
            good_runs=tuple(good_runs[:, number].tolist()),
            bad_runs=tuple(bad_runs[:, number].tolist()),
        )
        for number in range(size)
    ]
    keys = [function.key for function in index.functions]
    accounts.sort(key=lambda a: (-a.charged_s, keys[a.function].name, keys[a.function].module, keys[a.function].file))
    return tuple(accounts)


def _answered_for(charges: Charges, side: CostSide, size: int) -> Floats:
    return np.array([charges.sum(seconds, size) for seconds in side.seconds])


@dataclass(frozen=True)
class _Noise:
    """Sampling variance of what functions answer for: rows are runs."""

    of_runs: Floats
    one_sample: float
    """So much more counts for everybody: a function never sampled is not known to take no time."""


def _noise(charges: Charges, side: CostSide, size: int) -> _Noise:
    total, samples = float(side.squares.sum()), float(side.samples.sum())
    rows = [sums(charges.function, charges.part**2 * squares[charges.node], size) for squares in side.squares]
    return _Noise(np.array(rows), total / samples if samples else 0.0)


def _variance(noise: _Noise, answered: Floats) -> Floats:
    """Of the mean over runs: sampling noise, or the spread between runs where that is larger."""
    runs = len(answered)
    sampling: Floats = (noise.of_runs.sum(axis=0) + noise.one_sample) / runs**2
    if runs < 2:
        return sampling
    spread: Floats = answered.var(axis=0, ddof=1) / runs
    return np.maximum(sampling, spread)


def _nearest_apart(good: Floats, bad: Floats, good_noise: _Noise, bad_noise: _Noise) -> Floats:
    """By how many standard errors of sampling the least of the bad runs is above the most of the good ones: of a time
    that is many times what it was, bad runs may differ among themselves by more than from the good ones."""
    every = np.arange(good.shape[1])
    most, least = good.argmax(axis=0), bad.argmin(axis=0)
    variance = good_noise.of_runs[most, every] + bad_noise.of_runs[least, every]
    error = np.sqrt(variance + good_noise.one_sample + bad_noise.one_sample)
    return _in_errors(bad[least, every] - good[most, every], error)


def _in_errors(difference: Floats, error: Floats) -> Floats:
    """How many standard errors it is; none where nothing was sampled."""
    found: Floats = np.divide(difference, error, out=np.zeros(len(error)), where=error > 0)
    return found


def _part(value: float, total: float) -> float:
    return min(1.0, max(0.0, float(value) / total)) if total > 0 else 0.0
