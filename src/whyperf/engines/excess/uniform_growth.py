"""Did everything grow alike? Then no function is to blame: more of the same work, or a slower machine.

Two things must hold. No calling context has another share of the time than before, beyond chance. And whatever function
takes most of the time, the others demonstrably grew as well: else growth of that one would look the same.
"""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.compare import Excess
from whyperf.engines.excess.costs import Costs
from whyperf.engines.excess.novelty import own_by_function

_CHANCE = 3.0  # standard errors by which a share may differ
_NEGLIGIBLE = 0.03  # of all time, beyond that
_SURE = 2.0  # standard errors


def grew_alike(excess: Excess) -> bool:
    costs = excess.costs
    if not (costs.good.samples.any() and costs.bad.samples.any()):
        return False
    return _shares_stayed(costs) and _the_rest_grew(costs, len(excess.index.functions))


def _shares_stayed(costs: Costs) -> bool:
    good, bad = (costs.tree.inclusive(side.sampled) for side in (costs.good, costs.bad))
    of_good, of_bad = good[0], bad[0]
    common = (good + bad) / (of_good + of_bad)
    error = np.sqrt(common * (1 - common) * (1 / of_good + 1 / of_bad))
    return bool((np.abs(bad / of_bad - good / of_good) <= _CHANCE * error + _NEGLIGIBLE).all())


def _the_rest_grew(costs: Costs, functions: int) -> bool:
    """Without the function with the most time of its own: by half of the common growth at least, beyond doubt."""
    good, bad = (own_by_function(costs.tree, side.mean, functions) for side in (costs.good, costs.bad))
    count_good, count_bad = (own_by_function(costs.tree, side.sampled, functions) for side in (costs.good, costs.bad))
    rest = np.arange(functions) != bad.argmax()
    common = bad.sum() / good.sum()
    if common <= 1 or not (good[rest].sum() > 0 and count_good[rest].sum() > 0 and count_bad[rest].sum() > 0):
        return False
    grown = bad[rest].sum() / good[rest].sum()
    error = np.sqrt(1 / count_good[rest].sum() + 1 / count_bad[rest].sum())
    return bool(grown * (1 - _SURE * error) > (1 + common) / 2)
