"""What a change is based on, where nobody says it: as the forge's job knows, or where it left the default branch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from whyperf.errors import WhyperfError
from whyperf.revisions.git import GitError, Repository, ask

_USUAL = ("origin/main", "origin/master", "main", "master")


def default_base(repository: Repository, head: str, environment: Mapping[str, str]) -> str:
    """The commit where `head` left its target; its own parent where it has not left it."""
    for target in _targets(repository, environment):
        commit = _commit(repository, target)
        if commit is None:
            continue
        common = _merge_base(repository, commit, head)
        if common != head:
            return common
        parent = _commit(repository, f"{head}^")
        if parent is not None:
            return parent
    raise WhyperfError(
        "What the change is based on cannot be told here: name it, or fetch the branch.",
        "whyperf ci --base origin/main",
        status=2,
    )


def _targets(repository: Repository, environment: Mapping[str, str]) -> Iterator[str]:
    if commit := environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):
        yield commit
    for name in ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_DEFAULT_BRANCH"):
        if branch := environment.get(name):
            yield from (f"origin/{branch}", branch)
    with contextlib.suppress(GitError):
        yield ask(repository.top, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    yield from _USUAL


def _commit(repository: Repository, revision: str) -> str | None:
    if revision.startswith("-"):
        return None
    try:
        return ask(repository.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError:
        return None


def _merge_base(repository: Repository, one: str, other: str) -> str:
    try:
        return ask(repository.top, "merge-base", one, other)
    except GitError:
        raise WhyperfError(
            f"{one[:10]} and {other[:10]} have no common commit here: fetch more of the history.",
            "git fetch --unshallow",
            status=2,
        ) from None
