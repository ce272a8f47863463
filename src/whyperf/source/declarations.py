"""What a syntax tree declares: functions, the file's variables, the names in declarators."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter

from whyperf.source.uses import Wanted

Function = tuple[tree_sitter.Node, int, str]
"""Its definition, the line of its name, and the name without scopes."""


def text_of(node: tree_sitter.Node | None) -> str:
    raw = node.text if node is not None else None
    return raw.decode(errors="replace") if raw else ""


def line_of(node: tree_sitter.Node) -> int:
    return node.start_point.row + 1


def declared_at_top(root: tree_sitter.Node) -> tuple[dict[str, int], list[Function]]:
    """The file's own variables, and its functions with the line of their name, outer before inner."""
    variables: dict[str, int] = {}
    functions: list[Function] = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            name = declared_name(node.child_by_field_name("declarator"))
            functions.append((node, line_of(name) if name else line_of(node), last_part(text_of(name))))
        elif node.type == "declaration":
            if not any(child.type == "storage_class_specifier" and child.text == b"extern" for child in node.children):
                variables.update((text, line) for text, line in _declared(node))
        elif node.type != "compound_statement":
            pending.extend(reversed(node.named_children))
        if node.type == "function_definition" and (body := node.child_by_field_name("body")):
            functions.extend(_inner_functions(body))
    return variables, functions


def _inner_functions(body: tree_sitter.Node) -> Iterator[Function]:
    """Where the grammar lost its way (a macro that it cannot know), functions end up within others."""
    if not body.has_error:
        return
    pending = list(body.named_children)
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            name = declared_name(node.child_by_field_name("declarator"))
            yield node, line_of(name) if name else line_of(node), last_part(text_of(name))
        pending.extend(node.named_children)


def last_part(name: str) -> str:
    return name.rpartition("::")[2].partition("<")[0].strip()


def chosen(functions: list[Function], wanted: Wanted) -> tree_sitter.Node | None:
    """By line and name; else around the line (lambdas); else by a name that only one has."""
    line, name = wanted
    at_line = [node for node, at, text in functions if at == line and text == name]
    around = [node for node, _, _ in functions if line_of(node) <= line <= node.end_point.row + 1]
    named = [node for node, _, text in functions if text == name]
    if at_line or around:
        return (at_line or around)[-1]
    return named[0] if len(named) == 1 else None


def declared_name(node: tree_sitter.Node | None) -> tree_sitter.Node | None:
    """The name in a declarator, however wrapped."""
    while node is not None and node.type not in ("identifier", "field_identifier", "destructor_name", "operator_name"):
        if node.type in ("qualified_identifier", "template_function"):
            inner = node.child_by_field_name("name")
        else:
            inner = node.child_by_field_name("declarator") or next(
                (c for c in node.named_children if c.type == "identifier" or c.type.endswith("_declarator")), None
            )
        node = inner
    return node


def _declared(declaration: tree_sitter.Node) -> Iterator[tuple[str, int]]:
    for declarator in declaration.children_by_field_name("declarator"):
        if declarator.type == "function_declarator":
            continue
        name = declared_name(declarator)
        if name is not None:
            yield text_of(name), line_of(name)


def array_sizes(declarator: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    inner: tree_sitter.Node | None = declarator
    while inner is not None:
        size = inner.child_by_field_name("size") if inner.type == "array_declarator" else None
        if size is not None:
            yield size
        inner = inner.child_by_field_name("declarator")


def binding_of(declarator: tree_sitter.Node) -> tree_sitter.Node | None:
    inner: tree_sitter.Node | None = declarator
    while inner is not None and inner.type != "structured_binding_declarator":
        inner = inner.child_by_field_name("declarator") or next(
            (child for child in inner.named_children if child.type.endswith("_declarator")), None
        )
    return inner
