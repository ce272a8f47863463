"""What of a command only a shell understands."""

from __future__ import annotations

import re

# Variables, pipes, redirections, lists, globs, comments, home folders, leading assignments: outside quotes
# these mean something to a shell only.
_SYNTAX = re.compile(r"[$`|&;<>()*?\[\]{}~#!\n]|^\s*\w+=")


def needs_shell(command: str) -> bool:
    """Whether the command says something that only a shell understands."""
    return _SYNTAX.search(without_quoted(command)) is not None


def without_quoted(command: str) -> str:
    """The command with quoted text taken out; what a double-quoted string would still expand stays."""

    def keep_expansions(match: re.Match[str]) -> str:
        text = match.group()
        return "" if text[0] == "'" or text[0] == "\\" else re.sub(r"\\.|[^$`]", "", text)

    return re.sub(r"'[^']*'|\\.|\"(?:\\.|[^\"\\])*\"", keep_expansions, command, flags=re.DOTALL)
