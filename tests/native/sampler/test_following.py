"""Everything the target starts is recorded; what cannot be is left alone, counted and named."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture import COMPILER_32
from tests.native.sampler.conftest import (
    EXEC,
    FORK,
    UNFOLLOWED_OTHER_ARCHITECTURE,
    UNFOLLOWED_OTHER_LIBC,
    UNFOLLOWED_SECCOMP,
    UNFOLLOWED_SETUID,
    UNFOLLOWED_STATIC,
    UNFOLLOWED_UNREACHABLE,
    Outcome,
)

Compile = Callable[..., Path]
Run = Callable[..., Outcome]

STARTS = {
    "execve": 'execve("/bin/echo", (char *[]){"echo", "hello", NULL}, (char *[]){NULL});',
    "execl": 'execl("/bin/echo", "echo", "hello", NULL);',
    "execlp": 'execlp("echo", "echo", "hello", NULL);',
    "execle": 'execle("/bin/echo", "echo", "hello", NULL, (char *[]){"A=1", NULL});',
    "execv": 'execv("/bin/echo", (char *[]){"echo", "hello", NULL});',
    "execvp": 'execvp("echo", (char *[]){"echo", "hello", NULL});',
    "execvpe": 'execvpe("echo", (char *[]){"echo", "hello", NULL}, (char *[]){NULL});',
    "fexecve": 'fexecve(open("/bin/echo", O_RDONLY), (char *[]){"echo", "hello", NULL}, (char *[]){NULL});',
    "execveat": 'execveat(open("/bin", O_RDONLY), "echo", (char *[]){"echo", "hello", NULL}, environ, 0);',
    "fork": 'if (!fork()) execl("/bin/echo", "echo", "hello", NULL); wait(NULL);',
    "vfork": 'if (!vfork()) { execl("/bin/echo", "echo", "hello", NULL); _exit(1); } wait(NULL);',
    "posix_spawn": 'posix_spawn(&p, "/bin/echo", NULL, NULL, (char *[]){"echo", "hello", NULL}, environ); wait(NULL);',
    "posix_spawnp": 'posix_spawnp(&p, "echo", NULL, NULL, (char *[]){"echo", "hello", NULL}, environ); wait(NULL);',
    "system": 'system("/bin/echo hello");',
    "popen": 'FILE *f = popen("/bin/echo hello", "r"); int c; while ((c = getc(f)) != EOF) putchar(c); pclose(f);',
    "cleared": 'clearenv(); if (!fork()) execlp("/bin/echo", "echo", "hello", NULL); wait(NULL);',
}

HEADERS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
"""


@pytest.mark.parametrize("way", STARTS)
def test_every_way_to_start_a_program_is_followed(compiled: Compile, sampled: Run, way: str) -> None:
    outcome = sampled(
        compiled(f"{HEADERS} pid_t p; int main(void) {{ {STARTS[way]} return 0; }}", "-Wno-unused-result")
    )
    assert (outcome.status, outcome.output) == (0, "hello\n")
    assert any(Path(process.executable).name in ("echo", "coreutils") for process in outcome.processes)
    assert not outcome.unfollowed


def test_fork_without_exec_is_a_process_of_its_own(compiled: Compile, sampled: Run) -> None:
    outcome = sampled(
        compiled(HEADERS + "int main(void) { if (!fork()) _exit(3); int s; wait(&s); return WEXITSTATUS(s); }")
    )
    assert outcome.status == 3
    parent, child = outcome.processes
    assert (parent.origin, child.origin) == (EXEC, FORK)
    assert child.parent == parent.pid


def test_arguments_and_executable_are_recorded(sampled: Run) -> None:
    outcome = sampled("/bin/echo", "a b", "")
    (process,) = outcome.processes
    assert Path(process.executable).name in ("echo", "coreutils")
    assert process.arguments == ("/bin/echo", "a b", "")


def test_program_sees_its_own_environment_only(sampled: Run) -> None:
    seen = {line.partition("=")[0] for line in sampled("env", environment={"MARK": "1"}).output.splitlines()}
    assert "MARK" in seen
    assert {name for name in seen if name == "LD_PRELOAD" or name.startswith("WHYPERF")} <= set(os.environ)
    assert sampled("env", "-i", "env").output == ""


