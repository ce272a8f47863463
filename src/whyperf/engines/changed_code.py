"""What two builds of a program tell: which functions' code differs, and which is the same.

Code that is the same cannot be why the same work takes longer; it is where the time is spent at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from whyperf.engines.builds import Builds
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, ints, texts

Codes = dict[str, set[int]]  # by name of the function: its copies


@dataclass(frozen=True)
class ChangedCode:
    """By number of the index' functions. All empty where builds are the same, unknown, or given other work."""

    changed: Set[int]
    new: Set[int]  # of those that changed: the good runs' build has none
    same: Set[int]


NO_CHANGE = ChangedCode(frozenset(), frozenset(), frozenset())


class ComparedCode:
    """The code of modules of which good and bad runs used different builds, by the bad runs' names."""

    def __init__(self, builds: Builds) -> None:
        self._builds = builds

    @cached_property
    def modules(self) -> dict[str, tuple[Codes, Codes]]:
        """Good and bad, of modules that both sides' recordings know the code of."""
        found = {
            module: (self._codes(self._builds.good, module), self._codes(self._builds.bad, module))
            for module in self._builds.different
        }
        return {module: codes for module, codes in found.items() if all(codes)}

    def is_changed(self, module: str, name: str) -> bool:
        good, bad = self.modules.get(module, ({}, {}))
        before = good.get(name, set())
        comparable = before or self._builds.only_one_has(module, name)
        return bool(comparable and bad.get(name, set()) - before)

    def is_same(self, module: str, name: str) -> bool:
        if self._builds.is_shared(module):
            return True
        good, bad = self.modules.get(module, ({}, {}))
        return bool(bad.get(name)) and bad[name] <= good.get(name, set())

    @cached_property
    def changed(self) -> set[tuple[str, str]]:
        """Modules and names."""
        every = ((module, name) for module, (_, bad) in self.modules.items() for name in bad)
        return {(module, name) for module, name in every if self.is_changed(module, name)}

    def _codes(self, runs: Sequence[Run], module: str) -> Codes:
        found: defaultdict[str, set[int]] = defaultdict(set)
        for run in {self._builds.of(run, module): run for run in runs}.values():
            functions, codes = run.recording.table("functions"), run.recording.table("fingerprints")
            names, of_module = texts(functions, "name"), ints(functions, "module")
            for row, code in zip(ints(codes, "function"), ints(codes, "code"), strict=True):
                if self._builds.module_names[run][of_module[row]] == module:
                    found[self._builds.as_now(run, module, names[row])].add(code)
        return dict(found)


def compare_code(index: FunctionIndex) -> ChangedCode:
    """Functions that were never seen join the index if their code changed: they may have made what others work on."""
    if not index.builds.different or not _same_command(index.good, index.bad):
        return NO_CHANGE
    code = ComparedCode(index.builds)
    index.add(code.changed)
    keys = [function.key for function in index.functions]
    changed = {
        number
        for number, key in enumerate(keys)
        if index.functions[number].own and code.is_changed(key.module, key.name)
    }
    if not changed:
        return NO_CHANGE
    new = {number for number in changed if index.builds.only_one_has(keys[number].module, keys[number].name)}
    same = {number for number, key in enumerate(keys) if code.is_same(key.module, key.name)}
    return ChangedCode(changed, new, same)


def _same_command(good: Sequence[Run], bad: Sequence[Run]) -> bool:
    """Whether all were told to do the same, wherever their files lie."""
    told = {tuple(PurePath(word).name for word in run.manifest.command[1:]) for run in (*good, *bad)}
    return len(told) == 1
