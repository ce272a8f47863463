"""One run under the tool: a sketch, a zoom by a plan, or whatever else is to be watched."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.collect.dependences.instruments import Instruments
from whyperf.collect.dependences.planning import sketch_instruments, zoom_instruments
from whyperf.collect.dependences.raw import SKETCH, ZOOM, Asked
from whyperf.collect.dependences.recorder import DependenceRecorder
from whyperf.collect.dependences.symptom_place import check_early
from whyperf.collect.dependences.valgrind import Valgrind, find_valgrind
from whyperf.collect.runs.runner import run_to_the_end
from whyperf.collect.runs.work import DriverWork, OneRun
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.setup.start import run_options, start_of
from whyperf.collect.target.loaded_files import files_of
from whyperf.collect.target.program import Program, check_traceable
from whyperf.collect.target.shell import command_line, without_shell
from whyperf.recording.sealed.manifest import Sampling
from whyperf.recording.symptom import SymptomSpec
from whyperf.recording.zoom import ZoomPlan

# Programs start up this much slower, and are given so much more time to get ready.
_PATIENCE = 10


def record_deep(
    program: Program,
    path: Path,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    plan: ZoomPlan | None = None,
    symptom: SymptomSpec | None = None,
    plug_ins: Sequence[str] = (),
    unit: str | None = None,
    capture_output: bool = False,
    force: bool = False,
    on_tick: Callable[[], None] = lambda: None,
) -> RunOutcome:
    """Runs `program` under the tool; a sketch of it without a plan. The folder `path` stays open: seal it next.

    `symptom` is what a sketch is made for; a plan has its own. `plug_ins`: what an earlier run showed to be loaded
    while the program runs (see `plug_ins.loaded_later`).
    """
    plain = without_shell(program, environment) or program
    check_traceable(plain)
    valgrind = find_valgrind(environment)
    files = files_of(plain, environment, plug_ins)
    if symptom is not None:
        check_early(files, symptom)
    instruments = sketch_instruments(files, symptom) if plan is None else zoom_instruments(files, plan)
    if plan is None:
        asked = Asked(SKETCH, valgrind.version, str(symptom or ""))
    else:
        asked = Asked(ZOOM, valgrind.version, plan.symptom, tuple(function.name for function in plan.left_out))
    return run_under_tool(
        program,
        path,
        Tooling(valgrind, instruments, asked),
        lifecycle=lifecycle,
        environment=environment,
        unit=unit,
        capture_output=capture_output,
        force=force,
        on_tick=on_tick,
    )


@dataclass(frozen=True)
class Tooling:
    valgrind: Valgrind
    instruments: Instruments
    asked: Asked


def run_under_tool(
    program: Program,
    path: Path,
    tooling: Tooling,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    unit: str | None = None,
    capture_output: bool = False,
    force: bool = False,
    on_tick: Callable[[], None] = lambda: None,
) -> RunOutcome:
    """The folder `path` stays open."""
    if lifecycle.drive is not None:
        command_line(lifecycle.drive, environment, lifecycle.folder)
    patient = replace(lifecycle, ready_timeout_s=_PATIENCE * lifecycle.ready_timeout_s)
    named = unit or ("unit" if lifecycle.drive else "run")
    tooling.valgrind.prepare()
    with contextlib.ExitStack() as held:
        folder = folders.create(path, force=force)
        held.callback(folder.release)
        sampling = Sampling(0.0, "instructions", "valgrind")
        start = start_of(
            program.command,
            environment,
            sampling,
            named,
            round(lifecycle.skip_s * 1e9),
            options=run_options(program, lifecycle, unit=unit),
        )
        with folder.removed_unless_begun():
            recorder = DependenceRecorder(folder, start, tooling.asked, tooling.valgrind, tooling.instruments)
        return run_to_the_end(
            without_shell(program, environment) or program,
            path,
            recorder,
            DriverWork(recorder, named) if lifecycle.drive is not None else OneRun(),
            lifecycle=patient,
            environment=environment,
            capture_output=capture_output,
            on_tick=on_tick,
        )
