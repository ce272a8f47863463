"""From instructions to what people read: one hop a source line, named by its variable."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import ChainEnd, Hop, HopKind, compared_with, supplied
from whyperf.origin.program_code import SYSTEM_SOURCES
from whyperf.origin.shown import shown, shown_alone, shown_count, shown_places, shown_shares
from whyperf.origin.trail import TrailStep
from whyperf.origin.values import ComparedValues

_MOST_TEXT = 72
_DECLARED_TYPE = re.compile(r"^(?:[A-Za-z_][\w:<>]*(?:\s+|\s*[*&]+\s*))+(?=[A-Za-z_]\w*\s*=[^=])")
_RETURN = re.compile(r"^return\b|^(?!if\b|else\b|for\b|while\b|switch\b).*\)[^(){}]*\{\s*return\b[^;{}]*;\s*\}$")
"""The line, or all of the function that the line holds."""
_PARAMETER = re.compile(r"\w.*[\s*&](\w+)(?:\[\])?")
_TAGS = {"class", "const", "enum", "register", "restrict", "struct", "typename", "union", "volatile"}
"""Words before a type, which is not there yet where only they are."""
_TYPES = frozenset(
    [
        "_Bool",
        "auto",
        "bool",
        "char",
        "double",
        "float",
        "int",
        "long",
        "short",
        "signed",
        "unsigned",
        "void",
        "wchar_t",
    ]
)
_COUNTED = {HopKind.ENTERED: "is called", HopKind.STORED: "is written"}
_DEEP = " A run under Valgrind shows that this is what was read."
_SAYS_NOTHING = ("{", "}", "};", "} else {")
_MOST_OF_THE_TIME = 0.5
_CLEARLY = 0.25
"""Of how much the values gather anywhere on the way."""
_STEADY = 0.95
"""Share of the hits with the most common value, of what is called one value."""

ReadLine = Callable[[str, int], str]
"""The text of a source line; empty when unknown."""


@dataclass(frozen=True, eq=False)
class Grouped:
    """The steps that one hop stands for, the nearest to the symptom first."""

    steps: tuple[TrailStep, ...]
    place: SourcePlace


def grouped(steps: Sequence[TrailStep], read_line: ReadLine) -> list[Grouped]:
    """Steps of one source line are one; so are a parameter and where it is read in its function."""
    found: list[Grouped] = []
    places = _places(steps, read_line)
    for step, place in zip(steps, places, strict=True):
        before = found[-1] if found else None
        if before is not None and (before.place == place or _repeats(before, step, place)):
            decides = all(one.kind is HopKind.DECIDED for one in before.steps)
            made = decides and step.kind is not HopKind.ARGUMENT
            found[-1] = Grouped((*before.steps, step), place if made else before.place)
        else:
            found.append(Grouped((step,), place))
    return found


def _places(steps: Sequence[TrailStep], read_line: ReadLine) -> list[SourcePlace]:
    """Compilers mix up lines of functions that they inline, and give results to a function's last brace: such a line
    counts as the next step's."""
    found = [_place(step) for step in steps]
    for row in range(len(steps) - 2, -1, -1):
        following = found[row + 1]
        here = found[row]
        nothing = read_line(here.file, here.line).strip() in _SAYS_NOTHING
        if following.function == here.function and (nothing or _is_elsewhere(steps[row], here)):
            found[row] = following
    return found


def _is_elsewhere(step: TrailStep, place: SourcePlace) -> bool:
    """Whether the line lies in another function than it is said to."""
    functions = step.at.module.binary.functions
    begins = [
        line
        for name, file, line in zip(functions.names, functions.files, functions.lines.tolist(), strict=True)
        if file == place.file and name == place.function
    ]
    others = step.at.module.begins_of_functions(place.file)
    first = min(begins, default=0)
    return bool(first) and not first <= place.line < min((line for line in others if line > first), default=1 << 31)


def _place(step: TrailStep) -> SourcePlace:
    """The innermost function that is not of a system's header."""
    module = step.at.module
    places = module.places(step.at.address)
    if step.changed is not None:
        return step.changed
    if step.is_at_entry:
        return module.declared(step.at.address) or SourcePlace("", "", 0)
    return own_place(places)


