"""From an open recording to a sealed one: everything that engines and reports need, in tables."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect import _session
from whyperf.collect.components import Components
from whyperf.collect.counts.raw import holds_counts
from whyperf.collect.dependences.raw import is_deep
from whyperf.collect.redaction_key import fingerprint, redaction_key
from whyperf.collect.seal.address_spaces import Module, Spaces, spaces_of
from whyperf.collect.seal.code import CodeBuilder
from whyperf.collect.seal.events import SeenTraced, cut_stacks, events_table, in_one_order, samples_of, seen_traced
from whyperf.collect.seal.evidence import NEVER, Evidence, Int32, Int64, RawStacks, read_evidence
from whyperf.collect.seal.fingerprints import fingerprints_table
from whyperf.collect.seal.flow import flow_tables
from whyperf.collect.seal.kernel import Kernel
from whyperf.collect.seal.memory import memory_tables
from whyperf.collect.seal.opening import Progress
from whyperf.collect.seal.places import seen_stacks
from whyperf.collect.seal.plug_ins import plug_ins
from whyperf.collect.seal.processes import Cast, cast_of
from whyperf.collect.seal.redaction import redacted
from whyperf.collect.seal.roles import with_roles
from whyperf.collect.seal.source import excerpts
from whyperf.collect.seal.summary import summary
from whyperf.collect.seal.symbols import DebugInfo, Symbols
from whyperf.collect.seal.tables import table_of, work_table
from whyperf.collect.seal.traced_threads import with_traced
from whyperf.collect.seal.value_selection import narrowed, without
from whyperf.collect.seal.values import Seen, sealed_values
from whyperf.collect.tracer.traced import TRACED_SAMPLES, Traced
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW
from whyperf.recording.manifest import Manifest, Trace
from whyperf.recording.regular_files import opened_by_name
from whyperf.recording.tables import MAPPINGS, PROCESSES, SAMPLES, STACKS, THREADS, Clock
from whyperf.recording.writer import Content, remove_output, write_recording


def seal_open(folder: Path, progress: Progress, symbols: Symbols | None) -> None:
    raw = folder / RAW
    # Targets may have outlived a killed recorder.
    with contextlib.suppress(OSError, ValueError), opened_by_name(raw / "rings") as name:
        _session.Drainer(name).stop()
    progress("reading the raw log", 0.0)
    evidence = _evidence(folder)
    _check_machine(folder, evidence)
    if is_deep(raw):
        from whyperf.collect.dependences.sealing import sealed_deep

        sealed: tuple[Manifest, Mapping[str, Content]] = sealed_deep(folder, evidence, progress)
    elif holds_counts(raw):
        from whyperf.collect.counts.sealing import sealed_counts

        sealed = sealed_counts(folder, evidence, progress)
    else:
        sealed = sealed_tables(evidence, progress, symbols or DebugInfo())
    progress("writing tables", 0.9)
    if sealed[0].redaction:
        remove_output(folder)
    write_recording(folder, *sealed)
    progress("sealed", 1.0)


def _check_machine(folder: Path, evidence: Evidence) -> None:
    """Registers and code are read as this machine has them."""
    machine = evidence.start.host.machine
    if machine != platform.machine():
        raise WhyperfError(
            f"{folder} was recorded on {machine!r} and not finished there: its raw log can only be read "
            "on such a machine.",
            f"whyperf info {folder}  # there",
        )


def _evidence(folder: Path) -> Evidence:
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


def sealed_tables(evidence: Evidence, progress: Progress, symbols: Symbols) -> tuple[Manifest, Mapping[str, Content]]:
    """What a sealed recording consists of. Reads binaries and source, writes nothing."""
    samples, traced = evidence.samples, evidence.traced
    cast = cast_of(evidence)
    traced_cast = None if traced is None else with_traced(cast, traced)
    cast = cast if traced_cast is None else traced_cast.cast
    spaces = spaces_of(evidence, cast)
    space = spaces.of_samples(cast.sample_process, samples.time)
    stacked = np.flatnonzero(samples.stack >= 0)
    # Events see stacks as samples do: behind the sampler's, so that both share frames and contexts.
    seen_by_tracer = None if traced is None or traced_cast is None else seen_traced(traced, traced_cast, spaces)
    every = _Observed(evidence.stacks, space[stacked], samples.stack[stacked])
    every = every if seen_by_tracer is None else every.and_traced(seen_by_tracer)
    stacks, places = seen_stacks(every.stacks, spaces, every.space, every.stack, len(stacked))

    programs = {process.executable for process in cast.processes}
    outside = frozenset[Module]() if traced is None else plug_ins(spaces, cast, evidence.library)
    kernel = None if traced is None else Kernel(traced.kernel_symbols, traced.kernel_base, traced.kernel_build_id)
    code = CodeBuilder(symbols, programs, evidence.library, outside, kernel).build(
        places,
        spaces.modules,
        lambda number: cast.processes[spaces.first_process[number]].pid,
        lambda name, done: progress(f"reading debug information of {name}", 0.2 + 0.6 * done),
    )
    frames = code.place_frame[stacks.place]
    parents, node_frames, leaves = (
        np.frombuffer(column, np.int32) for column in _session.intern_contexts(frames.data, stacks.ends.data)
    )
    node = np.full(len(samples), -1, np.int32)
    node[stacked] = leaves[stacks.of_sample[: len(stacked)]]

    sample_stack = np.full(len(samples), -1, np.int64)
    sample_stack[stacked] = stacks.of_sample[: len(stacked)]
    seen = Seen(evidence, cast, spaces, stacks, places, sample_stack)
    wanted = evidence.start.values
    values = sealed_values(seen, code, Path(evidence.tables))
    values = narrowed(values, Components(wanted.components), code.functions, code.modules)
    values = without(values, wanted.excluded, code.functions)
    key = redaction_key() if wanted.redact else None
    values = values if key is None else redacted(values, code.functions, key)
    progress("reading source", 0.85)
    variables = with_roles(values, code, wanted.compile_commands)
    weight = _weight_ns(evidence)
    tables = {
        "samples": table_of(
            SAMPLES,
            time=samples.time,
            process=cast.sample_process,
            thread=cast.sample_thread,
            stack=node,
            weight=weight,
            clock=samples.clock,
            wait=samples.wait,
        ),
        "stacks": table_of(STACKS, node=np.arange(len(parents), dtype=np.int32), parent=parents, frame=node_frames),
        "frames": code.frames,
        "functions": code.functions,
        "modules": code.modules,
        "mappings": _mappings(spaces, code.module_row),
        "processes": _processes(cast),
        "threads": _threads(cast),
        "variables": variables.variables,
        "values": values.values,
        **memory_tables(evidence, cast),
    }
    events: dict[str, Content] = {}
    if traced is not None and traced_cast is not None and seen_by_tracer is not None:
        of_traced = leaves[stacks.of_sample[len(stacked) :]]
        event_node = np.append(of_traced, np.int32(-1))[seen_by_tracer.of_event]
        events["events"] = events_table(traced.records, traced_cast, event_node, seen_by_tracer.cut)
        others = samples_of(traced.records, traced_cast, event_node)
        tables["samples"], tables["values"] = in_one_order(tables["samples"], others, values.values)
    spent = _node_weights(len(node_frames), tables["samples"])
    source = excerpts(
        code.frames,
        code.functions,
        code.modules,
        np.bincount(node_frames, spent, minlength=code.frames.num_rows).astype(np.int64),
    )
    manifest = summary(evidence, weight, (*source.notes, *values.notes, *variables.notes))
    manifest = replace(manifest, redaction="" if key is None else fingerprint(key))
    if traced is not None and seen_by_tracer is not None:
        manifest = replace(manifest, trace=_trace(traced, seen_by_tracer.missing))
        if evidence.start.sampling.source == TRACED_SAMPLES and not evidence.last_said("totals"):
            on_cpu = int(tables["samples"].column("weight").to_numpy().sum())
            manifest = replace(manifest, totals=replace(manifest.totals, cpu_user_s=on_cpu / 1e9))
    tables |= {
        **flow_tables(symbols, code, parents, node_frames, spent),
        "fingerprints": fingerprints_table(symbols, code),
        "work": work_table(evidence, manifest),
        "source": source.table,
    }
    return manifest, {**tables, **events}


@dataclass(frozen=True)
class _Observed:
    """Stacks, and in which address space each was seen how often."""

    stacks: RawStacks
    space: Int32
    stack: Int32

    def and_traced(self, seen: SeenTraced) -> _Observed:
        before = len(self.stacks.ends)
        pcs = np.concatenate((self.stacks.pcs, seen.stacks.pcs))
        ends = np.concatenate((self.stacks.ends, seen.stacks.ends + len(self.stacks.pcs)))
        numbers = before + np.arange(len(seen.space), dtype=np.int32)
        return _Observed(
            RawStacks(pcs, ends), np.concatenate((self.space, seen.space)), np.concatenate((self.stack, numbers))
        )


def _trace(traced: Traced, missing: int) -> Trace:
    trace = traced.trace
    return replace(
        trace, stacks_lost=trace.stacks_lost + missing, stacks_cut=trace.stacks_cut or cut_stacks(traced.stacks)
    )


def _weight_ns(evidence: Evidence) -> Int64:
    samples = evidence.samples
    period = 1e9 / evidence.start.sampling.rate_hz if evidence.start.sampling.rate_hz > 0 else 0.0
    on_cpu = np.rint(np.minimum(samples.weight * period, NEVER)).astype(np.int64)
    return np.where(samples.clock == Clock.CPU, on_cpu, samples.weight)


def _node_weights(nodes: int, samples: pa.Table) -> npt.NDArray[np.float64]:
    """What was spent in each context itself."""
    node, weight = samples.column("stack").to_numpy(), samples.column("weight").to_numpy()
    known = node >= 0
    return np.bincount(node[known], weight[known], minlength=nodes).astype(np.float64)


def _mappings(spaces: Spaces, module_row: Int32) -> pa.Table:
    """Of the modules in which code was seen."""
    rows = [row for row in spaces.rows if module_row[row.mapping.module] >= 0]
    return table_of(
        MAPPINGS,
        process=[row.process for row in rows],
        module=module_row[np.array([row.mapping.module for row in rows], np.int64)],
        time=[row.time for row in rows],
        start=[row.mapping.start for row in rows],
        end=[row.mapping.end for row in rows],
        bias=[row.mapping.bias for row in rows],
    )


def _processes(cast: Cast) -> pa.Table:
    rows = cast.processes
    return table_of(
        PROCESSES,
        process=range(len(rows)),
        pid=[row.pid for row in rows],
        parent_pid=[row.parent_pid for row in rows],
        start=[row.start for row in rows],
        origin=[row.standing or row.origin for row in rows],
        executable=[row.executable for row in rows],
        command=[list(row.command) for row in rows],
        cgroup=[row.cgroup for row in rows],
    )


def _threads(cast: Cast) -> pa.Table:
    rows = cast.threads
    return table_of(
        THREADS,
        thread=range(len(rows)),
        process=[row.process for row in rows],
        tid=[row.tid for row in rows],
        name=[row.name for row in rows],
        start=[row.start for row in rows],
        cpu=[row.cpu for row in rows],
    )
