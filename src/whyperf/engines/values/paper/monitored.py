"""Which of the recorded variables vProf would have read (section 3.2): recordings hold more than that."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.engines.values.kinds import ValueKind
from whyperf.engines.values.variables import GLOBAL, Variable

_MEMBERS = ("->", ".", "()")  # p->n, s.n, v.size()


def basic(kind: ValueKind) -> bool:
    """Pointers to basic types count as what they point to; what is left as a pointer is of no basic type."""
    return kind is not ValueKind.POINTER


def monitored(variables: Sequence[Variable]) -> list[int]:
    """All globals, and locals of loops, conditions and calls; pointers to basic types as what they point to.

    Where a file's source was not to be had no use of its variables is known: all of them are taken.
    """
    pointed = {(one.function, one.name, one.order) for one in variables if _pointed_to(one)}
    analysed = {one.file for one in variables if one.function != GLOBAL and one.roles}
    return [
        number
        for number, one in enumerate(variables)
        if _whole(one)
        and (one.function, f"*{one.name}", one.order) not in pointed
        and (one.function == GLOBAL or one.roles or one.file not in analysed)
    ]


def _pointed_to(variable: Variable) -> bool:
    return variable.name.startswith("*") and basic(variable.kind)


def _whole(variable: Variable) -> bool:
    """Neither a member, nor a container's size, nor what a pointer to a pointer points to."""
    if variable.kind.is_size or any(sign in variable.name for sign in _MEMBERS):
        return False
    return basic(variable.kind) or not variable.name.startswith("*")
