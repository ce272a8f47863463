"""From an open recording to a sealed one: everything that engines and reports need, in tables."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from whyperf.collect import _session
from whyperf.collect.counts.raw import holds_counts
from whyperf.collect.dependences.raw import is_deep
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW
from whyperf.recording.safe_files.regular_files import opened_by_name
from whyperf.recording.schemas.tables import FINGERPRINTS
from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.sealed.writer import Content, remove_output, write_recording
from whyperf.seal.code_tables.code import Code
from whyperf.seal.code_tables.flow import flow_tables
from whyperf.seal.evidence import RawEvidence, read_evidence
from whyperf.seal.memory import memory_tables
from whyperf.seal.progress import Progress
from whyperf.seal.steps import (
    ContextNodes,
    HeldValues,
    Moments,
    ObservedStacks,
    People,
    manifest_of,
    read_code,
    source_of,
)
from whyperf.seal.symbols import DebugInfo, Symbols
from whyperf.seal.tables import work_table


def seal_open(folder: Path, progress: Progress, symbols: Symbols | None) -> None:
    raw = folder / RAW
    # Targets may have outlived a killed recorder.
    with contextlib.suppress(OSError, ValueError), opened_by_name(raw / "rings") as name:
        _session.Drainer(name).stop()
    progress("reading the raw log", 0.0)
    evidence = _evidence(folder)
    _check_machine(folder, evidence)
    if is_deep(raw):
        from whyperf.seal.dependences.sealing import sealed_deep

        sealed: tuple[Manifest, Mapping[str, Content]] = sealed_deep(folder, evidence, progress)
    elif holds_counts(raw):
        from whyperf.seal.counts.sealing import sealed_counts

        sealed = sealed_counts(folder, evidence, progress)
    else:
        sealed = sealed_tables(evidence, progress, symbols or DebugInfo())
    progress("writing tables", 0.9)
    if sealed[0].redaction:
        remove_output(folder)
    write_recording(folder, *sealed)
    progress("sealed", 1.0)


def _check_machine(folder: Path, evidence: RawEvidence) -> None:
    """Registers and code are read as this machine has them."""
    machine = evidence.start.host.machine
    if machine != platform.machine():
        raise WhyperfError(
            f"{folder} was recorded on {machine!r} and not finished there: its raw log can only be read "
            "on such a machine.",
            f"whyperf info {folder}  # there",
        )


def _evidence(folder: Path) -> RawEvidence:
    raw = folder / RAW
    try:
        return read_evidence(raw)
    except ValueError:
        raise WhyperfError(
            f"{folder} holds nothing: its recorder was killed before the program started.",
            f"whyperf record --force -o {folder} -- COMMAND",
        ) from None
    except OSError as error:
        raise WhyperfError(f"{folder} cannot be read: {error.strerror}.", f"ls -l {raw}") from error


def sealed_tables(
    evidence: RawEvidence, progress: Progress, symbols: Symbols
) -> tuple[Manifest, Mapping[str, Content]]:
    """What a sealed recording consists of. Reads binaries and source, writes nothing."""
    people = People.of(evidence)
    progress("reading debug information", 0.1)
    seen = ObservedStacks.of(evidence, people, symbols)
    code, named = read_code(evidence, people, seen, symbols, progress)
    contexts = ContextNodes.of(seen, code)
    progress("reading variables and source", 0.85)
    values = HeldValues.of(evidence, people, seen, code, contexts)
    moments = Moments.of(evidence, people, seen, contexts, values.values)
    spent = moments.spent(len(contexts.frames))
    source = source_of(code, contexts, spent)
    manifest = manifest_of(evidence, seen, moments, values, source)
    return manifest, {
        **people.tables,
        **named,
        **contexts.tables,
        "variables": values.variables,
        **moments.tables,
        **memory_tables(evidence, people.participants),
        **flow_tables(symbols, code, contexts.parents, contexts.frames, spent),
        "fingerprints": fingerprints_table(symbols, code),
        "work": work_table(evidence, manifest),
        "source": source.table,
    }


def fingerprints_table(symbols: Symbols, code: Code) -> pa.Table:
    functions, numbers = [np.zeros(0, np.int32)], [np.zeros(0, np.uint64)]
    sampled = code.functions.column("sampled").to_numpy()
    for number, told in code.own_modules():
        rows = code.function_rows[number]
        used = np.flatnonzero((rows[:-1] >= 0) & sampled[rows[:-1]]).astype(np.int32)
        found = symbols.fingerprints(told["path"], told["build_id"], used)
        row = rows[found.function]
        functions.append(row[row >= 0])
        numbers.append(found.code[row >= 0])
    return pa.table([np.concatenate(functions), np.concatenate(numbers)], schema=FINGERPRINTS.schema)
