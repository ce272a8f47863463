"""What the engine knows of one function's data, and what would have to be true for it to count."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.values.compare import Abnormal, Values
from whyperf.engines.values.counters import Tracking
from whyperf.engines.values.findings import ShownVariable, described
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.sentences import sentence
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.variable_comparison import VariableOutcome
from whyperf.engines.values.variable_test import Tested, VariableStatus
from whyperf.recording.names.identity import FunctionKey

_TOLD = 3
_SUBJECTS = {
    Dimension.VALUE: "{}",
    Dimension.DELTA: "How fast {} changes",
    Dimension.DURATION: "How long {} stays the same",
}


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
    said += [sentence(one, values.settings, values.unit) for one in abnormal[:_TOLD]]
    if abnormal and not any(one.decides for one in abnormal):
        said.append("No condition or loop of its own looks at them: they do not count here. What it calls may do so.")
    names = {one.variable for one in abnormal}
    others = [outcome for outcome in outcomes if outcome.variable not in names]
    others.sort(key=lambda outcome: -max(test.distance for test in outcome.tests))
    said += [told for outcome in others[:_TOLD] if (told := _why_not(outcome, values))]
    return said


@dataclass(frozen=True)
class VariableExplanation:
    """One variable of the name that was asked for."""

    name: str
    function: FunctionKey | None  # None: a global
    sentence: str
    abnormal: ShownVariable | None


def explain_variable(values: Values, name: str) -> list[VariableExplanation]:
    """The variables so named, or else what is reached through one of that name; abnormal ones first."""
    names = {outcome.variable.name for outcome in values.outcomes}
    meant = {name} if name in names else {one for one in names if one.startswith((f"{name}->", f"{name}.", f"{name}["))}
    abnormal = [one for one in values.abnormal if one.variable.name in meant]
    found = [_abnormal(values, one) for one in abnormal]
    told = {one.variable for one in abnormal}
    for outcome in values.outcomes:
        if outcome.variable.name in meant and outcome.variable not in told:
            why = _why_not(outcome, values) or f"{outcome.variable.name} is the same in good and bad runs."
            number = outcome.variable.function
            owner = values.functions.functions[number].key if number >= 0 else None
            found.append(VariableExplanation(outcome.variable.name, owner, why, None))
    return found


def _abnormal(values: Values, one: Abnormal) -> VariableExplanation:
    shown = described(values, one)
    return VariableExplanation(shown.name, one.function, shown.sentence, shown)


def _why_not(outcome: VariableOutcome, values: Values) -> str:
    name = outcome.variable.name
    if outcome.growth.tracking is Tracking.CLOCK:
        return f"{name} is a clock: no anomaly."
    if outcome.growth.tracking is Tracking.SAME:
        return f"{name} counts as much per {values.unit} in both kinds of runs: no anomaly."
    test = _nearest(outcome)
    slower = "differs, but no more than the whole function takes longer."
    reasons = {
        VariableStatus.NEW: "was read in the bad runs only: a new path, no anomaly.",
        VariableStatus.FEW: "was read too seldom at the same places: "
        f"{values.settings.minimum_readings} readings of each kind are needed.",
        VariableStatus.RUN_CONSTANT: "has one value per run: several runs of each kind would tell whether it matters.",
        VariableStatus.INSUFFICIENT: "differs, but changes so seldom that these runs cannot tell: longer or more runs "
        "would.",
        VariableStatus.TESTED: _unsure(outcome.p, values) if outcome.p > values.limit else slower,
        VariableStatus.APART: slower,  # else it would be abnormal
        VariableStatus.SAME: _not_far(test, values.settings),
    }
    reason = reasons[test.status]
    return f"{_SUBJECTS[test.dimension].format(name)} {reason}" if reason else ""


def _nearest(outcome: VariableOutcome) -> Tested:
    """Of its dimensions the one that comes nearest to count."""
    decisive = [test for test in outcome.tests if test.status is outcome.status]
    return max(decisive, key=lambda test: (-test.p, test.distance))


def _unsure(p: float, values: Values) -> str:
    count = sum(outcome.screened for outcome in values.outcomes)
    needed = values.limit if values.limit > 0 else values.settings.discovery_rate / max(1, count)
    return f"differs (p = {p:.2g}), but among {count} variables that may be chance unless p is below {needed:.1g}."


def _not_far(test: Tested, settings: ValuesSettings) -> str:
    if test.distance <= 0:
        return ""
    varying = settings.gate_factor * test.within
    need = max(settings.gate_distance, varying)
    if test.distance > need:  # screened out before distances between runs are asked for
        return "differs no more than by chance."
    runs = f": runs of one kind are {test.within:.2f} apart" if varying > settings.gate_distance else ""
    return f"is {test.distance:.2f} away from the good runs; more than {need:.2f} would count{runs}."
