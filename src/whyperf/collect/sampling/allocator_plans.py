"""Recordings of memory of programs with an allocator of their own: plans that the target finds beside its rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.allocators.functions import Allocator
from whyperf.allocators.known import INTERPOSED
from whyperf.collect.target.program import Program
from whyperf.collect.target.shell import without_shell
from whyperf.errors import WhyperfError

if TYPE_CHECKING:  # debug information takes long to load, and few recordings need it before the target has run
    from whyperf.debuginfo.allocators.planning import PlannedAllocators

FOLDER = "allocators"
"""In `raw/`: `native/memory/linked.c` has the same name."""
_LEFT_ALONE = ("libc.so", "libpthread.so", "ld-linux", "libwhyperf_", "linux-vdso")


@dataclass(frozen=True)
class AllocatorPlans:
    files: tuple[PlannedAllocators, ...] = ()

    @property
    def sampled(self) -> tuple[str, ...]:
        """Functions that allocate, whose calls are sampled."""
        return tuple(sorted({name for one in self.files for name in one.sampled}))

    @property
    def notes(self) -> list[str]:
        refused = {name: why for one in self.files for name, why in one.refused.items()}
        return [f"Calls of {name} are not sampled: it {why}." for name, why in sorted(refused.items())]

    def write(self, raw: Path) -> None:
        plans = [one.plan for one in self.files if one.plan is not None]
        if not plans:
            return
        from whyperf.debuginfo.probes import plan_file
        from whyperf.debuginfo.probes.plan_cache import SUFFIX

        (raw / FOLDER).mkdir(mode=0o700)
        for plan in plans:
            (raw / FOLDER / f"{plan.build_id}{SUFFIX}").write_bytes(plan_file.written(plan))


def plans_of(allocators: Sequence[Allocator], program: Program, environment: Mapping[str, str]) -> AllocatorPlans:
    """For the program and what is loaded with it. WhyperfError where none of their functions can be sampled."""
    if not allocators:
        return AllocatorPlans()
    from whyperf.collect.target.loaded_files import paths_of
    from whyperf.debuginfo.allocators.planning import plan_allocators

    main, *libraries = paths_of(without_shell(program, environment) or program, environment)
    others = [_without_interposed(one) for one in allocators]
    files = [plan_allocators(Path(main), allocators)]
    files += [plan_allocators(Path(path), others) for path in libraries if not Path(path).name.startswith(_LEFT_ALONE)]
    made = AllocatorPlans(tuple(files))
    names = ", ".join(one.name for one in allocators)
    if not made.sampled and made.notes:
        raise WhyperfError(
            f"--allocator {names}: {' '.join(made.notes)}", "gcc -g ...  # and name functions that hand out memory"
        )
    if not made.sampled:
        raise WhyperfError(
            f"--allocator {names}: neither {main} nor the libraries that it loads define such a function.",
            f"nm {main} | grep -i alloc",
        )
    return made


def _without_interposed(allocator: Allocator) -> Allocator:
    """A library's malloc is called through the one that is sampled anyway; only a program's own goes before it."""
    kept = tuple(one for one in allocator.functions if one.name not in INTERPOSED)
    return Allocator(allocator.name, kept)
