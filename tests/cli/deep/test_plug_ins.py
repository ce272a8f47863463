"""Libraries that a program loads while it runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from tests.cli.deep.conftest import PROGRAMS
from whyperf.collect.dependences.instruments import WatchedModule
from whyperf.collect.dependences.plug_ins import unwatched
from whyperf.collect.dependences.stream import StreamModule
from whyperf.recording.sealed.reader import Recording


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


def test_symptom_may_be_in_a_plug_in(whyperf: Whyperf, host: Path) -> None:
    plug_in = host.with_name("plug_in.so")
    sides = ("--good", f"{host} {plug_in} 10", "--bad", f"{host} {plug_in} 400", "-o", "compared")
    done = whyperf("compare", "--deep", "--symptom", "line:plug_in.c:6", *sides, "--json", "-")
    assert json.loads(done.stdout)["suspects"][0]["function"] == "search"
    # AND what is nowhere is refused as soon as it is known what was loaded, with what is called alike there
    done = whyperf("compare", "--deep", "--force", "--symptom", "function:serch", *sides)
    assert done.returncode == 1 and "host has no function serch; the nearest name is search." in done.stderr
    assert "zoom of the good run" not in done.stderr and "Traceback" not in done.stderr


def test_recording_says_what_it_did_not_watch_and_how_to(whyperf: Whyperf, host: Path, tmp_path: Path) -> None:
    plug_in = host.with_name("plug_in.so")
    target = ("--", str(host), str(plug_in), "10")
    done = whyperf("record", "--deep", "-o", "without", *target)
    assert "plug_in.so was loaded while the program ran" in done.stderr and f"--plug-in {plug_in}" in done.stderr
    # WHEN done as it says
    done = whyperf("record", "--deep", "--plug-in", str(plug_in), "-o", "with", *target)
    assert "was loaded while" not in done.stderr
    assert {path: "search" in sketched(tmp_path / path) for path in ("without", "with")} == {
        "without": False,
        "with": True,
    }


def sketched(path: Path) -> set[str]:
    recording = Recording(path)
    names = recording.table("functions").column("name").to_pylist()
    return {names[function] for function in recording.table("sites").column("function").to_pylist()}


def test_plug_in_that_is_none(whyperf: Whyperf, host: Path) -> None:
    done = whyperf("record", "--deep", "--plug-in", "nowhere.so", "--", str(host))
    assert sentence(done, 1) == "nowhere.so is no library that a program could load."
    assert sentence(whyperf("record", "--plug-in", "x.so", "--", str(host)), 2) == "--plug-in needs --deep."


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
