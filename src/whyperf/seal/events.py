"""Kernel events as the sealed tables want them: with rows for numbers, and one stack for two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.tracer.traced import Records, Traced, TracedStacks
from whyperf.recording.names.system_calls import FEW_ARGUMENTS, NUMBERS
from whyperf.recording.raw_log.ringrecords import CUT_REASONS
from whyperf.recording.schemas.events import EVENTS, EventKind
from whyperf.recording.schemas.tables import SAMPLES, Clock
from whyperf.seal.evidence import Int32, Int64, RawStacks
from whyperf.seal.participants.address_spaces import Spaces
from whyperf.seal.participants.places import numbered
from whyperf.seal.participants.traced_threads import Changes, TracedParticipants, values_at
from whyperf.seal.tables import table_of

_OF_CALLS = (EventKind.SWITCH, EventKind.WAKING, EventKind.SYSCALL, EventKind.SYSCALL_ENTER)
_ARGUMENTS = 3
_RETURN_FROM_SIGNAL = NUMBERS["rt_sigreturn"]  # its result is a register of what the signal interrupted

_taken = np.full(max(NUMBERS.values()) + 1, _ARGUMENTS, np.int8)
for _name, _count in FEW_ARGUMENTS.items():
    _taken[NUMBERS[_name]] = _count

_CUT_SHIFT = 8  # in the flags of a stack
_EVENTS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class SeenTraced:
    """The distinct stacks of events, each as seen in one address space."""

    stacks: RawStacks  # kernel frames innermost
    space: Int32  # of each stack
    of_event: Int32  # row in `stacks`; -1: none
    cut: npt.NDArray[np.uint8]  # of each event's stack: why its outer end is missing; 0: it is whole
    missing: int  # events whose stacks are not in the recording


def seen_traced(traced: Traced, participants: TracedParticipants, spaces: Spaces) -> SeenTraced:
    records = traced.records
    space = _spaces_at(spaces, participants.process, records["time"].astype(np.int64))
    both, _ = numbered(records["stack"].astype(np.uint64) << np.uint64(32) | records["kernel_stack"])
    seen, seen_firsts = numbered(space.astype(np.uint64) << np.uint64(32) | both.astype(np.uint64))
    user, user_found = _rows_of(traced.stacks, records["stack"][seen_firsts])
    kernel, kernel_found = _rows_of(traced.stacks, records["kernel_stack"][seen_firsts])
    stacks = _joined(traced.stacks, kernel, user)
    empty = np.diff(stacks.ends, prepend=0) == 0
    of_event = np.where(empty[seen], -1, seen).astype(np.int32) if len(seen) else seen
    lost = ~(user_found & kernel_found)
    missing = int(np.count_nonzero(lost[seen])) if lost.any() else 0
    reason = np.append(traced.stacks.flags >> _CUT_SHIFT, 0)[user].astype(np.uint8)  # the last one is for -1
    return SeenTraced(stacks, space[seen_firsts], of_event, reason[seen], missing)


def _spaces_at(spaces: Spaces, process: Int32, time: Int64) -> Int32:
    before = np.array([epochs[0][1] for epochs in spaces.epochs], np.int32)
    changes = sorted((begin, row, number) for row, epochs in enumerate(spaces.epochs) for begin, number in epochs[1:])
    columns = np.array(changes, np.int64).reshape(-1, 3).T
    found = values_at(time, process, Changes(columns[0], columns[1], columns[2]), before)
    # The idle task has kernel frames only, which are the same everywhere.
    return np.maximum(found, 0)


def _rows_of(stacks: TracedStacks, numbers: np.ndarray) -> tuple[Int64, np.ndarray]:
    """Rows by number, -1 for none; and whether all is well: 0 is the number of no stack."""
    order = np.argsort(stacks.number, kind="stable")
    ordered = stacks.number[order]
    at = np.searchsorted(ordered, numbers, side="right") - 1  # a number given twice means the later one
    known = (at >= 0) & (numbers > 0)
    known[known] = ordered[at[known]] == numbers[known]
    rows = np.full(len(numbers), -1, np.int64)
    rows[known] = order[at[known]]
    return rows, known | (numbers == 0)


def _joined(stacks: TracedStacks, inner: Int64, outer: Int64) -> RawStacks:
    """Lists of addresses, each of two stacks (-1: of one only)."""
    rows = np.stack((inner, outer), axis=1).ravel()
    begins = np.concatenate((np.zeros(1, np.int64), stacks.ends))  # -1 takes the last, without any length
    lengths = np.where(rows >= 0, np.diff(begins, append=begins[-1])[rows], 0)
    ends = np.cumsum(lengths)
    pcs = stacks.pcs[np.repeat(begins[rows] - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)]
    return RawStacks(pcs, ends[1::2])


def events_table(
    records: Records, participants: TracedParticipants, node: Int32, cut: npt.NDArray[np.uint8]
) -> pa.RecordBatchReader:
    """Made piece by piece while it is written: events are many, and nobody needs them all twice."""

    def pieces() -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(records), _EVENTS_AT_ONCE):
            rows = slice(begin, begin + _EVENTS_AT_ONCE)
            table = _events(
                records[rows],
                thread=participants.thread[rows],
                other=participants.other[rows],
                stack=node[rows],
                cut=cut[rows],
            )
            yield from table.to_batches()

    return pa.RecordBatchReader.from_batches(EVENTS.schema, pieces())


def _events(records: Records, **columns: np.ndarray) -> pa.Table:
    plain = ("cpu", "kind", "context", "detail", "object", "peer", "extra")
    return table_of(
        EVENTS,
        time=records["time"].astype(np.int64),
        **columns,
        **{name: np.ascontiguousarray(records[name]) for name in plain},
        **{f"argument{i}": column for i, column in enumerate(_call_arguments(records))},
        result=_call_results(records),
    )


def samples_of(records: Records, participants: TracedParticipants, node: Int32) -> pa.Table:
    """The tracer's samples of programs that do not sample themselves: it saw them all the same."""
    unsampled = np.append(participants.unsampled, False)  # the last one is for the idle task
    rows = np.flatnonzero((records["kind"] == EventKind.SAMPLE) & unsampled[participants.process])
    count = len(rows)
    return table_of(
        SAMPLES,
        time=records["time"][rows].astype(np.int64),
        process=participants.process[rows],
        thread=participants.thread[rows],
        stack=node[rows],
        weight=records["argument"][rows, 0].astype(np.int64),
        clock=np.full(count, Clock.CPU, np.int8),
        wait=np.full(count, -1, np.int16),
    )


