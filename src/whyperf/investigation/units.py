"""Whether runs that force values can count what the recorded runs counted: else their times are not comparable."""

from __future__ import annotations

from whyperf.diagnose.measured.latency import PREFIX
from whyperf.investigation.subject import Subject


def why_not_counted(subject: Subject, measure: str) -> str:
    """Why trials would measure something else than the verdict; empty: they do not."""
    units = subject.units
    if units.reported:
        return f"Runs that force values do not see the units of work that the program reports ({units.reported})."
    if units.are_timed and measure.startswith(PREFIX):
        return f"The latency is that of `{units.calls[1]}` calls, which runs that force values cannot time."
    return subject.why_calls_not_counted
