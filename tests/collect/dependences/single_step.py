"""Single-steps a program natively: registers before each instruction. Nothing of whyperf that records is used here."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.architecture import HERE
from whyperf.collect.architecture import X86_64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

_TRACEME, _PEEKTEXT, _POKETEXT, _CONT, _SINGLESTEP, _GETREGSET, _SETREGSET = 0, 1, 4, 7, 9, 0x4204, 0x4205
_GENERAL_REGISTERS = 1

_X86 = [
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi", "orig_rax",
    "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs",
]  # fmt: skip
_ARM = [*(f"x{n}" for n in range(31)), "sp", "pc", "pstate"]


@dataclass(frozen=True)
class _Machine:
    registers: list[str]
    pc: str
    stack_pointer: str
    trap: tuple[int, int]
    """A breakpoint's bytes, as a number, and how many of the word they replace."""


_MACHINE = (
    _Machine(_X86, "rip", "rsp", (0xCC, 0xFF))
    if HERE is X86_64
    else _Machine(_ARM, "pc", "sp", (0xD4200000, 0xFFFFFFFF))
)


@dataclass(frozen=True)
class Step:
    """The state in which the instruction at `pc` is about to be executed."""

    registers: dict[str, int]
    memory: int
    """A file descriptor of /proc/PID/mem."""

    @property
    def pc(self) -> int:
        return self.registers[_MACHINE.pc]


class _Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in _MACHINE.registers]


class _Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    result: int = _libc.ptrace(request, pid, address, data)
    return result


def _exchange(request: int, pid: int, registers: _Registers) -> None:
    vector = _Vector(ctypes.addressof(registers), ctypes.sizeof(registers))
    assert _ptrace(request, pid, _GENERAL_REGISTERS, ctypes.addressof(vector)) == 0


def _stopped(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        raise RuntimeError(f"the program ended with status {status:#x}")
    return os.WSTOPSIG(status)


def _state(registers: _Registers) -> dict[str, int]:
    return {name: getattr(registers, name) for name in _MACHINE.registers}


def _return_address(state: dict[str, int], memory: int) -> int:
    """At a function's entry."""
    if HERE is X86_64:
        return int.from_bytes(os.pread(memory, 8, state["rsp"]), "little")
    return state["x30"]


def steps(program: str, entry: int, most: int, arguments: Sequence[str] = ()) -> Iterator[Step]:
    """Every instruction from the first call of the function at `entry` (a fixed address) until it returns."""
    pid = os.fork()
    if pid == 0:
        _ptrace(_TRACEME, 0)
        os.execv(program, [program, *arguments])
    try:
        _stopped(pid)
        word = _ptrace(_PEEKTEXT, pid, entry) & (2**64 - 1)
        trap, replaced = _MACHINE.trap
        _ptrace(_POKETEXT, pid, entry, (word & ~replaced) | trap)
        _ptrace(_CONT, pid)
        assert _stopped(pid) == signal.SIGTRAP
        _ptrace(_POKETEXT, pid, entry, word)
        registers = _Registers()
        _exchange(_GETREGSET, pid, registers)
        setattr(registers, _MACHINE.pc, entry)
        _exchange(_SETREGSET, pid, registers)
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        first = _state(registers)
        caller = _return_address(first, memory)
        try:
            for _ in range(most):
                state = _state(registers)
                if state[_MACHINE.pc] == caller and state[_MACHINE.stack_pointer] >= first[_MACHINE.stack_pointer]:
                    return
                yield Step(state, memory)
                _ptrace(_SINGLESTEP, pid)
                assert _stopped(pid) == signal.SIGTRAP
                _exchange(_GETREGSET, pid, registers)
            raise RuntimeError("too many steps")
        finally:
            os.close(memory)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
