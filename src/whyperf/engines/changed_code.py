"""What two builds of a program tell: which functions' code differs, and which is the same.

Code that is the same cannot be why the same work takes longer; it is where the time is spent at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from whyperf.engines.builds import Builds
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, ints, texts
from whyperf.engines.same_command import work_of

Codes = dict[tuple[str, str], set[int]]  # by module and name of the function: its copies


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
        self._good, self._bad = _codes(builds, builds.good), _codes(builds, builds.bad)

    @cached_property
    def changed(self) -> set[tuple[str, str]]:
        """Modules and names; where the good runs' code of a function they have is not known, it is not told."""
        comparable = {module for module, _ in self._good}
        return {
            (module, name)
            for (module, name), codes in self._bad.items()
            if module in comparable and codes - self._good.get((module, name), set())
            if (module, name) in self._good or self._builds.only_one_has(module, name)
        }

    @cached_property
    def same(self) -> set[tuple[str, str]]:
        return {which for which, codes in self._bad.items() if codes <= self._good.get(which, set())}


def _codes(builds: Builds, runs: Sequence[Run]) -> Codes:
    """Of each build once."""
    found: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    read: set[tuple[str, str]] = set()  # modules and builds
    for run in runs:
        modules = builds.module_names[run]
        new = {module for module in builds.different if (module, builds.of(run, module)) not in read}
        read |= {(module, builds.of(run, module)) for module in new}
        functions, codes = run.recording.table("functions"), run.recording.table("fingerprints")
        names, of_module = texts(functions, "name"), ints(functions, "module")
        for row, code in zip(ints(codes, "function"), ints(codes, "code"), strict=True):
            module = modules[of_module[row]]
            if module in new:
                found[module, builds.as_now(run, module, names[row])].add(code)
    return dict(found)


def compare_code(index: FunctionIndex, *, same_work: bool | None = None) -> ChangedCode:
    """Functions that were never seen join the index if their code changed: they may have made what others work on.

    `same_work`: whether all runs were told to do the same; None: their commands tell.
    """
    builds = index.builds
    if not builds.different:
        return NO_CHANGE
    if not (work_of((*index.good, *index.bad)).same if same_work is None else same_work):
        return NO_CHANGE
    code = ComparedCode(builds)
    index.add(code.changed)
    which = [(function.key.module, function.key.name) for function in index.functions]
    changed = {number for number, one in enumerate(which) if index.functions[number].own and one in code.changed}
    if not changed:
        return NO_CHANGE
    shared = {module for module in {module for module, _ in which} if builds.is_shared(module)}
    return ChangedCode(
        changed,
        {number for number in changed if builds.only_one_has(*which[number])},
        {number for number, one in enumerate(which) if one[0] in shared or one in code.same},
    )
