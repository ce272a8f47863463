"""Commands given as one string: split without a shell, unless they use one's syntax."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from whyperf.collect.program import Program, find_program
from whyperf.errors import WhyperfError

# Variables, pipes, redirections, lists, globs, comments, home folders, leading assignments: outside quotes
# these mean something to a shell only.
SHELL = "/bin/sh"
_SYNTAX = re.compile(r"[$`|&;<>()*?\[\]{}~#!\n]|^\s*\w+=")


def needs_shell(command: str) -> bool:
    """Whether the command says something that only a shell understands."""
    return _SYNTAX.search(_without_quoted(command)) is not None


def command_line(command: str, environment: Mapping[str, str], folder: Path | None = None) -> Program:
    """The program and arguments that the string means, in `folder`."""
    if needs_shell(command):
        # exec, so that the target and not a shell gets the signals; a list of commands needs the shell to stay.
        simple = re.search(r"[|&;\n]", _without_quoted(command)) is None and not re.match(r"\s*(\w+=|[({!])", command)
        return find_program((SHELL, "-c", f"exec {command}" if simple else command), environment, folder)
    return find_program(split_words(command), environment, folder)


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


def _without_quoted(command: str) -> str:
    """The command with quoted text taken out; what a double-quoted string would still expand stays."""

    def keep_expansions(match: re.Match[str]) -> str:
        text = match.group()
        return "" if text[0] == "'" or text[0] == "\\" else re.sub(r"\\.|[^$`]", "", text)

    return re.sub(r"'[^']*'|\\.|\"(?:\\.|[^\"\\])*\"", keep_expansions, command, flags=re.DOTALL)