def own_place(places: Sequence[SourcePlace]) -> SourcePlace:
    """Of the places of one instruction, the innermost that is not in a system's header."""
    own = (one for one in places if not one.file.startswith(SYSTEM_SOURCES))
    return next(own, places[0] if places else SourcePlace("", "", 0))


def _repeats(before: Grouped, step: TrailStep, place: SourcePlace) -> bool:
    """Whether a step says of the same variable what the steps before it said: in the same function, or of an argument
    that is only passed on."""
    one = named(before)
    passed_on = before.place.function == place.function or step.kind is HopKind.ARGUMENT
    return (
        passed_on
        and one.name == step.name != ""
        and texts_of(one.compared, one.counts) == texts_of(step.compared, step.counts)
    )


def named(group: Grouped) -> TrailStep:
    """The step whose value stands for the line: the first that differs, by the name that its value has in any step."""
    differing = [one for one in group.steps if one.compared.differs or one.counts] or list(group.steps)
    first = differing[0]
    texts = texts_of(first.compared, first.counts)
    names = (one.name for one in differing if one.name and texts_of(one.compared, one.counts) == texts)
    return first if first.name else replace(first, name=next(names, ""))


def texts_of(compared: ComparedValues, counts: bool) -> tuple[str, str]:
    if counts:
        return shown_count(compared.good), shown_count(compared.bad)
    return shown(compared.good, compared.size), shown(compared.bad, compared.size)


def as_hop(group: Grouped, read_line: ReadLine, *, is_alone: bool = False) -> Hop:
    step, place = named(group), group.place
    good, bad = ("", shown_alone(step.compared.bad, step.compared.size)) if is_alone else _told_apart(step)
    differs = not is_alone and _differs(step)
    source = read_line(place.file, place.line).strip()
    is_deep = any(one.deep for one in group.steps)
    share = math.prod(one.share for one in group.steps)
    part = f" It {supplied(share)} seen before." if share < 1 else ""
    what = _what(step, source, place)
    where = f"{place.function}, {place.file.rpartition('/')[2]}:{place.line}" if place.line else place.function
    return Hop(
        kind=step.kind,
        function=place.function,
        module=step.at.module.path.name,
        file=place.file,
        line=place.line,
        source=source,
        what=what,
        good=good,
        bad=bad,
        sentence=f"{_sentence(step, what, good, bad, differs=differs)} ({where}).{_DEEP if is_deep else ''}{part}",
        deep=is_deep,
        share=share if is_alone else None,
        differs=differs,
    )


def _told_apart(step: TrailStep) -> tuple[str, str]:
    """Good and bad values; of those that read alike, what differs, where something does."""
    compared, (good, bad) = step.compared, texts_of(step.compared, step.counts)
    if good != bad or step.counts or not compared.is_on_both_sides:
        return good, bad
    if not compared.only_addresses:
        return shown_shares(compared)
    return shown_places(compared) if compared.gathers else (good, bad)


def _differs(step: TrailStep) -> bool:
    """Whether it is known that good and bad runs differ there."""
    good, bad = _told_apart(step)
    return step.can_differ and good != bad


def _what(step: TrailStep, source: str, place: SourcePlace) -> str:
    if step.kind is HopKind.RETURNED and step.callee and not step.name:
        return f"{step.callee}()"
    if step.kind is HopKind.ENTERED:
        return f"{step.name or place.function}()"
    if not step.name and _RETURN.search(_without_comment(source)) and step.kind is not HopKind.VARIABLE:
        return f"{place.function}()"
    return step.name or _only_parameter(source, place.function) or statement(source)


def _only_parameter(source: str, function: str) -> str:
    """Of a line that is the function's head; empty: it is not, or has another number of parameters,
    or one without a name."""
    head = re.search(rf"\b{re.escape(function.rpartition('::')[2])}\s*\(([^(),]*)\)\s*\{{?$", _without_comment(source))
    parameter = _PARAMETER.fullmatch(head[1].strip()) if head else None
    if parameter is None or parameter[1] in _TAGS | _TYPES:
        return ""
    words = re.findall(r"\w+", parameter[0][: parameter.start(1)])
    return "" if _TAGS.issuperset(words) else parameter[1]


