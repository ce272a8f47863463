"""Ways to watch a program: what is run, and whether anything was seen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from bench.watching import unwatched, watched_by
from bench.ways import WAYS

SOURCE = """
#include <stdio.h>
__attribute__((noinline)) int twice(int x) { __asm__ volatile(""); return 2 * x; }
int main(void) { puts("out"); fputs("err\\n", stderr); return twice(4); }
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    source, made = tmp_path / "program.c", tmp_path / "program"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", source, "-o", made], check=True)
    return made


def test_only_counting_is_done_otherwise_where_children_run_the_program() -> None:
    said, command, file = Path("said"), ["./suite"], Path("program")
    assert WAYS["counts"].words(said, command)[1:3] == ["record", "--counts"]
    assert "--counts" not in WAYS["counts"].words(said, command, [file])
    for way in ("record", "memory", "trace"):
        assert WAYS[way].words(said, command) == WAYS[way].words(said, command, [file])
    for way in WAYS.values():
        assert way.words(said, command)[-2:] == ["--", "./suite"]


@pytest.mark.parametrize("way", ["observed", "counts"])
@pytest.mark.parametrize("is_child", [False, True], ids=["itself", "child"])
def test_probes_are_passed_and_change_nothing(tmp_path: Path, program: Path, way: str, is_child: bool) -> None:
    command = ["/bin/sh", "-c", f"{program}; exit $?"] if is_child else [str(program)]
    plain = unwatched(command, tmp_path)
    said = tmp_path / "said"
    seen, missing = watched_by(way, command, tmp_path, said, programs=[program])
    assert seen == plain and plain.status == 8 and plain.stdout == "out\n" and not missing
    assert json.loads(said.read_text())["times"] >= 2


def test_a_run_without_probes_does_not_pass_for_a_watched_one(tmp_path: Path, program: Path) -> None:
    _, missing = watched_by("counts", ["/bin/true"], tmp_path, tmp_path / "said", programs=[program])
    assert missing.startswith("but no probe was passed")
    assert WAYS["observed"].missing(tmp_path / "nothing") == "but nothing was said"
    (tmp_path / "recording").mkdir()
    assert WAYS["record"].missing(tmp_path / "recording") == "but there is no recording"