def in_one_order(own: pa.Table, traced: pa.Table, values: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Samples of both in time order, and values that name their samples by the new rows."""
    if traced.num_rows == 0:
        return own, values
    both = pa.concat_tables([own, traced])
    order = np.argsort(both.column("time").to_numpy(), kind="stable")
    row = np.empty(len(order), np.int32)
    row[order] = np.arange(len(order), dtype=np.int32)
    at = values.schema.get_field_index("sample")
    renamed = pa.array(row[values.column("sample").to_numpy()], pa.int32())
    return both.take(order), values.set_column(at, values.schema.field(at), renamed)


def cut_stacks(stacks: TracedStacks) -> dict[str, int]:
    """How many distinct stacks end early, and why."""
    counts = np.bincount(stacks.flags >> _CUT_SHIFT, minlength=len(CUT_REASONS))[: len(CUT_REASONS)]
    return {CUT_REASONS[i]: int(counts[i]) for i in range(1, len(CUT_REASONS)) if counts[i]}


def _call_arguments(records: Records) -> list[npt.NDArray[np.uint64]]:
    """The three columns, with 0 where the event's system call takes no such argument, or there is no call: registers
    hold the program's own data then."""
    detail = records["detail"]
    known = _taken[np.clip(detail, 0, len(_taken) - 1)]
    taken = np.where(detail < 0, 0, np.where(detail < len(_taken), known, _ARGUMENTS))
    taken[~np.isin(records["kind"], _OF_CALLS)] = _ARGUMENTS
    return [np.where(taken > number, records["argument"][:, number], 0) for number in range(_ARGUMENTS)]


def _call_results(records: Records) -> npt.NDArray[np.int64]:
    """The column, with 0 for returns from signal handlers: to some machines these are calls without a number."""
    detail = records["detail"]
    returns = (records["kind"] == EventKind.SYSCALL) & ((detail < 0) | (detail == _RETURN_FROM_SIGNAL))
    return np.where(returns, 0, records["result"])
