"""What the recorder does with signals while the target runs: nothing that the target would notice.

The target shares the recorder's process group, so whatever the terminal sends (Ctrl-C, Ctrl-\\, Ctrl-Z) reaches it
by itself. Signals meant for the recorder alone (`kill PID`) are passed on, because to the caller the recorder *is*
the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_SENT_BY_KERNEL = 0x80  # SI_KERNEL: the terminal sent it, to the whole foreground group


@dataclass(frozen=True)
class Arrival:
    number: int
    reached_target: bool


class _SignalInfo(ctypes.Structure):
    """`siginfo_t`."""

    _fields_ = (
        ("number", ctypes.c_int),
        ("error", ctypes.c_int),
        ("code", ctypes.c_int),
        ("rest", ctypes.c_byte * 116),
    )


class _Duration(ctypes.Structure):
    """`struct timespec`."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_SET_BYTES = 128  # `sigset_t`


class SignalWatch:
    """Blocks the signals, so that they can be waited for together with their sender. Use as a context manager."""

    def __init__(self) -> None:
        self.mask: set[int] = set()  # as it was before: what a started program gets
        self._watched: tuple[signal.Signals, ...] = ()
        self._handlers: dict[int, Any] = {}
        self._strayed: deque[int] = deque()

    def __enter__(self) -> SignalWatch:
        # What the caller ignores (nohup, a background job of sh) stays ignored, here and in the target.
        self._watched = tuple(s for s in _PASSED_ON if signal.getsignal(s) is not signal.SIG_IGN)
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._watched, signal.SIGCHLD})
        for number in self._watched:
            self._handlers[number] = signal.signal(number, self._stray)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while _next_of({*self._watched, signal.SIGCHLD}, 0.0) is not None:
            pass
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def hear_the_end_of(self, child: int) -> None:
        """Also where SIGCHLD goes to a thread of some library, which does not block it, so that nobody hears of it."""
        with contextlib.suppress(OSError):  # some containers forbid it: the next look notices
            words = (os.pidfd_open(child), threading.get_ident())
            threading.Thread(target=_tell_the_end, args=words, name="child-end", daemon=True).start()

    def wait(self, seconds: float) -> Arrival | None:
        """The next signal for the recorder; None when a child may have changed state, the time is over, or we were
        stopped and go on."""
        if not self._strayed:
            found = _next_of({*self._watched, signal.SIGCHLD}, max(seconds, 0.0))
            if found is not None and found.number == signal.SIGCHLD:
                # Sent to this very thread, it comes before an earlier signal to the process, such as Ctrl-C.
                found = _next_of(self._watched, 0.0)
            if found is not None:
                by_terminal = found.number in _FROM_TERMINAL and found.code == _SENT_BY_KERNEL
                return Arrival(found.number, reached_target=by_terminal)
        if self._strayed:
            number = self._strayed.popleft()
            return Arrival(number, reached_target=number in _FROM_TERMINAL)
        return None

    def _stray(self, number: int, _frame: FrameType | None) -> None:
        # Some library's thread had it unblocked. Its sender is unknown: for Ctrl-C assume the terminal.
        self._strayed.append(number)


def _next_of(numbers: Iterable[int], seconds: float) -> _SignalInfo | None:
    """None where the time is over or the wait was interrupted. Where both are true, Python's own `sigtimedwait` returns
    whatever is left in its memory."""
    libc, watched = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(_SET_BYTES)
    libc.sigemptyset(watched)
    for number in numbers:
        libc.sigaddset(watched, number)
    found, whole = _SignalInfo(), int(seconds)
    duration = _Duration(whole, int((seconds - whole) * 1e9))
    if libc.sigtimedwait(watched, ctypes.byref(found), ctypes.byref(duration)) >= 0:
        return found
    failed = ctypes.get_errno()
    if failed not in (errno.EAGAIN, errno.EINTR):
        raise OSError(failed, os.strerror(failed))
    return None


def _tell_the_end(child: int, waiting: int) -> None:
    ended = select.poll()
    ended.register(child, select.POLLIN)
    ended.poll()
    os.close(child)
    with contextlib.suppress(ProcessLookupError):
        signal.pthread_kill(waiting, signal.SIGCHLD)
