"""Becomes an ordinary user, with system calls forbidden as distributions and containers forbid them, then the command.

Run as a script by a Python that everybody may execute: `sandbox.py [--uid N] [--deny ERRNO] [--only CALL] -- COMMAND`.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import sys

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_CALLS = {
    "x86_64": {"perf_event_open": 298, "bpf": 321},
    "aarch64": {"perf_event_open": 241, "bpf": 280},
}[os.uname().machine]


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def forbid(numbers: tuple[int, ...], error: int) -> None:
    """From now on these system calls fail, here and in whatever is started from here."""
    program = [_Instruction(_LOAD, 0, 0, 0)]
    for number in numbers:
        program += [_Instruction(_JUMP_EQUAL, 0, 1, number), _Instruction(_RETURN, 0, 0, _ERRNO | error)]
    program.append(_Instruction(_RETURN, 0, 0, _ALLOW))
    array = (_Instruction * len(program))(*program)
    libc = ctypes.CDLL(None, use_errno=True)
    described = _Program(len(program), array)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, ctypes.byref(described), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uid", type=int)
    parser.add_argument("--deny", help="the error that perf_event_open and bpf fail with")
    parser.add_argument("--only", choices=_CALLS, help="only this one fails")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.uid is not None:
        os.setgroups([])
        os.setresgid(args.uid, args.uid, args.uid)
        os.setresuid(args.uid, args.uid, args.uid)
    if args.deny:
        calls = (_CALLS[args.only],) if args.only else tuple(_CALLS.values())
        forbid(calls, getattr(errno, args.deny))
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
