"""False discoveries and power in made series: families of variables (loop counters, sticky pointers, slow drifts,
per-run constants ...) of which a few really change between good and bad runs.

The rate is the mean over families of wrong among reported variables; a family in which nothing changed counts fully as
soon as one is reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from tests.engines.values.behaviours import BEHAVIOURS, NEVER_CHANGED
from tests.engines.values.made import Read, one_function

from bench.intervals import mean_upper_bound
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.settings import ValuesSettings

GOAL = 0.10


@dataclass
class Rates:
    """Counts by behaviour and by whether it changed."""

    seen: Counter[tuple[str, bool]] = field(default_factory=Counter)
    found: Counter[tuple[str, bool]] = field(default_factory=Counter)
    wrong_share: list[float] = field(default_factory=list)

    @property
    def discovery_rate(self) -> float:
        return float(np.mean(self.wrong_share))

    def power(self, behaviour: str) -> float:
        return self.found[behaviour, True] / max(1, self.seen[behaviour, True])


def measure_rates(
    rng: np.random.Generator,
    *,
    runs: int,
    families: int,
    variables: int,
    changed_share: float,
    settings: ValuesSettings | None = None,
) -> Rates:
    rates = Rates()
    names = list(BEHAVIOURS)
    for _ in range(families):
        changed = rng.random(variables) < changed_share
        changed &= [names[at % len(names)] not in NEVER_CHANGED for at in range(variables)]
        readings = np.clip(rng.lognormal(6.0, 1.4, variables), 20, 4000).astype(int)
        good, bad = ([_family_run(rng, readings, changed & is_bad) for _ in range(runs)] for is_bad in (False, True))
        values = compare(good, bad, settings=settings)
        assert values is not None
        reported = {int(one.variable.name[1:]) for one in values.abnormal}
        for at in range(variables):
            kind = names[at % len(names)], bool(changed[at])
            rates.seen[kind] += 1
            rates.found[kind] += at in reported
        wrong = sum(not changed[at] for at in reported)
        rates.wrong_share.append(wrong / max(1, len(reported)))
    return rates


def _family_run(rng: np.random.Generator, readings: np.ndarray, changed: np.ndarray) -> Run:
    behaviours = list(BEHAVIOURS.values())
    reads = [
        Read("work", f"v{at}", behaviours[at % len(behaviours)](rng, count, bool(changed[at])))
        for at, count in enumerate(readings.tolist())
    ]
    return Run(one_function(*reads, samples=int(readings.max())))


def show_rates(families: int, variables: int, seed: int) -> bool:
    good = True
    for runs in (1, 3):
        for share in (0.0, 0.1):
            rng = np.random.default_rng(seed)
            rates = measure_rates(rng, runs=runs, families=families, variables=variables, changed_share=share)
            bound = mean_upper_bound(rates.wrong_share)
            good &= rates.discovery_rate <= GOAL
            print(
                f"{runs}+{runs} runs, {share:.0%} changed, {families} families: false discoveries "
                f"{rates.discovery_rate:.1%}, below {bound:.1%} with 95% confidence"
            )
            for name in BEHAVIOURS:
                false = f"{rates.found[name, False]:4} of {rates.seen[name, False]:4} unchanged"
                print(f"  {name:16} {false}   power {rates.power(name):5.0%} of {rates.seen[name, True]}", flush=True)
    return good
