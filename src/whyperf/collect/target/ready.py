"""When a server is ready: a port that accepts, a file that exists, or a command that succeeds."""

from __future__ import annotations

import shlex
import socket
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whyperf.collect.target.shell import command_line
from whyperf.collect.target.spawn import Child, Streams, spawn
from whyperf.errors import WhyperfError

_HERE = "localhost"
_LISTENING = "0A"


class ReadyCondition(Protocol):
    """Asked again and again until it holds."""

    @abstractmethod
    def holds(self) -> bool:
        """Whether the target is ready now; never waits long."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class PortAccepts:
    host: str
    port: int

    def holds(self) -> bool:
        if self.host == _HERE:
            # Not by connecting: the server would see a client of ours, and a connection to a free port of this machine
            # can meet itself and then hold the port.
            return any(_listens(Path(table), self.port) for table in ("/proc/net/tcp", "/proc/net/tcp6"))
        try:
            with socket.create_connection((self.host, self.port), timeout=0.2):
                return True
        except OSError:
            return False

    def __str__(self) -> str:
        return f"{self.host}:{self.port} accepts connections"


def _listens(table: Path, port: int) -> bool:
    """Whether some socket listens at the port. Listening sockets come first in the kernel's tables."""
    try:
        with table.open() as lines:
            next(lines, None)
            for line in lines:
                _number, local, _remote, state, *_ = line.split()
                if state != _LISTENING:
                    return False
                if int(local.rpartition(":")[2], 16) == port:
                    return True
    except OSError:
        return False
    return False


@dataclass(frozen=True)
class FileExists:
    path: Path

    def holds(self) -> bool:
        return self.path.exists()

    def __str__(self) -> str:
        return f"the file {self.path} exists"


class CommandSucceeds:
    """Runs a command over and over, one at a time, until it ends with status 0."""

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        mask: Iterable[int],
        streams: Streams,
        folder: Path | None = None,
    ) -> None:
        self._command = command
        self._line = command_line(command, environment, folder)
        self._environment = environment
        self._mask = tuple(mask)
        self._streams = streams
        self._running: Child | None = None

    def holds(self) -> bool:
        if self._running is None:
            self._running = spawn(self._line, self._environment, mask=self._mask, streams=self._streams)
        if not self._running.poll():
            return False
        status, self._running = self._running.status, None
        return status == 0

    def __str__(self) -> str:
        return f"the command {shlex.quote(self._command)} succeeds"


def check_condition(text: str) -> None:
    """Refuses a --ready that says nothing sensible."""
    kind, _, rest = text.partition(":")
    if kind == "tcp":
        _address(rest)
    elif kind not in ("file", "cmd") or not rest:
        raise _unknown(text)


def condition(
    text: str, environment: Mapping[str, str], mask: Iterable[int], streams: Streams, folder: Path | None = None
) -> ReadyCondition:
    """The condition that `--ready TEXT` means in `folder`."""
    check_condition(text)
    kind, _, rest = text.partition(":")
    if kind == "tcp":
        return PortAccepts(*_address(rest))
    if kind == "file":
        return FileExists((folder or Path()) / rest)
    return CommandSucceeds(rest, environment, mask, streams, folder)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise _unknown(f"tcp:{text}")
    return host.strip("[]") or _HERE, int(port)


def _unknown(text: str) -> WhyperfError:
    return WhyperfError(
        f"--ready {text} is not understood: it takes tcp:PORT, tcp:HOST:PORT, file:PATH or cmd:COMMAND.",
        "whyperf record --ready tcp:7000 --drive ./load.sh -- ./server",
        status=2,
    )
