"""Trials of two builds: the good one's version of a changed function runs in the bad program, or a variable begins
there with the good one's value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.debuginfo.transplants.changed import ChangedFunction, ChangedSource
from whyperf.debuginfo.transplants.initial_values import ChangedVariable
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.diagnose.origin import Proof, ProofMeans
from whyperf.diagnose.verdict import Suspect
from whyperf.proof.first_use import first_use, texts_of
from whyperf.proof.modules import ChangedPart, ProofBuilds, different_modules
from whyperf.proof.rounds import NotPutError, ProofSide, Put, Trying, not_testable
from whyperf.proof.search import Search
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind

_MOST_LIKELY = 6
_MOST_CANDIDATES = 400
_MOST_NAMED = 3
_WITH_ANOTHER = (TrialKind.FORCED, TrialKind.SHAM, TrialKind.REVERSE)


@dataclass(frozen=True)
class _Candidate:
    builds: ProofBuilds
    part: ChangedPart
    edited: frozenset[ChangedSource]
    """Of its changed parts: those whose source text differs; empty where none does, or texts are unknown."""
    wanted: int | None
    """How early suspects ask for it; None: not at all."""

    @property
    def is_variable(self) -> bool:
        return isinstance(self.part, ChangedVariable)


def prove_by_functions(
    good: ProofSide,
    bad: ProofSide,
    suspects: Sequence[Suspect],
    trying: Trying = Trying(),  # noqa: B008 (frozen)
) -> tuple[Proof, ...]:
    """Whole trials, and why functions on the suspects' paths cannot be tried. Empty where the two programs are the
    same, or nothing that changed explains the excess.

    WhyperfError where the programs cannot be run at all, SharedFileError where nothing may be put into them.
    """
    search = Search(good, bad, trying, _put)
    try:
        modules = list(different_modules(good, bad))
    except RefusedError as error:
        return (no_function(bad, trying.measure, f"{error}."),)
    names = wanted_names(suspects)
    every = _candidates(modules, names)
    likely = _likely(every)
    first, refused = _possible(likely, names, search)

    @cache
    def functions() -> list[_Candidate]:
        rest = [one for one in every if one not in likely and not one.is_variable]
        others, refused_too = _possible(_executed(rest, search), names, search)
        refused.extend(refused_too)
        return [one for one in first if not one.is_variable] + others

    variables = [one for one in every if one.is_variable]
    # One alone is among the first.
    found = search.found(first, functions, lambda: variables) if len(variables) > 1 else search.found(first, functions)
    if not found:
        return tuple(refused)
    return (*refused, search.proof(_claim_found(found, names, search), found))


def no_function(bad: ProofSide, measure: str, why: str) -> Proof:
    """None can be tried. `why`: a whole sentence."""
    program = bad.program.path.rpartition("/")[2]
    return not_testable(ProofClaim("", program, "", 0, "", "", "", means=ProofMeans.FUNCTION), measure, why)


def wanted_names(suspects: Sequence[Suspect]) -> list[str]:
    """Functions as suspects ask for them: themselves, then their callers from the inside out."""
    names = [suspect.function for suspect in suspects]
    for suspect in suspects:
        names += reversed(suspect.path)
    return list(dict.fromkeys(names))


def _candidates(modules: Sequence[ProofBuilds], names: Sequence[str]) -> list[_Candidate]:
    """Functions, what was edited first, then what suspects ask for; then variables. Many of the ones displace none of
    the others."""
    rows = {name: row for row, name in enumerate(names)}
    functions = [
        _Candidate(
            builds,
            function,
            builds.edited.among(function.holds),
            min((rows[name] for name in {function.source.name, *function.names} & rows.keys()), default=None),
        )
        for builds in modules
        for function in builds.changed
    ]
    functions.sort(key=lambda one: (not one.edited, len(rows) if one.wanted is None else one.wanted))
    variables = [_Candidate(builds, one, frozenset(), None) for builds in modules for one in builds.variables]
    return [*functions[:_MOST_CANDIDATES], *variables[:_MOST_CANDIDATES]]


def _likely(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Those worth a run of their own: what was edited, where that is little, and what suspects ask for."""
    is_little = sum(bool(one.edited) for one in candidates) <= _MOST_LIKELY
    functions = [one for one in candidates if one.wanted is not None or (is_little and one.edited)]
    variables = [one for one in candidates if one.is_variable]
    return [*functions[:_MOST_LIKELY], *(variables if len(variables) <= _MOST_LIKELY else [])]


