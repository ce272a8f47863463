"""What the engine knows of one function's data, and what would have to be true for it to count."""

from __future__ import annotations

from whyperf.engines.values.compare import Values
from whyperf.engines.values.counters import Tracking
from whyperf.engines.values.judging import Outcome
from whyperf.engines.values.sound import Status, Tested
from whyperf.engines.values.words import sentence
from whyperf.recording.identity import FunctionKey

_TOLD = 3


def explain(values: Values, function: FunctionKey) -> list[str]:
    number = values.functions.number(function)
    outcomes = [outcome for outcome in values.outcomes if outcome.variable.function == number]
    if not outcomes:
        return ["No variable of it was read: nothing is known of its data."]
    abnormal = values.of(function)
    compared = sum(outcome.screened for outcome in outcomes)
    said = [
        f"{len(outcomes)} of its variables were read, {compared} often enough to compare: {len(abnormal)} abnormal."
    ]
    said += [sentence(one, values.settings) for one in abnormal[:_TOLD]]
    if abnormal and not any(one.decides for one in abnormal):
        said.append("No condition or loop of it looks at them: they do not count.")
    names = {one.variable for one in abnormal}
    others = [outcome for outcome in outcomes if outcome.variable not in names]
    others.sort(key=lambda outcome: -max(test.distance for test in outcome.tests))
    said += [told for outcome in others[:_TOLD] if (told := _why_not(outcome, values))]
    return said


def _why_not(outcome: Outcome, values: Values) -> str:
    name = outcome.variable.name
    if outcome.growth.tracking is Tracking.CLOCK:
        return f"{name} is a clock: no anomaly."
    if outcome.growth.tracking is Tracking.SAME:
        return f"{name} counts as much per unit of work in both kinds of runs: no anomaly."
    reasons = {
        Status.NEW: "was read in the bad runs only: a new path, no anomaly.",
        Status.FEW: f"was read too seldom: {values.settings.minimum_readings} readings of each kind are needed.",
        Status.RUN_CONSTANT: "has one value per run: several runs of each kind would tell whether it matters.",
        Status.INSUFFICIENT: "differs, but changes so seldom that these runs cannot tell: longer or more runs would.",
        Status.TESTED: f"differs (p = {outcome.p:.2g}), but among {_count(values)} variables that happens by chance.",
    }
    if outcome.status in reasons:
        return f"{name} {reasons[outcome.status]}"
    return _not_far(name, max(outcome.tests, key=lambda test: test.distance), values)


def _not_far(name: str, test: Tested, values: Values) -> str:
    settings = values.settings
    need = max(settings.gate_distance, settings.gate_factor * test.within)
    if test.distance <= 0:
        return ""
    return f"{name} is {test.distance:.2f} away from the good runs' values; more than {need:.2f} would count."


def _count(values: Values) -> int:
    return sum(outcome.screened for outcome in values.outcomes)
