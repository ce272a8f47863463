"""Blame that lands in code of others is named by where the user's own code meets it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Whyperf

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

_PROGRAMS = Path(__file__).parent / "programs"


def _suspect(whyperf: Whyperf, *arguments: str) -> dict[str, Any]:
    done = whyperf("compare", "--quick", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    suspect: dict[str, Any] = json.loads(done.stdout)["suspects"][0]
    return suspect


def test_who_waits_for_a_script_that_sleeps(whyperf: Whyperf, tmp_path: Path) -> None:
    subprocess.run(["gcc", "-g", "-O2", _PROGRAMS / "asking.c", "-o", tmp_path / "asking"], check=True)
    for name, does in (("version.sh", ""), ("version-slow.sh", "sleep 0.5\n")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}echo 1.2\n")
        (tmp_path / name).chmod(0o755)
    suspect = _suspect(whyperf, "--clock", "wall", "--runs", "2", "./asking ./version.sh", "./asking ./version-slow.sh")
    assert (suspect["function"], suspect["module"]) == ("ask_version", "asking")
    assert suspect["file"].endswith("asking.c") and suspect["line"] > 0
    assert suspect["why"].startswith("It waits for version-slow.sh, which sleeps. ")
    assert 0.5 < suspect["share"] <= 1.0


def test_what_the_program_calls_and_its_own_hash(whyperf: Whyperf, tmp_path: Path) -> None:
    subprocess.run(["g++", "-g", "-O2", _PROGRAMS / "points.cc", "-o", tmp_path / "points"], check=True)
    suspect = _suspect(whyperf, "--counts", "./points 0", "./points 3")
    assert suspect["function"] == "look_up"
    assert (
        "of it in std::unordered_map<…>::find, which walks the nodes of a bucket (look at PointHash)" in suspect["why"]
    )


def test_code_without_a_name_has_a_named_neighbour(whyperf: Whyperf, tmp_path: Path) -> None:
    library = tmp_path / "libsiblings.so"
    compiled = ["gcc", "-O2", "-shared", "-fPIC", "-s", _PROGRAMS / "siblings.c", "-o", library]
    subprocess.run(compiled, check=True)
    linked = ["gcc", "-O2", _PROGRAMS / "visiting.c", "-o", tmp_path / "visiting", library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(linked, check=True)
    suspect = _suspect(whyperf, "./visiting 5000", "./visiting 16000")
    assert suspect["function"].startswith("libsiblings.so+0x")
    assert suspect["why"].startswith("Unnamed code of libsiblings.so, called by visit_siblings, takes ")