def _executed(candidates: Sequence[_Candidate], search: Search[_Candidate]) -> list[_Candidate]:
    """Those that a bad run enters: one run is less than what it takes to try the others in halves."""
    if len(candidates) <= _MOST_LIKELY or search.is_time_up:
        return list(candidates)
    entries = [one.builds.entries(one.part) for one in candidates]
    passed = iter(search.is_passed([site for some in entries for site in some]))
    are_passed = [[next(passed) for _ in some] for some in entries]
    return [one for one, some in zip(candidates, are_passed, strict=True) if any(some) or not some]


def _possible(
    candidates: Sequence[_Candidate], names: Sequence[str], search: Search[_Candidate]
) -> tuple[list[_Candidate], list[Proof]]:
    """Those that can be transplanted, and why others that are wanted cannot."""
    found: list[_Candidate] = []
    refused: list[Proof] = []
    for builds in dict.fromkeys(one.builds for one in candidates):
        builds.read([one.part for one in candidates if one.builds is builds])
    for one in candidates:
        if search.is_time_up:
            break
        try:
            for kind in _WITH_ANOTHER:
                _put(kind, [one])
        except NotPutError as error:
            if one.wanted is not None:
                refused.append(search.untestable(_claim([one], names), str(error)))
        else:
            found.append(one)
    return found, refused


def _put(kind: TrialKind, candidates: Sequence[_Candidate]) -> Put:
    """One plan for each module."""
    if kind not in _WITH_ANOTHER:
        return Put(transplants=())
    by_module: dict[ProofBuilds, list[ChangedPart]] = {}
    for one in candidates:
        by_module.setdefault(one.builds, []).append(one.part)
    try:
        return Put(transplants=[builds.plan(kind, tuple(parts)) for builds, parts in by_module.items()])
    except RefusedError as error:
        raise NotPutError(str(error)) from None


def _claim_found(found: Sequence[_Candidate], wanted: Sequence[str], search: Search[_Candidate]) -> ProofClaim:
    """Variables without a function are told with the function that uses the first of them first."""
    variables = [one.part for one in found if isinstance(one.part, ChangedVariable)]
    if len(variables) < len(found):
        return _claim(found, wanted)
    builds, first = found[0].builds, variables[0]
    used = first_use(builds.bad, first.bad, search) or SourcePlace(next(iter(wanted), ""), "", 0)
    texts = [texts_of(one.builds.bad, one.part) for one in found if isinstance(one.part, ChangedVariable)]
    what = ", ".join(f"`{one.name}`" for one in texts)
    good, bad = (texts[0].good, texts[0].bad) if len(texts) == 1 else ("", "")
    return ProofClaim(used.function, builds.name, used.file, used.line, what, good, bad, means=ProofMeans.VARIABLE)


def _claim(candidates: Sequence[_Candidate], wanted: Sequence[str]) -> ProofClaim:
    """Of at least one function. Variables that go with it are listed."""
    first = next(one for one in candidates if isinstance(one.part, ChangedFunction))
    functions = [one.part for one in candidates if isinstance(one.part, ChangedFunction)]
    claim = claim_of(functions, wanted, first.builds.name, first.edited)
    variables = [f"`{one.part.name}`" for one in candidates if isinstance(one.part, ChangedVariable)]
    return replace(claim, what=", ".join([claim.what, *variables]))


def claim_of(
    functions: Sequence[ChangedFunction],
    wanted: Sequence[str],
    module: str,
    edited: frozenset[ChangedSource] = frozenset(),
) -> ProofClaim:
    """Named by that part of the first function's changed code which was edited, or which suspects ask for first."""
    what = ", ".join(_named(one) for one in functions)
    source = _changed_part(functions[0], wanted, edited)
    return ProofClaim(source.name, module, source.file, source.line, what, "", "", means=ProofMeans.FUNCTION)


def _changed_part(function: ChangedFunction, wanted: Sequence[str], edited: frozenset[ChangedSource]) -> ChangedSource:
    """What was inlined into a function has no code of its own that could be tried alone."""
    parts = edited or function.holds
    changed = {one.name: one for one in parts}
    asked = next((changed[name] for name in wanted if name in changed), None)
    if asked is not None:
        return asked
    return next(iter(parts)) if len(parts) == 1 else function.source


def _named(function: ChangedFunction) -> str:
    """With what is inlined into it, if that changed too: it may be that."""
    name = function.source.name
    inlined = sorted(function.names - {name})
    return f"`{name}`" + (f" (with {', '.join(inlined[:_MOST_NAMED])} inlined)" if inlined else "")
