"""Starts the observed program from a thread of its own: what that thread has, only the program inherits."""

from __future__ import annotations

import contextlib
import ctypes
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from whyperf.collect.observation.devices import make_devices_read_only
from whyperf.collect.observation.open_elsewhere import OpenElsewhere
from whyperf.collect.observation.sites import Watch
from whyperf.collect.observation.watching import Watching
from whyperf.collect.target.program import Program
from whyperf.collect.target.spawn import Child, Streams, spawn

_ASK = 0xFFFFFFFF
_NOT_RANDOM = 0x0040000


class Starting:
    """Drivers and ready commands get neither watches nor fixed addresses: their writes to the same addresses are none
    of the program's. Nor do they get read-only devices: no value is forced in them. Use as a context manager.
    WhyperfError where addresses cannot be watched."""

    def __init__(self, watches: Sequence[Watch], most_writes: int) -> None:
        self._thread = ThreadPoolExecutor(1, "start", initializer=_set_up)
        self.addresses_repeat = True
        self.elsewhere = OpenElsewhere()
        try:
            self.watching = self._thread.submit(Watching, watches, most_writes).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def __enter__(self) -> Starting:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.watching.close()
        self._thread.shutdown()

    def start(
        self, program: Program, environment: Mapping[str, str], *, mask: Iterable[int], streams: Streams | None = None
    ) -> Child:
        """As `spawn`."""
        child = self._thread.submit(self._start, program, environment, mask, streams).result()
        self.elsewhere.started(child.pid)
        return child

    def _start(
        self, program: Program, environment: Mapping[str, str], mask: Iterable[int], streams: Streams | None
    ) -> Child:
        with _same_addresses() as self.addresses_repeat:
            return spawn(program, environment, mask=mask, streams=streams)


def _set_up() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
    with contextlib.suppress(OSError):  # a report has the reason from `why_not_read_only`
        make_devices_read_only()


@contextlib.contextmanager
def _same_addresses() -> Iterator[bool]:
    """Of what this thread starts. False where the system forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.personality.argtypes = [ctypes.c_ulong]
    before = libc.personality(_ASK)
    if before < 0 or libc.personality(before | _NOT_RANDOM) < 0:
        yield False
        return
    try:
        yield bool(libc.personality(_ASK) & _NOT_RANDOM)
    finally:
        libc.personality(before)
