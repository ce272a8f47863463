"""Work shared with copies of this process."""

from __future__ import annotations

import os

import pytest

from tests.diagnose import work
from whyperf.diagnose.parallel import processes
from whyperf.diagnose.parallel.processes import Processes
from whyperf.errors import WhyperfError

pytestmark = pytest.mark.process


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are made after the first item."""
    monkeypatch.setattr(processes, "_ALONE_S", 0.0)


def whose(shared: str, item: int) -> tuple[int, int]:
    return os.getpid(), item


def test_copies_do_what_takes_long(at_once):
    found = list(Processes(2).map("looking", whose, "", range(20)))
    assert [item for _, item in found] == list(range(20))
    assert found[0][0] == os.getpid()
    assert os.getpid() not in {who for who, _ in found[1:]}


def test_what_is_done_soon_is_done_here():
    assert {who for who, _ in Processes(2).map("looking", whose, "", range(20))} == {os.getpid()}


def test_one_job_is_this_process(at_once):
    assert {who for who, _ in Processes(1).map("looking", whose, "", range(5))} == {os.getpid()}


def test_what_is_shared_does_not_travel(at_once):
    # GIVEN something that cannot be pickled
    offset = 5
    shared = lambda item: item + offset  # noqa: E731
    assert list(Processes(2).map("adding", lambda add, item: add(item), shared, [1, 2, 3])) == [6, 7, 8]


def test_nothing_to_do(at_once):
    assert list(Processes(2).map("adding", work.product, 1, [])) == []


def test_a_copys_sentence_is_the_users(at_once):
    with pytest.raises(WhyperfError) as said:
        list(Processes(2).map("refusing", lambda _, item: work.refusing(2, item) if item else item, None, [0, 1, 2]))
    assert (said.value.sentence, said.value.next_command, said.value.status) == ("Not 2.", "whyperf doctor", 2)


def test_a_copy_that_is_killed_is_a_sentence(at_once):
    with pytest.raises(WhyperfError, match="A process was killed while dying") as said:
        list(Processes(2).map("dying", lambda _, item: work.deadly(None, item) if item else item, None, [0, 1, 2]))
    assert said.value.next_command == "whyperf diagnose --jobs 1 ..."
