"""Refuses to compare two different programs; two builds or versions of one program are welcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whyperf.engines.run import Run, ints, texts
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import NAMED_BY_ADDRESS, without_version
from whyperf.recording.schemas.tables import Clock

# Every program has these: having them in common says nothing.
_EVERYBODYS = pa.array([
    "main", "_start", "_init", "_fini", "_dl_relocate_static_pie", "deregister_tm_clones", "register_tm_clones",
    "__do_global_dtors_aux", "frame_dummy", "__libc_csu_init", "__libc_csu_fini",
])  # fmt: skip


def refuse_different_programs(good: Sequence[Run], bad: Sequence[Run]) -> None:
    if _builds(good) & _builds(bad):
        return
    good_names, bad_names = _functions(good), _functions(bad)
    if len(good_names.filter(pc.is_in(good_names, value_set=bad_names))):
        return
    if not all(any(run.manifest.deep or run.time(Clock.CPU).total_samples for run in side) for side in (good, bad)):
        return  # a run too short to be sampled is no other program
    nothing_to_tell_by = not len(good_names) or not len(bad_names)
    if nothing_to_tell_by and _programs(good) & _programs(bad):
        return
    raise WhyperfError(
        f"The good runs are of {_listed(good)}, the bad runs of {_listed(bad)}: they have no function in common, so "
        f"there is nothing to compare.",
        "whyperf compare --good 'PROGRAM usual-input' --bad 'PROGRAM slow-input'",
    )


def _builds(runs: Sequence[Run]) -> set[str]:
    """Build-ids of the programs: equal ones spare a look at their functions."""
    return {build for run in runs for build in _of_programs(run, "build_id") if build}


def _programs(runs: Sequence[Run]) -> set[str]:
    return {without_version(name) for run in runs for name in _of_programs(run, "name")}


def _of_programs(run: Run, column: str) -> list[str]:
    modules = run.recording.table("modules")
    return [
        value
        for value, origin in zip(texts(modules, column), texts(modules, "origin"), strict=True)
        if origin == "program"
    ]


def _functions(runs: Sequence[Run]) -> pa.Array[Any]:
    """Telling names in the programs themselves and in libraries of their own."""
    found = []
    for run in runs:
        modules = run.recording.table("modules")
        own = [
            module
            for module, origin in zip(ints(modules, "module"), texts(modules, "origin"), strict=True)
            if origin in ("program", "library")
        ]
        table = run.recording.table("functions")
        inside = table.filter(pc.is_in(table.column("module"), value_set=pa.array(own, pa.int32())))
        found.append(inside.column("name").combine_chunks().unique())
    names = pa.concat_arrays(found).unique() if found else pa.array([], pa.string())
    names = names.filter(pc.invert(pc.is_in(names, value_set=_EVERYBODYS)))
    return names.filter(pc.invert(pc.match_substring_regex(names, NAMED_BY_ADDRESS)))


def _listed(runs: Sequence[Run]) -> str:
    return ", ".join(sorted(_programs(runs))) or "an unknown program"
