"""The load on a server: a command that is not recorded, and the units of work that it reports."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from whyperf.collect.target.shell import command_line
from whyperf.collect.target.spawn import Streams, spawn
from whyperf.recording.sealed.latency import LatencyCount

_WORK_LINE = re.compile(rb"\s*work=(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*")
_LATENCY_LINE = re.compile(rb"\s*latency=(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*")
_PERCENTILE = re.compile(rb"\bp(\d{1,2}(?:\.\d+)?)=(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=\s|$)")
_LONGEST_LINE = 4096


def without_measurements(line: bytes) -> bytes:
    """What a line of a driver's output says besides its reports, which differ from run to run."""
    if _WORK_LINE.fullmatch(line) or _LATENCY_LINE.fullmatch(line):
        return b""
    return _PERCENTILE.sub(b"", line)


OnWork = Callable[[int, float], None]  # time, units since the driver's start


class Driver:
    """Runs the load. Its output goes where `output` leads, byte for byte.

    Lines `work=N` in it are added up; lines `latency=SECONDS`, or words `p99=SECONDS`, say how long requests took.
    """

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        *,
        mask: Iterable[int],
        streams: Streams,
        on_work: OnWork,
        latencies: LatencyCount | None = None,
        folder: Path | None = None,
    ) -> None:
        self._output = 1 if streams.stdout is None else streams.stdout
        self._on_work, self._latencies = on_work, latencies
        self._total = 0.0
        self._unfinished = b""
        reading, writing = os.pipe()
        try:
            program = command_line(command, environment, folder)
            into_pipe = Streams(streams.stdin, writing, streams.stderr)
            self._child = spawn(program, environment, mask=mask, streams=into_pipe)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._reader = threading.Thread(target=self._pass_through, args=(reading,), name="driver-output", daemon=True)
        self._reader.start()

    def poll(self) -> bool:
        """Whether it has ended and everything that it wrote has been passed on."""
        if not self._child.poll():
            return False
        # A process it left behind may hold the pipe open for ever.
        self._reader.join(timeout=1.0)
        return True

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def status(self) -> int | None:
        return self._child.status

    def stop(self) -> None:
        """Ends it, first kindly."""
        for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
            if self._child.poll():
                break
            with contextlib.suppress(ProcessLookupError):
                self._child.send(number)
            deadline = time.monotonic() + patience
            while not self._child.poll() and time.monotonic() < deadline:
                time.sleep(0.01)
        self._reader.join(timeout=1.0)

    def _pass_through(self, reading: int) -> None:
        with open(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(65536):
                self._count(piece)
                self._write(piece)
        self._count(b"\n")

    def _write(self, piece: bytes) -> None:
        # A closed standard output must not stop the counting.
        with contextlib.suppress(OSError):
            while piece:
                piece = piece[os.write(self._output, piece) :]

    def _count(self, piece: bytes) -> None:
        *lines, rest = (self._unfinished + piece).split(b"\n")
        self._unfinished = rest[-_LONGEST_LINE:]
        found = [float(match[1]) for line in lines if (match := _WORK_LINE.fullmatch(line))]
        if found:
            self._total += sum(found)
            self._on_work(time.monotonic_ns(), self._total)
        if self._latencies is not None:
            self._latencies.add(float(match[1]) for line in lines if (match := _LATENCY_LINE.fullmatch(line)))
            for line in lines:
                told = {f"{float(which):g}": float(value) for which, value in _PERCENTILE.findall(line)}
                self._latencies.report(told)
