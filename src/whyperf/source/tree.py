"""A function's body, with only what tells roles apart: both readers of source make this tree, one module judges it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    line: int
    """Of its declaration in the same file; 0: declared elsewhere, or unknown."""


@dataclass(frozen=True, slots=True)
class Member:
    base: Node
    field: str


@dataclass(frozen=True, slots=True)
class Deref:
    base: Node


@dataclass(frozen=True, slots=True)
class CallNode:
    callee: Node
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Changed from what it was: ++, --, +=."""

    target: Node
    amount: Node


@dataclass(frozen=True, slots=True)
class Assign:
    target: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Truth:
    """A comparison or a logical operation: true or false, whatever its operands are."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Node
    rest: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    start: Node
    condition: Node
    update: Node
    body: Node


@dataclass(frozen=True, slots=True)
class RangeLoop:
    variables: tuple[Name, ...]
    range: Node
    body: Node


@dataclass(frozen=True, slots=True)
class Exit:
    """break, return, goto, throw."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    """Written within an expression, no part of it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Other:
    parts: tuple[Node, ...]


Node = (
    Name
    | Member
    | Deref
    | CallNode
    | Adjustment
    | Assign
    | Truth
    | Conditional
    | Loop
    | RangeLoop
    | Exit
    | Lambda
    | Other
)

NOTHING = Other(())


def children(node: Node) -> tuple[Node, ...]:
    parts: tuple[Node, ...] = ()
    match node:
        case Member(base, _) | Deref(base):
            parts = (base,)
        case CallNode(callee, arguments):
            parts = (callee, *arguments)
        case Adjustment(target, other) | Assign(target, other):
            parts = (target, other)
        case Conditional(condition, rest):
            parts = (condition, *rest)
        case Loop(start, condition, update, body):
            parts = (start, condition, update, body)
        case RangeLoop(variables, over, body):
            parts = (*variables, over, body)
        case Truth(parts) | Exit(parts) | Lambda(parts) | Other(parts):
            pass
    return parts
