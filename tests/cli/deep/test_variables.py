"""Which variables can be watched, and by what names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whyperf.collect.dependences.variables import find_variable
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe

TALLY = """
static int hits;
int *first(void) { return &hits; }
int calls(void) { static int times; return ++times; }
int more(void) { static int times; int twice = 2 * calls(); times += twice; return times; }
"""
OTHER = """
static int hits;
int *first(void), more(void);
int main(void) { hits += *first() + more(); return hits; }
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Binary:
    folder = tmp_path_factory.mktemp("tally")
    (folder / "tally.c").write_text(TALLY)
    (folder / "other.c").write_text(OTHER)
    subprocess.run(["gcc", "-g", "tally.c", "other.c", "-o", "tally"], cwd=folder, check=True)
    return describe(folder / "tally")


def test_names_are_told_apart_by_file_and_by_function(binary: Binary, tmp_path: Path) -> None:
    def places(name: str) -> set[int]:
        return {place.address for place in find_variable(binary, name, tmp_path).places}

    assert len(places("hits")) == len(places("times")) == 2
    assert places("tally.c:hits") | places("other.c:hits") == places("hits") and len(places("tally.c:hits")) == 1
    assert places("calls:times") | places("more:times") == places("times") and len(places("more:times")) == 1
    assert places("tally.c:times") == places("times") and not places("other.c:times")


def test_what_is_on_the_stack_is_said_to_be_local(binary: Binary, tmp_path: Path) -> None:
    found = find_variable(binary, "twice", tmp_path)
    assert not found.places and found.locals_of == ("more",)
    assert find_variable(binary, "calls:time", tmp_path).others >= {"calls:times", "tally.c:hits", "other.c:hits"}
