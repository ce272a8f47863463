"""`--rev`: two revisions of a repository instead of two commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.progress import progress
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.collect.target.program import Program
    from whyperf.comparison.alternation import Side
    from whyperf.revisions.git import Repository
    from whyperf.revisions.suspects import ComparedCommits

_EXAMPLE = 'whyperf compare --rev v1.2 --rev HEAD --build "make -j" -- ./tool in.txt'


def add_revisions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("revisions of a git repository")
    group.add_argument(
        "--rev",
        metavar="REV",
        action="append",
        default=[],
        help="compare what is built from two revisions: --rev GOOD --rev BAD, or --rev GOOD..BAD",
    )
    add_building(group)


def add_building(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--build", metavar="COMMAND", help="builds a checkout; run by /bin/sh, once for each commit and command"
    )
    group.add_argument("--rebuild", action="store_true", help="build again what was built before")


def add_command(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help=what)


def command_of(args: argparse.Namespace) -> list[str]:
    return list(args.command[1:] if args.command[:1] == ["--"] else args.command)


def check_sides(args: argparse.Namespace) -> None:
    """Two commands, or two revisions with one. Commands without an option before them are the good and the bad one."""
    if not args.rev and args.good is None and args.bad is None and len(args.command) == 2:
        args.good, args.bad = args.command
        args.command = []
    commands, named = [side for side in (args.good, args.bad) if side is not None], command_of(args)
    if args.rev and commands:
        raise WhyperfError("--rev compares revisions, --good and --bad commands: give either.", _EXAMPLE, status=2)
    if args.rev and not named:
        raise WhyperfError("What shall be run in both revisions? The command comes after --.", _EXAMPLE, status=2)
    if not args.rev and (args.build or args.rebuild):
        raise WhyperfError("--build builds the revisions of --rev, and there are none.", _EXAMPLE, status=2)
    if not args.rev and (named or len(commands) < 2):
        given = f"; {len(commands) + len(named)} are given" if len(named) > 1 or len(commands) > 1 else ""
        raise WhyperfError(
            f"Two commands are needed, each in quotes (or after --good and --bad), or two revisions{given}.",
            'whyperf compare "./tool small.txt" "./tool big.txt"',
            status=2,
        )


def check_out_both(args: argparse.Namespace) -> tuple[dict[Side, Program], ComparedCommits]:
    """Builds both revisions and finds the command in them."""
    from whyperf.comparison.alternation import Side
    from whyperf.revisions.checkout import built
    from whyperf.revisions.command import program_in
    from whyperf.revisions.git import find_repository, resolve
    from whyperf.revisions.suspects import ComparedCommits

    repository = find_repository(Path.cwd())
    names = _both(args.rev, repository)
    if resolve(repository, names[0]) == resolve(repository, names[1]):
        raise WhyperfError(f"{names[0]} and {names[1]} are the same commit.", "git log --oneline -20", status=2)
    _say_uncommitted(repository, names)
    with progress() as shown:
        good, bad = (built(repository, name, args.build, shown=shown, again=args.rebuild) for name in names)
    words = words_in(command_of(args), [good.folder, bad.folder])
    programs = {side: program_in(one, words, os.environ) for side, one in ((Side.GOOD, good), (Side.BAD, bad))}
    return programs, ComparedCommits(repository, good, bad, names)


def words_in(command: Sequence[str], folders: Sequence[Path]) -> tuple[str, ...]:
    """The command's words for these checkouts; says which files are taken from the user's tree."""
    from whyperf.revisions.command import words_for

    found = words_for(command, Path.cwd(), folders)
    if found.taken:
        listed = ", ".join(found.taken)
        print(f"whyperf: not in every checkout, so taken from your own tree: {listed}", file=sys.stderr)
    return found.words


def _both(revisions: Sequence[str], repository: Repository) -> tuple[str, str]:
    """GOOD and BAD, GOOD..BAD, or GOOD...BAD: since the two parted, as git diff has it."""
    from whyperf.revisions.git import ask, resolve

    if len(revisions) == 2 and not any(".." in one for one in revisions):
        return revisions[0], revisions[1]
    good, dots, bad = revisions[0].partition("...")
    if not dots:
        good, dots, bad = revisions[0].partition("..")
    if len(revisions) != 1 or not dots or good.startswith("-"):
        raise WhyperfError("Two revisions are needed: the good one, then the bad one.", _EXAMPLE, status=2)
    good, bad = good or "HEAD", bad or "HEAD"
    if dots == "...":
        good = ask(repository.top, "merge-base", resolve(repository, good), resolve(repository, bad))
    return good, bad


def _say_uncommitted(repository: Repository, names: Sequence[str]) -> None:
    from whyperf.revisions.git import ask, resolve

    head = resolve(repository, "HEAD")
    if any(resolve(repository, name) == head for name in names) and ask(
        repository.top, "status", "--porcelain", "--untracked-files=no"
    ):
        print("whyperf: your uncommitted changes are in neither revision", file=sys.stderr)
