"""Work in processes of its own: the server answers meanwhile, and a cancelled call ends what it started.

One at a time, because work beside a recording disturbs what it measures.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from whyperf.errors import WhyperfError

Report = Callable[[str], Awaitable[None]]
"""Told what is going on, again and again."""

_BEAT_S = 1.0  # between two reports where nothing new is said
_PATIENCE_S = 5.0  # until a process that was asked to end is asked more firmly
_DRAIN_S = 1.0  # for what is left in pipes that something else may hold open
_LONGEST_LINE = 4096
_REMEMBERED = 40  # lines
_MOST_BYTES = 64 << 20
_SAYS, _ADVISES = "whyperf: ", "  try: "


@dataclass(frozen=True)
class Finished:
    status: int
    output: bytes
    said: tuple[str, ...]  # on stderr by whyperf itself
    others: tuple[str, ...] = ()  # lines there, of a target

    @property
    def sentences(self) -> list[str]:
        return [line.removeprefix(_SAYS) for line in self.said if line.startswith(_SAYS)]

    def failure(self) -> WhyperfError:
        """What a failed process said last."""
        advice = next((line.removeprefix(_ADVISES) for line in reversed(self.said) if line.startswith(_ADVISES)), None)
        return WhyperfError((self.sentences or [f"whyperf ended with status {self.status}."])[-1], advice)


@dataclass
class _Said:
    doing: str
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    others: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    news: anyio.Event = field(default_factory=anyio.Event)

    def does(self, what: str) -> None:
        self.doing = what
        self.news.set()


class Jobs:
    def __init__(self) -> None:
        self._turn = anyio.Lock()
        self._running: set[Process] = set()

    async def run(
        self,
        module: str,
        words: Sequence[str],
        *,
        directory: Path,
        report: Report,
        doing: str,
        of_target: bool = False,
    ) -> Finished:
        """`python -m module words`. Cancelling ends it as Ctrl-C would. `of_target`: a target writes to its output."""
        said = _Said("waiting for another call to end" if self._turn.locked() else doing)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_beat, said, report)
            async with self._turn:
                said.does(doing)
                finished = await self._run(module, words, directory, said, of_target=of_target)
            tasks.cancel_scope.cancel()
        return finished

    async def stop(self) -> None:
        """End what runs."""
        for process in list(self._running):
            await _stop(process)

    async def _run(
        self, module: str, words: Sequence[str], directory: Path, said: _Said, *, of_target: bool
    ) -> Finished:
        output = bytearray()
        started = self._started(module, words, directory, of_target=of_target)
        async with started as process, anyio.create_task_group() as pipes:
            if process.stdout is not None:
                pipes.start_soon(_collect, process.stdout, output)
            if process.stderr is not None:
                pipes.start_soon(_listen, process.stderr, said, of_target)
            status = await process.wait()
            pipes.cancel_scope.deadline = anyio.current_time() + _DRAIN_S
        return Finished(status, bytes(output), tuple(said.lines), tuple(said.others))

    @asynccontextmanager
    async def _started(
        self, module: str, words: Sequence[str], directory: Path, *, of_target: bool
    ) -> AsyncIterator[Process]:
        # -P: modules that lie in the folder of the call are not ours.
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "whyperf.assistants.job", str(os.getpid()), module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if of_target else subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            start_new_session=True,
        )
        self._running.add(process)
        try:
            yield process
        except BaseException:
            with anyio.CancelScope(shield=True):
                await _stop_unheard(process)
            raise
        finally:
            self._running.discard(process)
            with anyio.CancelScope(shield=True):
                await process.aclose()


async def _stop_unheard(process: Process) -> None:
    """Nobody listens any more: a full pipe must not keep it from ending."""
    async with anyio.create_task_group() as pipes:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                pipes.start_soon(_discard, stream)
        await _stop(process)
        pipes.cancel_scope.cancel()


async def _stop(process: Process) -> None:
    """First as Ctrl-C does, which a recorder passes on and finishes its recording; in the end with all it started."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with anyio.move_on_after(_PATIENCE_S):
            await process.wait()
            break
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _beat(said: _Said, report: Report) -> None:
    """Sleeps in between: the target is measured on the same CPUs."""
    while True:
        said.news = anyio.Event()
        await report(said.doing)
        with anyio.move_on_after(_BEAT_S):
            await said.news.wait()


async def _collect(stream: ByteReceiveStream, output: bytearray) -> None:
    async for chunk in stream:
        output += chunk[: max(0, _MOST_BYTES - len(output))]


async def _discard(stream: ByteReceiveStream) -> None:
    async for _ in stream:
        pass


async def _listen(stream: ByteReceiveStream, said: _Said, of_target: bool) -> None:
    """What whyperf says, and the rest."""
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        rest = rest[-_LONGEST_LINE:]
        for line in lines:
            text = line[:_LONGEST_LINE].decode(errors="replace")
            if text.startswith(_SAYS) and not of_target:
                said.does(text.removeprefix(_SAYS))
            (said.lines if text.startswith((_SAYS, _ADVISES)) else said.others).append(text)
