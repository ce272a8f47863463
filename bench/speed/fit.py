"""How cost grows with size: a start that is paid once, and a power of the size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize  # type: ignore[import-untyped]

LINEAR = 1.1  # an exponent up to here counts as linear
_STEEPEST = 3.0
_STEPS = 300
_DISTURBED = 0.1  # how far off costs may be by what else happens on a machine


@dataclass(frozen=True)
class Growth:
    """cost = start + each * size ** exponent."""

    start: float
    each: float
    exponent: float
    least: float  # exponents of curves that are as near to the costs as disturbances allow: from here
    most: float
    at_the_end: float  # slope between the two largest sizes, both axes logarithmic, the start left in

    @property
    def is_linear(self) -> bool:
        """The slope at the end has the start in it, which only lessens it: what is above one there is growth."""
        return self.least <= LINEAR and self.at_the_end <= LINEAR


def fit_growth(sizes: Sequence[float], costs: Sequence[float]) -> Growth:
    """Least squares of relative errors, so that small sizes count as much as large ones; nothing is negative."""
    if len(sizes) < 3 or len(set(sizes)) != len(sizes):
        raise ValueError("A curve needs three sizes that differ.")
    order = np.argsort(sizes)
    size, cost = np.asarray(sizes, float)[order], np.asarray(costs, float)[order]
    size = size / size[0]
    coarse = np.linspace(0.01, _STEEPEST, _STEPS)
    distance = np.array([_solved(size, cost, one)[1] for one in coarse])
    best, step = coarse[int(np.argmin(distance))], coarse[1] - coarse[0]
    near = coarse[distance <= max(float(distance.min()), _DISTURBED * np.sqrt(len(size)))]
    found = optimize.minimize_scalar(
        lambda one: _solved(size, cost, one)[1],
        bounds=(max(best - step, 0.001), best + step),
        method="bounded",
        options={"xatol": 1e-6},
    )
    (start, each), _ = _solved(size, cost, float(found.x))
    slope = np.log(cost[-1] / cost[-2]) / np.log(size[-1] / size[-2])
    scale = float(np.min(sizes)) ** float(found.x)
    return Growth(
        start=float(start),
        each=float(each) / scale,
        exponent=float(found.x),
        least=float(near.min()),
        most=float(near.max()),
        at_the_end=float(slope),
    )


def _solved(size: np.ndarray, cost: np.ndarray, exponent: float) -> tuple[np.ndarray, float]:
    """Start and price for this exponent, and how far off the costs are then."""
    terms = np.stack((np.ones_like(size), size**exponent), axis=1) / cost[:, None]
    solution, distance = optimize.nnls(terms, np.ones_like(cost))
    return solution, float(distance)
