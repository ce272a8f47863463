"""Every kind of event, from a small program that does exactly that."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.architecture import HERE
from tests.collect.tracer.tracing import Seen, Tracing, compiled, needs_bpf
from tests.patience import PATIENCE_S
from whyperf.collect.architecture import X86_64
from whyperf.collect.tracer.traced import Records
from whyperf.recording.schemas.events import EventKind, InterruptContext

pytestmark = needs_bpf

# Numbers of system calls as recordings hold them.
READ, WRITE, SENDFILE, EPOLL_CTL, FUTEX = 0, 1, 40, 233, 202
EPOLL_WAIT = 232 if HERE is X86_64 else 281  # elsewhere epoll_wait() is epoll_pwait
SEMTIMEDOP, MSGSND, MSGRCV, FCNTL, FLOCK = 220, 69, 70, 72, 73  # semop() is semtimedop
MQ_SEND, MQ_RECEIVE, TIMERFD_SETTIME = 242, 243, 286

SOCKET, PIPE, FILE = stat.S_IFSOCK << 48, stat.S_IFIFO << 48, stat.S_IFREG << 48
INTERRUPTIBLE = 1


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    compiled("kinds.c", folder, "-pthread", "-lrt")
    compiled("uring.c", folder)
    return folder


@pytest.fixture(scope="module")
def tracing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracing]:
    with Tracing(tmp_path_factory.mktemp("tables"), ring_bytes=96 << 20) as tracing:
        yield tracing


class Did:
    """What one of the programs did, as seen and as it told itself."""

    def __init__(self, tracing: Tracing, program: Path, *arguments: str) -> None:
        tracing.seen().records = tracing.seen().records[:0]
        self.seen, self.pid, lines = tracing.run([str(program), *arguments])
        self.said = {name: int(value) for name, value in (line.split() for line in lines)}

    def of(self, kind: EventKind, **which: int) -> Records:
        return self.seen.of(kind, **which)

    def calls(self, number: int) -> Records:
        return self.of(EventKind.SYSCALL, detail=number)

    def blocked_in(self, number: int) -> Records:
        switches = self.of(EventKind.SWITCH, detail=number)
        return switches[switches["result"] & INTERRUPTIBLE != 0]

    def wakings_of(self, thread: int) -> Records:
        wakings = self.of(EventKind.WAKING)
        return wakings[wakings["other"] & 0xFFFFFFFF == thread]


def _only(records: Records, **columns: int) -> np.void:
    """The one record with these values."""
    for name, value in columns.items():
        records = records[records[name] == np.array(value, records[name].dtype)]
    assert len(records) == 1, records
    return records[0]  # type: ignore[no-any-return]


def test_pipe(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "pipe")
    pipe = did.said["ours"] | PIPE
    reader = did.said["reader"]

    sent = _only(did.calls(WRITE), object=pipe, tid=did.pid)
    received = _only(did.calls(READ), object=pipe, tid=reader)
    waited = _only(did.blocked_in(READ), tid=reader)
    woken = _only(did.wakings_of(reader), object=pipe)

    assert sent["result"] == received["result"] == 5
    assert waited["object"] == pipe
    assert woken["tid"] == did.pid
    assert woken["detail"] == WRITE
    assert waited["time"] < woken["time"] < sent["time"] < received["time"]


def test_unix_socket(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "unix")
    ours, theirs = did.said["ours"] | SOCKET, did.said["theirs"] | SOCKET

    sent = _only(did.calls(WRITE), object=theirs)
    received = _only(did.calls(READ), object=ours)
    arrived = _only(did.of(EventKind.DATA_READY), object=ours) if _has(tracing, "DATA_READY") else sent

    assert sent["peer"] == ours and received["peer"] == theirs
    assert arrived["tid"] == did.pid
    # Lengths are in the calls' own records: not told a second time.
    assert not len(did.of(EventKind.SOCKET_SEND, pid=did.pid))


def _has(tracing: Tracing, kind: str) -> bool:
    return kind not in tracing.tracer.absent


def test_tcp_over_loopback(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "tcp")
    client, server = did.said["client_port"], did.said["server_port"]

    sent = _only(did.calls(WRITE), object=did.said["theirs"] | SOCKET)
    received = _only(did.calls(READ), object=did.said["ours"] | SOCKET)
    woken = did.wakings_of(did.said["reader"])

    assert sent["peer"] == client << 16 | server
    assert received["peer"] == server << 16 | client
    # The receiver is woken in a softirq within the sender's call: that is no accident.
    woken = woken[woken["context"] & InterruptContext.NET_SOFTIRQ != 0]
    assert did.said["theirs"] | SOCKET in woken["object"]


@pytest.mark.parametrize("kind", ["SOCKET_SEND"])
def test_lengths_that_no_call_tells(tracing: Tracing, programs: Path, tmp_path: Path, kind: str) -> None:
    if not _has(tracing, kind):
        pytest.skip(tracing.tracer.absent[kind])
    did = Did(tracing, programs / "kinds", "sendfile", str(tmp_path / "file"))
    sent = _only(did.of(EventKind[kind], pid=did.pid), object=did.said["ours"] | SOCKET)
    assert sent["result"] == 10
    assert did.calls(SENDFILE)["result"].tolist() == [10]


def test_eventfd_is_named_by_its_own_object(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "eventfd")
    reader = did.said["reader"]
    received = _only(did.calls(READ), tid=reader)
    sent = _only(did.calls(WRITE), object=int(received["object"]))
    assert int(received["object"]) >> 56 == 0xFF  # an address of the kernel's
    assert sent["result"] == 8
    assert len(did.wakings_of(reader)) >= 1


def test_epoll(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "epoll")
    pipe = did.said["ours"] | PIPE
    added = _only(did.calls(EPOLL_CTL), peer=pipe)
    waited = _only(did.blocked_in(EPOLL_WAIT), pid=did.pid)
    ended = _only(did.calls(EPOLL_WAIT), pid=did.pid)
    assert added["object"] == waited["object"] == ended["object"]
    assert ended["result"] == 1
    assert pipe in did.wakings_of(did.pid)["object"]


def test_condition_variable(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "condition")
    condition, waiter = did.said["condition"], did.said["waiter"]
    waited = did.blocked_in(FUTEX)
    waited = waited[waited["tid"] == waiter]
    assert len(waited) >= 1  # once woken it may have to wait for the mutex
    assert condition <= waited[0]["object"] < condition + 48
    assert waited[0]["peer"] == did.pid
    wakings = did.wakings_of(waiter)
    assert waited[0]["object"] in wakings[(wakings["tid"] == did.pid) & (wakings["detail"] == FUTEX)]["object"]


def test_mutex_tells_its_owner(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "mutex")
    waited = did.blocked_in(FUTEX)
    waited = _only(waited, object=did.said["mutex"])
    assert waited["extra"] & 0xFFFFFFFF == did.said["owner"]
    assert waited["extra"] >> np.uint64(32) == 2  # locked, and somebody waits


def test_futex_in_shared_memory_is_named_by_file_and_offset(tracing: Tracing, programs: Path, tmp_path: Path) -> None:
    did = Did(tracing, programs / "kinds", "shared-futex", str(tmp_path / "file"))
    calls = did.calls(FUTEX)
    calls = calls[calls["object"] == did.said["file"]]
    assert len(calls) == 2 and len(set(calls["pid"])) == 2
    assert set(calls["peer"]) == {np.uint64(1 << 63 | did.said["offset"])}


@pytest.mark.parametrize(("how", "call"), [("flock", FLOCK), ("fcntl", FCNTL)])
def test_file_locks_tell_file_and_holder(tracing: Tracing, programs: Path, tmp_path: Path, how: str, call: int) -> None:
    did = Did(tracing, programs / "kinds", how, str(tmp_path / "file"))
    waited = _only(did.blocked_in(call), pid=did.said["child"])
    assert waited["object"] == did.said["file"] | FILE
    assert waited["extra"] & 0xFFFFFFFF == did.pid
    got = _only(did.calls(call), pid=did.said["child"])
    assert got["result"] == 0
    if how == "fcntl":
        assert waited["peer"] == 100 << 32 | 50
    assert int(got["object"]) in did.wakings_of(did.said["child"])["object"]


def test_sysv_semaphore(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "semaphore")
    calls = did.calls(SEMTIMEDOP)
    assert set(calls["object"]) == {np.uint64(did.said["id"] | 1 << 48)}
    assert sorted(int(extra) for extra in calls["extra"]) == [2 << 32 | 1, 2 << 32 | 0xFFFFFFFF]
    assert len(did.blocked_in(SEMTIMEDOP)) == 1


def test_sysv_queue(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "queue")
    queue = did.said["id"] | 2 << 48
    assert _only(did.calls(MSGSND), object=queue)["result"] == 0
    assert _only(did.calls(MSGRCV), object=queue)["result"] == 4
    assert _only(did.blocked_in(MSGRCV), object=queue)["pid"] != did.pid


def test_posix_queue(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "posix-queue")
    queue = did.said["queue"] | FILE
    assert _only(did.calls(MQ_SEND), object=queue)["result"] == 0
    assert _only(did.calls(MQ_RECEIVE), object=queue)["result"] == 3
    assert len(did.blocked_in(MQ_RECEIVE)) == 1


def test_timers(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "timerfd")
    set_up = _only(did.calls(TIMERFD_SETTIME), pid=did.pid)
    starts = did.of(EventKind.TIMER_START, pid=did.pid)
    start = starts[starts["time"] < set_up["time"]][-1]
    expired = _only(did.of(EventKind.TIMER_EXPIRE), object=int(start["object"]))
    woken = did.wakings_of(did.pid)
    woken = woken[woken["context"] & InterruptContext.HRTIMER != 0]
    assert 25e6 < int(expired["time"]) - int(start["time"]) < 10e9
    assert start["object"] in woken["object"]


def test_signals(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "signal")
    sent = _only(did.of(EventKind.SIGNAL, detail=12), pid=did.pid)
    delivered = _only(did.of(EventKind.SIGNAL_DELIVER, detail=12), pid=did.said["child"])
    assert int(sent["other"]) >> 32 == did.said["child"]
    assert sent["result"] == 0
    assert sent["time"] < delivered["time"]
    # The kernel's own: the child's end is told to its parent.
    assert len(did.of(EventKind.SIGNAL, detail=17, pid=did.said["child"])) == 1


def _name(record: np.void) -> str:
    return record["argument"][:2].tobytes().split(b"\0")[0].decode()


def test_processes_and_threads(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "fork")
    child = did.said["child"]
    forks = did.of(EventKind.FORK, pid=did.pid)
    assert child << 32 | child in forks["other"]
    thread = next(int(other) & 0xFFFFFFFF for other in forks["other"] if int(other) >> 32 == did.pid)
    assert _name(_only(did.of(EventKind.EXEC), pid=child)) == "sh"
    assert _only(did.of(EventKind.EXIT), tid=child)["result"] == 3 << 8
    assert len(did.of(EventKind.EXIT, tid=thread)) == 1
    assert [_name(renamed) for renamed in did.of(EventKind.RENAME, pid=did.pid)] == ["kinds", "renamed"]
    assert thread in [int(new["other"]) & 0xFFFFFFFF for new in did.of(EventKind.WAKEUP_NEW)]


def test_page_faults(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "faults")
    first, pages = did.said["memory"], did.said["pages"]
    faults = did.of(EventKind.PAGE_FAULT, pid=did.pid)
    touched = {int(address) for address in faults["argument"][:, 0]}
    assert {first + 4096 * page for page in range(pages)} <= touched


def test_io_uring(tracing: Tracing, programs: Path) -> None:
    process = tracing.spawn([str(programs / "uring")])
    if process.wait(PATIENCE_S) == 77:
        pytest.skip("this kernel does not permit io_uring")
    assert process.returncode == 0
    seen = tracing.seen()
    submitted = _only(seen.of(EventKind.URING_SUBMIT, pid=process.pid))
    completed = _only(seen.of(EventKind.URING_COMPLETE, pid=process.pid), object=int(submitted["object"]))
    assert submitted["detail"] == 22  # IORING_OP_READ
    assert completed["result"] == 5
    assert completed["peer"] == submitted["peer"]


def test_block_devices(tracing: Tracing, programs: Path) -> None:
    folder = Path("/var/tmp")
    path = folder / f"whyperf-test-{os.getpid()}"
    try:
        process = tracing.spawn([str(programs / "kinds"), "disk", str(path)])
        if process.wait(PATIENCE_S) == 77:
            pytest.skip(f"no direct I/O in {folder}")
    finally:
        path.unlink(missing_ok=True)
    seen = tracing.seen()
    issued = seen.of(EventKind.BLOCK_ISSUE, pid=process.pid)
    if not len(issued):
        pytest.skip(f"{folder} lies on no block device of which requests are seen")
    read = issued[(issued["detail"] == 0) & (issued["argument"][:, 1] == 4096)][-1]
    completed = seen.of(EventKind.BLOCK_COMPLETE)
    done = completed[(completed["object"] == read["object"]) & (completed["time"] > read["time"])][0]
    device = folder.stat().st_dev
    assert read["peer"] == os.major(device) << 20 | os.minor(device)
    assert done["argument"][0] == read["argument"][0]
    assert done["result"] == 0
    # The thread sleeps uninterruptibly meanwhile: then there is a kernel stack too.
    slept = seen.of(EventKind.SWITCH, pid=process.pid)
    slept = slept[slept["result"] & 2 != 0]
    assert len(slept) and all(seen.stacks[int(number)].kernel for number in slept["kernel_stack"])


def test_samples(tmp_path: Path) -> None:
    with Tracing(tmp_path, sample_hz=499, kinds=[EventKind.SAMPLE]) as tracing:
        seen, pid, _ = tracing.run(["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])
    samples = seen.of(EventKind.SAMPLE, pid=pid)
    assert len(samples) > 20
    assert set(samples["argument"][:, 0]) == {round(1e9 / 499 - 0.5)}
    in_user = samples[samples["kernel_stack"] == 0]
    assert set(in_user["detail"]) == {-1}


def test_locks_in_the_kernel(tracing: Tracing, programs: Path) -> None:
    did = Did(tracing, programs / "kinds", "contention")
    begins, ends = (did.of(kind, pid=did.pid) for kind in (EventKind.CONTENTION_BEGIN, EventKind.CONTENTION_END))
    assert len(begins) >= 1
    begun = {(int(record["tid"]), int(record["object"])) for record in begins}
    assert {(int(record["tid"]), int(record["object"])) for record in ends} <= begun
    assert all(did.seen.stacks[int(number)].kernel for number in begins["kernel_stack"])


def test_workqueues(tmp_path: Path) -> None:
    kinds = [EventKind.WORK_QUEUE, EventKind.WORK_START]
    with Tracing(tmp_path, scope="all", kinds=kinds) as tracing:

        def done(seen: Seen) -> bool:
            queued = {int(record["object"]) for record in seen.of(EventKind.WORK_QUEUE)}
            return any(int(record["object"]) in queued for record in seen.of(EventKind.WORK_START))

        seen = tracing.until(done)
    started = seen.of(EventKind.WORK_START)
    functions = dict(zip(seen.records["object"].tolist(), seen.records["argument"][:, 0].tolist(), strict=True))
    assert all(functions[int(record["object"])] >> 56 == 0xFF for record in started)


def test_accesses_of_a_watched_variable(tracing: Tracing, programs: Path) -> None:
    process = tracing.spawn([str(programs / "kinds"), "flag"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    address = int(process.stdout.readline().split()[1])
    try:
        tracing.tracer.watch(process.pid, address)
    except OSError as error:
        process.kill()
        process.wait()
        pytest.skip(f"no hardware breakpoints here: {error}")
    process.communicate(b"go")
    written = tracing.seen().of(EventKind.FLAG_ACCESS, pid=process.pid)
    assert set(written["argument"][:, 0]) == {address}
    # Breakpoints come after the write on x86-64, before it on aarch64.
    values = [1, 2, 3] if HERE is X86_64 else [0, 1, 2]
    assert (written["argument"][:, 1] & 0xFFFFFFFF).tolist() == values
    assert (written["stack"] != 0).all()


def test_entries_of_system_calls_are_optional(tmp_path: Path) -> None:
    with Tracing(tmp_path, syscall_enter=True) as tracing:
        seen, pid, _ = tracing.run(["sleep", "0.01"])
    enters = seen.of(EventKind.SYSCALL_ENTER, pid=pid, detail=230)  # clock_nanosleep
    exits = seen.of(EventKind.SYSCALL, pid=pid, detail=230)
    assert len(enters) == len(exits) == 1
    assert 9e6 < int(exits["time"][0]) - int(enters["time"][0]) < 10e9


def test_interrupted_seen_is_complete(tracing: Tracing, programs: Path) -> None:
    """Nothing was lost, skipped or left without a stack in all of this."""
    did = Did(tracing, programs / "kinds", "pipe")
    counters = tracing.tracer.counters()
    assert counters["events_lost"] == counters["stack_bytes_lost"] == counters["notices_lost"] == 0
    assert not tracing.tracer.absent or set(tracing.tracer.absent) <= {"DATA_READY", "SOCKET_SEND", "SOCKET_RECEIVE"}
    numbers = set(did.seen.records["stack"]) - {0}
    assert numbers <= set(did.seen.stacks)
