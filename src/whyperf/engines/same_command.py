"""Whether runs were told to do the same, by the words of their commands.

Where a program's files, sockets and temporary folders lie says nothing of its work, nor does the port it listens at.
What else differs may be its input.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from whyperf.engines.run import Run

_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/")  # only looked for in the words of commands
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)=(.*)", re.DOTALL)
_ADDRESS = re.compile(r"(|[\w.+-]*[A-Za-z.][\w.+-]*|\[[0-9A-Fa-f:]*\]|\w+://[^/:]+):\d{1,5}(/.*)?")
_PORT = re.compile(r":\d{1,5}(?=/|$)")
_NAMES_A_PORT = re.compile(r"--?(\w+[-_])?port", re.IGNORECASE)


@dataclass(frozen=True)
class SameWork:
    """What the commands of all runs say."""

    same: bool
    differing: tuple[str, ...] = ()  # words of two commands that differ in more than folders


def work_of(runs: Sequence[Run]) -> SameWork:
    """Compare every command with the last one's, word by word."""
    commands = [" ".join(run.manifest.command[1:]).split() for run in runs]  # what a shell runs is one word of several
    compared = [_compared(one, commands[-1]) for one in commands[:-1]]
    differing = next((work for work in compared if not work.same), None)
    return differing or next((work for work in compared if work.differing), SameWork(same=True))


def _compared(one: Sequence[str], other: Sequence[str]) -> SameWork:
    if len(one) != len(other):
        return SameWork(same=False, differing=(" ".join(one), " ".join(other)))
    incidental: tuple[str, ...] = ()
    for at, (word, instead) in enumerate(zip(one, other, strict=True)):
        if PurePath(word).name == PurePath(instead).name:
            continue
        if not _is_incidental(one[at - 1] if at else "", word, instead):
            return SameWork(same=False, differing=(word, instead))
        incidental = incidental or (word, instead)
    return SameWork(same=True, differing=incidental)


def _is_incidental(before: str, word: str, other: str) -> bool:
    """Whether two words that differ say where something lies, not what is done; `before`: the word before them."""
    options = [_OPTION.fullmatch(one) for one in (word, other)]
    if options[0] is not None and options[1] is not None:
        if options[0][1] != options[1][1]:
            return False
        before, word, other = options[0][1], options[0][2], options[1][2]
        if PurePath(word).name == PurePath(other).name:
            return True
    if word.isdecimal() and other.isdecimal():
        return _NAMES_A_PORT.fullmatch(before) is not None
    if _ADDRESS.fullmatch(word) and _ADDRESS.fullmatch(other):
        return _PORT.sub("", word) == _PORT.sub("", other)
    return _is_place(word) and _is_place(other)


def _is_place(word: str) -> bool:
    """A temporary file, or a folder: a file with an extension elsewhere may be the input."""
    return word.startswith(_TEMPORARY) or ("/" in word and not PurePath(word).suffix)
