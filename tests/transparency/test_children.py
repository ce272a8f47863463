"""Children of every kind run as they would unwatched; those that can be followed are, the others are named."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bench.tool import whyperf_command
from bench.watching import compiled, unwatched, watched
from pyarrow import parquet

from tests.architecture import COMPILER_32, HERE
from whyperf.collect.architecture import X86_64

WAYS = ["fork", "vfork", "empty", "cleared", "spawn", "spawnp", "system", "popen"]

# Without the C library's fork(). Nobody can stand in front of the last one.
RAW_WAYS = [*(["fork"] if HERE is X86_64 else []), "clone", "clone3", "unseen"]

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


@pytest.mark.parametrize("percent", [8, 86])
@pytest.mark.parametrize("way", RAW_WAYS)
def test_child_of_a_raw_system_call_runs_as_ever_and_its_time_is_said_to_be_missing(
    way: str, percent: int, programs: Path, tmp_path: Path, recording: Path
) -> None:
    command = [str(compiled("raw_fork.c", programs)), way, str(percent)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording, options=("--rate", "200"))
    assert under.seen == plain
    child_s = under.cpu_s * percent / 100
    assert 0.7 * child_s < under.unsampled_s < 1.3 * child_s + 0.02
    assert ("syscall()" in under.unfollowed.get("raw_fork", "")) == (way != "unseen")


@pytest.mark.parametrize("way", RAW_WAYS[:-1])
def test_child_of_a_raw_system_call_is_named_however_little_it_does(
    way: str, programs: Path, tmp_path: Path, recording: Path
) -> None:
    under = watched([str(compiled("raw_fork.c", programs)), way, "0"], tmp_path, recording)
    assert under.unsampled_s == 0
    assert "syscall()" in under.unfollowed["raw_fork"]


def test_a_raw_system_call_that_fails_makes_no_child(programs: Path, tmp_path: Path, recording: Path) -> None:
    command = [str(compiled("raw_fork.c", programs)), "refused", "50"]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain and plain.status == 0
    assert not under.unfollowed


@pytest.mark.skipif(os.geteuid() != 0, reason="making a PID namespace needs root")
def test_first_process_of_a_namespace_has_ended_with_the_program(tmp_path: Path, recording: Path) -> None:
    """Its number there is that of init here, which goes on."""
    command = ["unshare", "-pf", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 5"]
    if (plain := unwatched(command, tmp_path)).status != 5:
        pytest.skip(f"making a PID namespace is not permitted here: {plain.stderr}")
    under = unwatched([*whyperf_command(), "record", "-o", str(recording), "--", *command], tmp_path)
    assert under.status == 5
    assert "still running" not in under.stderr + (recording / "manifest.json").read_text()
    assert len(list(parquet.read_table(recording / "processes.parquet")["pid"])) >= 2


def test_of_a_program_that_is_followed_no_time_is_said_to_be_missing(
    programs: Path, tmp_path: Path, recording: Path
) -> None:
    starter, leaf = compiled("starter.c", programs), compiled("leaf.c", programs)
    assert watched([str(starter), "fork", str(leaf)], tmp_path, recording).unsampled_s == 0


def test_time_in_the_kernel_is_not_missing_where_only_user_time_is_sampled(tmp_path: Path, recording: Path) -> None:
    command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=60000", "status=none"]
    assert watched(command, tmp_path, recording).unsampled_s == 0
