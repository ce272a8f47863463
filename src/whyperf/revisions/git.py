"""git, called so that it changes nothing: no hooks, no locks, no prompts, no pager."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from whyperf.errors import WhyperfError

# A file system monitor is a program that the repository names, too.
_SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "log.showSignature=false",
)
# What ties a process to one repository. `git bisect run`, hooks and aliases set some of them.
_OF_A_REPOSITORY = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CONFIG",
    "GIT_INTERNAL_SUPER_PREFIX", "GIT_IMPLICIT_WORK_TREE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
)  # fmt: skip


@dataclass(frozen=True)
class Repository:
    """The user's: read, never written."""

    top: Path  # of the work tree
    git_folder: Path  # with the objects, also where `top` is a linked work tree
    inside: Path = Path()  # where the user is, seen from `top`


@dataclass(frozen=True)
class Commit:
    """A commit as git prints it."""

    commit: str
    author: str  # Name <address>
    date: str
    subject: str

    @property
    def short(self) -> str:
        return self.commit[:10]


class GitError(WhyperfError):
    """git refused."""


def find_repository(folder: Path) -> Repository:
    """The repository that `folder` is in."""
    asked = ("rev-parse", "--show-toplevel", "--path-format=absolute", "--git-common-dir", "--show-prefix")
    try:
        found = ask(folder, *asked).split("\n")
    except GitError as error:
        raise _unusable(folder, error) from None
    top, git_folder, inside = found[0], found[1], found[2] if len(found) > 2 else ""
    return Repository(Path(top), Path(git_folder), Path(inside))


def _unusable(folder: Path, error: GitError) -> WhyperfError:
    if "not a git repository" in error.sentence:
        return WhyperfError(f"{folder} is not in a git repository.", "cd REPOSITORY", status=2)
    if "work tree" in error.sentence:
        return WhyperfError(
            f"{folder} has no work tree: --rev needs a checkout.", "git worktree add ../checkout HEAD", status=2
        )
    return error


def resolve(repository: Repository, revision: str) -> str:
    """The commit that the user means by a branch, a tag or a part of a hash."""
    if revision.startswith("-") or not revision.strip():
        raise WhyperfError(f"{revision!r} is not a revision.", "git log --oneline -20", status=2)
    try:
        return ask(repository.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError:
        pass
    if ask(repository.top, "rev-parse", "--is-shallow-repository") == "true":
        raise WhyperfError(
            f"There is no revision {revision} in {repository.top}, which holds only a part of the history.",
            "git fetch --unshallow --tags",
            status=2,
        )
    raise WhyperfError(f"There is no revision {revision} in {repository.top}.", "git log --oneline -20", status=2)


def commit_of(repository: Repository, commit: str) -> Commit:
    printed = ask(repository.top, "log", "-1", "--no-show-signature", "--format=%H%n%an <%ae>%n%ad%n%s", commit, "--")
    hash_, author, date, subject = (*printed.split("\n"), "", "", "")[:4]
    return Commit(hash_, author, date, subject)


def ask(folder: Path, *arguments: str, given: str | None = None) -> str:
    """What git prints, without the last line's end. `given` is its standard input."""
    command = ("git", "--no-pager", *_SETTINGS, "-C", str(folder), *arguments)
    try:
        done = subprocess.run(
            command,
            input=(given or "").encode(errors="surrogateescape"),
            capture_output=True,
            env=environment_for_git(),
            check=False,
        )
    except FileNotFoundError:
        raise WhyperfError("git is not installed, or not on the search path.", "sudo apt-get install git") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = next(
            (line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "no reason given"
        )
        reason = reason.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
        raise GitError(f"git {arguments[0]} failed: {reason}.", shlex.join(("git", "-C", str(folder), *arguments)))
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def environment_for_git() -> dict[str, str]:
    """No locks for the sake of speed, nothing asked on the terminal, messages in English."""
    return {
        **outside_of_repositories(),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }


def outside_of_repositories() -> dict[str, str]:
    """This process's environment without what would make git work on another repository."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
