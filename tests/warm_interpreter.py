"""whyperf's command line in children of one interpreter that has loaded everything: loading takes most of the CPU time
of a short command. Each is a process of its own all the same, with its own streams, environment and working directory.

    done = run_whyperf("info", "recording")

Tests that are about the interpreter itself start one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import whyperf
from tests.patience import PATIENCE_S

Done = subprocess.CompletedProcess[str]
_HERE = Path(__file__).parents[1]
_ENVIRONMENT = dict(os.environ)  # before any test changes it
_MOST_BYTES = 1 << 17  # of a request
# What the interpreter, or a library that it has loaded, reads only once.
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "NUMBA_", "OPENBLAS_", "OMP_", "TMPDIR")
_NOT_LOADED = frozenset({"__init__", "__main__", "assistants", "cluster"})  # imported otherwise, or seldom needed


def run_whyperf(*arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> Done:
    """As `subprocess.run` would: no input, the output kept. `environment`: the whole of it."""
    given = dict(os.environ if environment is None else environment)
    if _at_start(given) != _at_start(_ENVIRONMENT):
        command = [sys.executable, "-m", "whyperf", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=cwd, env=given, input="", check=False
        )
    with contextlib.ExitStack() as open_files:

        def pipe() -> tuple[int, int]:
            ends = os.pipe()
            open_files.callback(os.close, ends[0])
            return ends

        outputs = [pipe() for _ in range(3)]  # what it writes, what it complains, how it ended
        nothing = os.open(os.devnull, os.O_RDONLY)
        theirs = [nothing, *(writing for _, writing in outputs)]
        try:
            _ask(json.dumps([arguments, str(cwd or Path.cwd()), given]).encode(), theirs)
        finally:
            for file in theirs:
                os.close(file)
        said, complained, ended = _heard([reading for reading, _ in outputs])
    assert ended, f"the interpreter is gone: {complained.decode(errors='replace')}"
    return Done(arguments, int(ended.split()[1]), said.decode(), complained.decode())


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


class _Loaded:
    """The interpreter, started when first needed, once in each process of tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: bytes, files: list[int]) -> None:
        with self._lock:
            if self._asked is None:
                self._asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                command = [sys.executable, "-m", "tests.warm_interpreter", str(theirs.fileno())]
                self._process = subprocess.Popen(command, cwd=_HERE, env=_ENVIRONMENT, pass_fds=[theirs.fileno()])
                theirs.close()
            socket.send_fds(self._asked, [request], files)


_ask = _Loaded().ask


def _heard(pipes: list[int]) -> list[bytes]:
    """All that is written until nobody is left to write."""
    heard, end = dict.fromkeys(pipes, b""), time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, end - time.monotonic()))
            if not ready:
                if heard[pipes[-1]]:
                    os.kill(int(heard[pipes[-1]].split()[0]), signal.SIGKILL)
                raise TimeoutError(f"whyperf takes more than {PATIENCE_S:g} s")
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                heard[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
    return list(heard.values())


def _serve(asked: socket.socket) -> None:
    """Forks for every request, and says of every child how it ended."""
    _load_all()
    ends: dict[int, tuple[int, int]] = {}  # by what becomes readable then: the child, and whom to tell
    with selectors.DefaultSelector() as waiting:
        waiting.register(asked, selectors.EVENT_READ)
        while True:
            for ready, _ in waiting.select():
                if ready.fd in ends:
                    waiting.unregister(ready.fd)
                    child, told = ends.pop(ready.fd)
                    os.write(told, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
                    os.close(ready.fd)
                    os.close(told)
                    continue
                request, files, _, _ = socket.recv_fds(asked, _MOST_BYTES, 4)
                if not request:
                    return
                child = os.fork()
                if child == 0:
                    waiting.close()
                    for file in (asked.fileno(), *(one for end, (_, told) in ends.items() for one in (end, told))):
                        os.close(file)
                    _be_whyperf(request, files)
                for file in files[:3]:
                    os.close(file)
                os.write(files[3], f"{child}\n".encode())
                end = os.pidfd_open(child)
                ends[end] = child, files[3]
                waiting.register(end, selectors.EVENT_READ)


def _be_whyperf(request: bytes, files: list[int]) -> NoReturn:
    arguments, folder, environment = json.loads(request)
    for stream, file in enumerate(files[:3]):
        os.dup2(file, stream)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    main = importlib.import_module("whyperf.cli.main")
    sys.argv = ["whyperf", *arguments]
    main.command()


def _load_all() -> None:
    folder = Path(whyperf.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        names = file.relative_to(folder).with_suffix("").parts
        if not _NOT_LOADED.intersection(names):
            importlib.import_module(".".join(("whyperf", *names)))
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
