"""False discoveries among variables whose behaviour is known; the benchmark measures the same at length."""

from __future__ import annotations

import numpy as np
import pytest
from bench.values_rates import measure_rates


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [1, 3])
def test_unchanged_variables_are_not_reported(runs):
    rates = measure_rates(np.random.default_rng(11), runs=runs, families=3, variables=55, changed_share=0.0)
    assert rates.discovery_rate == 0.0


@pytest.mark.thorough
def test_changed_variables_are_found():
    rates = measure_rates(np.random.default_rng(12), runs=3, families=3, variables=55, changed_share=0.3)
    assert rates.discovery_rate <= 0.10
    for behaviour in ("independent", "flag", "correlated", "setting", "counter"):
        assert rates.power(behaviour) >= 0.7, behaviour
