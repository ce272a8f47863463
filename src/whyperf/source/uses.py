"""Which variables steer loops, decide branches and are passed on (vProf, section 3.2.1).

The paper takes what LLVM calls induction variables. Here a loop's variable is one that the loop's own header changes,
or that the header asks for and the body moves on from its old value or another variable's: lists and binary searches
count, a flag that the body sets does not. Members are variables of their own: `p->n` as well as `p`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

from whyperf.source.tree import (
    Adjustment,
    Assign,
    CallNode,
    Conditional,
    Deref,
    Exit,
    Lambda,
    Loop,
    Member,
    Name,
    Node,
    Other,
    RangeLoop,
    Truth,
    children,
)

Wanted = tuple[int, str]
"""A function: line of its name, and the name without scopes."""
Variable = tuple[int, str]
"""Line of the declaration (0: in no place that is known) and path: p, p.n, *p."""
Uses = dict[Variable, frozenset["UseRole"]]


class UseRole(StrEnum):
    LOOP = "loop"
    CONDITION = "condition"
    TRUTH = "truth"
    """Conditions ask for it as it is, and compare it with nothing: whether it is zero, or which case it is."""
    ARGUMENT = "argument"
    GLOBAL = "global"


_HIDDEN = {
    "__for_range": (UseRole.CONDITION,),
    "__for_begin": (UseRole.LOOP, UseRole.CONDITION),
    "__for_end": (UseRole.CONDITION,),
}
"""What compilers declare for a loop over a range."""


def uses(function: Node) -> Uses:
    """Of one function's body."""
    found: dict[Variable, set[UseRole]] = defaultdict(set)

    def mark(role: UseRole, variables: Iterator[Variable] | set[Variable]) -> None:
        for variable in variables:
            found[variable].add(role)

    for node in _within(function):
        match node:
            case Conditional(condition, _):
                mark(UseRole.CONDITION, _mentioned(condition))
            case Truth(parts):  # whether it is asked at once or kept as an answer
                mark(UseRole.CONDITION, _mentioned(Other(parts)))
            case CallNode(_, arguments):
                for argument in arguments:
                    mark(UseRole.ARGUMENT, _mentioned(argument))
            case Loop(_, condition, _, _):
                mark(UseRole.CONDITION, _mentioned(condition))
                mark(UseRole.LOOP, _induction(node))
            case RangeLoop(variables, over, _):
                mark(UseRole.LOOP, {path for name in variables if (path := path_of(name)) is not None})
                mark(UseRole.CONDITION, _mentioned(over))
                for text, roles in _HIDDEN.items():
                    found[0, text].update(roles)
    mark(UseRole.TRUTH, _only_truths(function))
    return {variable: frozenset(roles) for variable, roles in found.items()}


def _only_truths(function: Node) -> set[Variable]:
    """Variables that are asked for as they are: neither compared, nor by a loop, whose last round says little."""
    plain: set[Variable] = set()
    otherwise: set[Variable] = set()
    for node in _within(function):
        match node:
            case Conditional(Other(parts), ()):  # of && and ||
                asked = parts
            case Conditional(condition, _):
                asked = (condition,)
            case Truth((Conditional(),)):
                continue  # comes by itself
            case Truth((only,)):
                asked = (only,)
            case Truth(parts) | Loop(_, Other(parts), _, _):
                otherwise.update(_mentioned(Other(parts)))
                continue
            case Loop(_, condition, _, _) | RangeLoop(_, condition, _):
                otherwise.update(_mentioned(condition))
                continue
            case _:
                continue
        for part in asked:
            if (path := path_of(part)) is not None:
                plain.add(path)
            elif not isinstance(part, Truth):
                otherwise.update(_mentioned(part))
    return plain - otherwise


def path_of(node: Node) -> Variable | None:
    """Of an expression that names a variable, or a member of one."""
    match node:
        case Name(text, line) if text:  # a parser makes up what damaged source lacks
            return line, text
        case Member(Deref(base), field) | Member(base, field):
            return _under(base, "", f".{field}")
        case Deref(base):
            return _under(base, "*", "")
    return None


def _under(base: Node, before: str, after: str) -> Variable | None:
    inner = path_of(base)
    return None if inner is None else (inner[0], before + inner[1] + after)


def _within(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def _mentioned(expression: Node) -> Iterator[Variable]:
    """Every variable in it, and the prefixes of members."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Lambda):
            continue
        path = path_of(node)
        if path is not None and path[1] != "this":
            yield path
        pending.extend(children(node))


def _induction(loop: Loop) -> set[Variable]:
    asked = set(_mentioned(loop.condition)) or set(_exits_asked(loop.body))
    return _changed(loop.condition) | _changed(loop.update) | (_moved_on(loop.body) & asked)


def _changed(header: Node) -> set[Variable]:
    targets = (node.target for node in _within(header) if isinstance(node, Adjustment | Assign))
    return {path for target in targets if (path := path_of(target)) is not None}


def _moved_on(body: Node) -> set[Variable]:
    """What takes another value that depends on variables; a constant or an answer of a function is a flag set."""
    moved = set()
    for node in _within(body):
        if not isinstance(node, Adjustment | Assign):
            continue
        target = path_of(node.target)
        if target is not None and (isinstance(node, Adjustment) or _follows(node.value, target)):
            moved.add(target)
    return moved


def _follows(value: Node, target: Variable) -> bool:
    if isinstance(value, Truth):
        return False
    sources = set(_mentioned(value))
    return target in sources or (bool(sources) and not any(isinstance(node, CallNode) for node in _within(value)))


def _exits_asked(body: Node) -> Iterator[Variable]:
    """Of a loop without a condition: what decides whether it is left."""
    for node in _within(body):
        if isinstance(node, Conditional) and any(isinstance(part, Exit) for rest in node.rest for part in _near(rest)):
            yield from _mentioned(node.condition)


def _near(node: Node) -> Iterator[Node]:
    """Not in loops and choices of its own."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Loop | RangeLoop | Conditional | Lambda):
            pending.extend(children(node))
