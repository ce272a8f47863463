"""Which kind of mistake the abnormal variables of a function speak of.

The paper's rules (section 3.4.2) look at one variable and labelled one of seven real bugs right. These look at all of
them, and say "unknown" rather than guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.engines.values.compare import Abnormal
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.variable_comparison import VariableOutcome
from whyperf.engines.values.variables import Variable

SCALABILITY = "scalability"
WRONG_CONSTRAINT = "wrong-constraint"
MISSING_CONSTRAINT = "missing-constraint"
UNKNOWN = "unknown"

# Values by which programs say "none", "all" or "off".
_SPECIAL = (-1.0, 0.0, 1.0)
_NULL = 0.0  # the class of a pointer


@dataclass(frozen=True)
class Pattern:
    name: str
    evidence: str  # in words; empty where unknown
    variable: str = ""


def infer(abnormal: Sequence[Abnormal], outcomes: Sequence[VariableOutcome], settings: ValuesSettings) -> Pattern:
    """`abnormal` and `outcomes` are those of one function, the most abnormal first."""
    steady = _loops_are_steady(abnormal, outcomes)
    looping = {outcome.variable.name: outcome.variable for outcome in outcomes if "loop" in outcome.variable.roles}
    rules: tuple[Callable[[Abnormal], Pattern | None], ...] = (
        lambda one: _longer_chain(one, looping),
        lambda one: _flipped(one, settings),
        lambda one: _stuck(one, settings),
        lambda one: _misleads(one) if steady else None,
        lambda one: _grew(one, settings),
        lambda one: _stays(one, settings),
    )
    found = (rule(one) for rule in rules for one in abnormal)
    return next((pattern for pattern in found if pattern is not None), Pattern(UNKNOWN, ""))


def _longer_chain(one: Abnormal, looping: Mapping[str, Variable]) -> Pattern | None:
    """A loop that goes from element to element finds a next one where there used to be none."""
    if one.dimension is not Dimension.VALUE or one.variable.kind is not ValueKind.POINTER:
        return None
    name = one.variable.name
    walking = looping.get(name.partition("->")[0])
    is_link = walking is not None and _same_type(walking.type, one.variable.type)
    if is_link and one.contrast.good.typical == _NULL != one.contrast.bad.typical:
        return Pattern(SCALABILITY, f"the chain along {name} goes on where it used to end", name)
    return None


def _same_type(one: str, other: str) -> bool:
    return one.replace("const ", "") == other.replace("const ", "")


def _flipped(one: Abnormal, settings: ValuesSettings) -> Pattern | None:
    """A flag, an enumeration, a pointer or a number of which only the truth is asked decides, and took another course.

    Where it is mixed in both kinds of runs, it decided both ways already: samples see more of what takes longer.
    """
    if one.dimension is not Dimension.VALUE or not _decides(one):
        return None
    good, bad = one.contrast.good, one.contrast.bad
    if one.variable.kind.numeric:
        return _came_true(one) if "truth" in one.variable.roles else None
    settled = max(good.at_typical, bad.at_typical) >= settings.one_value
    if one.variable.kind is ValueKind.POINTER:
        # Conditions tell null from the rest, wherever that is. A loop's own pointer is null in its last round only.
        moved = (good.typical == _NULL) != (bad.typical == _NULL) and "loop" not in one.variable.roles
    else:
        moved = good.typical != bad.typical or good.at_typical < settings.one_value
    if not (moved and settled):
        return None
    return Pattern(WRONG_CONSTRAINT, f"{one.variable.name} flips a branch", one.variable.name)


def _came_true(one: Abnormal) -> Pattern | None:
    """A number that was zero and no longer is. What became zero is stuck."""
    good, bad = one.contrast.good, one.contrast.bad
    if not (good.low == good.high == 0.0 and (bad.low > 0.0 or bad.high < 0.0)):
        return None
    return Pattern(WRONG_CONSTRAINT, f"{one.variable.name} decides a branch, and is no longer 0", one.variable.name)


def _stuck(one: Abnormal, settings: ValuesSettings) -> Pattern | None:
    """A number that decides is lower than ever, or stuck at one that switches something off."""
    if not one.variable.kind.numeric or one.dimension is not Dimension.VALUE or not _decides(one):
        return None
    name, good, bad = one.variable.name, one.contrast.good, one.contrast.bad
    stuck = bad.at_typical >= settings.one_value and bad.typical != good.typical
    if stuck and (bad.typical in _SPECIAL or bad.typical < good.low):
        return Pattern(WRONG_CONSTRAINT, f"{name} decides a branch, and is stuck at one value", name)
    if "loop" not in one.variable.roles and not one.variable.kind.is_size and bad.high < good.low:
        return Pattern(WRONG_CONSTRAINT, f"{name} decides a branch, and is lower than it ever was", name)
    return None


def _misleads(one: Abnormal) -> Pattern | None:
    """The paper's third rule, where no loop goes further for sure: conditions have another number to look at."""
    asked = one.variable.kind.numeric and "loop" not in one.variable.roles and _decides(one)
    if one.dimension is not Dimension.VALUE or not asked:
        return None
    name = one.variable.name
    return Pattern(WRONG_CONSTRAINT, f"{name} decides a branch in loops that go as far as they did", name)


