"""Children of every kind run as they would unwatched; those that can be followed are, the others are named."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bench.watching import compiled, unwatched, watched

from tests.architecture import COMPILER_32

WAYS = ["fork", "vfork", "empty", "cleared", "spawn", "spawnp", "system", "popen"]

# How leaf.c becomes a program that must be left alone, and the word that the reason must hold.
AWKWARD = {
    "static": ("gcc", ["-static"], "static"),
    "static-pie": ("gcc", ["-static-pie"], "static"),
    "musl": ("musl-gcc", [], "libc"),
    "32-bit": (COMPILER_32[0], list(COMPILER_32[1:]), "architecture"),
}


@pytest.mark.parametrize("way", WAYS)
def test_child_is_followed_and_sees_its_own_environment(
    way: str, programs: Path, tmp_path: Path, recording: Path
) -> None:
    starter, leaf = compiled("starter.c", programs), compiled("leaf.c", programs)
    command = [str(starter), way, str(leaf)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 7
    assert {"starter", "leaf"} <= set(under.programs)


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_child_that_cannot_be_followed_is_left_alone_and_named(
    kind: str, way: str, programs: Path, tmp_path: Path, recording: Path
) -> None:
    compiler, flags, reason = AWKWARD[kind]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    try:
        leaf = compiled("leaf.c", programs, *flags, compiler=compiler, name=f"leaf-{kind}")
    except subprocess.CalledProcessError:
        pytest.skip(f"{compiler} {' '.join(flags)} has no libraries here")
    command = [str(compiled("starter.c", programs)), way, str(leaf)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 7
    assert reason in under.unfollowed.get(leaf.name, "nothing")


@pytest.mark.skipif(os.geteuid() != 0, reason="making a setuid program of another user needs root")
def test_setuid_child_is_left_alone(programs: Path, tmp_path: Path, recording: Path) -> None:
    leaf = compiled("leaf.c", programs, name="leaf-setuid")
    os.chown(leaf, 65534, 65534)
    leaf.chmod(0o6755)
    command = [str(compiled("starter.c", programs)), "fork", str(leaf)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 7
    assert "setuid" in under.unfollowed.get("leaf-setuid", "nothing")


def test_scripts_and_shells_are_followed_through_their_interpreter(
    programs: Path, tmp_path: Path, recording: Path
) -> None:
    leaf = compiled("leaf.c", programs)
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{leaf}\nenv -i {leaf}\nexec {leaf}\n")
    script.chmod(0o755)
    plain = unwatched([str(script)], tmp_path)
    under = watched([str(script)], tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 7
    assert "leaf" in under.programs


def test_environment_is_printed_unchanged(tmp_path: Path, recording: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "ODD": "a=b", "EMPTY": ""}
    for command in (["env"], ["sh", "-c", "env; export"], ["env", "-i", "A=1", "env"], ["env", "-u", "HOME", "env"]):
        assert watched(command, tmp_path, recording, env=environment).seen == unwatched(command, tmp_path, environment)


def test_own_preload_of_the_user_survives(tmp_path: Path, recording: Path, programs: Path) -> None:
    # GIVEN a user who preloads a library that changes an answer
    source = tmp_path / "answer.c"
    source.write_text("int getppid(void) { return 4242; }\n")
    library = tmp_path / "answer.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    asker = tmp_path / "asker.c"
    asker.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        'int main(void) { printf("%d %s\\n", getppid(), getenv("LD_PRELOAD")); return 0; }\n'
    )
    program = tmp_path / "asker"
    subprocess.run(["gcc", "-o", program, asker], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library)}
    # THEN it works, and the program sees the variable as the user set it
    plain = unwatched([str(program)], tmp_path, environment)
    assert plain.stdout == f"4242 {library}\n"
    assert watched([str(program)], tmp_path, recording, env=environment).seen == plain


def test_child_of_a_raw_system_call_runs_as_ever_and_its_time_is_said_to_be_missing(
    programs: Path, tmp_path: Path, recording: Path
) -> None:
    program = compiled("raw_fork.c", programs)
    plain = unwatched([str(program)], tmp_path)
    under = watched([str(program)], tmp_path, recording)
    assert under.seen == plain
    # Six of seven parts of the work are the child's.
    assert 0.7 * under.cpu_s < under.unsampled_s < 0.95 * under.cpu_s


def test_of_a_program_that_is_followed_no_time_is_said_to_be_missing(
    programs: Path, tmp_path: Path, recording: Path
) -> None:
    starter, leaf = compiled("starter.c", programs), compiled("leaf.c", programs)
    assert watched([str(starter), "fork", str(leaf)], tmp_path, recording).unsampled_s == 0
