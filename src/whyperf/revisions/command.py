"""A command as it is run in a checkout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.target.program import Program, find_program
from whyperf.errors import WhyperfError
from whyperf.revisions.checkout import Built


@dataclass(frozen=True)
class Words:
    """The words of a command, the same for every revision."""

    words: tuple[str, ...]
    taken: tuple[str, ...]  # files of the user's tree that no checkout has


def words_for(words: Sequence[str], here: Path, folders: Sequence[Path]) -> Words:
    """Arguments that name a file which is here, but not in all of the folders, become absolute paths.

    Never the program itself: that would be the same one for all revisions.
    """
    chosen, taken = list(words[:1]), list[str]()
    for word in words[1:]:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if value and _is_only_here(value, here, folders):
            taken.append(value)
            value = str(here / value)
        chosen.append(f"{option}{equals}{value}")
    return Words(tuple(chosen), tuple(dict.fromkeys(taken)))


def _is_only_here(name: str, here: Path, folders: Sequence[Path]) -> bool:
    try:
        return not name.startswith("/") and (here / name).exists() and not all((one / name).exists() for one in folders)
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def program_in(built: Built, words: Sequence[str], environment: Mapping[str, str]) -> Program:
    """The program that the words mean in this checkout."""
    if not built.folder.is_dir():
        raise WhyperfError(
            f"{built.commit[:10]} has no folder {built.folder.relative_to(built.top)}, in which you are.",
            "cd $(git rev-parse --show-toplevel)",
        )
    try:
        return find_program(words, environment, built.folder)
    except WhyperfError as error:
        raise WhyperfError(
            f"In the checkout of {built.commit[:10]}: {error.sentence}", f"ls -l {built.folder}"
        ) from None
