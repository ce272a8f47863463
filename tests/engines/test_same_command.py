"""Commands that tell runs to do the same, or not."""

from __future__ import annotations

import pytest

from tests.engines.made import recording
from whyperf.engines.run import Run
from whyperf.engines.same_command import SameWork, work_of

STACKS = [(("main", "parse"), 1.0)]


def told(*commands: str) -> SameWork:
    return work_of([Run(recording(STACKS, command=("./tool", *command.split(" ")))) for command in commands])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-n 100 in.txt", "-n 100 in.txt"),
        ("/old/in.txt", "/new/in.txt"),
        ("--file=/old/in.txt", "--file=/new/in.txt"),
        ("/srv/x81ab/in.txt", "/srv/y92cd/in.txt"),
    ],
)
def test_the_same_words_folders_aside_leave_no_doubt(one, other):
    assert told(one, other) == SameWork(same=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--dir /tmp/x81ab", "--dir /tmp/y92cd"),
        ("--dir=/tmp/x81ab", "--dir=/tmp/y92cd"),
        ("--log /tmp/tmpx81ab.log", "--log /tmp/tmpy92cd.log"),
        ("--dir /home/me/x81ab", "--dir /home/me/y92cd"),
        ("--port 7001", "--port 7002"),
        ("--http-port=7001", "--http-port=7002"),
        ("localhost:7001", "localhost:7002"),
        (":7001", ":7002"),
        ("redis://localhost:7001", "redis://localhost:7002"),
    ],
)
def test_paths_ports_and_temporary_names_are_taken_for_the_same_work(one, other):
    work = told(one, one, other)
    assert work.same
    # AND what was assumed to say nothing is told
    assert work.differing == (one.split()[-1], other.split()[-1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("small.txt", "big.txt"),
        ("data/small.txt", "data/big.txt"),
        ("-n 100", "-n 200"),
        ("--keys=100", "--keys=200"),
        ("--dir=/tmp/x", "--log=/tmp/y"),
        ("localhost:7001/0", "localhost:7002/1"),
        ("1:2000", "1:3000"),
        ("--fast", "--slow"),
        ("in.txt", "in.txt --verify"),
    ],
)
def test_anything_else_is_other_work(one, other):
    assert not told(one, other).same


def test_a_shells_script_is_compared_word_by_word():
    assert told("-c cd a/b; ./tool 100", "-c cd a/c; ./tool 100").same
    assert not told("-c cd a/b; ./tool 100", "-c cd a/b; ./tool 200").same
