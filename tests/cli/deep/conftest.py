"""A small program under the real Valgrind tool."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, refused
from whyperf.recording.sealed.reader import Recording

__all__ = ["refused"]

PROGRAMS = Path(__file__).parent / "programs"

RecordDeep = Callable[..., Recording]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    made = tmp_path_factory.mktemp("shelf") / "shelf"
    subprocess.run(["gcc", "-O1", "-g", PROGRAMS / "shelf.c", "-o", made], check=True)
    return made


@pytest.fixture
def record_deep(tmp_path: Path, shelf: Path, whyperf: Whyperf) -> RecordDeep:
    """`whyperf record --deep OPTIONS -- shelf ARGUMENTS`, sealed."""

    def record(
        *arguments: str,
        options: tuple[str, ...] = (),
        program: Path | None = None,
        status: int = 0,
        cache: Path | None = None,
    ) -> Recording:
        path = tmp_path / f"recording-{len(list(tmp_path.glob('recording-*')))}"
        words = ["record", "-q", "--deep", *options, "-o", str(path), "--", str(program or shelf), *arguments]
        done = whyperf(*words, environment={"XDG_CACHE_HOME": str(cache)} if cache is not None else None)
        assert done.returncode == status, done.stderr
        return Recording(path)

    return record


def without_valgrind(folder: Path) -> dict[str, str]:
    """An environment whose search path leads to everything but Valgrind."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for file in Path(place).iterdir() if Path(place).is_dir() else ():
            if not file.name.startswith("valgrind") and not os.path.lexists(folder / file.name):
                (folder / file.name).symlink_to(file)
    return {"PATH": str(folder)}
