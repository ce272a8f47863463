"""What git says of lines: who added them, who removed them, and what a diff without context holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.revisions.conftest import History
from whyperf.errors import WhyperfError
from whyperf.revisions.command import words_for
from whyperf.revisions.commits import candidates, merged, mixed
from whyperf.revisions.hunks import as_change, hunks_of
from whyperf.revisions.line_commits import added_by, removed_by


def text(*lines: str) -> dict[str, str]:
    return {"a.c": "".join(f"{line}\n" for line in lines)}


@pytest.fixture
def told(history: History) -> tuple[History, list[str]]:
    commits = [
        history.commit("base", text("one", "two", "three", "four", "five")),
        history.commit("adds", text("one", "one and a half", "two", "three", "four", "five")),
        history.commit("removes", text("one", "one and a half", "two", "three", "five")),
        history.commit("elsewhere", {"b.c": "other\n"}),
    ]
    return history, commits


def test_added_and_removed_lines_have_their_commits(told: tuple[History, list[str]]) -> None:
    history, (base, adds, removes, last) = told
    repository = history.repository
    assert added_by(repository, base, last, "a.c", [1, 2]) == {adds: [2]}
    assert removed_by(repository, base, last, "a.c", [2, 4]) == {removes: [4]}
    assert added_by(repository, base, last, "no-such-file", [1]) == {}


def test_hunks_are_told_by_place(told: tuple[History, list[str]]) -> None:
    history, (base, *_, last) = told
    adds, removes = hunks_of(history.repository, base, last, "a.c")
    assert (adds.bad_line, adds.bad, adds.good) == (2, ("one and a half",), ())
    assert (removes.good_line, removes.good, removes.bad) == (4, ("four",), ())
    assert adds.touches(2, 2) and not adds.touches(3, 9)
    assert removes.touches(3, 5) and not removes.touches(5, 9)
    change = as_change([adds, removes], [1])
    assert [(one.build, one.line) for hunk in change.hunks for one in hunk] == [("bad", 2), ("good", 4)]
    assert change.more == 0


def test_of_a_new_file_only_the_functions_lines_are_shown(history: History) -> None:
    base = history.commit("base", text("one"))
    history.commit("new file", {"new.c": "".join(f"line {n}\n" for n in range(1, 101))})
    (whole,) = hunks_of(history.repository, base, "HEAD", "new.c")
    clipped = whole.within(40, 79)
    assert (clipped.bad_line, len(clipped.bad), clipped.bad[0]) == (40, 40, "line 40")
    change = as_change([clipped], [60])
    assert [(one.line, one.text) for one in change.hunks[0]] == [(n, f"line {n}") for n in range(56, 64)]
    assert change.more == 32


def test_a_merge_is_one_candidate_and_can_be_looked_into(history: History) -> None:
    base = history.commit("base", text("one"))
    history.git("checkout", "--quiet", "-b", "side")
    side = [history.commit(f"side {n}", {f"s{n}.c": "s\n"}) for n in range(2)]
    history.git("checkout", "--quiet", "main")
    trunk = history.commit("trunk", {"t.c": "t\n"})
    history.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    listed = candidates(history.repository, base, "HEAD")
    assert [one.subject for one in listed] == ["trunk", "merge"]
    assert [one.commit for one in merged(history.repository, listed[1])] == [*side, listed[1].commit]
    with pytest.raises(WhyperfError, match="does not descend"):
        candidates(history.repository, trunk, side[0])


def test_no_commit_is_impossible_at_first() -> None:
    prior = mixed(4, {0.55: [0, 2, 0, 0], 0.25: [0, 0, 0, 0]})
    assert sum(prior) == pytest.approx(1)
    assert prior[1] == pytest.approx(0.55 + 0.45 / 4) and prior[0] == prior[3] == pytest.approx(0.45 / 4)


def test_words_that_name_untracked_files(tmp_path: Path) -> None:
    here, good, bad = (tmp_path / name for name in ("here", "good", "bad"))
    for folder, names in ((here, ("tool", "in.txt", "both")), (good, ("both", "only")), (bad, ("both",))):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    found = words_for(
        ["./tool", "in.txt", "both", "--from=in.txt", "absent", "/etc/passwd", "x" * 5000], here, [good, bad]
    )
    # The program is never taken from the user's tree.
    assert found.words[:5] == ("./tool", f"{here}/in.txt", "both", f"--from={here}/in.txt", "absent")
    assert found.taken == ("in.txt",)