def statement(source: str) -> str:
    """Without comment and the type of what it declares, and no longer than reads well."""
    plain = _DECLARED_TYPE.sub("", _without_comment(source).rstrip(";{ ").strip())
    return plain if len(plain) <= _MOST_TEXT else f"{plain[:_MOST_TEXT].rstrip()}..."


def _without_comment(source: str) -> str:
    return source.partition("//")[0].partition("/*")[0].strip()


def _sentence(step: TrailStep, what: str, good: str, bad: str, *, differs: bool) -> str:
    if step.changed is not None:
        return f"The code of `{what}` is not the same in both builds"
    subject = f"`{what}` {_verb(step, what)}"
    was = compared_with(good, differs=differs)
    if step.compared.only_addresses and good == bad and not step.counts:
        return f"{subject} addresses: no difference shown"
    if step.name or step.counts or what.endswith("()"):
        return f"{subject} {bad}{was}"
    if not what:
        return f"{bad}{was}"
    return f"{bad}{was}: `{what}`" if differs or not good else f"`{what}`: {bad}{was}"


def _verb(step: TrailStep, what: str) -> str:
    if step.counts:
        return "is called" if what.endswith("()") else _COUNTED.get(step.kind, "runs")
    if what.endswith("()"):
        return "returns"
    return "is" if step.compared.differs else "holds"


def turn(groups: Sequence[Grouped], end: ChainEnd) -> int | None:
    """The hop where good turns into bad. Where the way leads outside, the input differs legitimately: then it is the
    hop that turns more into less or less into more, nearest to the input; else the first that makes something else of
    the input. Where the way was lost, it is the last hop that makes other values most of the time. A hop that is not
    known to differ tells nothing: then it is the next one towards where time is paid. None: no hop is known to."""
    if not groups:
        return None
    values = [named(one) for one in groups]
    found = _turn(groups, values, end)
    return next((row for row in range(found, -1, -1) if _differs(values[row])), None)


def _turn(groups: Sequence[Grouped], values: Sequence[TrailStep], end: ChainEnd) -> int:
    last = len(groups) - 1
    if end is ChainEnd.NOT_FOLLOWED:
        clear = (row for row in range(last, -1, -1) if _is_clear(groups[row], values[row]))
        return next(clear, max(last, 0))
    if end is not ChainEnd.OUTSIDE or last < 1:
        return max(last, 0)
    directions = [one.compared.direction for one in values]
    for row in range(last, 0, -1):
        if directions[row] * directions[row - 1] < 0:
            return row - 1
    texts = [texts_of(one.compared, one.counts) for one in values]
    for row in range(last - 1, -1, -1):
        makes = any(one.kind is not HopKind.DECIDED for one in groups[row].steps)
        if makes and texts[row] != texts[last]:
            return row
    return last


def where_many_become_few(groups: Sequence[Grouped], end: ChainEnd) -> int | None:
    """The hop furthest back with the same few values again and again: what it is made of is as manifold as ever, unless
    other code, or one steady value such as a size, explains it."""
    if end is ChainEnd.CHANGED_CODE:
        return None
    values = [[step.compared for step in one.steps if not step.counts] for one in groups]
    gathering = [max((one.gathering for one in hop if one.gathers), default=0.0) for hop in values]
    most = max(gathering, default=0.0)
    few = max((row for row, one in enumerate(gathering) if one and one >= _CLEARLY * most), default=None)
    if few is None:
        return None
    behind = values[few + 1] if few + 1 < len(values) else []
    return None if any(one.differs and one.steady >= _STEADY for one in behind) else few


def _is_clear(group: Grouped, value: TrailStep) -> bool:
    makes = any(one.kind is not HopKind.DECIDED for one in group.steps)
    return makes and (value.counts or value.compared.distance >= _MOST_OF_THE_TIME)
