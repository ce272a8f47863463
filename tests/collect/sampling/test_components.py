"""`--component` and `--compile-commands`, as users type them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared_cache import SHARED_CACHE
from tests.warm_interpreter import run_whyperf
from whyperf.collect.sampling.components import Components
from whyperf.recording.sealed.reader import Recording

_MAIN = """
#include <stdlib.h>
long spin_alpha(long rounds);
int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 100000000;
    return spin_alpha(rounds) < -rounds;
}
"""
_ENGINE = """
static volatile long sink;
static __attribute__((noinline)) long spin_beta(long left) {
    for (long step = 0; step < left; step++) sink += step;
    return sink;
}
__attribute__((noinline)) long spin_alpha(long rounds) {
    long half = rounds / 2, sum = spin_beta(half);
    WANTED (half) sum += spin_beta(rounds - half);
    return sum;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The branch in spin_alpha is one only with the flag that the compilation database knows."""
    folder = tmp_path_factory.mktemp("components")
    (folder / "engine").mkdir()
    (folder / "main.c").write_text(_MAIN)
    (folder / "engine" / "spin.c").write_text(_ENGINE)
    sources = [folder / "main.c", folder / "engine" / "spin.c"]
    subprocess.run(["gcc", "-g", "-O1", "-DWANTED=if", "-o", folder / "tool", *sources], check=True)
    _record(folder / "tool", folder)  # a table of all variables is there already
    return folder / "tool"


def _record(program: Path, folder: Path, *options: str | Path) -> tuple[Recording, str]:
    """All recordings of a program share a cache."""
    folder.mkdir(exist_ok=True)
    words = map(str, ["record", *options, "-o", folder / "run", "--", program])
    done = run_whyperf(*words, environment={**os.environ, "XDG_CACHE_HOME": SHARED_CACHE})
    assert done.returncode == 0, done.stderr
    return Recording(folder / "run"), done.stderr


def _read_in(recording: Recording) -> set[str]:
    names = recording.table("functions").column("name").to_pylist()
    owners = recording.table("variables").column("function").to_pylist()
    read = {owners[number] for number in recording.table("values").column("variable").to_pylist()}
    assert {owner for owner in owners if owner >= 0} == {owner for owner in read if owner >= 0}
    return {str(names[owner]) for owner in read if owner >= 0}


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        ("*", {"main", "spin_alpha", "spin_beta"}),
        ("tool", {"main", "spin_alpha", "spin_beta"}),
        ("engine/*", {"spin_alpha", "spin_beta"}),
        ("main.c", {"main"}),
        ("*_alpha", {"spin_alpha"}),
    ],
)
def test_a_component_narrows_what_is_read(program: Path, tmp_path: Path, component: str, expected: set[str]) -> None:
    recording, said = _record(program, tmp_path, "--component", component)
    assert _read_in(recording) == expected
    assert "--component" not in said


def test_a_component_that_nothing_is_called_gets_a_sentence(program: Path, tmp_path: Path) -> None:
    recording, said = _record(program, tmp_path, "--component", "enigne/*", "--component", "main.c")
    assert "--component enigne/* is no program, library, source file or function" in said
    assert "--component main.c" not in said
    assert any("enigne/*" in note for note in recording.manifest.losses.notes)
    assert _read_in(recording) == {"main"}


@pytest.mark.parametrize(
    ("excluded", "gone", "left"),
    [
        (["half"], {"spin_alpha.half"}, {"spin_alpha.rounds", "spin_beta.left"}),
        (["spin_*.left", "s?m"], {"spin_beta.left", "spin_alpha.sum"}, {"spin_alpha.rounds"}),
        (["words"], {"main.words", "main.*words"}, {"main.count"}),
        (["main.rounds"], {"main.rounds"}, {"spin_alpha.rounds"}),
    ],
)
def test_excluded_variables_are_not_kept(
    program: Path, tmp_path: Path, excluded: list[str], gone: set[str], left: set[str]
) -> None:
    options = [word for glob in excluded for word in ("--exclude-variable", glob)]
    recording, _ = _record(program, tmp_path, *options)
    names = recording.table("functions").column("name").to_pylist()
    rows = recording.table("variables").to_pylist()
    kept = {f"{names[row['function']]}.{row['name']}" for row in rows if row["function"] >= 0}
    assert not gone & kept
    assert left <= kept


def test_globs() -> None:
    several = Components(("libfoo*.so*", "src/io/*.cc", "Cache::*"))
    assert several.of_module("/opt/lib/libfoo-2.so.1") == {"libfoo*.so*"}
    assert several.of_module("/opt/lib/libbar.so") == set()
    assert several.hold("read", "/home/me/p/src/io/read.cc")
    assert not several.hold("read", "/home/me/p/src/other/read.cc")
    assert several.hold("app::Cache::find", "")
    assert not several.hold("app::CacheLine::find", "")
    assert several.of_source(["a", "Cache::put"], ["/x/a.c"]) == {"Cache::*"}
    assert Components(("[", "a[")).of_source(["a"], ["b"]) == set()


def _role_of_half(recording: Recording) -> str:
    variables = recording.table("variables").to_pydict()
    return str(dict(zip(variables["name"], variables["roles"], strict=True))["half"])


def test_the_given_database_tells_how_source_is_read(program: Path, tmp_path: Path) -> None:
    # GIVEN flags that only the database knows
    assert "condition" not in _role_of_half(Recording(program.parent / "run"))
    source = str(program.parent / "engine" / "spin.c")
    entry = {"directory": str(program.parent), "file": source, "command": f"gcc -DWANTED=if -c {source}"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "compile_commands.json").write_text(json.dumps([entry]))
    recording, _ = _record(program, tmp_path, "--compile-commands", elsewhere)
    assert _role_of_half(recording) == "argument|condition|truth"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "There is no compilation database {}."), ("{}", "{} cannot be read as a compilation database.")],
)
def test_a_database_that_is_none_is_refused_before_the_run(
    program: Path, tmp_path: Path, content: str | None, sentence: str
) -> None:
    given = tmp_path / "database.json"
    if content is not None:
        given.write_text(content)
    command = [
        sys.executable,
        "-m",
        "whyperf",
        "compare",
        "--quick",
        "--compile-commands",
        given,
        "-o",
        tmp_path / "x",
    ]
    done = subprocess.run(
        [*command, "--good", str(program), "--bad", str(program)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "whyperf: " + sentence.format(given)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("option", ["--component", "--compile-commands"])
def test_options_about_values_need_values(tmp_path: Path, option: str) -> None:
    command = [sys.executable, "-m", "whyperf", "record", "--no-values", option, str(tmp_path), "--", "true"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option} is about the variables that are read, but --no-values reads none." in done.stderr
