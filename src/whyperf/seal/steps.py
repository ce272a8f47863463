"""The steps of sealing. Each takes what earlier steps found and gives tables, named in its `tables`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect import _session
from whyperf.collect.sampling.components import Components
from whyperf.collect.setup.redaction_key import fingerprint, redaction_key
from whyperf.collect.tracer.traced import TRACED_SAMPLES, Traced
from whyperf.recording.schemas.tables import MAPPINGS, PROCESSES, SAMPLES, STACKS, THREADS, Clock
from whyperf.recording.sealed.manifest import Manifest, TraceSummary
from whyperf.recording.sealed.writer import Content
from whyperf.seal.code_tables.code import DROPPED, Code, CodeBuilder
from whyperf.seal.code_tables.kernel_code import Kernel
from whyperf.seal.code_tables.source import Excerpts, excerpts
from whyperf.seal.events import SeenTraced, cut_stacks, events_table, in_one_order, samples_of, seen_traced
from whyperf.seal.evidence import NEVER, Int32, Int64, RawEvidence, RawStacks
from whyperf.seal.participants.address_spaces import Module, Spaces, spaces_of
from whyperf.seal.participants.jumps import WholeStacks, with_jumps
from whyperf.seal.participants.places import CodePlaces, SeenStacks, seen_stacks
from whyperf.seal.participants.plug_ins import plug_ins
from whyperf.seal.participants.processes import Participants, participants_of
from whyperf.seal.participants.traced_threads import TracedParticipants, with_traced
from whyperf.seal.progress import Progress
from whyperf.seal.summary import summary
from whyperf.seal.symbols import Symbols
from whyperf.seal.tables import table_of
from whyperf.seal.value_tables.redaction import redacted
from whyperf.seal.value_tables.roles import with_roles
from whyperf.seal.value_tables.value_selection import narrowed, without
from whyperf.seal.value_tables.values import SealedValues, Seen, sealed_values

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class People:
    """Processes and threads, as the sampler and the tracer saw them, and what each had mapped."""

    participants: Participants
    traced: TracedParticipants | None
    spaces: Spaces

    @classmethod
    def of(cls, evidence: RawEvidence) -> People:
        participants = participants_of(evidence)
        traced = None if evidence.traced is None else with_traced(participants, evidence.traced)
        participants = participants if traced is None else traced.participants
        return cls(participants, traced, spaces_of(evidence, participants))

    @property
    def tables(self) -> Tables:
        return {"processes": _processes(self.participants), "threads": _threads(self.participants)}

    def mappings(self, module_row: Int32) -> pa.Table:
        """Of the modules in which code was seen."""
        rows = [row for row in self.spaces.rows if module_row[row.mapping.module] >= 0]
        return table_of(
            MAPPINGS,
            process=[row.process for row in rows],
            module=module_row[np.array([row.mapping.module for row in rows], np.int64)],
            time=[row.time for row in rows],
            start=[row.mapping.start for row in rows],
            end=[row.mapping.end for row in rows],
            bias=[row.mapping.bias for row in rows],
        )


@dataclass(frozen=True)
class ObservedStacks:
    """Stacks as places in files. The tracer's lie behind the sampler's, so that both share frames and contexts."""

    stacks: SeenStacks
    whole: WholeStacks
    places: CodePlaces
    stacked: Int64
    """Rows of the samples that have a stack."""
    by_tracer: SeenTraced | None

    @classmethod
    def of(cls, evidence: RawEvidence, people: People, symbols: Symbols) -> ObservedStacks:
        samples, traced, spaces = evidence.samples, evidence.traced, people.spaces
        in_space = spaces.of_samples(people.participants.sample_process, samples.time)
        stacked = np.flatnonzero(samples.stack >= 0)
        by_tracer = None if traced is None or people.traced is None else seen_traced(traced, people.traced, spaces)
        raw, space, stack = evidence.stacks, in_space[stacked], samples.stack[stacked]
        if by_tracer is not None:
            numbers = len(raw.ends) + np.arange(len(by_tracer.space), dtype=np.int32)
            raw = _joined(raw, by_tracer.stacks)
            space, stack = np.concatenate((space, by_tracer.space)), np.concatenate((stack, numbers))
        stacks, places = seen_stacks(raw, spaces, space, stack, len(stacked))
        whole, places = with_jumps(stacks, places, spaces.modules, evidence.library, symbols)
        return cls(stacks, whole, places, stacked, by_tracer)

    def of_samples(self, of_stack: npt.NDArray[np.signedinteger], samples: int) -> npt.NDArray[np.signedinteger]:
        """`of_stack` for each sample, -1 for those without a stack."""
        found = np.full(samples, -1, of_stack.dtype)
        found[self.stacked] = of_stack[self.stacks.of_sample[: len(self.stacked)]]
        return found


def read_code(
    evidence: RawEvidence, people: People, seen: ObservedStacks, symbols: Symbols, progress: Progress
) -> tuple[Code, Tables]:
    """Frames, functions and modules of the code that was seen, by debug information."""
    traced, participants, spaces = evidence.traced, people.participants, people.spaces
    programs = {process.executable for process in participants.processes}
    outside = frozenset[Module]() if traced is None else plug_ins(spaces, participants, evidence.library)
    kernel = None if traced is None else Kernel(traced.kernel_symbols, traced.kernel_base, traced.kernel_build_id)
    code = CodeBuilder(symbols, programs, evidence.library, outside, kernel).build(
        seen.places,
        spaces.modules,
        lambda number: participants.processes[spaces.first_process[number]].pid,
        lambda name, done: progress(f"reading debug information of {name}", 0.2 + 0.6 * done),
    )
    named = {"frames": code.frames, "functions": code.functions, "modules": code.modules}
    return code, {**named, "mappings": people.mappings(code.module_row)}


@dataclass(frozen=True)
class ContextNodes:
    """The tree of calling contexts, and the leaf of each stack."""

    parents: Int32
    frames: Int32
    leaf: Int32
    height: Int64
    """Of each place of the seen stacks: how many nodes are inside of it."""

    @classmethod
    def of(cls, seen: ObservedStacks, code: Code) -> ContextNodes:
        frames = code.place_frame[seen.whole.place]
        columns = _session.intern_contexts(frames.data, seen.whole.ends.data)
        parents, node_frames, leaf = (np.frombuffer(column, np.int32) for column in columns)
        return cls(parents, node_frames, leaf, _nodes_inside(seen, frames != DROPPED))

    @property
    def tables(self) -> Tables:
        node = np.arange(len(self.parents), dtype=np.int32)
        return {"stacks": table_of(STACKS, node=node, parent=self.parents, frame=self.frames)}


def _nodes_inside(seen: ObservedStacks, is_node: npt.NDArray[np.bool_]) -> Int64:
    before = np.append(0, np.cumsum(is_node))
    starts = seen.whole.ends - np.diff(seen.whole.ends, prepend=0)
    inside: Int64 = before[seen.whole.position] - np.repeat(before[starts], seen.stacks.lengths)
    return inside


@dataclass(frozen=True)
class HeldValues:
    """What variables held, with their roles in the source; redacted where that was asked for."""

    variables: pa.Table
    values: pa.Table
    notes: tuple[str, ...]
    redaction: str

    @classmethod
    def of(
        cls, evidence: RawEvidence, people: People, seen: ObservedStacks, code: Code, contexts: ContextNodes
    ) -> HeldValues:
        wanted = evidence.start.values
        every_stack = np.arange(len(seen.stacks.ends), dtype=np.int64)
        sample_stack = seen.of_samples(every_stack, len(evidence.samples))
        sight = Seen(
            evidence, people.participants, people.spaces, seen.stacks, seen.places, sample_stack, contexts.height
        )
        held: SealedValues = sealed_values(sight, code, Path(evidence.tables))
        held = narrowed(held, Components(wanted.components), code.functions, code.modules)
        held = without(held, wanted.excluded, code.functions)
        key = redaction_key() if wanted.redact else None
        held = held if key is None else redacted(held, code.functions, key)
        known = with_roles(held, code, wanted.compile_commands)
        redaction = "" if key is None else fingerprint(key)
        return cls(known.variables, held.values, (*held.notes, *known.notes), redaction)


@dataclass(frozen=True)
class Moments:
    """Samples and events in time order, and values by the rows of their samples."""

    samples: pa.Table
    values: pa.Table
    events: pa.RecordBatchReader | None
    weight: Int64
    """Of the sampler's own samples."""

    @classmethod
    def of(
        cls, evidence: RawEvidence, people: People, seen: ObservedStacks, contexts: ContextNodes, values: pa.Table
    ) -> Moments:
        own, weight = evidence.samples, _weight_ns(evidence)
        samples = table_of(
            SAMPLES,
            time=own.time,
            process=people.participants.sample_process,
            thread=people.participants.sample_thread,
            stack=seen.of_samples(contexts.leaf, len(own)),
            weight=weight,
            clock=own.clock,
            wait=own.wait,
        )
        traced, by_tracer = people.traced, seen.by_tracer
        if evidence.traced is None or traced is None or by_tracer is None:
            return cls(samples, values, None, weight)
        records = evidence.traced.records
        of_traced = contexts.leaf[seen.stacks.of_sample[len(seen.stacked) :]]
        node = np.append(of_traced, np.int32(-1))[by_tracer.of_event]
        events = events_table(records, traced, node, by_tracer.cut)
        samples, values = in_one_order(samples, samples_of(records, traced, node), values)
        return cls(samples, values, events, weight)

    @property
    def tables(self) -> Mapping[str, Content]:
        events = {} if self.events is None else {"events": self.events}
        return {"samples": self.samples, "values": self.values, **events}

    def spent(self, nodes: int) -> npt.NDArray[np.float64]:
        """In each context itself."""
        node, weight = self.samples.column("stack").to_numpy(), self.samples.column("weight").to_numpy()
        known = node >= 0
        return np.bincount(node[known], weight[known], minlength=nodes).astype(np.float64)


