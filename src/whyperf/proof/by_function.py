"""Trials by function: the good build's version of a changed function runs in the bad program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.debuginfo.transplants.changed import ChangedFunction, Source
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.diagnose.origin import Means, Proof
from whyperf.diagnose.verdict import Suspect
from whyperf.proof.modules import TwoBuilds, different_modules
from whyperf.proof.rounds import NotPutError, Put, Side, Trying
from whyperf.proof.search import Search
from whyperf.proof.sentences import Claim
from whyperf.proof.trial import Kind

_MOST_ON_PATHS = 6
_MOST_CANDIDATES = 400
_MOST_NAMED = 3
_WITH_ANOTHER = (Kind.FORCED, Kind.SHAM, Kind.REVERSE)


@dataclass(frozen=True)
class _Candidate:
    builds: TwoBuilds
    function: ChangedFunction
    wanted: int | None
    """How early suspects ask for it; None: not at all."""


def prove_by_functions(
    good: Side,
    bad: Side,
    suspects: Sequence[Suspect],
    trying: Trying = Trying(),  # noqa: B008 (frozen)
) -> tuple[Proof, ...]:
    """Whole trials, and why functions on the suspects' paths cannot be tried. Empty where the two programs are the
    same, or nothing that changed explains the excess.

    WhyperfError where the programs cannot be run at all.
    """
    search = Search(good, bad, trying, _put)
    try:
        modules = list(different_modules(good, bad))
    except RefusedError as error:
        nothing = Claim("", bad.program.path.rpartition("/")[2], "", 0, "", "", "", means=Means.FUNCTION)
        return (search.untestable(nothing, f"{error}."),)
    names = wanted_names(suspects)
    candidates, refused = _candidates(modules, names, search)
    first = [one for one in candidates if one.wanted is not None][:_MOST_ON_PATHS]
    found = search.found(first, candidates)
    if not found:
        return tuple(refused)
    claim = claim_of([one.function for one in found], names, found[0].builds.name)
    return (*refused, search.proof(claim, found))


def wanted_names(suspects: Sequence[Suspect]) -> list[str]:
    """Functions as suspects ask for them: themselves, then their callers from the inside out."""
    names = [suspect.function for suspect in suspects]
    for suspect in suspects:
        names += reversed(suspect.path)
    return list(dict.fromkeys(names))


def _candidates(
    modules: Sequence[TwoBuilds], names: Sequence[str], search: Search[_Candidate]
) -> tuple[list[_Candidate], list[Proof]]:
    """Those that can be transplanted, the most wanted first, and why others that are wanted cannot."""
    rows = {name: row for row, name in enumerate(names)}
    every = [
        _Candidate(builds, function, min((rows[name] for name in function.names & rows.keys()), default=None))
        for builds in modules
        for function in builds.changed
    ]
    every.sort(key=lambda one: len(rows) if one.wanted is None else one.wanted)
    found: list[_Candidate] = []
    refused: list[Proof] = []
    for one in every[:_MOST_CANDIDATES]:
        if search.is_time_up:
            break
        try:
            for kind in _WITH_ANOTHER:
                _put(kind, [one])
        except NotPutError as error:
            if one.wanted is not None:
                refused.append(search.untestable(claim_of([one.function], names, one.builds.name), str(error)))
        else:
            found.append(one)
    return found, refused


def _put(kind: Kind, candidates: Sequence[_Candidate]) -> Put:
    """One plan for each module."""
    if kind not in _WITH_ANOTHER:
        return Put(transplants=())
    by_module: dict[TwoBuilds, list[str]] = {}
    for one in candidates:
        by_module.setdefault(one.builds, []).append(one.function.symbol)
    try:
        return Put(transplants=[builds.plan(kind, symbols) for builds, symbols in by_module.items()])
    except RefusedError as error:
        raise NotPutError(str(error)) from None


def claim_of(functions: Sequence[ChangedFunction], wanted: Sequence[str], module: str) -> Claim:
    """Named by that part of the first function's changed code which suspects ask for first."""
    what = ", ".join(_named(one) for one in functions)
    source = _changed_part(functions[0], wanted)
    return Claim(source.name, module, source.file, source.line, what, "", "", means=Means.FUNCTION)


def _changed_part(function: ChangedFunction, wanted: Sequence[str]) -> Source:
    """What was inlined into a function has no code of its own that could be tried alone."""
    changed = {one.name: one for one in function.holds}
    asked = next((changed[name] for name in wanted if name in changed), None)
    if asked is not None:
        return asked
    return next(iter(function.holds)) if len(function.holds) == 1 else function.source


def _named(function: ChangedFunction) -> str:
    """With what is inlined into it, if that changed too: it may be that."""
    name = function.source.name
    inlined = sorted(function.names - {name})
    return f"`{name}`" + (f" (with {', '.join(inlined[:_MOST_NAMED])} inlined)" if inlined else "")
