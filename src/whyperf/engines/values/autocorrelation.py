"""How many readings in a row say the same: the integrated autocorrelation time."""

from __future__ import annotations

import numpy as np

from whyperf.engines.run import Floats

# The window of the sum, in autocorrelation times (Sokal 1997, "Monte Carlo methods in statistical mechanics").
_WINDOW = 5.0
# So many readings tell the time well enough.
_ENOUGH = 1 << 14


def autocorrelation_time(values: Floats) -> float:
    """In readings; 1 for independent ones, and for a value that never changes."""
    series = values[:_ENOUGH]
    size = len(series)
    series = series - series.mean() if size else series
    if size < 4 or not np.any(series):
        return 1.0
    padded = 1 << (2 * size - 1).bit_length()
    spectrum = np.fft.rfft(series, padded)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum), padded)[:size]
    correlation /= correlation[0]
    times = 2.0 * np.cumsum(correlation) - 1.0
    enough = np.flatnonzero(np.arange(size) >= _WINDOW * times)
    window = int(enough[0]) if len(enough) else size - 1
    return max(1.0, float(times[window]))
