"""Libraries from source distributions: found, compiled with debug information, linked with a driver."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.carried import EXTENSIONS, LIBRARIES, Library, driven
from bench.cases.case import CASES, all_cases, told

from bench import carried


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution that carries a library of two functions and a test of it; the driver that uses it."""
    source = tmp_path / "counting-1.0"
    (source / "lib").mkdir(parents=True)
    (source / "lib" / "counting.h").write_text("int count_up(int number);\n")
    (source / "lib" / "count.c").write_text(
        '#include "counting.h"\nint count_up(int number) { return number + STEP; }\n'
    )
    (source / "lib" / "count_test.c").write_text("#error never compiled\n")
    driver = tmp_path / "ask.c"
    driver.write_text(
        '#include <counting.h>\n#include <stdio.h>\nint main(void) { printf("%d", count_up(4)); return 0; }\n'
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(carried, "python_source", lambda _: source)
    monkeypatch.setitem(
        LIBRARIES,
        "counting",
        Library(
            "counting==1.0", headers=("lib",), sources=("lib/*.c",), no_sources=("*_test.c",), options=("-DSTEP=3",)
        ),
    )
    return driver


def test_a_driver_is_linked_with_the_library_that_keeps_its_debug_information(counting: Path) -> None:
    # WHEN the program is built
    program = driven("counting", counting)
    # THEN it runs the library's code, with the library's own options, and its functions have lines
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "7"
    lines = subprocess.run(["readelf", "--debug-dump=decodedline", program], capture_output=True, text=True, check=True)
    assert "count.c" in lines.stdout


def test_a_build_is_made_anew_only_when_something_changed(counting: Path) -> None:
    program = driven("counting", counting)
    built = program.stat().st_mtime_ns
    assert driven("counting", counting).stat().st_mtime_ns == built
    assert driven("counting", counting, "-O1") != program


def test_a_fix_is_taken_back_in_the_library_and_not_in_the_driver(counting: Path, tmp_path: Path) -> None:
    # GIVEN an edit of the library
    edit = tmp_path / "edit.patch"
    edit.write_text(
        "--- a/lib/count.c\n+++ b/lib/count.c\n@@ -1,2 +1,2 @@\n"
        ' #include "counting.h"\n'
        "-int count_up(int number) { return number + STEP; }\n"
        "+int count_up(int number) { return number - STEP; }\n"
    )
    # WHEN the program is built with it and without
    edited, shipped = driven("counting", counting, patch=edit), driven("counting", counting)
    # THEN only the one has it
    said = [subprocess.run([one], capture_output=True, text=True, check=True).stdout for one in (edited, shipped)]
    assert said == ["1", "7"]


def test_a_distribution_without_the_sources_is_said_so(counting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIBRARIES, "counting", Library("counting==1.0", headers=("lib",), sources=("src/*.c",)))
    with pytest.raises(SubjectError, match=r"counting==1\.0 holds none of src/\*\.c"):
        driven("counting", counting)


# Debian's own do not change within a release.
@pytest.mark.parametrize(
    "distribution",
    [*EXTENSIONS.values(), *(library.distribution for library in LIBRARIES.values() if not library.in_debian)],
)
def test_versions_are_fixed_because_cases_name_lines(distribution: str) -> None:
    assert "==" in distribution


def test_every_bug_of_a_library_says_where_it_is_public() -> None:
    driver_cases = [case for case in all_cases() if any(build.driver for build in case.builds.values())]
    assert len(driver_cases) >= 6
    for case in driver_cases:
        assert told(CASES / case.id)["origin"], case.id
