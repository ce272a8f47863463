"""A comparison of one benchmark of a framework, per iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from whyperf.adapters.adapted_benchmark import READY_TIMEOUT_S, UNIT
from whyperf.adapters.detection import adapt
from whyperf.collect.target.program import find_program
from whyperf.comparison.plan import ComparisonPlan
from whyperf.errors import WhyperfError


def adapted(plan: ComparisonPlan, name: str, scratch: Path, environment: Mapping[str, str]) -> ComparisonPlan:
    """The plan with the benchmark `name` of each side's program. `scratch`: an empty folder for all of its runs."""
    if plan.perf_hz:
        raise WhyperfError(
            "--benchmark needs whyperf's own recorder, and perf would record these kernel events.",
            "sudo whyperf compare --trace --benchmark NAME ...",
            status=2,
        )
    found, programs, lifecycles = {}, dict(plan.programs), dict(plan.lifecycles)
    for side, program in plan.programs.items():
        folder = scratch / side.value
        folder.mkdir(mode=0o700)
        one = found[side] = adapt(program.command, name, environment, folder, program.folder)
        programs[side] = find_program(one.command, environment, program.folder)
        lifecycles[side] = replace(
            lifecycles[side], ready=one.ready, ready_timeout_s=READY_TIMEOUT_S, drive=one.drive, folder=None
        )
    measuring = replace(plan.measuring, unit=plan.measuring.unit or UNIT)
    return replace(plan, programs=programs, lifecycles=lifecycles, measuring=measuring, adapted=found)