def source_of(code: Code, contexts: ContextNodes, spent: npt.NDArray[np.float64]) -> Excerpts:
    """Source around the code in which most was spent."""
    weight = np.bincount(contexts.frames, spent, minlength=code.frames.num_rows).astype(np.int64)
    return excerpts(code.frames, code.functions, code.modules, weight)


def manifest_of(
    evidence: RawEvidence, seen: ObservedStacks, moments: Moments, values: HeldValues, source: Excerpts
) -> Manifest:
    manifest = summary(evidence, moments.weight, (*source.notes, *values.notes))
    manifest = replace(manifest, redaction=values.redaction)
    if evidence.traced is None or seen.by_tracer is None:
        return manifest
    manifest = replace(manifest, trace=_trace(evidence.traced, seen.by_tracer.missing))
    if evidence.start.sampling.source == TRACED_SAMPLES and not evidence.last_said("totals"):
        on_cpu = int(moments.samples.column("weight").to_numpy().sum())
        manifest = replace(manifest, totals=replace(manifest.totals, cpu_user_s=on_cpu / 1e9))
    return manifest


def _joined(one: RawStacks, other: RawStacks) -> RawStacks:
    pcs = np.concatenate((one.pcs, other.pcs))
    return RawStacks(pcs, np.concatenate((one.ends, other.ends + len(one.pcs))))


def _trace(traced: Traced, missing: int) -> TraceSummary:
    trace = traced.trace
    return replace(
        trace, stacks_lost=trace.stacks_lost + missing, stacks_cut=trace.stacks_cut or cut_stacks(traced.stacks)
    )


def _weight_ns(evidence: RawEvidence) -> Int64:
    samples = evidence.samples
    period = 1e9 / evidence.start.sampling.rate_hz if evidence.start.sampling.rate_hz > 0 else 0.0
    on_cpu = np.rint(np.minimum(samples.weight * period, NEVER)).astype(np.int64)
    return np.where(samples.clock == Clock.CPU, on_cpu, samples.weight)


def _processes(participants: Participants) -> pa.Table:
    rows = participants.processes
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


def _threads(participants: Participants) -> pa.Table:
    rows = participants.threads
    return table_of(
        THREADS,
        thread=range(len(rows)),
        process=[row.process for row in rows],
        tid=[row.tid for row in rows],
        name=[row.name for row in rows],
        start=[row.start for row in rows],
        cpu=[row.cpu for row in rows],
    )
