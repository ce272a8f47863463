"""From a recorded program to the roles in its recording."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import run_whyperf
from whyperf.recording.sealed.reader import Recording

pytestmark = pytest.mark.process

_PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
struct work { long left; long done; };
volatile long wanted;
static __attribute__((noinline)) double burn(struct work *w, long step) {
  double sum = 0;
  while (w->left > 0) {
    for (long i = 0; i < wanted; i++)
      sum += i * 0.5 / (sum + step);
    w->left--;
  }
  return sum;
}
int main(int argc, char **argv) {
  struct work w = {argc > 1 ? atol(argv[1]) : 100, 0};
  wanted = 3000000;
  printf("%f\\n", burn(&w, 7));
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("burn")
    (folder / "burn.c").write_text(_PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "burn", folder / "burn.c"], check=True)
    return folder / "burn"


def _roles(program: Path, folder: Path) -> dict[str, str]:
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    done = run_whyperf("record", "-o", str(folder / "run"), "--", str(program), "15", environment=environment)
    assert done.returncode == 0, done.stderr
    variables = Recording(folder / "run").table("variables")
    names, roles = variables.column("name").to_pylist(), variables.column("roles").to_pylist()
    return {str(name): str(role) for name, role in zip(names, roles, strict=True)}


def test_a_recording_says_what_variables_are_for(program: Path, tmp_path: Path) -> None:
    roles = _roles(program, tmp_path)
    assert roles["w->left"] == "condition|loop"
    assert roles["i"] == "condition|loop"
    assert roles["w->done"] == ""
    assert roles["wanted"] == "condition|global"


def test_source_that_is_not_what_was_built_gives_way_to_the_machine_code(program: Path, tmp_path: Path) -> None:
    # GIVEN a source file that was changed after the build
    source = program.with_suffix(".c")
    source.write_text(_PROGRAM.replace("double sum = 0;", "double sum = step ? 1 : 2;"))
    os.utime(source, (program.stat().st_mtime + 9, program.stat().st_mtime + 9))
    roles = _roles(program, tmp_path)
    assert roles["i"] == "condition|loop"
    assert roles["wanted"] == "condition|global"
    assert roles["step"] == "" == roles["sum"]
