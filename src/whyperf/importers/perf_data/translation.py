"""Tracepoints that say what our own tracer would have recorded: which field becomes which column."""

from __future__ import annotations

from dataclasses import dataclass, field

from whyperf.recording.schemas.events import EventKind

_STATES = 0xFF  # what is above tells a preempted thread, which is runnable


@dataclass(frozen=True)
class Translation:
    """Columns of `struct trace_record` by the tracepoint's fields. `other` names a thread by its number."""

    kind: EventKind
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    masks: dict[str, int] = field(default_factory=dict)


_HRTIMER, _TIMER_WHEEL = {"detail": 0}, {"detail": 1}
_REQUEST = {"object": "sector", "peer": "dev", "argument0": "sector"}

TRANSLATIONS: dict[str, Translation] = {
    "sched:sched_switch": Translation(
        EventKind.SWITCH, {"other": "next_pid", "result": "prev_state"}, masks={"result": _STATES}
    ),
    "sched:sched_waking": Translation(EventKind.WAKING, {"other": "pid"}),
    "sched:sched_wakeup": Translation(EventKind.WAKING, {"other": "pid"}),
    "sched:sched_wakeup_new": Translation(EventKind.WAKEUP_NEW, {"other": "pid"}),
    "raw_syscalls:sys_enter": Translation(
        EventKind.SYSCALL_ENTER,
        {"detail": "id", "argument0": "args[0]", "argument1": "args[1]", "argument2": "args[2]"},
    ),
    "raw_syscalls:sys_exit": Translation(EventKind.SYSCALL, {"detail": "id", "result": "ret"}),
    "signal:signal_generate": Translation(EventKind.SIGNAL, {"detail": "sig", "other": "pid", "result": "result"}),
    "signal:signal_deliver": Translation(EventKind.SIGNAL_DELIVER, {"detail": "sig"}),
    "timer:hrtimer_start": Translation(EventKind.TIMER_START, {"object": "hrtimer", "argument0": "expires"}, _HRTIMER),
    "timer:hrtimer_expire_entry": Translation(EventKind.TIMER_EXPIRE, {"object": "hrtimer"}, _HRTIMER),
    "timer:timer_start": Translation(EventKind.TIMER_START, {"object": "timer", "argument0": "expires"}, _TIMER_WHEEL),
    "timer:timer_expire_entry": Translation(EventKind.TIMER_EXPIRE, {"object": "timer"}, _TIMER_WHEEL),
    "workqueue:workqueue_queue_work": Translation(EventKind.WORK_QUEUE, {"object": "work", "argument0": "function"}),
    "workqueue:workqueue_execute_start": Translation(EventKind.WORK_START, {"object": "work", "argument0": "function"}),
    "io_uring:io_uring_submit_req": Translation(
        EventKind.URING_SUBMIT, {"object": "req", "peer": "ctx", "detail": "opcode"}
    ),
    "io_uring:io_uring_complete": Translation(
        EventKind.URING_COMPLETE, {"object": "req", "peer": "ctx", "result": "res"}
    ),
    "block:block_rq_issue": Translation(EventKind.BLOCK_ISSUE, {**_REQUEST, "argument1": "bytes"}),
    "block:block_rq_complete": Translation(EventKind.BLOCK_COMPLETE, {**_REQUEST, "result": "error"}),
    "exceptions:page_fault_user": Translation(
        EventKind.PAGE_FAULT, {"argument0": "address", "argument1": "ip", "detail": "error_code"}
    ),
    "lock:contention_begin": Translation(EventKind.CONTENTION_BEGIN, {"object": "lock_addr", "detail": "flags"}),
    "lock:contention_end": Translation(EventKind.CONTENTION_END, {"object": "lock_addr", "result": "ret"}),
}

# These say what perf's own records of processes say already.
TOLD_BY_RECORDS = frozenset(
    {"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit", "task:task_newtask",
     "task:task_rename"}
)  # fmt: skip


def translation_of(name: str, fields: list[str]) -> Translation | None:
    """For a tracepoint `system:name` with these fields; None: it says nothing that recordings keep."""
    if name in TRANSLATIONS:
        return TRANSLATIONS[name]
    system, _, event = name.partition(":")
    if system != "syscalls":
        return None
    if event.startswith("sys_exit_"):
        return Translation(EventKind.SYSCALL, {"detail": "__syscall_nr", "result": "ret"})
    if event.startswith("sys_enter_"):
        arguments = [one for one in fields if not one.startswith("common_") and one != "__syscall_nr"]
        columns = {f"argument{number}": one for number, one in enumerate(arguments[:3])}
        return Translation(EventKind.SYSCALL_ENTER, {"detail": "__syscall_nr", **columns})
    return None
