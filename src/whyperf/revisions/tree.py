"""A commit's files in a folder of their own, with a .git that borrows the user's objects and shares nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.revisions.git import GitError, ask

_SUBMODULE = "160000"


def check_out(git_folder: Path, commit: str, tree: Path) -> None:
    """Fills `tree`, which must not exist, with the commit's files and its submodules'.

    Objects are looked up in `git_folder`, which is not written to: a clone would do the same, but refuses shallow
    repositories; a work tree would leave its traces in the user's.
    """
    tree.mkdir(parents=True)
    hashes = ask(git_folder, "rev-parse", "--show-object-format")
    ask(tree, "init", "--quiet", "--template=", f"--object-format={hashes}")
    own = tree / ".git"
    (own / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (own / "objects" / "info" / "alternates").write_text(f"{git_folder.resolve() / 'objects'}\n")
    if (git_folder / "shallow").exists():
        shutil.copyfile(git_folder / "shallow", own / "shallow")
    _copy_tags(git_folder, tree)
    ask(tree, "checkout", "--quiet", "--detach", commit)
    for path, linked in _submodules(tree):
        _check_out_submodule(git_folder, tree, path, linked)


def _copy_tags(git_folder: Path, tree: Path) -> None:
    """Builds ask `git describe` for their version."""
    tags = ask(git_folder, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags/")
    if tags:
        ask(tree, "update-ref", "--stdin", given=tags + "\n")


def _submodules(tree: Path) -> list[tuple[str, str]]:
    """Their paths and commits."""
    entries = ask(tree, "ls-files", "--stage", "-z").split("\0")
    parts = [entry.partition("\t") for entry in entries if entry.startswith(_SUBMODULE)]
    return [(path, before.split()[1]) for before, _, path in parts]


def _check_out_submodule(git_folder: Path, tree: Path, path: str, commit: str) -> None:
    objects = git_folder / "modules" / _submodule_name(tree, path)
    where = tree / path
    try:
        ask(objects, "cat-file", "-e", f"{commit}^{{commit}}")
    except (GitError, OSError):
        raise WhyperfError(
            f"The submodule {path} at {commit[:10]} is not in your repository, so it cannot be checked out.",
            f"git submodule update --init --recursive && git -C {path} fetch origin {commit}",
        ) from None
    if where.is_dir() and not where.is_symlink():
        where.rmdir()  # empty: git makes it for the link
    check_out(objects, commit, where)


def _submodule_name(tree: Path, path: str) -> str:
    """As .gitmodules calls what is at this path. A name that leads out of the repository is none."""
    try:
        listed = ask(tree, "config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$").split("\n")
    except GitError:
        listed = []
    for line in listed:
        key, _, value = line.partition(" ")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if value == path and ".." not in Path(name).parts and not name.startswith("/"):
            return name
    raise WhyperfError(
        f"The commit links the submodule {path}, which its .gitmodules does not name.", "git submodule status"
    )
