"""One number per variable across all runs of a comparison.

A variable is known by its function, its name and the order of its declaration. Builds differ: a declaration added
above moves the order of all that follow, so where orders do not correspond, variables of one name and type are taken
in their order; and a name that only one variable of the function has is enough, whatever its type became.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, ints, texts
from whyperf.engines.values.kinds import Kind, kind_named

GLOBAL = -1
_Scope = tuple[int, str]  # function number (or GLOBAL) and, for globals, the module


@dataclass(frozen=True)
class Variable:
    function: int  # of the function index; GLOBAL for globals
    name: str
    type: str
    kind: Kind
    scope: str
    order: int
    roles: frozenset[str]
    file: str
    line: int

    @property
    def is_parameter(self) -> bool:
        return self.scope == "parameter"


class VariableIndex:
    """Variables read in any of the runs, numbered; and which row of each run's table they are."""

    def __init__(self, functions: FunctionIndex) -> None:
        self.variables: list[Variable] = []
        self.rows: dict[Run, dict[int, int]] = {}  # by number
        self._scopes: dict[_Scope, list[int]] = defaultdict(list)
        for run in (*functions.bad, *functions.good):  # the bad runs' spelling is the one shown
            self.rows[run] = self._add(_declared(run, functions))

    def _add(self, declared: dict[_Scope, list[tuple[int, Variable]]]) -> dict[int, int]:
        rows: dict[int, int] = {}
        for scope, found in declared.items():
            known = self._scopes[scope]
            matches = match([self.variables[number] for number in known], [variable for _, variable in found])
            for at, (row, variable) in enumerate(found):
                if at in matches:
                    number = known[matches[at]]
                else:
                    number = len(self.variables)
                    self.variables.append(variable)
                    self._scopes[scope].append(number)
                rows[number] = row
        return rows


def match(known: Sequence[Variable], found: Sequence[Variable]) -> dict[int, int]:
    """Which of the variables of a function found in one run are which of those known from others."""
    pairs: dict[int, int] = {}
    by_type = _grouped(known, lambda v: (v.name, v.type)), _grouped(found, lambda v: (v.name, v.type))
    for key, there in by_type[1].items():
        pairs |= _in_order(known, by_type[0].get(key, []), found, there)
    taken = set(pairs.values())
    by_name = _grouped(known, lambda v: (v.name, "")), _grouped(found, lambda v: (v.name, ""))
    for key, there in by_name[1].items():
        here = by_name[0].get(key, [])
        alone = len(here) == len(there) == 1 and there[0] not in pairs and here[0] not in taken
        if alone and _comparable(known[here[0]].kind, found[there[0]].kind):
            pairs[there[0]] = here[0]
    return pairs


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
    variables: Sequence[Variable], key: Callable[[Variable], tuple[str, str]]
) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, variable in enumerate(variables):
        groups[key(variable)].append(at)
    return groups


def _comparable(one: Kind, other: Kind) -> bool:
    if one is other:
        return True
    integers = {Kind.SIGNED, Kind.UNSIGNED, Kind.SIZE, Kind.ENUM, Kind.BOOLEAN}
    return one in integers and other in integers


def _declared(run: Run, functions: FunctionIndex) -> dict[_Scope, list[tuple[int, Variable]]]:
    table = run.recording.table("variables")
    numbers = functions.of_row[run]
    modules = functions.module_names[run]
    found: dict[_Scope, list[tuple[int, Variable]]] = defaultdict(list)
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
        named = frozenset(role for role in roles.split("|") if role)
        variable = Variable(number, name, type_, kind_named(kind), scope, order, named, file, line)
        where = modules[module] if number == GLOBAL and module >= 0 else ""
        found[number, where].append((row, variable))
    return found
