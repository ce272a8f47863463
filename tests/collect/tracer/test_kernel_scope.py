"""Who is recorded when not everybody is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.collect.tracer.tracing import Tracing, needs_bpf
from whyperf.recording.schemas.events import EventKind

pytestmark = needs_bpf


def test_who_is_talked_to_is_met(tmp_path: Path) -> None:
    """GIVEN a server that nobody follows WHEN a followed client talks to it THEN its calls are recorded."""
    path = tmp_path / "socket"
    code = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('ready', flush=True)\n"
        "c, _ = s.accept()\n"
        "while (m := c.recv(9)): c.send(m)"
    )
    client = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "for i in range(20): s.send(b'x'); s.recv(9)"
    )
    server = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    bystander = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        assert server.stdout and server.stdout.readline()
        with Tracing(tmp_path / "tables") as tracing:
            seen, pid, _ = tracing.run([sys.executable, "-c", client, str(path)])
    finally:
        server.kill()
        bystander.kill()
        server.wait()
        bystander.wait()
    received = seen.of(EventKind.SYSCALL, pid=server.pid, detail=45)
    assert len(received) >= 15
    assert not len(seen.of(EventKind.SYSCALL, pid=bystander.pid))
    assert pid in set(seen.records["pid"])


def test_whoever_a_timer_interrupts_is_not_met(tmp_path: Path) -> None:
    """GIVEN busy processes WHEN a followed one merely sleeps THEN none of them is recorded."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        with Tracing(tmp_path) as tracing:
            seen, pid, _ = tracing.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done"])
            met = {pid for kind, _, pid, *_ in tracing.served if kind == "met"}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    others = {process.pid for process in busy}
    assert not met & others
    # They are named as who ran before or after, nowhere else.
    about = seen.records[np.isin(seen.records["pid"], list(others))]
    assert set(about["kind"]) <= {EventKind.SWITCH}
    assert len(seen.of(EventKind.SWITCH, pid=pid))


def test_a_process_alone_is_followed_without_its_children(tmp_path: Path) -> None:
    with Tracing(tmp_path, scope="process") as tracing:
        seen, pid, _ = tracing.run(["sh", "-c", "/bin/true; exit 0"])
    children = {int(other) >> 32 for other in seen.of(EventKind.FORK, pid=pid)["other"]} - {pid}
    assert len(children) == 1
    child = children.pop()
    assert len(seen.of(EventKind.EXEC, pid=pid)) == 1
    # It was woken by its parent, hence met: whom it deals with is told, but not how it spends its time.
    assert not len(seen.of(EventKind.PAGE_FAULT, pid=child))
    assert len(seen.of(EventKind.PAGE_FAULT, pid=pid))


def test_descendants_are_followed_from_their_first_instruction(tmp_path: Path) -> None:
    with Tracing(tmp_path, scope="tree") as tracing:
        seen, pid, _ = tracing.run(["sh", "-c", "sh -c '/bin/true; exit 0'; exit 0"])
    executed = seen.of(EventKind.EXEC)
    assert len(executed) == 3
    for record in executed:
        if record["pid"] != pid:
            before = seen.records[(seen.records["pid"] == record["pid"]) & (seen.records["time"] < record["time"])]
            assert len(before), "it was not recorded between fork and exec"


def hidden(tid: int) -> bool:
    """Whether not even root may look at a thread."""
    try:
        Path(f"/proc/{tid}/syscall").read_bytes()
    except PermissionError:
        return True
    except OSError:
        pass  # it has ended
    return False


def test_with_scope_all_everybody_is_recorded_but_the_tracer(tmp_path: Path) -> None:
    with Tracing(tmp_path, scope="all", kinds=[EventKind.SYSCALL, EventKind.SWITCH], ring_bytes=32 << 20) as tracing:
        process = subprocess.Popen(["sleep", "0.1"])
        process.wait()
        seen = tracing.seen()
    assert len(seen.of(EventKind.SYSCALL, pid=process.pid))
    assert not len(seen.of(EventKind.SYSCALL, pid=os.getpid()))
    # A CPU's switches follow each other without gaps: who comes is who leaves next. Not so where the
    # kernel hides a process from everybody, as a virtual machine's own agent: it hides its events, too.
    for cpu in set(seen.records["cpu"]):
        switches = seen.of(EventKind.SWITCH)
        switches = switches[switches["cpu"] == cpu]
        came, left = switches["other"][:-1] & 0xFFFFFFFF, switches["tid"][1:]
        visible = ~np.isin(came, [tid for tid in set(came) if hidden(int(tid))])
        assert np.mean((came == left)[visible]) > 0.99
