"""Commands given as one string: split without a shell, unless they use one's syntax."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from whyperf.collect.target.program import Program, Redirection, find_program
from whyperf.collect.target.shell_syntax import needs_shell, without_quoted
from whyperf.errors import WhyperfError

SHELL = "/bin/sh"
_EXEC = "exec "
# A word, with the operator before it if there is one; or standard error sent to where standard output goes.
_PART = re.compile(
    r"""(?:(?P<both>2>&1)|(?:(?P<operator>0?<|[12]?>>?)\s*)?(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s<>'"\\])+))\s*""",
    re.DOTALL,
)


def command_line(command: str, environment: Mapping[str, str], folder: Path | None = None) -> Program:
    """The program and arguments that the string means, in `folder`."""
    if needs_shell(command):
        # exec, so that the target and not a shell gets the signals; a list of commands needs the shell to stay.
        simple = re.search(r"[|&;\n]", without_quoted(command)) is None and not re.match(r"\s*(\w+=|[({!])", command)
        return find_program((SHELL, "-c", f"{_EXEC}{command}" if simple else command), environment, folder)
    return find_program(split_words(command), environment, folder)


def typed(words: Sequence[str]) -> str:
    """The command as it was given, from the words that `command_line` made of it."""
    if tuple(words[:2]) == (SHELL, "-c") and len(words) == 3:
        return words[2].removeprefix(_EXEC)
    return shlex.join(words)


def without_shell(program: Program, environment: Mapping[str, str]) -> Program | None:
    """The program that a shell would start, with the redirections it would make; None where it would do more.

    Itself where no shell starts it.
    """
    if program.path != SHELL or program.command[1:2] != ("-c",):
        return program
    found = _redirected(program.command[2]) if len(program.command) == 3 else None
    if found is None:
        return None
    words, redirections = found
    return replace(find_program(words, environment, program.folder), redirections=redirections)


def needs_only_redirections(words: Sequence[str]) -> bool:
    """Whether words that `command_line` made need no shell, but perhaps files for the standard streams."""
    return tuple(words[:2]) != (SHELL, "-c") or (len(words) == 3 and _redirected(words[2]) is not None)


def program_name(words: Sequence[str]) -> str:
    """What the user calls the program: where a shell only redirects its streams, not the shell."""
    is_given = tuple(words[:2]) == (SHELL, "-c") and len(words) == 3
    found = _redirected(words[2]) if is_given else None
    return PurePosixPath(found[0][0] if found else words[0]).name


def _redirected(command: str) -> tuple[list[str], tuple[Redirection, ...]] | None:
    """The words of a simple command and its redirections, in order."""
    words: list[str] = []
    redirections: list[Redirection] = []
    rest = command.removeprefix(_EXEC).strip()
    while rest:
        part = _PART.match(rest)
        if part is None or (not part["both"] and needs_shell(part["word"])):
            return None
        rest = rest[part.end() :]
        if part["both"]:
            redirections.append(Redirection(2, 1))
        elif part["operator"]:
            (path,) = shlex.split(part["word"]) or ("",)
            redirections.append(Redirection(*_stream(part["operator"], path)))
        else:
            words += shlex.split(part["word"])
    return (words, tuple(redirections)) if words else None


def _stream(operator: str, path: str) -> tuple[int, str, int]:
    if operator.endswith("<"):
        return 0, path, os.O_RDONLY
    how = os.O_APPEND if operator.endswith(">>") else os.O_TRUNC
    return 2 if operator.startswith("2") else 1, path, os.O_WRONLY | os.O_CREAT | how


def split_words(command: str) -> list[str]:
    """The words of a command that needs no shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        example = 'whyperf compare --good "./tool small" --bad "./tool big"'
        raise WhyperfError(f"The command {command!r} has a quote that is never closed.", example, status=2) from None
    if not words:
        raise WhyperfError("A command is empty.", 'whyperf compare --good "./tool small" --bad "./tool big"', status=2)
    return words
