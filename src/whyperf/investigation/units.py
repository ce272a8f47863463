"""Whether runs that force values can count what the recorded runs counted: else their times are not comparable."""

from __future__ import annotations

from whyperf.collect.runs.work_count import counter_again
from whyperf.diagnose.measured.latency import PREFIX
from whyperf.errors import WhyperfError
from whyperf.investigation.subject import Subject


def why_not_counted(subject: Subject, measure: str) -> str:
    """Why trials would measure something else than the verdict; empty: they do not."""
    units = subject.units
    if units.reported:
        return f"Runs that force values do not see the units of work that the program reports ({units.reported})."
    if units.are_timed and measure.startswith(PREFIX):
        return f"The latency is that of `{units.calls[1]}` calls, which runs that force values cannot time."
    for program, lifecycle, calls in zip((subject.good, subject.bad), subject.lifecycles, units.calls, strict=True):
        if not calls:
            continue
        try:
            counter_again(calls, program, subject.environment, lifecycle.folder).close()
        except WhyperfError as error:
            return f"Runs that force values cannot count the units of work, calls of `{calls}`. {error.sentence}"
    return ""
