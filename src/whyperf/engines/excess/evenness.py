"""Did everything grow alike? Then no function is to blame: more of the same work, or a slower machine."""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.compare import Excess

_FEWEST_FUNCTIONS = 3
_WORTH_COUNTING = 0.05  # of the bad runs' time
_COVER = 0.8


def uneven_growth(excess: Excess) -> float | None:
    """Spread of the functions' growth factors around the common one, relative; None where too few can be told.

    Sampling noise is taken out: few samples alone do not make growth uneven.
    """
    bad_total = sum(account.bad_s for account in excess.accounts)
    good_total = sum(account.good_s for account in excess.accounts)
    large = [account for account in excess.accounts if account.bad_s >= _WORTH_COUNTING * bad_total > 0]
    covered_good = sum(account.good_s for account in large)
    covered_bad = sum(account.bad_s for account in large)
    if len(large) < _FEWEST_FUNCTIONS or covered_good < _COVER * good_total or covered_bad < _COVER * bad_total:
        return None
    good = np.array([account.good_s for account in large])
    bad = np.array([account.bad_s for account in large])
    if not good.all():
        return float("inf")
    common = covered_bad / covered_good
    weight = bad / covered_bad
    seconds = float(excess.costs.bad.mean.sum())
    samples = float(excess.costs.bad.samples.sum()), float(excess.costs.good.samples.sum())
    noise = seconds / samples[0] / bad + good_total / samples[1] / np.maximum(good, good_total / samples[1])
    variance = float((weight * ((bad / good / common - 1) ** 2 - noise)).sum())
    return float(np.sqrt(max(0.0, variance)))
