"""From sketches to the plan of a zoom: what the engine chooses, and what the symptom itself demands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey, without_version
from whyperf.recording.symptom import SymptomKind, SymptomSpec
from whyperf.recording.zoom import ZoomPlan, some_of

if TYPE_CHECKING:
    from whyperf.recording.sealed.reader import Recording


def plan_from(good: Sequence[Recording], bad: Sequence[Recording], symptom: SymptomSpec) -> ZoomPlan:
    from whyperf.engines.relations.plan import plan_zoom

    demanded = dict.fromkeys(key for sketch in (*good, *bad) for key in _demanded(sketch, symptom))
    plan = plan_zoom(good, bad, symptom, tuple(demanded))
    if not plan.functions:
        raise WhyperfError(
            "The sketches show no function of the program's own to zoom into.",
            f"whyperf info {shlex.quote(str(bad[0].path))}",
        )
    _refuse_too_large(plan)
    return plan


def _refuse_too_large(plan: ZoomPlan) -> None:
    """Before minutes are spent on a recording that nobody can read."""
    from whyperf.collect.dependences.memory import EXECUTION_BYTES, available_bytes

    needed, available = plan.expected * EXECUTION_BYTES, available_bytes()
    if needed > available:
        raise WhyperfError(
            f"A zoom for {plan.symptom} would record up to {plan.expected:,} executions: reading it takes about "
            f"{needed / 1e9:.0f} GB of memory, and {available / 1e9:.0f} GB are free. Give the program less to do, so "
            "that it still shows the behaviour, or ask for a function that executes less.",
            "whyperf compare --deep --symptom function:NAME ...",
        )


def in_words(plan: ZoomPlan) -> str:
    """What a zoom by this plan records, and what not."""
    recorded = f"{len(plan.functions)} functions, up to {plan.expected:,} executions"
    if not plan.left_out:
        return recorded
    names = some_of([function.name for function in plan.left_out])
    return f"{recorded}; left out as they execute too much: {names}"


def _demanded(sketch: Recording, symptom: SymptomSpec) -> Iterator[FunctionKey]:
    if symptom.kind is SymptomKind.VARIABLE:
        yield from _updating(sketch)
    if symptom.kind is SymptomKind.LINE:
        from whyperf.collect.dependences.symptom_place import functions_of_line
        from whyperf.collect.target.loaded_files import LoadedFile
        from whyperf.debuginfo.describe import describe

        modules = sketch.table("modules").to_pylist()
        files = [LoadedFile(describe(row["path"], row["build_id"]), row["origin"]) for row in modules]
        yield from functions_of_line(files, symptom)


def _updating(sketch: Recording) -> Iterator[FunctionKey]:
    """Functions that changed the variable asked about: a sketch has sites beside the entries for them."""
    names = sketch.table("functions").column("name").to_pylist()
    modules = sketch.table("modules").column("name").to_pylist()
    columns = (sketch.table("sites").column(name).to_pylist() for name in ("entry", "function", "module"))
    for is_entry, function, module in zip(*columns, strict=True):
        if not is_entry and function >= 0 and module >= 0:
            yield FunctionKey(without_version(str(modules[module])), str(names[function]), "")
