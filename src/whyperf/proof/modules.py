"""What two programs consist of, module by module: which of them differ, and which functions and variables of those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whyperf.collect.observation.sites import ObservedSite
from whyperf.collect.target.loaded_files import LoadedFile, files_of
from whyperf.debuginfo.elf_files.linkage import read_linkage
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.transplants.changed import ChangedFunction, changed_functions
from whyperf.debuginfo.transplants.initial_values import ChangedVariable, changed_variables
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.planner import copies_of, plan_transplant
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import SymbolKind
from whyperf.proof.edited import EditedFunctions
from whyperf.proof.rounds import ProofSide
from whyperf.proof.trial import TrialKind

_LEFT_ALONE = frozenset({"libc", "vdso", "sampler"})


ChangedPart = ChangedFunction | ChangedVariable


@dataclass(frozen=True, eq=False)
class ProofBuilds:
    """Of one module."""

    name: str
    good: TransplantModule
    bad: TransplantModule
    changed: tuple[ChangedFunction, ...]
    variables: tuple[ChangedVariable, ...]
    edited: EditedFunctions
    _plans: dict[tuple[TrialKind, tuple[ChangedPart, ...]], PatchPlan] = field(default_factory=dict)

    def read(self, parts: Sequence[ChangedPart]) -> None:
        """What planning them needs to know of the types of debug information: of many at once it takes as long as of
        one."""
        functions = [one for one in parts if isinstance(one, ChangedFunction)]
        for module in (self.good, self.bad):
            module.read_layouts(_called_by(module, functions))

    def entries(self, part: ChangedPart) -> list[ObservedSite]:
        """Where the bad program enters a function; empty where that is not known, and of variables."""
        try:
            found = copies_of(self.bad, part.symbol) if isinstance(part, ChangedFunction) else {}
        except RefusedError:
            return []
        return [ObservedSite(self.bad.path, one.address) for one in found.values()]

    def plan(self, kind: TrialKind, parts: tuple[ChangedPart, ...]) -> PatchPlan:
        """For a run of that kind. RefusedError where these functions cannot be transplanted."""
        if (kind, parts) not in self._plans:
            from_good, into_good = kind is TrialKind.FORCED, kind is TrialKind.REVERSE
            giver, receiver = self.good if from_good else self.bad, self.good if into_good else self.bad
            functions = [one.symbol for one in parts if isinstance(one, ChangedFunction)]
            variables = [one for one in parts if isinstance(one, ChangedVariable)]
            initial = [record for one in variables for record in one.records(from_good=from_good, into_good=into_good)]
            self._plans[kind, parts] = plan_transplant(giver, receiver, functions, initial)
        return self._plans[kind, parts]


def different_modules(good: ProofSide, bad: ProofSide) -> Iterator[ProofBuilds]:
    """RefusedError for those of which nothing can be transplanted."""
    theirs = {_linked_as(file, row): file for row, file in enumerate(files_of(good.program, good.environment))}
    files = files_of(bad.program, bad.environment)
    for row, file in enumerate(files):
        other = theirs.get(_linked_as(file, row))
        same = other is None or other.binary.build_id == file.binary.build_id
        if other is None or same or file.origin in _LEFT_ALONE:
            continue
        modules = TransplantModule(Path(other.binary.path)), TransplantModule(Path(file.binary.path))
        changed = changed_functions(other.binary, file.binary, modules[1])
        copied = _copied(files[0]) if row else frozenset()
        variables = tuple(one for one in changed_variables(*modules) if one.name not in copied)
        if changed or variables:
            edited = EditedFunctions(other.binary, file.binary)
            yield ProofBuilds(Path(file.binary.path).name, *modules, tuple(changed), variables, edited)


def _copied(program: LoadedFile) -> frozenset[str]:
    """Variables of libraries that the program has at a place of its own: the library's one is used by nobody."""
    elf, machine = program.binary.elf, program.binary.machine
    if elf is None or machine is None:
        return frozenset()
    return frozenset(one.symbol for one in Image(elf).slots.values() if one.kind == machine.relocations.copy)


def _called_by(module: TransplantModule, functions: Sequence[ChangedFunction]) -> set[int]:
    """With themselves: what is to be known of them is read at once."""
    symbols = [one for function in functions for one in module.symbols.named(function.symbol)]
    return {one.address for one in symbols} | {
        called.target
        for one in symbols
        if one.kind is SymbolKind.FUNCTION and one.size
        for called in module.code_of(one).instructions
        if called.target is not None and module.symbols.at(called.target)
    }


def _linked_as(file: LoadedFile, row: int) -> str:
    """What the dynamic linker knows it by; the program itself comes first."""
    if row == 0:
        return ""
    linkage = read_linkage(Path(file.binary.path))
    return (linkage.name if linkage is not None else "") or Path(file.binary.path).name


__all__ = ["ChangedPart", "ProofBuilds", "RefusedError", "different_modules"]
