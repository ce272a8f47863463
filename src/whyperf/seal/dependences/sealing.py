"""From the tool's stream to the tables of a deep recording."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from whyperf.collect.dependences.instruments import Mode, WatchedModule, read_instruments
from whyperf.collect.dependences.memory import EXECUTION_BYTES, available_bytes
from whyperf.collect.dependences.plug_ins import unwatched
from whyperf.collect.dependences.raw import MESSAGES, PLAN, STREAM, ZOOM, Asked, read_asked
from whyperf.collect.dependences.stream import Stream, read_stream
from whyperf.collect.setup.start import Start
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW
from whyperf.recording.safe_files.limits import MOST_TEXT_BYTES
from whyperf.recording.safe_files.regular_files import read_regular
from whyperf.recording.schemas.tables import MAPPINGS, PROCESSES, THREADS
from whyperf.recording.sealed.manifest import Deep, Manifest
from whyperf.seal.code_tables.code import Code
from whyperf.seal.code_tables.source import excerpts
from whyperf.seal.dependences.sites import keys_of
from whyperf.seal.dependences.sketch_tables import sketch_tables
from whyperf.seal.dependences.stream_checks import check_stream
from whyperf.seal.dependences.streamed import Sealed, Streamed
from whyperf.seal.dependences.zoom_tables import zoom_tables
from whyperf.seal.evidence import RawEvidence
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.progress import Progress
from whyperf.seal.summary import summary
from whyperf.seal.symbols import DebugInfo
from whyperf.seal.tables import table_of, work_table

# Memory that sealing takes at its peak, measured; a call is an entry and a return in the stream.
_DEPENDENCE_BYTES = 20
_CALL_BYTES, _STREAM_BYTES_A_CALL = 200, 7

_PREFIX = re.compile(r"==\d+== ?|valgrind: ")
_SEEN_ENDING = {
    "limit": "The limit of executions was reached: what came after is not in the recording.",
    "disk": "The disk was full: the target ran on, but was recorded only until then.",
    "cut": "The target was killed, or became another program by exec: the recording ends there, or shortly before.",
}


def sealed_deep(folder: Path, evidence: RawEvidence, progress: Progress) -> tuple[Manifest, dict[str, pa.Table]]:
    """What a sealed deep recording consists of."""
    asked, streamed = _read(folder)
    progress("reading the stream", 0.1)
    seal = zoom_tables if asked.phase == ZOOM else sketch_tables
    sealed = seal(streamed, lambda what, done: progress(what, 0.2 + 0.6 * done))
    progress("reading source", 0.8)
    source = excerpts(sealed.code.frames, sealed.code.functions, sealed.code.modules, sealed.frame_weight)
    manifest = _manifest(evidence, asked, streamed, sealed, source.notes)
    tables = {
        **sealed.tables,
        "frames": sealed.code.frames,
        "functions": sealed.code.functions,
        "modules": sealed.code.modules,
        "mappings": _mappings(streamed, sealed.code),
        "processes": _processes(evidence, streamed),
        "threads": _threads(evidence, streamed),
        "work": work_table(evidence, manifest),
        "source": source.table,
    }
    return manifest, tables


def _read(folder: Path) -> tuple[Asked, Streamed]:
    raw = folder / RAW
    if not (raw / STREAM).exists():
        raise WhyperfError(
            f"{folder} holds nothing: Valgrind could not run the program, or was killed before it began{_said(raw)}.",
            "valgrind --tool=none COMMAND",
        )
    try:
        asked, instruments = read_asked(raw), read_instruments(raw / PLAN)
    except (OSError, ValueError):
        raise WhyperfError(
            f"{folder} is damaged: what was asked for cannot be read any more.",
            f"whyperf record --deep --force -o {folder} -- COMMAND",
        ) from None
    stream = read_stream(raw / STREAM)
    check_stream(stream, instruments)
    _refuse_too_large(folder, asked, stream, (raw / STREAM).stat().st_size)
    modules = tuple(Module(one.path, one.build_id, 0) for one in stream.modules[1:])
    number = [_loaded_as(watched.name, watched.build_id, modules) for watched in instruments.modules]
    entry = [int(keys_of(number[f.module], f.entry)) if number[f.module] >= 0 else -1 for f in instruments.functions]
    site_keys = keys_of(stream.sites["module"].astype(np.int64) - 1, stream.sites["address"])
    # The plan names the program first; the stream whatever was executed first, which is the dynamic linker.
    program = modules[number[0]].path if number and number[0] >= 0 else ""
    return asked, Streamed(stream, instruments, modules, np.array(entry, np.int64), site_keys, DebugInfo(), program)


def _said(raw: Path) -> str:
    """The last of Valgrind's own messages."""
    try:
        lines = read_regular(raw / MESSAGES, MOST_TEXT_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return ""
    words = [text for line in lines if (text := _PREFIX.sub("", line).strip())]
    return f" ({words[-1].rstrip('.')})" if words else ""


def _refuse_too_large(folder: Path, asked: Asked, stream: Stream, size: int) -> None:
    """Better a sentence than a sealer that takes the machine's memory."""
    if asked.phase == ZOOM:
        needed = EXECUTION_BYTES * stream.events + _DEPENDENCE_BYTES * stream.producers
    else:
        needed = _CALL_BYTES * size // _STREAM_BYTES_A_CALL
    available = available_bytes()
    if needed > available:
        raise WhyperfError(
            f"{folder} needs about {needed / 1e9:.1f} GB of memory to be read, and {available / 1e9:.1f} GB are free: "
            "give the program less to do, so that it still shows the behaviour.",
            "free -h",
        )


def _loaded_as(name: str, build_id: str, modules: tuple[Module, ...]) -> int:
    """The number of the loaded module that the plan means; -1: none."""
    for number, module in enumerate(modules):
        if module.build_id == build_id if build_id else Path(module.path).name == name:
            return number
    return -1


def _manifest(
    evidence: RawEvidence, asked: Asked, streamed: Streamed, sealed: Sealed, notes: tuple[str, ...]
) -> Manifest:
    stream = streamed.stream
    whole = summary(evidence, np.zeros(0, np.int64), (*notes, *deep_notes(stream, streamed.instruments.modules)))
    zoomed = {f for f in streamed.instruments.functions if f.mode is Mode.ZOOM}
    deep = Deep(
        phase=asked.phase,
        valgrind=asked.valgrind,
        symptom=asked.symptom,
        instructions=int(stream.instructions),
        executions=sealed.executions,
        planned=len(zoomed) if zoomed else len(streamed.instruments.functions),
        left_out=asked.left_out,
        inexact={name: int(count) for name, count in sealed.inexact.items() if count},
    )
    stopped_by = "disk-full" if stream.ending == "disk" else whole.stopped_by
    return replace(whole, deep=deep, stopped_by=stopped_by)


def _mappings(streamed: Streamed, code: Code) -> pa.Table:
    rows = [
        (int(code.module_row[number]), one.base, one.bias)
        for number, one in enumerate(streamed.stream.modules[1:])
        if code.module_row[number] >= 0
    ]
    return table_of(
        MAPPINGS,
        process=[0] * len(rows),
        module=[module for module, _, _ in rows],
        time=[0] * len(rows),
        start=[base for _, base, _ in rows],
        end=[base for _, base, _ in rows],
        bias=[bias for _, _, bias in rows],
    )


def _processes(evidence: RawEvidence, streamed: Streamed) -> pa.Table:
    start = evidence.start
    return table_of(
        PROCESSES,
        process=[0],
        pid=[0],
        parent_pid=[0],
        start=[start.start_monotonic],
        origin=["exec"],
        executable=[streamed.program or _called(start)],
        command=[list(start.command)],
    )


def _threads(evidence: RawEvidence, streamed: Streamed) -> pa.Table:
    count = max(int(streamed.stream.threads), 1)
    name = Path(_called(evidence.start)).name
    return table_of(
        THREADS,
        thread=range(count),
        process=[0] * count,
        tid=range(1, count + 1),
        name=[name] * count,
        start=[evidence.start.start_monotonic] * count,
        cpu=[-1] * count,
    )


def _called(start: Start) -> str:
    return start.command[0] if start.command else "?"


def deep_notes(stream: Stream, watched: Sequence[WatchedModule]) -> Iterator[str]:
    """What the recording does not hold. `watched`: the files that it was planned for."""
    if stream.ending in _SEEN_ENDING:
        yield _SEEN_ENDING[stream.ending]
    for one in stream.unsupported:
        path = stream.modules[one.module].path or "code of no file"
        yield (
            f"Valgrind cannot execute the instruction {one.code.hex()} at {Path(path).name}+0x{one.address:x}: the "
            "target got SIGILL there."
        )
    if stream.forks:
        processes = "a process" if stream.forks == 1 else f"{stream.forks} processes"
        yield f"The target started {processes} by fork; only the target itself is in the recording."
    for path in unwatched(stream.modules, watched):
        yield (
            f"{Path(path).name} was loaded while the program ran, and its functions were not watched: "
            f"record again with --plug-in {shlex.quote(path)}."
        )
