"""Who is behind a wake-up, and which system calls others can see the effect of."""

from __future__ import annotations

from whyperf.engines.arrays import Int32s
from whyperf.engines.compiled import njit
from whyperf.engines.kernel.rules import CallRule
from whyperf.recording.schemas.events import InterruptContext

_TIMERS = int(InterruptContext.HRTIMER | InterruptContext.TIMER)
_NET = int(InterruptContext.NET_SOFTIRQ)
_INTERRUPTED = (-4, -11, -110)  # EINTR, EAGAIN, ETIMEDOUT
_RESTART_FIRST, _RESTART_LAST = -516, -512  # how the kernel tells itself to begin a call again
_SEEN_BY_OTHERS = (1, 2, 0xC)  # pipes, devices, sockets; what an eventfd does to others shows in their being woken
_CALL_ENDS_SLEEP = int(CallRule.SLEEP | CallRule.FUTEX)
_TRANSFER = int(CallRule.RECEIVE | CallRule.SEND)
_MULTIPLEX, _ACTING = int(CallRule.MULTIPLEX), int(CallRule.ACTING)


@njit(cache=True, nogil=True)
def who_ended(  # noqa: PLR0917 -- columns
    context: int, call: int, bits: int, thread: int, sleeper: int, pids: Int32s
) -> int:
    """As `Ended` numbers it: whoever runs when a timer expires has nothing to do with it."""
    if context & _TIMERS:
        return 1
    # In no system call the kernel is at work; for the same process that is one of io_uring's threads.
    if thread < 0 or (call < 0 and pids[thread] != pids[sleeper]):
        return 2
    if context == 0:
        return 3
    # Loopback traffic wakes its receiver in a soft interrupt within the sender's own system call.
    return 3 if context == _NET and bits != 0 else 2


@njit(cache=True, nogil=True)
def is_productive(bits: int, result: int, file_type: int) -> bool:
    """Whether a finished system call did something that others may see."""
    if result in _INTERRUPTED or _RESTART_FIRST <= result <= _RESTART_LAST or bits & _CALL_ENDS_SLEEP:
        return False
    if bits & _MULTIPLEX:
        return False
    if bits & _TRANSFER:
        return result > 0 and file_type in _SEEN_BY_OTHERS
    return bool(bits & _ACTING)
