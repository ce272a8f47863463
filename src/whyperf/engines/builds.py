"""Two builds of one program: what each of them holds, and what functions of the good one are called in the bad one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from whyperf.engines.renames import Declaration, renamed
from whyperf.engines.run import Run, ints, texts

Names = frozenset[str]


@dataclass(frozen=True)
class Builds:
    good: tuple[Run, ...]
    bad: tuple[Run, ...]
    module_names: Mapping[Run, Sequence[str]]

    def of(self, run: Run, module: str) -> str:
        """Its build-id; empty where it is not known."""
        names = self.module_names[run]
        return self.ids[run][names.index(module)] if module in names else ""

    def of_all(self, runs: Sequence[Run], module: str) -> set[str]:
        return {
            build_id
            for run in runs
            for name, build_id in zip(self.module_names[run], self.ids[run], strict=True)
            if build_id and name == module
        }

    def is_shared(self, module: str) -> bool:
        """Whether some good and some bad run used the same build of it."""
        return bool(self.of_all(self.good, module) & self.of_all(self.bad, module))

    def as_now(self, run: Run, module: str, name: str) -> str:
        """The bad runs' name of a function: theirs is the one shown."""
        return self._new_name.get((module, name), name) if run in self.good else name

    def names_in(self, run: Run, module: str, name: str) -> list[str]:
        """What a function of that name now may be called in a run."""
        old = (before for (where, before), now in self._new_name.items() if (where, now) == (module, name))
        return [name, *old] if run in self.good else [name]

    def only_one_has(self, module: str, name: str) -> bool:
        """Whether a function, by the bad runs' name, is in one of two different builds only."""
        names = self._names.get(module)
        return names is not None and (name in names[0]) != (name in names[1])

    def good_has(self, module: str, name: str) -> bool:
        """Whether the good runs' binaries hold the function of that name now, run or not."""
        if self.is_shared(module):
            return True  # a recording of the same file need not list the functions in which it was never seen
        if not any(module in self.module_names[run] for run in self.good):
            return True  # nor a library in which it was never seen at all
        for run in self.good:
            wanted = pa.array(self.names_in(run, module, name))
            table = run.recording.table("functions")
            rows = table.filter(pc.is_in(table.column("name"), value_set=wanted))
            if any(self.module_names[run][number] == module for number in ints(rows, "module")):
                return True
        return False

    def good_lists_all(self, module: str) -> bool:
        """Whether good recordings name all functions of a module, inlined ones too."""
        return any(
            name == module and debug == "full"
            for run in self.good
            for name, debug in zip(self.module_names[run], texts(run.recording.table("modules"), "debug"), strict=True)
        )

    @cached_property
    def ids(self) -> dict[Run, list[str]]:
        return {run: texts(run.recording.table("modules"), "build_id") for run in (*self.bad, *self.good)}

    @cached_property
    def different(self) -> list[str]:
        """Modules of which good and bad runs used different builds."""
        modules = sorted(set().union(*(self.module_names[run] for run in (*self.good, *self.bad))))
        return [
            module
            for module in modules
            if self.of_all(self.good, module) and self.of_all(self.bad, module) and not self.is_shared(module)
        ]

    @cached_property
    def _held(self) -> dict[str, tuple[list[_Held], list[_Held]]]:
        """By module of which the builds differ: what good and bad runs' hold."""
        return {
            module: (self._held_by(self.good, module), self._held_by(self.bad, module)) for module in self.different
        }

    def _held_by(self, runs: Sequence[Run], module: str) -> list[_Held]:
        return sorted({one for run in runs for one in _functions(run, self.module_names[run], module)})

    @cached_property
    def _new_name(self) -> dict[tuple[str, str], str]:
        """By module and name in the good runs' build."""
        found: dict[tuple[str, str], str] = {}
        for module, (before, after) in self._held.items():
            common = {one.name for one in before} & {one.name for one in after}
            pairs = renamed([one.declaration(common) for one in before], [one.declaration(common) for one in after])
            found |= {
                (module, before[old].name): after[new].name
                for new, old in pairs.items()
                if after[new].file not in self._same_files
            }
        return found

    @cached_property
    def common_texts(self) -> frozenset[str]:
        """Digests of source files that are the same for both."""
        good, bad = (set().union(*(run.source_digest.values() for run in side)) for side in (self.good, self.bad))
        return frozenset(good & bad - {""})

    @cached_property
    def _same_files(self) -> frozenset[str]:
        """By name without folder: nothing in them has a new name."""
        told = (one for run in self.bad for one in run.source_digest.items())
        return frozenset(file.rpartition("/")[2] for file, digest in told if digest in self.common_texts)

    @cached_property
    def _names(self) -> dict[str, tuple[Names, Names]]:
        return {
            module: (
                frozenset(self._new_name.get((module, one.name), one.name) for one in before),
                frozenset(one.name for one in after),
            )
            for module, (before, after) in self._held.items()
        }


@dataclass(frozen=True, order=True)
class _Held:
    """A function that a binary holds, sampled or not, in order of declaration."""

    file: str  # without folder
    line: int
    name: str

    def declaration(self, common: Collection[str]) -> Declaration:
        return Declaration((self.file, self.name) if self.name in common else None, self.file)


def _functions(run: Run, module_names: Sequence[str], module: str) -> Iterator[_Held]:
    """Those with a place in the source."""
    table = run.recording.table("functions")
    numbers = pa.array([number for number, name in enumerate(module_names) if name == module], pa.int32())
    table = table.filter(pc.is_in(table.column("module"), value_set=numbers))
    for file, line, name in zip(texts(table, "file"), ints(table, "line"), texts(table, "name"), strict=True):
        if file and line:
            yield _Held(file.rpartition("/")[2], line, name)


def calls(run: Run, function_of: Sequence[int]) -> set[tuple[int, int]]:
    """Who was called by whom, inlined calls too; functions by number of the run's frames."""
    stacks = run.recording.table("stacks")
    parents, frames, inlined_in = ints(stacks, "parent"), ints(stacks, "frame"), ints(run.frames, "inlined_in")
    found: set[tuple[int, int]] = set()
    for parent, innermost in zip(parents, frames, strict=True):
        frame = innermost
        while inlined_in[frame] >= 0:
            found.add((function_of[frame], function_of[inlined_in[frame]]))
            frame = inlined_in[frame]
        if parent >= 0:
            found.add((function_of[frame], function_of[frames[parent]]))
    return found
