"""Libraries that a program loads while it runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf
from tests.deep.conftest import PROGRAMS
from whyperf.collect.dependence_stream import StreamModule
from whyperf.collect.dependences.instruments import WatchedModule
from whyperf.collect.dependences.plug_ins import unwatched


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    folder = tmp_path_factory.mktemp("host")
    gcc = ("gcc", "-O1", "-g")
    subprocess.run([*gcc, "-shared", "-fPIC", PROGRAMS / "plug_in.c", "-o", folder / "plug_in.so"], check=True)
    subprocess.run([*gcc, PROGRAMS / "host.c", "-o", folder / "host", "-ldl"], check=True)
    return folder / "host"


def test_function_of_a_plug_in_is_watched_and_named(whyperf: Whyperf, host: Path) -> None:
    plug_in = host.with_name("plug_in.so")
    sides = ("--good", f"{host} {plug_in} 10", "--bad", f"{host} {plug_in} 400")
    done = whyperf("compare", "--deep", *sides, "-o", "compared", "--json", "-")
    assert "the good run loaded plug_in.so" in done.stderr and "the bad run loaded plug_in.so" in done.stderr
    first = json.loads(done.stdout)["suspects"][0]
    assert (first["function"], Path(first["file"]).name) == ("search", "plug_in.c")


def test_only_the_users_own_files_that_no_plan_knew_are_watched_next_time() -> None:
    modules = (
        StreamModule("", "", 0, 0),
        StreamModule("/home/me/program", "aa", 0, 0),
        StreamModule("/home/me/plug_in.so", "bb", 0, 0),
        StreamModule("/home/me/without_id.so", "", 0, 0),
        StreamModule("/home/me/known_by_name.so", "", 0, 0),
        StreamModule("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", "cc", 0, 0),
        StreamModule("/home/me/valgrind/vgpreload_core-amd64-linux.so", "dd", 0, 0),
    )
    watched = (WatchedModule("renamed", "aa"), WatchedModule("known_by_name.so", ""))
    assert unwatched(modules, watched) == ("/home/me/plug_in.so", "/home/me/without_id.so")
