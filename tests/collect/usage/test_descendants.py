"""Processes by number, some of which are strangers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from whyperf.collect.usage.descendants import Descendants
from whyperf.collect.usage.totals import identify


@pytest.fixture
def target() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_stranger_with_the_number_of_a_process_in_a_namespace_is_left_out(target: subprocess.Popen[bytes]) -> None:
    # GIVEN a target, and a child of it that is process 1 of a namespace of its own: here, that is this machine's init
    descendants = Descendants(identify(target.pid))
    threads = [(target.pid, target.pid), (1, 1), (os.getpid(), os.getpid())]
    # THEN neither init nor whoever else ran before the target is taken for one of the target's
    assert descendants.among(threads) == [(target.pid, target.pid)]


def test_processes_that_started_later_or_have_ended_are_kept(target: subprocess.Popen[bytes]) -> None:
    descendants = Descendants(identify(target.pid))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as later:
        assert descendants.among([(later.pid, later.pid)]) == [(later.pid, later.pid)]
    assert descendants.among([(later.pid, later.pid)]) == [(later.pid, later.pid)]
