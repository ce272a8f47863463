"""Repositories made for a test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from whyperf.revisions.git import Repository, find_repository

AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


class History:
    """A repository that grows by commits of whole files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=os.environ | AUTHOR, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str], mode: int = 0o755) -> str:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def state(self) -> tuple[str, ...]:
        """All that a tool must leave as it is: head, branches, index, work tree, stash, and every file below .git."""
        told = (
            self.git("rev-parse", "HEAD"),
            self.git("for-each-ref"),
            self.git("status", "--porcelain=v2", "--branch", "--untracked-files=all"),
            self.git("stash", "list"),
            self.git("worktree", "list"),
        )
        # An index may be refreshed by `git status` above; all else is told by name, size and time.
        files = [path for path in sorted((self.folder / ".git").rglob("*")) if path.is_file() and path.name != "index"]
        return (*told, *(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files))

    @property
    def repository(self) -> Repository:
        return find_repository(self.folder)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "project")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "revisions"
