"""One run that notes its basic blocks and the ways of its jumps."""

from __future__ import annotations

import math
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect import _session
from whyperf.collect.blocks.marks import Noted, read_marks
from whyperf.collect.observation.run import check_observable
from whyperf.collect.runs.unrecorded_run import UnrecordedRun, run_unrecorded
from whyperf.collect.sampling.sampler import cache_folder, preloadable
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import files_of
from whyperf.collect.target.program import Program
from whyperf.debuginfo.probes.blocks import Ways, plan_blocks
from whyperf.debuginfo.probes.plan_cache import ensure_plan
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.errors import WhyperfError

LIBRARY = Path(_session.__file__).parent / "libwhyperf_blocks.so"
_PLANS = "blocks-5"
_NOTED = ("program", "library")
"""Not the C library, wherever it lies: it starts threads and programs with all signals blocked. Nor what we preload."""
_NO_BRANCHES = (
    "No function of {path} or of its own libraries has source lines, so no branch could be compared; programs that it "
    "starts are not looked at."
)
_BY_TRAP = "{path} ended by SIGTRAP: perhaps it blocks or handles that signal by system calls of its own."


@dataclass(frozen=True, eq=False)
class JumpWays:
    """When each conditional jump went each way first; 0: never. A jump with a trap of its own may have gone the other
    way after the trap was taken out."""

    address: npt.NDArray[np.uint32]
    taken: npt.NDArray[np.uint64]
    passed: npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ModuleBlocks:
    """Of one ELF file, in one run."""

    path: Path
    plan: PatchPlan
    noted: Noted
    """For each patch of the plan a `MARK`."""

    @cached_property
    def ways(self) -> JumpWays:
        at, jumps, first = self.plan.patches["at"], self.plan.sites, self.noted
        own = first[np.searchsorted(at, jumps["address"]).clip(max=len(at) - 1)]
        behind, led = (first["entered"][np.searchsorted(at, jumps[name])] for name in ("function", "target"))
        asked = jumps["kind"]
        taken = np.where(asked & Ways.TAKEN, own["taken"], led)
        return JumpWays(jumps["address"], taken, np.where(asked & Ways.PASSED, own["passed"], behind))


@dataclass(frozen=True, eq=False)
class EnteredBlocks:
    modules: tuple[ModuleBlocks, ...]
    status: int
    """As the shell counts."""
    is_whole: bool
    """As far as is known, every file was looked at in every process until it ended."""
    failure: WhyperfError | None = None
    """Why the program did not get its whole load."""


def check_branches(program: Program, environment: Mapping[str, str]) -> None:
    """WhyperfError where a run would note nothing, as of a shell that starts the program."""
    if not any(len(plan.patches) for _, plan in _planned(program, environment)):
        raise WhyperfError(_NO_BRANCHES.format(path=program.path))


def run_noting_blocks(
    program: Program,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    capture_output: bool = True,
    seconds: float = math.inf,
    on_tick: Callable[[], None] = lambda: None,
) -> EnteredBlocks:
    """Of functions with lines, in the program itself and the libraries that it is linked with, but for the system's.

    WhyperfError where nothing can be loaded into the program, where a trap ends it, and where the run takes longer than
    `seconds`.
    """
    check_observable(program)
    preloadable(LIBRARY)
    planned = _planned(program, environment)
    is_shorter = seconds < (lifecycle.for_s or math.inf)
    with tempfile.TemporaryDirectory(prefix="whyperf-blocks-") as name:
        folder = Path(name)
        out = folder / "out"
        out.mkdir()
        try:
            outcome = run_unrecorded(
                program,
                folder,
                lifecycle=replace(lifecycle, for_s=seconds) if is_shorter else lifecycle,
                environment=environment,
                on_tick=on_tick,
                recorder=_BlocksRecorder(out),
                capture_output=capture_output,
            )
        finally:
            seen = out.rename(folder / "seen")  # what still runs puts nothing more there while it is removed
        if outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if is_shorter and outcome.stopped_by == "for":
            raise WhyperfError(f"{program.path} ran longer than the time that was left to note its branches.")
        if outcome.signal == signal.SIGTRAP:
            raise WhyperfError(_BY_TRAP.format(path=program.path))
        marks = read_marks(seen, {plan.build_id: plan for _, plan in planned})
    modules = tuple(
        ModuleBlocks(path, plan, marks.noted[plan.build_id]) for path, plan in planned if plan.build_id in marks.noted
    )
    is_whole = marks.is_whole and len(modules) == len(planned)
    return EnteredBlocks(modules, outcome.shell_status, is_whole, outcome.failure)


def _planned(program: Program, environment: Mapping[str, str]) -> list[tuple[Path, PatchPlan]]:
    folder = cache_folder(_PLANS)
    found = []
    for file in files_of(program, environment):
        if file.origin not in _NOTED:
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
