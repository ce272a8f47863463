"""How likely a candidate's times are if it is as fast as the good end, or as slow as the bad one.

Times are logarithms of seconds. A candidate is run in turns with both ends, so that a machine that slows down for a
while hits all three: within such a batch, times count from the middle between the ends. How the ends' own times scatter
is the noise, of whatever shape; its density is estimated with a heavy-tailed kernel.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_OF_MEDIANS = 1.2533  # a median's standard error to a mean's, of normal noise


@dataclass(frozen=True)
class NoiseSettings:
    outliers: float = 0.05  # runs of which nothing is learnt, whatever the ends' scatter says
    widest: float = math.log(100.0)  # such a run takes up to 100 times as long, each as likely
    narrowest: float = 0.01  # of the kernel: no machine repeats times to better than 1%
    most_told: float = math.log(2000.0)  # a batch tells no more: its runs may all have been disturbed alike


@dataclass(frozen=True)
class Batch:
    """Times of runs made in turns. Calibration has no candidate."""

    good: tuple[float, ...]
    bad: tuple[float, ...]
    candidate: tuple[float, ...] = ()

    @property
    def middle(self) -> float:
        return (statistics.median(self.good) + statistics.median(self.bad)) / 2


@dataclass(frozen=True)
class Noise:
    half_gap: float  # from the middle to either end; negative where bad is the faster one
    scatter: tuple[float, ...]  # of the ends' runs about their own place
    width: float  # of the kernel
    spread: float  # standard deviation of the scatter
    settings: NoiseSettings = NoiseSettings()

    def density(self, distance: float, width: float) -> float:
        """Of a time so far from its place. The kernel is Student's t with 3 degrees of freedom."""
        near = math.fsum(_student_3((distance - one) / width) for one in self.scatter)
        known = near / (len(self.scatter) * width)
        return (1 - self.settings.outliers) * known + self.settings.outliers / (2 * self.settings.widest)

    def log_ratio(self, batch: Batch) -> float:
        """How much likelier the candidate is slow than fast, as a logarithm."""
        # The middle is uncertain as well: it is the mean of two medians.
        width = math.hypot(self.width, _OF_MEDIANS * self.spread / math.sqrt(2 * len(batch.good)))
        middle, ratio = batch.middle, 0.0
        for time in batch.candidate:
            slow, fast = (time - middle - gap for gap in (self.half_gap, -self.half_gap))
            ratio += math.log(self.density(slow, width) / self.density(fast, width))
        return max(-self.settings.most_told, min(self.settings.most_told, ratio))


def noise_of(batches: Sequence[Batch]) -> Noise:
    settings = NoiseSettings()
    good = [time - batch.middle for batch in batches for time in batch.good]
    bad = [time - batch.middle for batch in batches for time in batch.bad]
    half_gap = (statistics.median(bad) - statistics.median(good)) / 2
    scatter = [time + half_gap for time in good] + [time - half_gap for time in bad]
    typical = statistics.median(abs(one) for one in scatter) * 1.4826  # as of a normal distribution
    width = max(1.06 * typical * len(scatter) ** -0.2, settings.narrowest)  # Silverman's rule
    spread = math.sqrt(math.fsum(one * one for one in scatter) / len(scatter))
    return Noise(half_gap, tuple(scatter), width, spread, settings)


def _student_3(distance: float) -> float:
    return 2 / (math.pi * math.sqrt(3) * (1 + distance * distance / 3) ** 2)
