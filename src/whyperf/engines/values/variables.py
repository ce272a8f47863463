"""One number per variable across all runs of a comparison.

A variable is known by its function, its name and the order of its declaration. Builds differ: a declaration added
above moves the order of all that follow, so where orders do not correspond, variables of one name and type are taken
in their order; and a name that only one variable of the function has is enough, whatever its type became. Between two
builds a variable that has gone and one of its type that has come between the same neighbours are one with a new name,
and so is what lies behind it. A function that only one build has may have been split off its caller: a variable that
one of them has lost and the other has got, with the same name and type, is the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.renames import Declaration, renamed
from whyperf.engines.run import Run, ints, texts
from whyperf.engines.values.kinds import ValueKind, kind_named

GLOBAL = -1
_IDENTITIES = re.compile(r"\b_*(ino|dev|pid|uid|gid|id|time|clock|clockid|timer|key)(64)?_t\b")
_Scope = tuple[int, str]  # function number (or GLOBAL) and, for globals, the module
_Declared = dict[_Scope, list[tuple[int, "Variable"]]]  # rows and variables of one run
_Declaration = tuple[str, str, str, int]  # name, unit, type and order
_BASE = re.compile(r"[^\W\d][\w:]*")
_LENGTH = "length of "  # how the debug information reader calls that of an array


@dataclass(frozen=True)
class Variable:
    function: int  # of the function index; GLOBAL for globals
    name: str
    type: str
    kind: ValueKind
    scope: str
    order: int
    roles: frozenset[str]
    file: str
    line: int
    unit: str = ""  # of redacted numbers: those of another unit are not to be compared with

    @property
    def is_identity(self) -> bool:
        """What its type says is a name or a moment, no quantity: an inode, a process, a user, a time."""
        return _IDENTITIES.search(self.type) is not None

    @property
    def is_parameter(self) -> bool:
        return self.scope == "parameter"


class VariableIndex:
    """Variables read in any of the runs, numbered; and which row of each run's table they are."""

    def __init__(self, functions: FunctionIndex) -> None:
        self.variables: list[Variable] = []
        self.rows: dict[Run, dict[int, int]] = {}  # by number
        self._scopes: dict[_Scope, list[int]] = defaultdict(list)
        self._declarations: dict[_Scope, dict[_Declaration, int]] = defaultdict(dict)  # where in the scope
        self._first_build: dict[_Scope, str] = {}
        self._functions = functions
        for run in (*functions.bad, *functions.good):  # the bad runs' spelling is the one shown
            self.rows[run] = self._add(run, _declared(run, functions))

    def _add(self, run: Run, declared: _Declared) -> dict[int, int]:
        rows: dict[int, int] = {}
        unknown: list[tuple[_Scope, int, Variable]] = []
        for scope, found in declared.items():
            variables = [variable for _, variable in found]
            other_build = self._is_other_build(run, scope)
            matches = match_exactly(self._declarations[scope], variables)
            if len(set(matches.values())) < len(variables):
                known = [self.variables[number] for number in self._scopes[scope]]
                matches = match(known, variables)
                if other_build:
                    matches |= match_renamed(known, variables, matches)
            for at, (row, variable) in enumerate(found):
                if at in matches:
                    rows[self._scopes[scope][matches[at]]] = row
                else:
                    unknown.append((scope, row, variable))
        for scope, row, variable in unknown:
            moved = self._moved(scope, variable, rows)
            rows[self._added(scope, variable) if moved is None else moved] = row
        return rows

    def _added(self, scope: _Scope, variable: Variable) -> int:
        self._declarations[scope][declaration_of(variable)] = len(self._scopes[scope])
        self.variables.append(variable)
        self._scopes[scope].append(len(self.variables) - 1)
        return len(self.variables) - 1

    def _is_other_build(self, run: Run, scope: _Scope) -> bool:
        """Whether the variables of this scope were first known from another build."""
        function, module = scope
        if function != GLOBAL:
            module = self._functions.functions[function].key.module
        build = self._functions.builds.of(run, module)
        first = self._first_build.setdefault(scope, build)
        return bool(first and build) and first != build

    def _moved(self, scope: _Scope, variable: Variable, rows: dict[int, int]) -> int | None:
        """The one variable of that name and type in a function that was split off this one, or that this one was."""
        split_off = self._functions.split_off
        relatives = split_off.get(scope[0], set()) | {
            caller for caller, called in split_off.items() if scope[0] in called
        }
        found = [
            number
            for function in relatives
            for number in self._scopes.get((function, ""), [])
            if number not in rows and _same_declaration(self.variables[number], variable)
        ]
        return found[0] if len(found) == 1 else None


def declaration_of(variable: Variable) -> _Declaration:
    return variable.name, variable.unit, variable.type, variable.order


def match_exactly(known: Mapping[_Declaration, int], found: Sequence[Variable]) -> dict[int, int]:
    """Most runs are of one build: where this finds another one for each, `match` would find the same."""
    declared = enumerate(map(declaration_of, found))
    return {at: known[declaration] for at, declaration in declared if declaration in known}


