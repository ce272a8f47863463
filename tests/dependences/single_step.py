"""Single-steps a program natively: registers before each instruction. Nothing of whyperf is used here."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

_TRACEME, _PEEKTEXT, _POKETEXT, _CONT, _KILL, _SINGLESTEP, _GETREGS, _SETREGS = 0, 1, 4, 7, 8, 9, 12, 13

REGISTERS = [
    "r15",
    "r14",
    "r13",
    "r12",
    "rbp",
    "rbx",
    "r11",
    "r10",
    "r9",
    "r8",
    "rax",
    "rcx",
    "rdx",
    "rsi",
    "rdi",
    "orig_rax",
    "rip",
    "cs",
    "eflags",
    "rsp",
    "ss",
    "fs_base",
    "gs_base",
    "ds",
    "es",
    "fs",
    "gs",
]


@dataclass(frozen=True)
class Step:
    """The state in which the instruction at `rip` is about to be executed."""

    registers: dict[str, int]
    memory: int
    """A file descriptor of /proc/PID/mem."""


class _Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGISTERS]


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    result: int = _libc.ptrace(request, pid, address, data)
    return result


def _stopped(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        raise RuntimeError(f"the program ended with status {status:#x}")
    return os.WSTOPSIG(status)


def steps(program: str, entry: int, most: int) -> Iterator[Step]:
    """Every instruction from the first call of the function at `entry` (a fixed address) until it returns."""
    pid = os.fork()
    if pid == 0:
        _ptrace(_TRACEME, 0)
        os.execv(program, [program])
    try:
        _stopped(pid)
        word = _ptrace(_PEEKTEXT, pid, entry) & (2**64 - 1)
        _ptrace(_POKETEXT, pid, entry, (word & ~0xFF) | 0xCC)
        _ptrace(_CONT, pid)
        assert _stopped(pid) == signal.SIGTRAP
        _ptrace(_POKETEXT, pid, entry, word)
        registers = _Registers()
        _ptrace(_GETREGS, pid, 0, ctypes.addressof(registers))
        registers.rip = entry
        _ptrace(_SETREGS, pid, 0, ctypes.addressof(registers))
        first_stack_pointer = registers.rsp
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        try:
            for _ in range(most):
                state = {name: getattr(registers, name) for name in REGISTERS}
                if state["rsp"] > first_stack_pointer:
                    return
                yield Step(state, memory)
                _ptrace(_SINGLESTEP, pid)
                assert _stopped(pid) == signal.SIGTRAP
                _ptrace(_GETREGS, pid, 0, ctypes.addressof(registers))
            raise RuntimeError("too many steps")
        finally:
            os.close(memory)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
