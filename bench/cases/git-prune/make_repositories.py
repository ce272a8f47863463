"""A server's repository with many branches, and two clones: few branches are gone there since, or many."""

import os
import subprocess
import sys
from pathlib import Path

BRANCHES, GONE_FEW, GONE_MANY = 100_000, 2, 200

program, folder = Path(sys.argv[1]), Path(sys.argv[2])
IDENTITY = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DATES = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}


def git(*words: str) -> str:
    command = [program / "git", f"--exec-path={program}", *words]
    made = subprocess.run(command, env=os.environ | IDENTITY | DATES, input="", stdout=subprocess.PIPE, check=True)
    return made.stdout.decode().strip()


def repository(path: Path, references: list[str]) -> None:
    git("init", "-q", "--bare", "--initial-branch=main", str(path))
    at = f"--git-dir={path}"
    tree = git(at, "hash-object", "-t", "tree", "-w", "--stdin")
    commit = git(at, "commit-tree", "-m", "all there is", tree)
    lines = ["# pack-refs with: peeled fully-peeled sorted ", *(f"{commit} {name}" for name in sorted(references))]
    (path / "packed-refs").write_text("\n".join(lines) + "\n")


def clone(path: Path, gone: int) -> None:
    names = [f"refs/remotes/origin/task/{number:06d}" for number in range(BRANCHES + gone)]
    repository(path, ["refs/heads/main", "refs/remotes/origin/main", *names])
    for setting, value in {
        "remote.origin.url": str(folder / "server.git"),
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "remote.origin.uploadpack": str(program / "git-upload-pack"),
        "gc.auto": "0",
    }.items():
        git(f"--git-dir={path}", "config", setting, value)


repository(folder / "server.git", ["refs/heads/main", *(f"refs/heads/task/{number:06d}" for number in range(BRANCHES))])
clone(folder / "few-gone.git", GONE_FEW)
clone(folder / "many-gone.git", GONE_MANY)
