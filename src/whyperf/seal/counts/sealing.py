"""From counters to the tables of a recording of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from whyperf.collect.counts.counter_files import CountedProcess, UncountedReason
from whyperf.collect.counts.raw import PLANS, counted_since_ready
from whyperf.collect.target.module_layers import origin_of
from whyperf.debuginfo.probes.sites import functions_entered_at
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW
from whyperf.recording.safe_files.dataclass_json import storable
from whyperf.recording.schemas.call_tables import CALL_COUNTS, NotCounted
from whyperf.recording.schemas.tables import PROCESSES, THREADS
from whyperf.recording.sealed.manifest import Counting, Manifest, UncountedModule
from whyperf.seal.code_tables.code import Code, CodeBuilder
from whyperf.seal.code_tables.source import excerpts
from whyperf.seal.counts.passed_sites import Passed, PlannedSites, passed_sites
from whyperf.seal.counts.symbol_lookup import Linking
from whyperf.seal.evidence import RawEvidence
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.participants.places import CodePlaces
from whyperf.seal.progress import Progress
from whyperf.seal.summary import summary
from whyperf.seal.symbols import DebugInfo
from whyperf.seal.tables import table_of, work_table

_REASONS = {
    UncountedReason.NO_BUILD_ID: "no build-id",
    UncountedReason.NO_PLAN: "loaded while the program ran",
    UncountedReason.PLAN_DAMAGED: "its plan is damaged",
    UncountedReason.PLAN_OTHER_VERSION: "its plan is of another version of whyperf",
    UncountedReason.OTHER_CODE: "its code is not that of the file",
    UncountedReason.NO_ROOM: "no free memory near it",
    UncountedReason.TOO_MANY_COUNTERS: "too many call sites",
    UncountedReason.NO_DISK: "no disk space",
    UncountedReason.NOT_WRITABLE: "the system refuses to change its code",
    UncountedReason.TEXT_RELOCATIONS: "it has text relocations",
    UncountedReason.TAKES_REGISTER: "it uses a register that counting needs",
}
# Whose calls nobody asked to count.
_LEFT_OUT = frozenset({"libc", "vdso", "sampler", "system-library"})


def sealed_counts(folder: Path, evidence: RawEvidence, progress: Progress) -> tuple[Manifest, dict[str, pa.Table]]:
    """What a sealed recording of counts consists of."""
    processes = counted_since_ready(folder / RAW)
    if not processes:
        raise WhyperfError(
            f"{folder} holds no counts: the program did not load the library that counts.",
            f"whyperf record --force -o {folder} -- COMMAND",
        )
    symbols = DebugInfo()
    planned = PlannedSites(folder / RAW / PLANS, symbols)
    linking = Linking(processes, symbols)
    passed = passed_sites(processes, planned, linking)
    programs = {process.modules[0].path for process in processes if process.modules}
    code = _code(
        passed, linking, programs, symbols, lambda name, done: progress(f"reading debug information of {name}", done)
    )
    calls = _calls(passed, linking, symbols, code)
    progress("reading source", 0.8)
    weight = np.zeros(code.frames.num_rows, np.int64)
    np.add.at(weight, calls.column("frame").to_numpy(), calls.column("count").to_numpy())
    source = excerpts(code.frames, code.functions, code.modules, weight)
    manifest = summary(evidence, np.zeros(0, np.int64), (*source.notes, *_notes(processes)))
    manifest = replace(manifest, counting=_counting(processes, planned, programs))
    return manifest, {
        "call_counts": calls,
        "frames": code.frames,
        "functions": code.functions,
        "modules": code.modules,
        "processes": _processes(evidence, processes),
        "threads": _threads(processes),
        "work": work_table(evidence, manifest),
        "source": source.table,
    }


def _code(
    passed: Passed, linking: Linking, programs: set[str], symbols: DebugInfo, on_module: Callable[[str, float], None]
) -> Code:
    """Frames of the sites, then of the entries of what they call: only functions with a place are kept."""
    module = np.concatenate([passed.module, passed.callee_module]).astype(np.int32)
    address = np.concatenate([passed.address, np.maximum(passed.callee_address, 0)]).astype(np.uint64)
    no = np.zeros(len(module), bool)
    places = CodePlaces(np.zeros(len(module), np.int32), address, module, address, no, no)
    modules = tuple(Module(path, build_id, 0) for path, build_id in linking.modules)
    return CodeBuilder(symbols, programs, "").build(places, modules, lambda _space: 0, on_module)


def _calls(passed: Passed, linking: Linking, symbols: DebugInfo, code: Code) -> pa.Table:
    function, callee = np.full((2, len(passed)), -1, np.int32)
    for number, key in enumerate(linking.modules):
        mine, called = passed.module == number, passed.callee_module == number
        function[mine] = code.function_row(number, passed.function[mine].astype(np.int32))
        if called.any():
            entered = functions_entered_at(symbols.describe(*key), passed.callee_address[called])
            callee[called] = code.function_row(number, entered)
    known = np.flatnonzero(function >= 0)
    return table_of(
        CALL_COUNTS,
        process=passed.process[known],
        function=function[known],
        callee=callee[known],
        frame=code.place_frame[: len(passed)][known],
        order=passed.order[known],
        kind=passed.kind[known],
        count=passed.count[known],
    )


def _counting(processes: list[CountedProcess], planned: PlannedSites, programs: set[str]) -> Counting:
    modules = {(one.path, one.build_id): one for process in processes for one in process.modules}
    found = [sites for one in modules.values() if (sites := planned.of(one)) is not None]
    reasons = Counter(NotCounted(reason).name.lower() for sites in found for reason in sites.reason.tolist() if reason)
    uncounted = [
        UncountedModule(storable(one.path), _REASONS[one.reason])
        for one in modules.values()
        if one.reason and origin_of(one.path, programs, "") not in _LEFT_OUT
    ]
    return Counting(
        sites=sum(len(sites.counter) for sites in found),
        counted=sum(int((sites.counter >= 0).sum()) for sites in found),
        reasons=dict(reasons),
        uncounted_modules=tuple(uncounted),
        uncounted_threads=sum(process.uncounted_threads for process in processes),
    )


def _notes(processes: list[CountedProcess]) -> list[str]:
    unwatched = sum(process.unwatched for process in processes)
    threads = sum(process.uncounted_threads for process in processes)
    notes = [f"{unwatched} process(es) loaded libraries unnoticed: their calls are not counted."] if unwatched else []
    return notes + ([f"Calls of {threads} thread(s) are not counted: no disk space for them."] if threads else [])


def _processes(evidence: RawEvidence, processes: list[CountedProcess]) -> pa.Table:
    names = [_program_of(process) for process in processes]
    return table_of(
        PROCESSES,
        process=range(len(processes)),
        pid=[process.pid for process in processes],
        parent_pid=[process.parent for process in processes],
        start=[process.start_ns for process in processes],
        origin=["fork" if process.forked else "exec" for process in processes],
        executable=names,
        # Of the others only the program is known.
        command=[list(evidence.start.command) if not row else [name] for row, name in enumerate(names)],
    )


def _program_of(process: CountedProcess) -> str:
    return storable(process.modules[0].path) if process.modules else ""


def _threads(processes: list[CountedProcess]) -> pa.Table:
    """Counts are of processes: each has one thread here."""
    rows = range(len(processes))
    return table_of(
        THREADS,
        thread=rows,
        process=rows,
        tid=[process.pid for process in processes],
        name=[Path(_program_of(process)).name for process in processes],
        start=[process.start_ns for process in processes],
        cpu=[-1 for _ in processes],
    )
