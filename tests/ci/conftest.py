"""A repository with a benchmark, a change that makes it slower and one that does not; and what a job installs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t table[512];

__attribute__((noinline)) static uint32_t mix(uint32_t x)
{
    for (int i = 0; i < 60; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

__attribute__((noinline)) static int lookup(uint32_t key)
{
    int steps = 1;
    for (int i = 0; i < steps; i++)
        if (table[i % 512] == key + 1)
            return i;
    return mix(key) & 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    uint32_t sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += lookup(i);
        for (int j = 0; j < 300; j++)
            sum += mix(i + j);
    }
    printf("%u\\n", sum);
    return 0;
}
"""
SLOW_LINES = {17, 18, 19}  # in the slow commit: where the loop is

# The threshold keeps a busy machine's noise out; what is planted is far beyond it.
CONFIGURATION = """\
[ci]
build = "cc -g -O2 -o tool tool.c"

[[benchmark]]
name = "look things up"
command = "./tool 5000"
threshold = 100
runs = 3
"""


@dataclass(frozen=True)
class Project:
    path: Path
    base: str
    slow: str
    harmless: str
    environment: dict[str, str]

    def at(self, commit: str) -> Path:
        git(self.path, "checkout", "-q", "--detach", commit)
        return self.path


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    path = tmp_path_factory.mktemp("project")
    git(path, "init", "-q", "-b", "main")
    (path / "tool.c").write_text(PROGRAM)
    (path / ".whyperf.toml").write_text(CONFIGURATION)
    base = commit(path, "Begin")
    git(path, "checkout", "-q", "-b", "slow")
    (path / "tool.c").write_text(PROGRAM.replace("int steps = 1;", "int steps = 60000;"))
    slow = commit(path, "Look further")
    git(path, "checkout", "-q", "-b", "harmless", base)
    (path / "tool.c").write_text(PROGRAM.replace('"%u\\n", sum', '"sum %u\\n", sum'))
    harmless = commit(path, "Say what it is")
    cache = tmp_path_factory.mktemp("cache", numbered=True)
    cache.chmod(0o700)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_", "GIT_"))}
    return Project(path, base, slow, harmless, {**inherited, "XDG_CACHE_HOME": str(cache)})


def run_this_tree(arguments: str) -> str:
    """Python code that becomes the whyperf of this tree."""
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return (
        f'import os, sys; os.environ["PYTHONPATH"] = {source!r}; '
        f'os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "whyperf", *{arguments}])'
    )


def install(virtual_environment: Path) -> None:
    """What a job's install step leaves, without the time that it takes."""
    program = virtual_environment / "bin" / "whyperf"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n{run_this_tree('sys.argv[1:]')}\n")
    program.chmod(0o755)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel whose `whyperf` is the one of this tree: a job's install step takes it as it would take any other."""
    module = f"import sys\n\ndef main():\n    {run_this_tree('sys.argv[1:]')}\n"
    scripts = "[console_scripts]\nwhyperf = whyperf_of_this_tree:main\n"
    files = {"whyperf_of_this_tree.py": module, "whyperf-0.dist-info/entry_points.txt": scripts}
    return _wheel(tmp_path_factory.mktemp("wheel"), "whyperf", files)


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """`requirements/run.txt` with one package, a file of this machine, and its hash."""
    wheel = _wheel(tmp_path, "needed", {"needed.py": ""})
    listed = tmp_path / "action" / "requirements" / "run.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text(f"needed @ {wheel.as_uri()} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return listed


def other_hash(requirements: Path) -> None:
    text = requirements.read_text()
    requirements.write_text(text[: text.index("sha256:") + 7] + "0" * 64 + "\n")


def _wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    about = f"{name}-0.dist-info"
    files |= {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    wheel = folder / f"{name}-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"]))
    return wheel


def fake(folder: Path, name: str, script: str) -> None:
    """A program that a job finds on its search path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
