"""`whyperf compare --deep`: sketch both, plan, zoom into both, and say which relation changed."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.progress import Progress, progress
from whyperf.cli.symptom_from import costliest
from whyperf.cli.zoom_planning import in_words, plan_from
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.program import Program
from whyperf.collect.target.shell import without_shell
from whyperf.comparison.alternation import Side
from whyperf.comparison.endings import Outcomes, endings, last_output, remarks
from whyperf.errors import WhyperfError
from whyperf.recording.symptom import SymptomKind, SymptomSpec
from whyperf.recording.zoom import ZoomPlan, write_plan

if TYPE_CHECKING:
    from whyperf.collect.target.loaded_files import LoadedFile
    from whyperf.diagnose.verdict import Verdict
    from whyperf.recording.sealed.reader import Recording
    from whyperf.report.html.examined import Examined
    from whyperf.revisions.suspects import ComparedCommits

PLAN_FILE = "plan.json"
# A zoom takes as long as a sketch, and this long for every execution that it records.
_EXECUTION_S = 0.6e-6
_SIDES = (Side.GOOD, Side.BAD)


@dataclass(frozen=True)
class DeepPlan:
    programs: Mapping[Side, Program]
    lifecycles: Mapping[Side, Lifecycle]
    folder: Path
    runs: int
    show_output: bool
    force: bool
    unit: str | None
    symptom: SymptomSpec
    plug_ins: tuple[str, ...] = ()


def compare_deep(
    plan: DeepPlan, args: argparse.Namespace, outcomes: Outcomes, compared: ComparedCommits | None = None
) -> int:
    from whyperf.cli.diagnose import present
    from whyperf.collect.dependences.symptom_place import check_early
    from whyperf.collect.target.loaded_files import files_of

    started = {side: _without_shell(side, plan.programs[side]) for side in _SIDES}
    files = [files_of(started[side], os.environ, plan.plug_ins) for side in _SIDES]
    notes = []
    if args.symptom_from:
        chosen = costliest(args.symptom_from, lambda spec: all(_is_in(one, spec) for one in files))
        plan, notes = replace(plan, symptom=chosen.spec), [chosen.note]
    for one in files:
        check_early(one, plan.symptom)
    with progress() as shown:
        verdict, examined = _Phases(plan, outcomes, shown).verdict()
    said = tuple(dict.fromkeys([*notes, *remarks(outcomes), *verdict.notes]))
    verdict = replace(verdict, notes=said, warnings=tuple(endings(outcomes)))
    if compared is not None:
        from whyperf.revisions.suspects import with_history

        verdict = with_history(verdict, compared, examined.bad)
    return present(verdict, examined, args, compared=compared)


def _is_in(files: Sequence[LoadedFile], spec: SymptomSpec) -> bool:
    from whyperf.collect.dependences.symptom_place import check_symptom

    try:
        check_symptom(files, spec)
    except WhyperfError:
        return False
    return True


def _without_shell(side: Side, program: Program) -> Program:
    plain = without_shell(program, os.environ)
    if plain is None:
        raise WhyperfError(
            f"The {side.value} command uses more of the shell's syntax than redirections, and --deep records the "
            "program that it is given: the shell. Put what the shell does into a file or the environment beforehand.",
            "whyperf compare --deep --good './tool < small.txt' --bad './tool < big.txt'",
            status=2,
        )
    return plain


class _Phases:
    """Sketch good, sketch bad, plan, zoom good, zoom bad."""

    def __init__(self, plan: DeepPlan, outcomes: Outcomes, shown: Progress) -> None:
        self._plan, self._outcomes, self._shown = plan, outcomes, shown
        self._sketch_s: dict[Side, float] = {}
        self._plug_ins = dict.fromkeys(_SIDES, plan.plug_ins)

    def verdict(self) -> tuple[Verdict, Examined]:
        from whyperf.diagnose.relations import examine_deep
        from whyperf.diagnose.verdict import VerdictKind
        from whyperf.report.html.examined import Examined

        symptom = self._plan.symptom
        good, bad = (self._sketch(side) for side in _SIDES)
        self._check_symptom()
        self._shown.step("comparing the sketches", 0.4, None)
        counted = examine_deep(good, bad, symptom)
        # A sketch cannot see lines and variables, so it cannot say either that nothing changed in them.
        is_counted = symptom.kind not in (SymptomKind.LINE, SymptomKind.VARIABLE)
        if is_counted and counted.kind is not VerdictKind.DIFFERENCE:
            return counted, Examined(good, bad)
        plan = plan_from(good, bad, symptom)
        write_plan(self._plan.folder / PLAN_FILE, plan)
        good_zooms, bad_zooms = (self._zoom(side, plan) for side in _SIDES)
        self._shown.step("comparing the zooms", 0.9, None)
        verdict = examine_deep(good_zooms, bad_zooms, symptom)
        if is_counted and not verdict.suspects:
            verdict = _by_counts(verdict, counted)
        return verdict, Examined(good_zooms, bad_zooms)

    def _check_symptom(self) -> None:
        """Once more, now that it is known what the program loads."""
        from whyperf.collect.dependences.symptom_place import check_symptom
        from whyperf.collect.target.loaded_files import files_of

        for side in _SIDES:
            program = _without_shell(side, self._plan.programs[side])
            check_symptom(files_of(program, os.environ, self._plug_ins[side]), self._plan.symptom)

    def _sketch(self, side: Side) -> list[Recording]:
        what = f"sketch of the {side.value} run: every call, 20 to 100 times slower than alone"
        self._shown.step(what, 0.0 if side is Side.GOOD else 0.2, self._sketch_s.get(Side.GOOD))
        began = time.monotonic()
        found = [self._record(side, "sketch", number, None) for number in range(1, self._plan.runs + 1)]
        self._sketch_s[side] = time.monotonic() - began
        return found

    def _zoom(self, side: Side, plan: ZoomPlan) -> list[Recording]:
        what = f"zoom of the {side.value} run: {in_words(plan)}"
        expected = self._sketch_s[side] + self._plan.runs * plan.expected * _EXECUTION_S
        self._shown.step(what, 0.5 if side is Side.GOOD else 0.7, expected)
        return [self._record(side, "zoom", number, plan) for number in range(1, self._plan.runs + 1)]

    def _record(self, side: Side, phase: str, number: int, zoom: ZoomPlan | None) -> Recording:
        from whyperf.collect.dependences.plug_ins import loaded_later
        from whyperf.seal.opening import seal

        path = self._plan.folder / (f"{side.value}-{phase}" + (f"-{number}" if number > 1 else ""))
        outcome = self._run(side, path, zoom, force=self._plan.force)
        later = loaded_later(path) if zoom is None else ()
        if later:
            names = " and ".join(Path(name).name for name in later)
            self._shown.step(f"the {side.value} run loaded {names}: sketched again with it", 0.1, None)
            self._plug_ins[side] = (*self._plug_ins[side], *later)
            outcome = self._run(side, path, zoom, force=True)
        self._outcomes[side].append(outcome)
        return seal(path)

    def _run(self, side: Side, path: Path, zoom: ZoomPlan | None, *, force: bool) -> RunOutcome:
        from whyperf.collect.dependences.run import record_deep

        plan = self._plan
        outcome = record_deep(
            plan.programs[side],
            path,
            lifecycle=plan.lifecycles[side],
            environment=dict(os.environ),
            plan=zoom,
            symptom=plan.symptom,
            plug_ins=self._plug_ins[side],
            unit=plan.unit,
            capture_output=not plan.show_output,
            force=force,
            on_tick=self._shown.tick,
        )
        if outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if outcome.failure is not None:
            said = f" It last wrote: {tail}" if (tail := last_output(outcome.path)) else ""
            raise WhyperfError(
                f"The {side.value} run failed under Valgrind: {outcome.failure.sentence}{said}",
                outcome.failure.next_command,
            )
        return outcome


def _by_counts(zoomed: Verdict, counted: Verdict) -> Verdict:
    """Where the zoom names nobody, what counting said still holds, if it said something."""
    if not counted.suspects:
        return zoomed
    note = "The zoom explains nothing; these are relations between calls, from the sketches."
    return replace(zoomed, suspects=counted.suspects, notes=(note, *zoomed.notes))
