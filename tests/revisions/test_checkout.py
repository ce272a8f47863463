"""Checkouts are built once, in the cache, and the user's repository stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.revisions.conftest import History
from whyperf.errors import WhyperfError
from whyperf.revisions.checkout import BuildError, built
from whyperf.revisions.eviction import evict
from whyperf.revisions.git import find_repository, resolve

BUILD = "cat part > made; echo built >> {count}"


@pytest.fixture
def counted(history: History, tmp_path: Path) -> tuple[History, str, Path]:
    """Two commits, and a build that says elsewhere how often it ran."""
    history.commit("first", {"part": "one\n"})
    history.commit("second", {"part": "two\n"})
    count = tmp_path / "count"
    return history, BUILD.format(count=count), count


def test_each_commit_is_built_once(counted: tuple[History, str, Path], cache: Path) -> None:
    history, build, count = counted
    old, new = (built(history.repository, revision, build, cache=cache) for revision in ("HEAD~1", "HEAD"))
    assert [(one.folder / "made").read_text() for one in (old, new)] == ["one\n", "two\n"]
    assert (old.subject, new.subject) == ("first", "second")
    # WHEN it is asked for again by another name
    assert built(history.repository, "main", build, cache=cache) == new
    assert count.read_text().split() == ["built"] * 2
    # THEN only another command, or the wish, builds it again
    built(history.repository, "main", build + " # other", cache=cache)
    old.lock.close()
    built(history.repository, "HEAD~1", build, cache=cache, again=True)
    assert count.read_text().split() == ["built"] * 4


def test_a_dirty_tree_stays_as_it_is(counted: tuple[History, str, Path], cache: Path) -> None:
    # GIVEN changes that are staged, not staged and stashed, and a hook
    history, build, _ = counted
    (history.folder / "part").write_text("stashed\n")
    history.git("stash")
    (history.folder / "part").write_text("staged\n")
    history.git("add", "part")
    (history.folder / "part").write_text("neither\n")
    (history.folder / "new").write_text("untracked\n")
    hook, ran = history.folder / ".git" / "hooks" / "post-checkout", history.folder.parent / "hook-ran"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    before = history.state()
    # WHEN both revisions are built
    for revision in ("HEAD~1", "HEAD"):
        built(history.repository, revision, build, cache=cache)
    # THEN nothing of it has changed, and no hook ran
    assert history.state() == before
    assert not ran.exists()


def test_a_build_that_fails_leaves_its_log(history: History, cache: Path) -> None:
    history.commit("first", {"part": "one\n"})
    with pytest.raises(BuildError) as error:
        built(history.repository, "HEAD", "echo a; echo no rule for it >&2; exit 2", cache=cache)
    assert "ended with status 2: no rule for it (" in error.value.sentence
    log = Path(error.value.sentence.rpartition("(")[2].removesuffix(")."))
    assert log.read_text() == "a\nno rule for it\n"
    # AND is tried again
    assert built(history.repository, "HEAD", "true", cache=cache).folder.is_dir()


def test_an_interrupted_build_is_not_used(history: History, cache: Path, tmp_path: Path) -> None:
    history.commit("first", {"part": "one\n"})
    build = f"echo half > made; [ -e {tmp_path}/go ] || {{ touch {tmp_path}/began; sleep 60; }}; echo whole > made"
    script = (
        "import sys; from pathlib import Path; from whyperf.revisions.checkout import built\n"
        "from whyperf.revisions.git import find_repository\n"
        "built(find_repository(Path(sys.argv[1])), 'HEAD', sys.argv[2], cache=Path(sys.argv[3]))\n"
    )
    # GIVEN a process that is interrupted while it builds
    started = subprocess.Popen(
        [sys.executable, "-c", script, history.folder, build, cache], stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not (tmp_path / "began").exists():
        time.sleep(0.05)
        assert started.poll() is None
    os.kill(started.pid, signal.SIGINT)
    assert started.wait(PATIENCE_S) != 0
    # THEN the build has ended with it
    (tree,) = cache.glob("*/tree")
    running = subprocess.run(["pgrep", "-f", f"{tmp_path}/began"], capture_output=True, text=True, check=False)
    assert running.stdout == ""
    assert (tree / "made").read_text() == "half\n"
    # AND the next one begins anew
    (tmp_path / "go").touch()
    assert (built(history.repository, "HEAD", build, cache=cache).folder / "made").read_text() == "whole\n"


def test_two_processes_build_it_once(history: History, cache: Path, tmp_path: Path) -> None:
    history.commit("first", {"part": "one\n"})
    script = (
        "import sys; from pathlib import Path; from whyperf.revisions.checkout import built\n"
        "from whyperf.revisions.git import find_repository\n"
        "print(built(find_repository(Path(sys.argv[1])), 'HEAD', sys.argv[2], cache=Path(sys.argv[3])).folder)\n"
    )
    command = [sys.executable, "-c", script, history.folder, f"sleep 0.5; echo x >> {tmp_path}/count", cache]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert len({one.communicate(timeout=PATIENCE_S)[0] for one in both}) == 1
    assert (tmp_path / "count").read_text() == "x\n"


@pytest.mark.parametrize("revision", ["--help", "-p", "--output=stolen", "", "no-such-branch", "HEAD~99"])
def test_what_is_no_revision_is_a_sentence(history: History, revision: str) -> None:
    history.commit("first", {"part": "one\n"})
    with pytest.raises(WhyperfError, match="revision") as error:
        resolve(history.repository, revision)
    assert error.value.status == 2
    assert not (history.folder / "stolen").exists()


def test_a_shallow_clone_is_said_to_be_one(history: History, tmp_path: Path, cache: Path) -> None:
    history.commit("first", {"part": "one\n"})
    history.commit("second", {"part": "two\n"})
    history.git("clone", "--quiet", "--depth=1", history.folder.as_uri(), str(tmp_path / "shallow"))
    shallow = find_repository(tmp_path / "shallow")
    with pytest.raises(WhyperfError) as error:
        resolve(shallow, "HEAD~1")
    assert error.value.next_command == "git fetch --unshallow --tags"
    # AND what it holds can be built
    assert (built(shallow, "HEAD", None, cache=cache).folder / "part").read_text() == "two\n"


def test_outside_of_a_repository(tmp_path: Path) -> None:
    with pytest.raises(WhyperfError, match="is not in a git repository"):
        find_repository(tmp_path)


def test_without_git(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WhyperfError, match="git is not installed"):
        find_repository(history.folder)


def test_where_the_user_is_within_the_repository(history: History, cache: Path) -> None:
    history.commit("first", {"sub/part": "one\n"})
    inside = built(find_repository(history.folder / "sub"), "HEAD", "cp part made", cache=cache)
    assert inside.folder == inside.top / "sub"
    assert (inside.folder / "made").read_text() == "one\n"


def test_submodules_come_from_the_users_repository(history: History, tmp_path: Path, cache: Path) -> None:
    # GIVEN a repository with another one in it
    library = History(tmp_path / "library")
    library.commit("library", {"lib": "old\n"})
    history.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.folder), "deps/lib")
    history.commit("with it", {"part": "one\n"})
    # THEN it is checked out too, from what the user has of it
    assert (built(history.repository, "HEAD", None, cache=cache).top / "deps/lib/lib").read_text() == "old\n"
    # AND what they do not have is said
    missing = library.commit("newer", {"lib": "new\n"})
    history.git("update-index", "--cacheinfo", f"160000,{missing},deps/lib")
    history.git("commit", "--quiet", "-m", "newer library")
    with pytest.raises(WhyperfError, match="submodule deps/lib") as error:
        built(history.repository, "HEAD", None, cache=cache)
    assert "git submodule update" in (error.value.next_command or "")


def test_tags_are_known_to_builds(history: History, cache: Path) -> None:
    history.commit("first", {"part": "one\n"})
    history.git("tag", "-a", "-m", "release", "v1.0")
    checkout = built(history.repository, "HEAD", "git describe > version", cache=cache)
    assert (checkout.folder / "version").read_text() == "v1.0\n"


def test_old_and_large_builds_go(counted: tuple[History, str, Path], cache: Path) -> None:
    history, build, _ = counted
    old, new = (built(history.repository, revision, build, cache=cache) for revision in ("HEAD~1", "HEAD"))
    # What is used stays, however little room there is.
    assert evict(cache, most_bytes=0) == []
    old.lock.close()
    assert evict(cache, most_bytes=1 << 30) == []
    assert evict(cache, most_bytes=0) == [old.top.parent]
    assert new.top.is_dir() and not old.top.exists()
    new.lock.close()
    month_ago = time.time() - 40 * 86400
    os.utime(new.top.parent / "finished", (month_ago, month_ago))
    assert evict(cache) == [new.top.parent]