def test_users_own_preload_is_kept(compiled: Compile, sampled: Run) -> None:
    other = compiled("int unused_symbol;", "-shared", "-fPIC", name="other.so")
    for command in (("env",), ("sh", "-c", "env")):
        outcome = sampled(*command, environment={"LD_PRELOAD": str(other)})
        assert f"LD_PRELOAD={other}\n" in outcome.output
        assert any(str(other) == module.path for modules in outcome.modules.values() for module in modules)


def test_static_programs_are_left_alone_and_named(compiled: Compile, sampled: Run) -> None:
    quiet = compiled('#include <stdio.h>\nint main(void) { puts("static"); return 0; }', "-static", name="quiet")
    outcome = sampled("sh", "-c", f"{quiet}; {quiet}")
    assert (outcome.status, outcome.output) == (0, "static\nstatic\n")
    assert outcome.unfollowed == [(UNFOLLOWED_STATIC, str(quiet))] * 2


def test_32_bit_programs_are_left_alone_and_named(compiled: Compile, sampled: Run, tmp_path: Path) -> None:
    compiler, *flags = COMPILER_32
    try:
        narrow = compiled(
            '#include <stdio.h>\nint main(void) { puts("narrow"); return 0; }', *flags, name="narrow", compiler=compiler
        )
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("no 32-bit C library to compile against")
    outcome = sampled("sh", "-c", str(narrow))
    assert (outcome.status, outcome.output) == (0, "narrow\n")
    assert outcome.unfollowed == [(UNFOLLOWED_OTHER_ARCHITECTURE, str(narrow))]


def test_musl_programs_are_left_alone_and_named(compiled: Compile, sampled: Run) -> None:
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    other = compiled(
        '#include <stdio.h>\nint main(void) { puts("musl"); return 0; }', name="other", compiler="musl-gcc"
    )
    outcome = sampled("sh", "-c", str(other))
    assert (outcome.status, outcome.output) == (0, "musl\n")
    assert outcome.unfollowed == [(UNFOLLOWED_OTHER_LIBC, str(other))]


def test_setuid_programs_are_left_alone_and_named(compiled: Compile, sampled: Run) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid program of another user")
    raised = compiled('#include <stdio.h>\nint main(void) { puts("raised"); return 0; }', name="raised")
    os.chown(raised, 1, 1)
    raised.chmod(0o4755)
    outcome = sampled("sh", "-c", str(raised))
    assert (outcome.status, outcome.output) == (0, "raised\n")
    assert outcome.unfollowed == [(UNFOLLOWED_SETUID, str(raised))]


def test_scripts_are_judged_by_their_interpreter(compiled: Compile, sampled: Run, tmp_path: Path) -> None:
    shell = compiled('#include <stdio.h>\nint main(void) { puts("odd shell"); return 0; }', "-static", name="oddsh")
    script = tmp_path / "script"
    script.write_text(f"#! {shell} -x\n")
    script.chmod(0o755)
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\necho plain\n")
    plain.chmod(0o755)
    outcome = sampled("sh", "-c", f"{script}; {plain}")
    assert outcome.output == "odd shell\nplain\n"
    assert outcome.unfollowed == [(UNFOLLOWED_STATIC, str(script))]


def test_program_in_a_chroot_that_cannot_reach_us_still_runs(compiled: Compile, sampled: Run, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    jail = tmp_path / "jail"
    loader = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}[platform.machine()]
    for path in (loader, f"lib/{platform.machine()}-linux-gnu/libc.so.6"):
        (jail / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("/") / path, jail / path)
    shutil.copy(compiled('#include <stdio.h>\nint main(void) { puts("inside"); return 0; }', name="inside"), jail)
    binary = compiled(
        HEADERS
        + f'int main(void) {{ if (chroot("{jail}") || chdir("/")) return 9;'
        + ' execl("/inside", "inside", NULL); return 8; }'
    )
    outcome = sampled(binary)
    assert (outcome.status, outcome.output) == (0, "inside\n")
    assert outcome.unfollowed == [(UNFOLLOWED_UNREACHABLE, "/inside")]


def test_exec_after_a_seccomp_filter_is_not_followed(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        HEADERS
        + """
#include <linux/filter.h>
#include <linux/seccomp.h>
int main(void) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 9;
    execl("/bin/echo", "echo", "hello", NULL);
    return 8;
}"""
    )
    outcome = sampled(binary)
    assert (outcome.status, outcome.output) == (0, "hello\n")
    assert outcome.unfollowed == [(UNFOLLOWED_SECCOMP, "/bin/echo")]