def _grew(one: Abnormal, settings: ValuesSettings) -> Pattern | None:
    """A size, a bound or a loop's variable is larger (the paper's second rule)."""
    if one.dimension is not Dimension.VALUE or not one.variable.kind.numeric or not grown(one, settings):
        return None
    name, roles = one.variable.name, one.variable.roles
    if "loop" in roles:
        return Pattern(SCALABILITY, f"the loop over {name} goes further than it did", name)
    if one.variable.kind.is_size:
        return Pattern(SCALABILITY, f"the size {name} grew", name)
    if "condition" in roles:
        return Pattern(SCALABILITY, f"a condition looks at {name}, which grew", name)
    return Pattern(SCALABILITY, f"the count {name} grew", name) if one.growth is not None else None


def _stays(one: Abnormal, settings: ValuesSettings) -> Pattern | None:
    if one.dimension is not Dimension.DURATION or not one.variable.roles & {"loop", "condition"}:
        return None
    if one.contrast.bad.high < settings.grown * one.contrast.good.high:
        return None
    return Pattern(MISSING_CONSTRAINT, f"{one.variable.name} stays at one value for long", one.variable.name)


def grown(one: Abnormal, settings: ValuesSettings) -> bool:
    good, bad = one.contrast.good, one.contrast.bad
    if one.growth is not None:
        return one.growth.bad >= settings.grown * one.growth.good
    larger = bad.high >= settings.grown * good.high and bad.typical >= good.typical
    return bad.high > 0 and larger


def _decides(one: Abnormal) -> bool:
    """Where a function's conditions are unknown, only values that can hardly do anything else: flags, enumerations."""
    if one.variable.roles:
        return "condition" in one.variable.roles
    return one.decides and one.variable.kind in (ValueKind.BOOLEAN, ValueKind.ENUM)


def _loops_are_steady(abnormal: Sequence[Abnormal], outcomes: Sequence[VariableOutcome]) -> bool:
    """Whether what steers a function's loops was compared and holds what it held: their numbers, and sizes that
    conditions look at. How far a loop goes from pointer to pointer only sizes tell."""
    strange = {one.variable for one in abnormal if one.dimension is Dimension.VALUE}
    steering = [outcome for outcome in outcomes if _steers(outcome.variable)]
    walks = any(one.variable.kind is ValueKind.POINTER and "loop" in one.variable.roles for one in outcomes)
    same = any(one.same_value for one in steering if one.variable.kind.is_size or not walks)
    return same and not any(one.variable in strange for one in steering)


def _steers(variable: Variable) -> bool:
    bounds = variable.kind.is_size and "condition" in variable.roles
    return variable.kind.numeric and (bounds or "loop" in variable.roles)
