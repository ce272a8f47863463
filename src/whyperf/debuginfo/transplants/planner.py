"""Plans how functions of one build run in a program of another, and how its variables begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.transplants.copied import Copied
from whyperf.debuginfo.transplants.counterparts import source_of
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.moved import Moved, Mover
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind

_MOST_CARRIED = 32


def plan_transplant(
    giver: TransplantModule, receiver: TransplantModule, names: Sequence[str], initial: Sequence[bytes] = ()
) -> PatchPlan:
    """Has the functions so named of `giver` run in place of those of `receiver`, their clones too; RefusedError, with a
    whole sentence, where they cannot. `initial`: records of `ChangedVariable`."""
    if giver.machine is not receiver.machine:
        raise RefusedError("The builds are for different machines.")
    mover = Mover(giver, receiver)
    moved: dict[int, Moved] = {}
    for name in names:
        with _naming(name):
            for mine, theirs in _pairs(giver, receiver, name):
                moved[mine.address] = mover.moved(mine, theirs)
    _carry(mover, moved)
    with _naming(", ".join(names)):
        return Copied(giver, receiver, list(moved.values()), initial).plan()


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except RefusedError as error:
        raise RefusedError(f"{name} cannot be transplanted: {error}.") from None


def _carry(mover: Mover, moved: dict[int, Moved]) -> None:
    """Takes along what only the giver has."""
    work = list(moved.values())
    carried = 0
    while work:
        one = work.pop()
        for symbol in one.carried:
            if symbol.address not in moved:
                carried += 1
                with _naming(one.function.name):
                    if carried > _MOST_CARRIED:
                        raise RefusedError("it needs too many functions that the other build does not have")
                    moved[symbol.address] = mover.moved(symbol, None)
                work.append(moved[symbol.address])


def _pairs(giver: TransplantModule, receiver: TransplantModule, name: str) -> list[tuple[Symbol, Symbol]]:
    """The function and its clones, in both builds."""
    mine, theirs = copies_of(giver, name), copies_of(receiver, name)
    if name not in theirs and not theirs:
        raise RefusedError(f"{receiver.path.name} has no such function out of line")
    if missing := sorted(theirs.keys() - mine.keys()):
        raise RefusedError(f"{giver.path.name} has no {missing[0]}")
    pairs = [(mine[one], theirs[one]) for one in sorted(theirs)]
    for one, other in pairs:
        shared = {symbol.name for symbol in receiver.symbols.at(other.address) if symbol.kind is SymbolKind.FUNCTION}
        own = {symbol.name for symbol in giver.symbols.at(one.address) if symbol.kind is SymbolKind.FUNCTION}
        if foreign := sorted(shared - own):
            raise RefusedError(f"it shares its code with {foreign[0]} in the other build")
    return pairs


def copies_of(module: TransplantModule, name: str) -> dict[str, Symbol]:
    """The function and its clones, by symbol. RefusedError where others have that name too."""
    found: dict[str, Symbol] = {}
    for one in [*module.symbols.named(name), *module.symbols.starting_with(name + ".")]:
        if one.kind is SymbolKind.FUNCTION and one.size and ".cold" not in one.name and source_of(one.name) == name:
            if one.name in found and found[one.name].address != one.address:
                raise RefusedError(f"{module.path.name} has several functions of that name")
            found[one.name] = one
    return found
