"""The package as users get it: built from a copy of the sources, installed where nothing else of it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture import LINKER

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = ["sampler", "probes", "observation"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = tmp_path_factory.mktemp("sources") / "whyperf"
    wanted = (".gitignore", "src", "native", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")
    sources.mkdir()
    for name in wanted:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(sources / "dist"), str(sources)], check=True, timeout=200)
    (built,) = (sources / "dist").glob("whyperf-*.whl")
    return built


def test_it_holds_what_is_needed_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "whyperf/py.typed",
        *(f"whyperf/collect/libwhyperf_{name}.so" for name in PRELOADED),
        "whyperf/demo/orders.c",
        "whyperf/report/verdict.schema.json",
        "whyperf/report/html/page.html",
        "whyperf/report/html/page-licences.md",
    ):
        assert needed in names
    for extension in (
        "collect/_session",
        "collect/_stacks",
        "debuginfo/_debuginfo",
        "importers/_perf_data",
        "recording/_file_backed",
    ):
        assert any(name.startswith(f"whyperf/{extension}.") and name.endswith(".so") for name in names)
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"whyperf"}
    assert [name for name in names if name.endswith((".c", ".h"))] == ["whyperf/demo/orders.c"]


def test_it_works_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    # GIVEN a virtual environment that holds the wheel alone, with the dependencies lent by ours
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    target = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, str(wheel)]
    subprocess.run(pip, check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": sysconfig.get_paths()["purelib"],
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def whyperf(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [python, "-P", "-m", "whyperf", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)

    # WHEN a program is recorded there
    recorded = whyperf("record", "-o", "rec", "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done")
    # THEN it is the wheel's sampler that did it, and the recording can be read
    assert recorded.returncode == 0, recorded.stderr
    where = subprocess.run(
        [python, "-P", "-c", "from whyperf.collect.sampler import LIBRARY; print(LIBRARY)"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert where.stdout.startswith(target)
    assert whyperf("info", "rec").returncode == 0


@pytest.mark.parametrize("name", PRELOADED)
def test_what_is_preloaded_needs_only_the_c_library(wheel: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(f"whyperf/collect/libwhyperf_{name}.so", tmp_path)
    shown = subprocess.run(["readelf", "--dynamic", library], capture_output=True, text=True, check=True).stdout
    needed = [line.split("[")[1].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line]
    assert set(needed) <= {"libc.so.6", LINKER}
