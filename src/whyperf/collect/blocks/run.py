"""One run that notes its basic blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect import _session
from whyperf.collect.blocks.marks import Times, read_marks
from whyperf.collect.observation.run import check_observable
from whyperf.collect.runs.unrecorded_run import UnrecordedRun, run_unrecorded
from whyperf.collect.sampling.sampler import cache_folder, preloadable
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import files_of
from whyperf.collect.target.module_layers import is_system_library
from whyperf.collect.target.program import Program
from whyperf.debuginfo.probes.blocks import plan_blocks
from whyperf.debuginfo.probes.plan_cache import ensure_plan
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.errors import WhyperfError

LIBRARY = Path(_session.__file__).parent / "libwhyperf_blocks.so"
_PLANS = "blocks-3"


@dataclass(frozen=True, eq=False)
class ModuleBlocks:
    """Of one ELF file, in one run."""

    path: Path
    plan: PatchPlan
    first: Times
    """For each block of the plan, when it was entered first; 0: never."""


@dataclass(frozen=True, eq=False)
class EnteredBlocks:
    modules: tuple[ModuleBlocks, ...]
    status: int
    """As the shell counts."""
    is_whole: bool
    """As far as is known, every file was looked at in every process until it ended."""
    failure: WhyperfError | None = None
    """Why the program did not get its whole load."""


def run_noting_blocks(
    program: Program,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    capture_output: bool = True,
    on_tick: Callable[[], None] = lambda: None,
) -> EnteredBlocks:
    """Of functions with lines, in the program itself and the libraries that it is linked with, but for the system's.

    WhyperfError where nothing can be loaded into the program.
    """
    check_observable(program)
    preloadable(LIBRARY)
    planned = _planned(program, environment)
    with tempfile.TemporaryDirectory(prefix="whyperf-blocks-") as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        outcome = run_unrecorded(
            program,
            folder,
            lifecycle=lifecycle,
            environment=environment,
            on_tick=on_tick,
            recorder=_BlocksRecorder(out),
            capture_output=capture_output,
        )
        if outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        marks = read_marks(out, {plan.build_id: plan for _, plan in planned})
    modules = tuple(
        ModuleBlocks(path, plan, marks.first[plan.build_id]) for path, plan in planned if plan.build_id in marks.first
    )
    is_whole = marks.is_whole and len(modules) == len(planned)
    return EnteredBlocks(modules, outcome.shell_status, is_whole, outcome.failure)


def _planned(program: Program, environment: Mapping[str, str]) -> list[tuple[Path, PatchPlan]]:
    folder = cache_folder(_PLANS)
    found = []
    for file in files_of(program, environment):
        if is_system_library(str(file.binary.path)):
            continue
        try:
            plan = ensure_plan(folder, file.binary, plan_blocks)
        except OSError as error:
            raise WhyperfError(f"{folder} cannot be written: {error.strerror}.", f"df -h {folder}") from None
        if plan is not None:
            found.append((Path(file.binary.path), plan))
    return found


class _BlocksRecorder(UnrecordedRun):
    def __init__(self, out: Path) -> None:
        self._out = out

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return {
            **base,
            "LD_PRELOAD": " ".join(filter(None, (str(LIBRARY), base.get("LD_PRELOAD")))),
            "WHYPERF_BLOCKS_PLANS": str(cache_folder(_PLANS)),
            "WHYPERF_BLOCKS_OUT": str(self._out),
        }
