"""Programs whose chains are known, built once a session."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("origin")
    made: dict[tuple[str, ...], Path] = {}

    def built(source: str | Path, *flags: str) -> Path:
        key = (str(source), *flags)
        if key not in made:
            path = PROGRAMS / source
            compiler = "g++" if path.suffix == ".cpp" else "gcc"
            if shutil.which(compiler) is None:
                pytest.skip(f"{compiler} is not installed")
            program = folder / f"{path.stem}{len(made)}"
            subprocess.run([compiler, "-O2", "-g", str(path), *flags, "-o", str(program)], check=True)
            made[key] = program
        return made[key]

    return built


def line_of(source: str, text: str) -> int:
    lines = (PROGRAMS / source).read_text().splitlines()
    [found] = [number for number, line in enumerate(lines, 1) if text in line]
    return found
