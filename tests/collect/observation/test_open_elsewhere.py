"""Files that a run can write to and that are open outside of it, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.observation.programs import compiled, observed
from tests.strangers import stranger

# The file, how it is opened, and whether that is said before the program waits for good.
HOLDER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **words) {
    int is_read = !strcmp(words[2], "read"), file = open(words[1], is_read ? O_RDONLY : O_RDWR);
    if (file < 0) return 3;
    if (!strcmp(words[2], "map")) {
        if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) return 4;
        close(file);
    }
    if (count > 3) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    if (!strcmp(words[2], "child") && fork() == 0) sleep(1); // it is still there when the program has ended
    else usleep(100000);
    return 0;
}
"""


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("holder"), HOLDER, name="holder")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    path.write_bytes(bytes(4096))
    return path


@pytest.mark.parametrize(("here", "there"), [("write", "write"), ("write", "read"), ("map", "map")])
def test_a_file_that_another_process_uses_is_named(holder: Path, file: Path, here: str, there: str) -> None:
    with stranger([holder, file, there, "stay"]) as pid:
        assert observed([holder, file, here]).open_elsewhere == f"{file} is also open in holder ({pid})"


def test_a_file_that_the_run_only_reads_may_be_open_anywhere(holder: Path, file: Path) -> None:
    with stranger([holder, file, "write", "stay"]):
        assert observed([holder, file, "read"]).open_elsewhere == ""


def test_the_run_s_own_processes_are_not_elsewhere(holder: Path, file: Path) -> None:
    # GIVEN a child that has the file open when the program has ended
    assert observed([holder, file, "child"]).open_elsewhere == ""


def test_a_log_that_is_ours_as_well_is_not_elsewhere(holder: Path, file: Path) -> None:
    # GIVEN that whyperf was started with the same file open, as with `>> log`
    with file.open("ab"), stranger([holder, file, "write", "stay"]):
        assert observed([holder, file, "write"]).open_elsewhere == ""
