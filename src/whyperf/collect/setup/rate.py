"""How often to sample, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.collect.perf_events import cpu_clock_permitted
from whyperf.errors import WhyperfError

DEFAULT_RATE_HZ = 200
# CPU-time timers fire on the kernel's tick: with the usual 250 ticks a second, more is only a heavier weight.
TIMER_LIMIT_HZ = 250
# A signal and its handler take some 10 microseconds: at this rate 5% of the target's time.
HIGHEST_RATE_HZ = 5000

# As recordings name what made the samples.
CPU_TIMER, CLOCK_EVENT = "cpu-timer", "cpu-clock-event"

_USER_TIME_ONLY = f"Above {TIMER_LIMIT_HZ} Hz only user time is sampled: these perf events exclude the kernel."


@dataclass(frozen=True)
class SamplingPlan:
    rate_hz: int
    use_perf_events: bool
    note: str | None = None

    @property
    def source(self) -> str:
        return CLOCK_EVENT if self.use_perf_events else CPU_TIMER


def plan_sampling(rate_hz: int) -> SamplingPlan:
    """The mechanism that keeps the rate with the least disturbance."""
    if not 1 <= rate_hz <= HIGHEST_RATE_HZ:
        raise WhyperfError(
            f"A rate of {rate_hz} samples a second cannot be kept: the lowest is 1, the highest {HIGHEST_RATE_HZ}.",
            f"whyperf record --rate {min(max(rate_hz, 1), HIGHEST_RATE_HZ)} ...",
            status=2,
        )
    if rate_hz <= TIMER_LIMIT_HZ:
        return SamplingPlan(rate_hz, use_perf_events=False)
    if cpu_clock_permitted():
        return SamplingPlan(rate_hz, use_perf_events=True, note=_USER_TIME_ONLY)
    note = (
        f"Sampled by CPU timers, which give about {TIMER_LIMIT_HZ} stacks a second, each with a larger weight: "
        f"{rate_hz} Hz needs perf events (sudo sysctl kernel.perf_event_paranoid=2)."
    )
    return SamplingPlan(rate_hz, use_perf_events=False, note=note)
