"""Which commits between two revisions added or removed lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection

from whyperf.revisions.git import GitError, Repository, ask

_COMMIT_LINE = re.compile(r"^([0-9a-f]{40,64}) (\d+) (\d+)")


def added_by(repository: Repository, good: str, bad: str, file: str, lines: Collection[int]) -> dict[str, list[int]]:
    """Commits with those of these lines of `bad` that they wrote; lines that are as old as `good` have none."""
    return _blamed(repository, (f"{good}..{bad}",), file, lines)


def removed_by(repository: Repository, good: str, bad: str, file: str, lines: Collection[int]) -> dict[str, list[int]]:
    """Commits with those of these lines of `good` that they removed. None where `bad` does not follow from `good`."""
    removed: dict[str, list[int]] = defaultdict(list)
    for last, gone in _blamed(repository, ("--reverse", f"{good}..{bad}"), file, lines, boundary=True).items():
        if (commit := _next_change(repository, last, bad, file)) is not None:
            removed[commit] += gone
    return dict(removed)


def _blamed(
    repository: Repository, which: tuple[str, ...], file: str, lines: Collection[int], *, boundary: bool = False
) -> dict[str, list[int]]:
    """`boundary`: also what the range begins with."""
    if not lines:
        return {}
    ranges = [f"-L{line},{line}" for line in sorted(lines)]
    try:
        printed = ask(
            repository.top, "-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "-w", *ranges, *which, "--", file
        ).split("\n")
    except GitError:
        return {}
    found: dict[str, list[int]] = defaultdict(list)
    limits, commit = set[str](), ""
    for text in printed:
        if not text.startswith("\t") and (match := _COMMIT_LINE.match(text)):
            commit = match[1]
            found[commit].append(int(match[3]))
        elif text == "boundary":
            limits.add(commit)
    return {one: numbers for one, numbers in found.items() if boundary or one not in limits}


def _next_change(repository: Repository, last: str, bad: str, file: str) -> str | None:
    """The first commit after `last`, on the way to `bad`, that changed the file."""
    way = ask(
        repository.top,
        "rev-list",
        "--ancestry-path",
        "--topo-order",
        "--reverse",
        "--no-merges",
        f"{last}..{bad}",
        "--",
        file,
    )
    return way.split("\n")[0] or None
