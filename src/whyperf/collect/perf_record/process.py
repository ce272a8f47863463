"""`perf record` beside the target.

It is started first, with its events disabled, and told to enable them when it is ready: whatever this process starts
from then on inherits them, from its first instruction.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.errors import WhyperfError

_FILE = "perf.data"
_MESSAGES = "perf.log"
_ANSWER_S = 20.0  # perf reads what all processes have mapped before it answers
_STOP_S = 60.0
_BUFFER_PAGES = "2048"
_STACK_BYTES = 8192
_MOST = "2G"
# System calls come too often for copies of their stacks; the waits in them are seen with their stack at the switch.
_TRACEPOINTS = {
    "sched:sched_switch": "",
    "sched:sched_waking": "",
    "sched:sched_wakeup_new": "/call-graph=no/",
    "raw_syscalls:sys_enter": "/call-graph=no/",
    "raw_syscalls:sys_exit": "/call-graph=no/",
    "signal:signal_generate": "/call-graph=no/",
    "block:block_rq_issue": "/call-graph=no/",
    "block:block_rq_complete": "/call-graph=no/",
}
_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))


@dataclass(frozen=True)
class Scope:
    """Whose events are recorded. Without a pid: everybody's."""

    name: str  # as in the manifest: tree, process or all
    pid: int | None


@dataclass(frozen=True)
class PerfRecorded:
    """What a `perf record` that ended has left behind."""

    file: Path
    pid: int
    scope: Scope
    ended_early: bool


class PerfProcess:
    """A running `perf record`. It ends when the pipe that commands it is closed, however that comes about."""

    def __init__(self, folder: Path, scope: Scope, sample_hz: int, environment: Mapping[str, str]) -> None:
        self.file = folder / _FILE
        self.ended_early = False  # by itself: its file was full, or the disk
        self._messages = folder / _MESSAGES
        perf = shutil.which("perf", path=environment.get("PATH"))
        if perf is None:
            raise WhyperfError(
                "Without BPF kernel events need perf, which is not installed.", "sudo apt-get install linux-perf"
            )
        _mount_tracefs(perf)
        with contextlib.ExitStack() as ours:
            commands, self._commands = os.pipe()
            ours.callback(os.close, commands)
            self._answers, answers = os.pipe()
            ours.callback(os.close, answers)
            control = ("--control", f"fd:{commands},{answers}")
            with self._messages.open("wb") as said:
                self._process = subprocess.Popen(
                    [perf, *_options(self.file, scope, sample_hz), *control],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    pass_fds=(commands, answers),
                    start_new_session=True,  # Ctrl-C is for the target and for us
                )
        self._tell("enable", _ANSWER_S)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """Ends perf, which then completes its file."""
        if self._process.returncode is not None:
            return
        self.ended_early = self._process.poll() is not None
        # A command would be heeded only when no events come; a signal always is.
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close()

    def kill(self) -> None:
        """Where it was not stopped: its file will say little."""
        if self._process.returncode is not None:
            return
        self._process.kill()
        self._process.wait()
        self._close()

    def _tell(self, command: str, patience_s: float) -> None:
        os.write(self._commands, f"{command}\n".encode())
        # perf's death closes its end, which reads as an end of file.
        ready, _, _ = select.select([self._answers], [], [], patience_s)
        if ready and os.read(self._answers, 64):
            return
        self.kill()
        raise WhyperfError(f"perf cannot record here: {self._complaint()}", "whyperf doctor")

    def _complaint(self) -> str:
        lines = [line.strip() for line in self._messages.read_text(errors="replace").splitlines()]
        told = next((line for line in lines if line and not line.endswith(":") and not line.startswith("[")), "")
        return "".join(letter for letter in told if letter.isprintable()) or "it did not say why."

    def _close(self) -> None:
        for descriptor in (self._commands, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _options(file: Path, scope: Scope, sample_hz: int) -> list[str]:
    whom = ["-a"] if scope.pid is None else ["-p", str(scope.pid)]
    present = {name: terms for name, terms in _TRACEPOINTS.items() if _exists(name)}
    events = [f"cpu-clock/freq={sample_hz}/", *(f"{name}{terms}" for name, terms in present.items())]
    return [
        *("record", "-o", str(file), "-k", "mono", "-m", _BUFFER_PAGES, "-D", "-1", "--max-size", _MOST),
        # Build-ids come with the mappings: perf need not read its whole file again to collect them.
        "--buildid-mmap",
        *("--call-graph", f"dwarf,{_STACK_BYTES}", *whom),
        *(word for event in events for word in ("-e", event)),
    ]


def _mount_tracefs(perf: str) -> None:
    """Where nobody has: perf does so for the first tracepoint that it is asked for, but which there are is known only
    afterwards."""
    if not _has_tracepoints():
        subprocess.run([perf, "stat", "-e", next(iter(_TRACEPOINTS)), "true"], capture_output=True, check=False)
    if not _has_tracepoints():
        raise WhyperfError(
            "perf cannot record kernel events here: tracefs is not mounted.",
            f"sudo mount -t tracefs none {_TRACEFS[0]}",
        )


def _has_tracepoints() -> bool:
    return any((folder / "events").is_dir() for folder in _TRACEFS)


def _exists(tracepoint: str) -> bool:
    system, _, name = tracepoint.partition(":")
    return any((folder / "events" / system / name).is_dir() for folder in _TRACEFS)
