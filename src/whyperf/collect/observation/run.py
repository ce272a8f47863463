"""One observed run."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import re
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from whyperf.collect.observation.plans import write_plans
from whyperf.collect.observation.recorder import LIBRARY, ObservingRecorder
from whyperf.collect.observation.sites import ObservationLimits, Observed, ObservedSite, Rows, Watch
from whyperf.collect.observation.starting import Starting
from whyperf.collect.observation.tally import Tally
from whyperf.collect.observation.transplants import Transplants
from whyperf.collect.runs.runner import run_to_the_end
from whyperf.collect.runs.work import CalledWork, DriverWork, OneRun, WorkAccount
from whyperf.collect.runs.work_count import counter_again
from whyperf.collect.sampling.sampler import preloadable
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.drive import without_measurements
from whyperf.collect.target.program import Program, check_followable, executed_file
from whyperf.collect.target.sanitizers import first_libraries
from whyperf.collect.target.shell import command_line
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.errors import WhyperfError
from whyperf.recording.layout import OUTPUT

_BLOCK = 1 << 20
_DIGITS = 16
DIGEST_OF_NOTHING = hashlib.sha256().hexdigest()[:_DIGITS]
_OWN_TRAPS = {b"\xff Go buildinf:": "a Go program", b"\0__tsan_init\0": "built with ThreadSanitizer"}
_NUMBER = re.compile(rb"[0-9.]+")  # character by character: where blocks end does not matter
_OTHER_ADDRESSES = "Addresses differ from run to run: this system does not let that be changed."


def observe(
    program: Program,
    sites: Sequence[ObservedSite],
    *,
    watches: Sequence[Watch] = (),
    transplants: Sequence[PatchPlan] | None = None,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    limits: ObservationLimits = ObservationLimits(),  # noqa: B008 (frozen)
    capture_output: bool = True,
    counted_calls: str = "",
    on_tick: Callable[[], None] = lambda: None,
) -> Observed:
    """Runs `program` and records what it holds at `sites` and who writes to `watches`; values are forced where sites
    say so, and functions of another build run where `transplants` say so (an empty one: the run is as those with some).
    Addresses are the same in every such run with the same environment, unless the system forbids that. Without
    `capture_output` the program has our own streams, and nothing is known of what it prints. `counted_calls`: the
    function whose calls are the units of work; else the driver may report some.

    WhyperfError where nothing can be loaded into the program, or addresses cannot be watched.
    """
    check_observable(program)
    if lifecycle.drive is not None:
        command_line(lifecycle.drive, environment, lifecycle.folder)
    if limits.seconds is not None:
        lifecycle = replace(lifecycle, for_s=min(limits.seconds, lifecycle.for_s or limits.seconds))
    with tempfile.TemporaryDirectory(prefix="whyperf-observe-") as name:
        folder = Path(name)
        plans, records = folder / "plans", folder / "records"
        plans.mkdir()
        records.mkdir()
        refused = write_plans(plans, sites, limits)
        moved = Transplants(folder / "transplants", transplants)
        with contextlib.ExitStack() as held:
            starting = held.enter_context(Starting(watches, limits.writes))
            watching = starting.watching
            tally = Tally(sites)
            recorder = ObservingRecorder(
                plans, records, sites, watching, limits, tally=tally, transplants=moved.environment()
            )

            def tick() -> None:
                starting.elsewhere.look()
                on_tick()

            work: WorkAccount = DriverWork(recorder, "unit") if lifecycle.drive is not None else OneRun()
            if counted_calls:
                counter = counter_again(counted_calls, program, environment, lifecycle.folder)
                held.callback(counter.close)
                work = CalledWork(recorder, "call", counter)
            outcome = run_to_the_end(
                program,
                folder,
                recorder,
                work,
                lifecycle=lifecycle,
                environment=environment,
                capture_output=capture_output,
                on_tick=tick,
                spawn_target=starting.start,
            )
            if outcome.stopped_by == "interrupt":
                raise KeyboardInterrupt
            notes = () if starting.addresses_repeat else (_OTHER_ADDRESSES,)
            printed = _printed(folder / OUTPUT[0], is_driven=lifecycle.drive is not None)
            seen = _Seen(tally, watching.writes(), watching.lost, *printed, notes)
            observed = _observed(outcome, sites, refused, seen)
            return replace(observed, not_transplanted=moved.why_not(), open_elsewhere=starting.elsewhere.named())


def check_observable(program: Program) -> None:
    """Refuses programs into which nothing can be loaded."""
    check_followable(program)
    preloadable(LIBRARY)
    file = executed_file(program)
    if first := first_libraries(file):
        raise WhyperfError(
            f"{program.path} needs {first[0]} before every other library, so values in it cannot be observed.",
            f"whyperf record -- {shlex.join(program.command)}",
        )
    for mark, what in _OWN_TRAPS.items():
        if _holds(file, mark):
            raise WhyperfError(
                f"{program.path} is {what}, which handles SIGTRAP by itself, so values in it cannot be observed.",
                f"whyperf record -- {shlex.join(program.command)}",
            )


def _holds(file: Path, mark: bytes) -> bool:
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as content:
            return content.find(mark) >= 0
    except (OSError, ValueError):
        return False


def digest(path: Path) -> str:
    """Of a file's content; empty if there is none."""
    return _digest(path, _blocks)


def _printed(path: Path, *, is_driven: bool) -> tuple[str, str]:
    """Digests of what was printed, and of the same with every number taken out: times and counts differ from run to
    run."""
    pieces = _lines_but_reports if is_driven else _blocks
    return _digest(path, pieces), _digest(path, lambda file: (_NUMBER.sub(b"", piece) for piece in pieces(file)))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_BLOCK), b"")


def _lines_but_reports(file: BinaryIO) -> Iterator[bytes]:
    return (without_measurements(line) for line in iter(lambda: file.readline(_BLOCK), b""))


def _digest(path: Path, pieces: Callable[[BinaryIO], Iterable[bytes]]) -> str:
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for piece in pieces(file):
                found.update(piece)
    except OSError:
        return ""
    return found.hexdigest()[:_DIGITS]


@dataclass(frozen=True, eq=False)
class _Seen:
    tally: Tally
    writes: Rows
    lost: int
    output: str
    output_shape: str
    notes: tuple[str, ...]


def _observed(outcome: RunOutcome, sites: Sequence[ObservedSite], refused: Sequence[str], seen: _Seen) -> Observed:
    tally = seen.tally
    return Observed(
        status=outcome.shell_status,
        totals=outcome.totals,
        output=seen.output,
        hits=tuple(tally.hits.tolist()),
        complete=tuple(tally.complete.tolist()),
        beyond=tuple(tally.beyond.tolist()),
        placed=tuple(tally.placed.tolist()),
        records=tally.records(),
        writes=seen.writes,
        modules=tally.modules,
        lost=seen.lost + tally.lost,
        output_shape=seen.output_shape,
        stopped_by=outcome.stopped_by,
        signal=outcome.signal,
        work=outcome.work,
        failure=outcome.failure,
        refused=tuple(
            "" if tally.placed[number] else refused[number] or tally.why_not_placed(site)
            for number, site in enumerate(sites)
        ),
        notes=(*seen.notes, *outcome.notes, *_by_trap(outcome, sites)),
        unseen=tally.unseen(),
    )


def _by_trap(outcome: RunOutcome, sites: Sequence[ObservedSite]) -> tuple[str, ...]:
    if not sites or outcome.signal != signal.SIGTRAP:
        return ()
    return ("It ended by SIGTRAP: perhaps it blocks or handles that signal by system calls of its own.",)
