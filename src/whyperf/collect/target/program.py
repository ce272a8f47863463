"""Whether a command can be started and sampled: found out before anything runs."""

from __future__ import annotations

import os
import shlex
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.architecture import Architecture, this_architecture
from whyperf.collect.target.shell_syntax import needs_shell
from whyperf.errors import WhyperfError

_SCRIPT, _ELF = b"#!", b"\x7fELF"  # how files begin
_ELF_64 = 2
_PT_INTERP = 3
_SCRIPT_DEPTH = 4  # the kernel follows this many interpreters of interpreters


@dataclass(frozen=True)
class Redirection:
    """A standard stream of the program that is a file, or the same as another stream."""

    descriptor: int
    target: str | int  # a path, from the program's folder; or a descriptor
    flags: int = 0  # of open


@dataclass(frozen=True)
class Program:
    """What is executed: the file that was found and the arguments as given."""

    path: str
    command: tuple[str, ...]
    folder: Path | None = None  # where it is started; None: where we are
    redirections: tuple[Redirection, ...] = ()  # that no shell does; in this order


def find_program(command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> Program:
    """The file that a shell in `folder` would execute for `command`; a sentence if it would not."""
    if not command or not command[0]:
        raise WhyperfError("There is no command to record.", "whyperf record -- ./program its arguments", status=2)
    name = command[0]
    candidates = [Path(name)] if "/" in name else [Path(part or ".") / name for part in _search_path(environment)]
    if folder is not None:
        candidates = [folder / candidate for candidate in candidates]
    unusable: WhyperfError | None = None
    for candidate in candidates:
        problem = _why_not_executable(candidate)
        if problem is None:
            return Program(str(candidate), tuple(command), folder)
        if os.path.exists(candidate):  # noqa: PTH110 - not there, where a folder on the way cannot be read
            unusable = unusable or problem
    if unusable is not None:
        raise unusable
    if "/" not in name and os.path.isfile((folder or Path()) / name):  # noqa: PTH113 - not there, if too long a name
        here = shlex.join([f"./{name}", *command[1:]])
        raise WhyperfError(
            f"The command {name} is not on the search path, but a file of that name is in this folder.",
            f"whyperf record -- {here}",
        )
    if len(command) == 1 and len(name.split()) > 1:
        words = shlex.join(["sh", "-c", name]) if needs_shell(name) else name
        raise WhyperfError(
            f"{name!r} is a whole command line given as one word, and there is no program of that name.",
            f"whyperf record -- {words}",
            status=2,
        )
    raise WhyperfError(f"The command {name} was not found.", f"command -v {shlex.quote(name)}")


def check_followable(program: Program, architecture: Architecture | None = None) -> None:
    """Refuses programs into which the sampler cannot be loaded. For a script its interpreter counts.

    Of `architecture`, if not of this machine's: an emulator may run it.
    """
    path = executed_file(program)
    _check_architecture(path, architecture or this_architecture())
    _check_linked(path)


def is_followable(program: Program) -> bool:
    """Whether the sampler can be loaded into it."""
    try:
        check_followable(program)
    except WhyperfError:
        return False
    return True


def check_traceable(program: Program) -> None:
    """Refuses programs that Valgrind or a tracer has no use for; how they are linked does not matter to them."""
    _check_architecture(executed_file(program), this_architecture())


def executed_file(program: Program) -> Path:
    """The program itself, or a script's interpreter."""
    path = Path(program.path)
    for _ in range(_SCRIPT_DEPTH):
        if _gains_privileges(path):
            raise WhyperfError(
                f"{path} is installed setuid, so the dynamic linker will load no sampler into it.",
                f"sudo whyperf record -- {shlex.join(program.command)}",
            )
        head = _head(path)
        if head.startswith(_SCRIPT):
            path = _interpreter_of_script(path, head)
            continue
        if head.startswith(_ELF):
            return path
        raise _no_program(path, f"whyperf record -- sh {shlex.join(program.command)}")
    return path


def _no_program(path: Path, next_command: str) -> WhyperfError:
    return WhyperfError(f"{path} is neither a program nor a script that begins with #!.", next_command)


def _search_path(environment: Mapping[str, str]) -> list[str]:
    return environment.get("PATH", os.defpath).split(os.pathsep)


def _why_not_executable(path: Path) -> WhyperfError | None:
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return WhyperfError(
            f"{path} may not be looked at: no permission for its folder.", f"ls -ld {_quoted(path.parent)}"
        )
    except OSError:
        return WhyperfError(f"The command {path} was not found.", f"ls -l {_quoted(path)}")
    if stat.S_ISDIR(mode):
        return WhyperfError(f"{path} is a folder, not a program.", f"ls {_quoted(path)}")
    if not os.access(path, os.X_OK):
        if stat.S_ISREG(mode) and os.access(path, os.R_OK) and not _head(path).startswith((_SCRIPT, _ELF)):
            return _no_program(path, f"file {_quoted(path)}")
        return WhyperfError(f"{path} is not executable.", f"chmod +x {_quoted(path)}")
    return None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except PermissionError:
        # Executable but not readable: the kernel makes such a process undumpable, the sampler would learn nothing.
        raise WhyperfError(
            f"{path} may not be read, so nothing in it could be sampled.", f"ls -l {_quoted(path)}"
        ) from None
    except OSError as error:
        raise WhyperfError(f"{path} cannot be read: {error.strerror}.", f"ls -l {_quoted(path)}") from None


def _gains_privileges(path: Path) -> bool:
    status = path.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getgid():
        return True
    if os.getuid() == 0:
        return False
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _interpreter_of_script(script: Path, head: bytes) -> Path:
    words = head[2:].split(b"\n", 1)[0].split()
    if not words:
        raise WhyperfError(f"{script} names no interpreter after #!.", f"head -1 {_quoted(script)}")
    interpreter = Path(os.fsdecode(words[0]))
    if _why_not_executable(interpreter) is not None:
        raise WhyperfError(
            f"{script} asks for the interpreter {interpreter}, which cannot be executed.", f"head -1 {_quoted(script)}"
        )
    return interpreter


def _check_architecture(path: Path, wanted: Architecture) -> None:
    head = _head(path)
    if len(head) < 64 or head[4] != _ELF_64 or struct.unpack_from("<H", head, 18)[0] != wanted.elf_machine:
        raise WhyperfError(
            f"{path} is built for another architecture; on this machine whyperf records {wanted.name} programs only.",
            f"file {_quoted(path)}",
        )


def _check_linked(path: Path) -> None:
    interpreter = dynamic_linker(path)
    if interpreter is None:
        raise WhyperfError(
            f"{path} is statically linked, so no sampler can be loaded into it: link it dynamically (Go: "
            "-ldflags=-linkmode=external), or start it yourself and record it from outside.",
            "whyperf record --pid PID",
        )
    if "ld-linux" not in interpreter:
        raise WhyperfError(
            f"{path} uses the C library behind {interpreter}; whyperf can be loaded into glibc programs only: start "
            "it yourself and record it from outside.",
            "whyperf record --pid PID",
        )


def dynamic_linker(path: Path) -> str | None:
    """What loads the program's libraries; None if it is linked statically."""
    head = _head(path)
    if len(head) < 64:
        return None
    table, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    with path.open("rb") as file:
        file.seek(table)
        headers = file.read(size * count)
        for at in range(0, len(headers) - 55, max(size, 56)):
            kind, _flags, offset, _address, _physical, length = struct.unpack_from("<IIQQQQ", headers, at)
            if kind == _PT_INTERP:
                file.seek(offset)
                return file.read(min(length, 4096)).rstrip(b"\0").decode(errors="replace")
    return None


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
