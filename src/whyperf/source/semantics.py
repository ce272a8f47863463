"""Source as the compiler understands it (libclang): macros expanded, overloads and members resolved.

Needs the flags it was compiled with; a function with errors in it is left to its grammar.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import clang.cindex as clang
from clang.cindex import CursorKind as Kind

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

_FUNCTIONS = frozenset(
    (
        Kind.FUNCTION_DECL,
        Kind.CXX_METHOD,
        Kind.CONSTRUCTOR,
        Kind.DESTRUCTOR,
        Kind.FUNCTION_TEMPLATE,
        Kind.CONVERSION_FUNCTION,
    )
)
_HOLDERS = frozenset(
    (
        Kind.NAMESPACE,
        Kind.CLASS_DECL,
        Kind.STRUCT_DECL,
        Kind.UNION_DECL,
        Kind.CLASS_TEMPLATE,
        Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
        Kind.LINKAGE_SPEC,
        Kind.UNEXPOSED_DECL,
    )
)
_VARIABLES = frozenset((Kind.VAR_DECL, Kind.PARM_DECL))
_JUMPS = frozenset((Kind.BREAK_STMT, Kind.RETURN_STMT, Kind.GOTO_STMT, Kind.CXX_THROW_EXPR))
_UNREAD = frozenset((Kind.CXX_UNARY_EXPR, Kind.TYPE_REF, Kind.NAMESPACE_REF, Kind.TEMPLATE_REF))
# CXUnaryOperatorKind and CXBinaryOperatorKind, which the Python layer of this version does not know.
_STEPS, _DEREF, _NOT = frozenset((1, 2, 3, 4)), 6, 10
_TRUTHS, _SHORT_CIRCUITS, _ASSIGN = frozenset(range(10, 17)), frozenset((20, 21)), 22
_NOT_CALLED = frozenset(("__builtin_expect",))
_ERROR, _FATAL = 3, 4


class UncleanError(Exception):
    """Headers are missing, or it is no source at all."""


def uses_by_semantics(file: str, flags: Sequence[str], wanted: Sequence[Wanted]) -> dict[Wanted, Uses]:
    """Of those functions that are found and without errors; UncleanError where the whole file cannot be trusted."""
    try:
        unit = clang.Index.create().parse(file, args=list(flags))
    except clang.TranslationUnitLoadError as error:
        raise UncleanError(str(error)) from error
    errors = [found for found in unit.diagnostics if found.severity >= _ERROR]
    if any(found.severity >= _FATAL for found in errors):
        raise UncleanError(errors[-1].spelling)
    wrong = {found.location.line for found in errors if found.location.file and found.location.file.name == file}
    reading = _Reading(file)
    found_uses: dict[Wanted, Uses] = {}
    functions = list(_functions(unit.cursor, file))
    for one in wanted:
        function = _chosen(functions, one)
        if function is None or wrong.intersection(range(function.extent.start.line, function.extent.end.line + 1)):
            continue
        found_uses[one] = uses(reading.function(function))
    return found_uses


def _functions(top: clang.Cursor, file: str) -> Iterator[clang.Cursor]:
    pending = [top]
    while pending:
        for cursor in pending.pop().get_children():
            where = cursor.location.file
            if where is None or where.name != file:
                continue
            if cursor.kind in _FUNCTIONS and cursor.is_definition():
                yield cursor
            elif cursor.kind in _HOLDERS:
                pending.append(cursor)


def _chosen(functions: list[clang.Cursor], wanted: Wanted) -> clang.Cursor | None:
    line, name = wanted
    at_line = [one for one in functions if one.location.line == line and one.spelling.partition("<")[0] == name]
    around = [one for one in functions if one.extent.start.line <= line <= one.extent.end.line]
    named = [one for one in functions if one.spelling == name]
    if at_line or around:
        return (at_line or around)[-1]
    return named[0] if len(named) == 1 else None


class _Reading:
    def __init__(self, file: str) -> None:
        self._file = file

    def function(self, cursor: clang.Cursor) -> Node:
        return Other(tuple(self._all(cursor.get_children())))

    def _all(self, cursors: Iterator[clang.Cursor] | Sequence[clang.Cursor]) -> list[Node]:
        return [self._read(cursor) for cursor in cursors]

    def _read(self, cursor: clang.Cursor) -> Node:
        kind = cursor.kind
        if kind in _UNREAD:
            return NOTHING
        reader = _READERS.get(kind)
        if reader is not None:
            return reader(self, cursor)
        if kind in _JUMPS:
            return Exit(tuple(self._all(cursor.get_children())))
        return self._plain(cursor)

    def _plain(self, cursor: clang.Cursor) -> Node:
        parts = self._all(cursor.get_children())
        return parts[0] if len(parts) == 1 else Other(tuple(parts))

    def _named(self, declaration: clang.Cursor) -> Name:
        where = declaration.location
        here = where.file is not None and where.file.name == self._file
        return Name(declaration.spelling, where.line if here else 0)

    def _reference(self, cursor: clang.Cursor) -> Node:
        declaration = cursor.referenced
        return self._named(declaration) if declaration is not None and declaration.kind in _VARIABLES else NOTHING

    def _this(self, _cursor: clang.Cursor) -> Node:
        return Name("this", 0)

    def _member(self, cursor: clang.Cursor) -> Node:
        declaration = cursor.referenced
        if declaration is not None and declaration.kind is Kind.VAR_DECL:
            return self._named(declaration)
        bases = [child for child in cursor.get_children() if child.kind.is_expression()]
        base = self._read(bases[0]) if bases else Name("this", 0)
        if declaration is None or declaration.kind is not Kind.FIELD_DECL or not cursor.spelling:
            return base  # a method, or an anonymous union
        return Member(base, cursor.spelling)

    def _unary(self, cursor: clang.Cursor) -> Node:
        inner, operator = self._plain(cursor), clang.conf.lib.clang_getCursorUnaryOperatorKind(cursor)
        if operator in _STEPS:
            return Adjustment(inner, NOTHING)
        if operator == _DEREF:
            return Deref(inner)
        return Truth((inner,)) if operator == _NOT else inner

    def _binary(self, cursor: clang.Cursor) -> Node:
        parts = tuple(self._all(cursor.get_children()))
        operator = clang.conf.lib.clang_getCursorBinaryOperatorKind(cursor)
        if operator in _SHORT_CIRCUITS:
            return Truth((Conditional(Other(parts), ()),))
        if operator == _ASSIGN and len(parts) == 2:
            return Assign(*parts)
        return Truth(parts) if operator in _TRUTHS else Other(parts)

    def _compound(self, cursor: clang.Cursor) -> Node:
        parts = self._all(cursor.get_children())
        return Adjustment(parts[0], Other(tuple(parts[1:]))) if parts else NOTHING

    def _call(self, cursor: clang.Cursor) -> Node:
        arguments, name = list(cursor.get_arguments()), cursor.spelling
        passed = tuple(self._all(arguments))
        if name.startswith("operator") and not name[8:9].isalnum():
            return _operated(name[8:], tuple(self._all(cursor.get_children())), passed)
        if name in _NOT_CALLED or _is_implicit(cursor, arguments):
            return Other(passed)
        starts = {argument.extent.start.offset for argument in arguments}
        callee = next(iter(cursor.get_children()), None)
        # A constructor has no callee: its first child is an argument.
        is_callee = callee is not None and (callee.extent.start.offset not in starts or callee not in arguments)
        return CallNode(self._read(callee) if is_callee and callee is not None else NOTHING, passed)

    def _declaration(self, cursor: clang.Cursor) -> Node:
        values = [child for child in cursor.get_children() if child.kind.is_expression()]
        if not values:
            return NOTHING
        return Assign(self._named(cursor), Other(tuple(self._all(values))))

    def _choice(self, cursor: clang.Cursor) -> Node:
        before, condition, rest = self._asked(cursor)
        return Conditional(condition, (before, *rest))

    def _asked(self, cursor: clang.Cursor) -> tuple[Node, Node, list[Node]]:
        """What is done first, what is asked, and all that follows."""
        parts = list(cursor.get_children())
        at = next((i for i, part in enumerate(parts) if part.kind.is_expression()), 0)
        if not parts:
            return NOTHING, NOTHING, []
        asked = [part for i, part in enumerate(parts[: at + 1]) if i == at or part.kind is Kind.VAR_DECL]
        before = [part for part in parts[:at] if part.kind is not Kind.VAR_DECL]
        condition = self._all(asked)
        return (
            Other(tuple(self._all(before))),
            condition[0] if len(condition) == 1 else Other(tuple(condition)),
            self._all(parts[at + 1 :]),
        )

    def _while(self, cursor: clang.Cursor) -> Node:
        before, condition, body = self._asked(cursor)
        return Loop(NOTHING, condition, before, Other(tuple(body)))

    def _do(self, cursor: clang.Cursor) -> Node:
        parts = self._all(cursor.get_children())
        return Loop(NOTHING, parts[-1], NOTHING, Other(tuple(parts[:-1]))) if parts else NOTHING

    def _for(self, cursor: clang.Cursor) -> Node:
        """Parts that are not written are not among the children: what is there tells which it is."""
        *header, body = list(cursor.get_children()) or [None]
        parts: list[Node] = self._all(header)
        start = parts.pop(0) if parts and (len(parts) == 3 or _is_start(header[0], parts[0])) else NOTHING
        update = parts.pop() if parts and (len(parts) == 2 or _changes(parts[-1])) else NOTHING
        return Loop(start, Other(tuple(parts)), update, self._read(body) if body is not None else NOTHING)

    def _for_range(self, cursor: clang.Cursor) -> Node:
        *header, body = list(cursor.get_children()) or [None]
        variables = tuple(self._named(part) for part in header if part.kind is Kind.VAR_DECL)
        over = Other(tuple(self._all([part for part in header if part.kind.is_expression()])))
        return RangeLoop(variables, over, self._read(body) if body is not None else NOTHING)

    def _lambda(self, cursor: clang.Cursor) -> Node:
        return Lambda(tuple(self._all([part for part in cursor.get_children() if part.kind.is_statement()])))


def _operated(operator: str, children: tuple[Node, ...], operands: tuple[Node, ...]) -> Node:
    """An overloaded operator is an expression like the built-in one."""
    if operator in ("++", "--") or (operator.endswith("=") and operator not in ("=", "==", "!=", "<=", ">=")):
        return Adjustment(operands[0], Other(operands[1:])) if operands else NOTHING
    if operator == "=" and len(operands) == 2:
        return Assign(*operands)
    if operator == "()":
        return CallNode(operands[0] if operands else NOTHING, operands[1:])
    return Truth(operands) if operator in ("==", "!=", "<", ">", "<=", ">=", "!") else Other(children)


def _is_implicit(call: clang.Cursor, arguments: list[clang.Cursor]) -> bool:
    """A conversion or a copy that nobody wrote."""
    extent = call.extent
    return len(arguments) == 1 and (
        (arguments[0].extent.start.offset, arguments[0].extent.end.offset) == (extent.start.offset, extent.end.offset)
    )


def _is_start(cursor: clang.Cursor, node: Node) -> bool:
    return cursor.kind is Kind.DECL_STMT or isinstance(node, Assign)


def _changes(node: Node) -> bool:
    match node:
        case Adjustment() | Assign() | CallNode():
            return True
        case Other(parts):
            return bool(parts) and all(_changes(part) for part in parts)
    return False


_READERS = {
    Kind.DECL_REF_EXPR: _Reading._reference,
    Kind.CXX_THIS_EXPR: _Reading._this,
    Kind.MEMBER_REF_EXPR: _Reading._member,
    Kind.UNARY_OPERATOR: _Reading._unary,
    Kind.BINARY_OPERATOR: _Reading._binary,
    Kind.COMPOUND_ASSIGNMENT_OPERATOR: _Reading._compound,
    Kind.CALL_EXPR: _Reading._call,
    Kind.VAR_DECL: _Reading._declaration,
    Kind.IF_STMT: _Reading._choice,
    Kind.SWITCH_STMT: _Reading._choice,
    Kind.CONDITIONAL_OPERATOR: _Reading._choice,
    Kind.WHILE_STMT: _Reading._while,
    Kind.DO_STMT: _Reading._do,
    Kind.FOR_STMT: _Reading._for,
    Kind.CXX_FOR_RANGE_STMT: _Reading._for_range,
    Kind.LAMBDA_EXPR: _Reading._lambda,
}


def _declare_operator_kinds() -> None:
    for name in ("clang_getCursorUnaryOperatorKind", "clang_getCursorBinaryOperatorKind"):
        function = getattr(clang.conf.lib, name)
        function.argtypes, function.restype = [clang.Cursor], ctypes.c_int


_declare_operator_kinds()
