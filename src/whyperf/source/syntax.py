"""Source by its grammar alone (tree-sitter): no compile flags, no headers, damaged files too.

Names are resolved by blocks and by the file's own declarations; macros stay what they look like.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp

from whyperf.source.declarations import (
    array_sizes,
    binding_of,
    chosen,
    declared_at_top,
    declared_name,
    last_part,
    line_of,
    text_of,
)
from whyperf.source.tree import (
    NOTHING,
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
)
from whyperf.source.uses import Uses, Wanted, uses

_FRAMES_DEEP = 20_000
_NOT_CALLED = frozenset(("likely", "unlikely", "LIKELY", "UNLIKELY", "__builtin_expect", "sizeof", "defined"))
_JUMPS = frozenset(("break_statement", "return_statement", "goto_statement", "throw_statement", "co_return_statement"))
_UNREAD = frozenset(("sizeof_expression", "alignof_expression", "decltype", "comment", "type_descriptor"))
_SCOPED = frozenset(("compound_statement", "catch_clause", "case_statement"))
_TRUTHS = frozenset(("==", "!=", "<", ">", "<=", ">=", "not_eq"))
_SHORT_CIRCUITS = frozenset(("&&", "||", "and", "or"))
_DECLARATORS = frozenset(("pointer_declarator", "reference_declarator", "array_declarator", "function_declarator"))


@cache
def _parser(language: str) -> tree_sitter.Parser:
    grammar = tree_sitter_c.language() if language == "c" else tree_sitter_cpp.language()
    return tree_sitter.Parser(tree_sitter.Language(grammar))


def uses_by_syntax(content: bytes, language: str, wanted: Sequence[Wanted]) -> dict[Wanted, Uses]:
    """Of those functions that are found; the others are left out."""
    tree = _parser(language).parse(content)
    top, functions = declared_at_top(tree.root_node)
    found: dict[Wanted, Uses] = {}
    for one in wanted:
        function = chosen(functions, one)
        if function is None:
            continue
        with _deep(), contextlib.suppress(RecursionError):
            found[one] = uses(_Reading(top).function(function))
    return found


@contextlib.contextmanager
def _deep() -> Iterator[None]:
    """Room for long chains of `else if`; calls of Python functions by Python functions take no room on the C stack."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES_DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class _Reading:
    """One function: blocks within blocks, each with its names."""

    def __init__(self, top: dict[str, int]) -> None:
        self._scopes: list[dict[str, int]] = [top]

    def function(self, node: tree_sitter.Node) -> Node:
        with self._scope():
            return Other((self._parameters(node.child_by_field_name("declarator")), *self._all(node.named_children)))

    @contextlib.contextmanager
    def _scope(self) -> Iterator[None]:
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def _declare(self, name: tree_sitter.Node) -> Name:
        declared = Name(text_of(name), line_of(name))
        self._scopes[-1][declared.text] = declared.line
        return declared

    def _name(self, text: str) -> Name:
        return Name(text, next((scope[text] for scope in reversed(self._scopes) if text in scope), 0))

    def _parameters(self, declarator: tree_sitter.Node | None) -> Node:
        while declarator is not None and not declarator.type.endswith("function_declarator"):
            declarator = declarator.child_by_field_name("declarator") or next(
                (child for child in declarator.named_children if child.type in _DECLARATORS), None
            )
        parameters = declarator.child_by_field_name("parameters") if declarator else None
        for parameter in parameters.named_children if parameters else ():
            name = declared_name(parameter.child_by_field_name("declarator"))
            if name is not None:
                self._declare(name)
        return NOTHING

    def _all(self, nodes: Sequence[tree_sitter.Node]) -> list[Node]:
        return [self._read(node) for node in nodes]

    def _field(self, node: tree_sitter.Node, field: str) -> Node:
        child = node.child_by_field_name(field)
        return NOTHING if child is None else self._read(child)

    def _read(self, node: tree_sitter.Node) -> Node:
        kind = node.type
        if kind in _UNREAD:
            return NOTHING
        if kind in _SCOPED:
            with self._scope():
                return self._plain(node)
        reader = _READERS.get(kind)
        if reader is not None:
            return reader(self, node)
        return Exit(tuple(self._all(node.named_children))) if kind in _JUMPS else self._plain(node)

    def _plain(self, node: tree_sitter.Node) -> Node:
        parts = self._all(node.named_children)
        return parts[0] if len(parts) == 1 else Other(tuple(parts))

    def _identifier(self, node: tree_sitter.Node) -> Node:
        return self._name(last_part(text_of(node)))

    def _member(self, node: tree_sitter.Node) -> Node:
        base, field = self._field(node, "argument"), text_of(node.child_by_field_name("field"))
        return Member(base, field) if field else base

    def _pointed(self, node: tree_sitter.Node) -> Node:
        inner = self._field(node, "argument")
        return Deref(inner) if text_of(node.child_by_field_name("operator")) == "*" else inner

    def _called(self, node: tree_sitter.Node) -> Node:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        passed = tuple(self._all(arguments.named_children)) if arguments is not None else ()
        callee: Node = NOTHING
        if function is not None and function.type == "field_expression":
            inside = function.child_by_field_name("argument")
            # Through a pointer to a function or a method: only the object is a variable for sure.
            callee = NOTHING if inside is None else self._read(inside)
        name = text_of(function)
        if name in _NOT_CALLED:
            return Other(passed)
        return Conditional(Other(passed), ()) if name.lower().endswith("assert") else CallNode(callee, passed)

    def _constructed(self, node: tree_sitter.Node) -> Node:
        return CallNode(NOTHING, tuple(self._all(node.named_children)))

    def _stepped(self, node: tree_sitter.Node) -> Node:
        return Adjustment(self._field(node, "argument"), NOTHING)

    def _assigned(self, node: tree_sitter.Node) -> Node:
        target, value = self._field(node, "left"), self._field(node, "right")
        is_plain = text_of(node.child_by_field_name("operator")) == "="
        return Assign(target, value) if is_plain else Adjustment(target, value)

    def _operated(self, node: tree_sitter.Node) -> Node:
        operator = text_of(node.child_by_field_name("operator"))
        parts = (self._field(node, "left"), self._field(node, "right"))
        if operator in _SHORT_CIRCUITS:
            return Truth((Conditional(Other(parts), ()),))
        return Truth(parts) if operator in _TRUTHS else Other(parts)

    def _negated(self, node: tree_sitter.Node) -> Node:
        inner = self._field(node, "argument")
        return Truth((inner,)) if text_of(node.child_by_field_name("operator")) in ("!", "not") else inner

    def _declaration(self, node: tree_sitter.Node) -> Node:
        value = node.child_by_field_name("value")  # of a declaration in a condition
        made = [self._declarator(declarator, value) for declarator in node.children_by_field_name("declarator")]
        return made[0] if len(made) == 1 else Other(tuple(made))

    def _declarator(self, declarator: tree_sitter.Node, value: tree_sitter.Node | None) -> Node:
        if declarator.type == "function_declarator" and (passed := self._passed(declarator)):
            name = declared_name(declarator)
            if name is not None:
                self._declare(name)
            return CallNode(NOTHING, passed)
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("value")
        initial = NOTHING if value is None else self._read(value)
        sizes = [self._read(size) for size in array_sizes(declarator)]
        binding = binding_of(declarator)
        names = binding.named_children if binding is not None else [declared_name(declarator)]
        targets = [self._declare(name) for name in names if name is not None]
        if value is not None and value.type == "argument_list":
            return initial
        return Other((*(Assign(target, initial) for target in targets if value is not None), *sizes))

    def _passed(self, declarator: tree_sitter.Node) -> tuple[Node, ...]:
        """`Row made(a, n)` looks like a function's declaration, but where the "types" are variables it is none."""
        parameters = declarator.child_by_field_name("parameters")
        found = [self._name(text_of(one)) for one in (parameters.named_children if parameters else ())]
        return tuple(found) if all(name.line for name in found) else ()

    def _choice(self, node: tree_sitter.Node) -> Node:
        with self._scope():
            first, condition = self._condition(node.child_by_field_name("condition"))
            fields = ("consequence", "alternative", "body")
            return Conditional(condition, (first, *(self._field(node, field) for field in fields)))

    def _condition(self, node: tree_sitter.Node | None) -> tuple[Node, Node]:
        """What is done before it is asked, and what is asked."""
        if node is None:
            return NOTHING, NOTHING
        if node.type != "condition_clause":
            return NOTHING, self._read(node)
        first = self._field(node, "initializer")
        return first, self._field(node, "value")

    def _while(self, node: tree_sitter.Node) -> Node:
        with self._scope():
            first, condition = self._condition(node.child_by_field_name("condition"))
            return Loop(NOTHING, condition, first, self._field(node, "body"))

    def _for(self, node: tree_sitter.Node) -> Node:
        with self._scope():
            start = self._field(node, "initializer")
            return Loop(start, self._field(node, "condition"), self._field(node, "update"), self._field(node, "body"))

    def _for_range(self, node: tree_sitter.Node) -> Node:
        over = self._field(node, "right")
        with self._scope():
            declarator = node.child_by_field_name("declarator")
            binding = binding_of(declarator) if declarator is not None else None
            names = binding.named_children if binding is not None else [declared_name(declarator)]
            variables = tuple(self._declare(name) for name in names if name is not None)
            return RangeLoop(variables, over, self._field(node, "body"))

    def _lambda(self, node: tree_sitter.Node) -> Node:
        with self._scope():
            self._parameters(node.child_by_field_name("declarator"))
            return Lambda((self._field(node, "captures"), self._field(node, "body")))


_READERS = {
    "identifier": _Reading._identifier,
    "qualified_identifier": _Reading._identifier,
    "this": _Reading._identifier,
    "field_expression": _Reading._member,
    "pointer_expression": _Reading._pointed,
    "call_expression": _Reading._called,
    "new_expression": _Reading._constructed,
    "argument_list": _Reading._constructed,
    "update_expression": _Reading._stepped,
    "assignment_expression": _Reading._assigned,
    "binary_expression": _Reading._operated,
    "unary_expression": _Reading._negated,
    "declaration": _Reading._declaration,
    "if_statement": _Reading._choice,
    "switch_statement": _Reading._choice,
    "conditional_expression": _Reading._choice,
    "while_statement": _Reading._while,
    "do_statement": _Reading._while,
    "for_statement": _Reading._for,
    "for_range_loop": _Reading._for_range,
    "lambda_expression": _Reading._lambda,
}
