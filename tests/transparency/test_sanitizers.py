"""Programs built with sanitizers run as they would unwatched, whether their run-time library is linked in or not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.watching import compiled, unwatched, watched

BUILDS = [
    f"{compiler} -fsanitize={sanitizer}"
    for compiler, sanitizers in (
        ("gcc", ("address", "thread", "undefined", "leak")),
        ("clang", ("address", "thread", "memory", "undefined")),
        ("clang -shared-libasan", ("address",)),
    )
    for sanitizer in sanitizers
]


@pytest.fixture(autouse=True)
def _quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for leaks at the end takes seconds on some machines."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    monkeypatch.setenv("LSAN_OPTIONS", "detect_leaks=0")


def built(source: str, programs: Path, build: str) -> Path:
    compiler, *flags = build.split()
    try:
        if "-shared-libasan" in flags:
            folder = subprocess.run([compiler, "-print-runtime-dir"], check=True, capture_output=True, text=True).stdout
            flags.append(f"-Wl,-rpath,{folder.strip()}")
        return compiled(source, programs, *flags, compiler=compiler, name=source[:-2] + build.replace(" ", ""))
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip(f"{build} has no run-time library here")


@pytest.mark.parametrize("build", BUILDS)
def test_program_is_sampled_and_ends_as_it_would(build: str, programs: Path, tmp_path: Path, recording: Path) -> None:
    program = built("leaf.c", programs, build)
    command = [str(program)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert plain.status == 7
    assert under.seen == plain
    # Signals come when they are due, not when a run-time library lets them through.
    assert under.sampled_s >= 0.5 * under.cpu_s


def test_child_whose_runtime_must_be_first_is_left_alone_and_named(
    programs: Path, tmp_path: Path, recording: Path
) -> None:
    child = built("leaf.c", programs, "gcc -fsanitize=address")
    command = [str(compiled("starter.c", programs)), "fork", str(child)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 7
    assert "sanitizer" in under.unfollowed.get(child.name, "nothing")


def test_what_was_put_first_does_not_reach_children(programs: Path, tmp_path: Path, recording: Path) -> None:
    starter = built("starter.c", programs, "gcc -fsanitize=address")
    command = [str(starter), "fork", str(compiled("leaf.c", programs))]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert {starter.name, "leaf"} <= set(under.programs)
