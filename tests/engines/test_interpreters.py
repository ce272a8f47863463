"""A program that merely starts a library is that library."""

from __future__ import annotations

import pytest

from tests.engines.made import recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.run import Run

START = ("_start", "libc:__libc_start_main", "tool+0x40")


def answers(*inner: str, debug: str = "symbols") -> dict[str, float]:
    """Who answers for time in a system library: most of it is called by one function."""
    good = [((*START, "sys:run", "sys:parse"), 2.0), ((*START, *inner, "sys:run", "sys:includes"), 1.0)]
    bad = [((*START, "sys:run", "sys:parse"), 2.0), ((*START, *inner, "sys:run", "sys:includes"), 6.0)]
    excess = compare([Run(recording(good, debug=debug))], [Run(recording(bad, debug=debug))])
    return {excess.name(one.function): one.share for one in excess.accounts if one.share > 0.01}


def test_the_librarys_functions_answer_for_themselves() -> None:
    assert answers() == pytest.approx({"includes": 1.0})


def test_but_not_where_lines_tell_who_calls_it() -> None:
    assert answers(debug="full") == pytest.approx({"tool+0x40": 1.0})


def test_nor_because_libraries_have_threads_of_their_own() -> None:
    pool = (("libc:start_thread", "sys:work", "sys:deflate"), 12.0)
    good, bad = ([pool, (("main", "compress", "sys:deflate"), seconds)] for seconds in (2.0, 6.0))
    excess = compare([Run(recording(good))], [Run(recording(bad))])
    assert {excess.name(one.function) for one in excess.accounts if one.share > 0.01} == {"compress"}


def test_nor_where_the_program_has_functions_that_do() -> None:
    assert "includes" not in answers("tool+0x80")
