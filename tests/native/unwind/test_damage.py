"""Nothing in a damaged section, table file, image or stack makes the unwinder read out of bounds or loop."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.native.unwind.building import NATIVE, SANITIZERS, compile_driver
from tests.patience import PATIENCE_S

SECONDS = 4


def libraries() -> list[Path]:
    found = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    return sorted(path for path in found if path.name.startswith(("libc.so", "libcrypto", "libpython", "libstdc++")))


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sections")
    for library in libraries():
        target = folder / library.name
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.eh_frame", library, target], check=True)
    return sorted(folder.iterdir())


def test_fuzz(sections: list[Path], tmp_path: Path) -> None:
    tables = str(NATIVE / "stacks" / "tables.c")
    fuzz = compile_driver(tmp_path / "fuzz", "fuzz", *SANITIZERS, sources=[tables])
    done = subprocess.run(
        [fuzz, str(SECONDS), "3", *sections], check=False, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