def match(known: Sequence[Variable], found: Sequence[Variable]) -> dict[int, int]:
    """Which of the variables of a function found in one run are which of those known from others."""
    pairs: dict[int, int] = {}
    by_type = _grouped(known, lambda v: (v.name, v.unit, v.type)), _grouped(found, lambda v: (v.name, v.unit, v.type))
    for key, there in by_type[1].items():
        pairs |= _in_order(known, by_type[0].get(key, []), found, there)
    taken = set(pairs.values())
    by_name = _grouped(known, lambda v: (v.name, v.unit)), _grouped(found, lambda v: (v.name, v.unit))
    for key, there in by_name[1].items():
        here = by_name[0].get(key, [])
        alone = len(here) == len(there) == 1 and there[0] not in pairs and here[0] not in taken
        if alone and _comparable(known[here[0]].kind, found[there[0]].kind):
            pairs[there[0]] = here[0]
    return pairs


def match_renamed(known: Sequence[Variable], found: Sequence[Variable], matches: dict[int, int]) -> dict[int, int]:
    """Which of those that `match` left are variables with a new name: themselves, and what lies behind them."""
    here, there = _by_declaration(known), _by_declaration(found)
    taken = set(matches.values())
    pairs = renamed(
        [Declaration(at if at in taken else None, _kept_by_renaming(known[at])) for at in here],
        [Declaration(matches.get(at), _kept_by_renaming(found[at])) for at in there],
    )
    same = {there[new]: here[old] for new, old in pairs.items()}
    old_names = {_base(found[new].name): _base(known[old].name) for new, old in same.items()}
    by_name = {(one.name, one.type, one.unit): at for at, one in enumerate(known) if at not in taken}
    for at, one in enumerate(found):
        base = _base(one.name)
        if at not in matches and at not in same and base in old_names:
            old = by_name.get((_with_base(one.name, old_names[base]), one.type, one.unit))
            if old is not None:
                same[at] = old
    return same


def _by_declaration(variables: Sequence[Variable]) -> list[int]:
    """Those that are declared themselves, in their order."""
    declared = [at for at, one in enumerate(variables) if one.name.lstrip("&") == _base(one.name)]
    return sorted(declared, key=lambda at: (not variables[at].is_parameter, variables[at].file, variables[at].line, at))


def _same_declaration(one: Variable, other: Variable) -> bool:
    return (one.name, one.type, one.unit) == (other.name, other.type, other.unit)


def _kept_by_renaming(variable: Variable) -> tuple[str, ...]:
    return variable.type, variable.scope, variable.kind.value, variable.unit


def _base(name: str) -> str:
    """The variable by which a name begins: p of p->n, *p, p.n, p.size() and "length of p"."""
    found = _BASE.search(name.removeprefix(_LENGTH))
    return found[0] if found else name


def _with_base(name: str, base: str) -> str:
    prefix = _LENGTH if name.startswith(_LENGTH) else ""
    return prefix + _BASE.sub(base, name.removeprefix(prefix), count=1)


def _in_order(
    known: Sequence[Variable], here: list[int], found: Sequence[Variable], there: list[int]
) -> dict[int, int]:
    orders_here = {known[at].order: at for at in here}
    orders_there = {found[at].order: at for at in there}
    agree = orders_here.keys() <= orders_there.keys() or orders_there.keys() <= orders_here.keys()
    if not agree and len(here) == len(there):
        first, second = sorted(here, key=lambda at: known[at].order), sorted(there, key=lambda at: found[at].order)
        return dict(zip(second, first, strict=True))
    return {at: orders_here[order] for order, at in orders_there.items() if order in orders_here}


def _grouped(
    variables: Sequence[Variable], key: Callable[[Variable], tuple[str, ...]]
) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, variable in enumerate(variables):
        groups[key(variable)].append(at)
    return groups


def _comparable(one: ValueKind, other: ValueKind) -> bool:
    if one is other:
        return True
    integers = {ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.SIZE, ValueKind.ENUM, ValueKind.BOOLEAN}
    return (one in integers and other in integers) or (one.is_scaled and other.is_scaled)


@cache
def _roles(text: str) -> frozenset[str]:
    return frozenset(role for role in text.split("|") if role)


def _declared(run: Run, functions: FunctionIndex) -> _Declared:
    table = run.recording.table("variables")
    numbers = functions.of_row[run]
    modules = functions.module_names[run]
    names = run.recording.table("functions").column("name")
    found: _Declared = defaultdict(list)
    columns = zip(
        ints(table, "function"),
        ints(table, "module"),
        texts(table, "name"),
        texts(table, "type"),
        texts(table, "kind"),
        texts(table, "scope"),
        ints(table, "order"),
        texts(table, "roles"),
        texts(table, "file"),
        ints(table, "line"),
        strict=True,
    )
    for row, (function, module, name, type_, kind, scope, order, roles, file, line) in enumerate(columns):
        number = numbers.get(function) if function >= 0 else GLOBAL
        if number is None:  # of a function that is on no stack: nothing of it can have been read
            continue
        known, unit = kind_named(kind), ""
        if known.is_scaled:
            owner = names[function].as_py() if function >= 0 else ""
            unit = f"{run.manifest.redaction} {owner} {name}"
        variable = Variable(number, name, type_, known, scope, order, _roles(roles), file, line, unit)
        where = modules[module] if number == GLOBAL and module >= 0 else ""
        found[number, where].append((row, variable))
    return found
