"""Code of the standard library that the compiler inlined is named by the program's own line."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf
from tests.cli.deep.conftest import PROGRAMS


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_loop_of_the_standard_library_is_its_callers(whyperf: Whyperf, tmp_path: Path) -> None:
    subprocess.run(["g++", "-O2", "-g", PROGRAMS / "list.cc", "-o", tmp_path / "list"], check=True)
    sides = ("--good", "./list 10", "--bad", "./list 400")
    done = whyperf("compare", "--deep", *sides, "-o", "compared", "--json", "-")
    first = json.loads(done.stdout)["suspects"][0]
    assert (first["function"], Path(first["file"]).name, first["line"]) == ("is_known", "list.cc", 10)
    assert "The loop of std::__find_if, inlined at is_known (list.cc:10) runs" in first["why"]
