"""The package as users get it: built from a copy of the sources, installed where nothing else of it is."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture import LINKER
from tests.patience import PATIENCE_S

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
    subprocess.run([*pip, "--wheel-dir", str(sources / "dist"), str(sources)], check=True, timeout=PATIENCE_S)
    (built,) = (sources / "dist").glob("whyperf-*.whl")
    return built


@pytest.fixture(scope="module")
def released(wheel: Path) -> Path:
    """As `make wheel` leaves it: with the libraries that it needs."""
    folder = wheel.parent / "released"
    subprocess.run([sys.executable, ROOT / "tools" / "repair_wheel.py", wheel, folder], check=True, timeout=PATIENCE_S)
    (repaired,) = folder.glob("whyperf-*.whl")
    return repaired


def needed_by(library: Path) -> set[str]:
    shown = subprocess.run(["readelf", "--dynamic", library], capture_output=True, text=True, check=True).stdout
    return {line.split("[")[1].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line}


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
    sources = [name for name in names if name.endswith((".c", ".h"))]
    assert [name for name in sources if "/valgrind/" not in name] == ["whyperf/demo/orders.c"]
    assert {"whyperf/collect/valgrind/stream.h", "whyperf/collect/valgrind/tool/main.c"} <= set(sources)


def test_the_released_wheel_needs_nothing_that_a_system_may_lack(released: Path, tmp_path: Path) -> None:
    # GIVEN what every system with Python and this C library has: PEP 600's list, as far as it is used
    present = {"libc.so.6", "libgcc_s.so.1", "libz.so.1", LINKER}
    with zipfile.ZipFile(released) as archive:
        archive.extractall(tmp_path)
    libraries = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    bundled = {path.name for path in libraries if path.parent.name == "whyperf.libs"}
    # THEN no library needs another one, and all libraries that are no system's are used
    needed = set().union(*(needed_by(path) for path in libraries))
    assert needed == present | bundled and any(name.startswith("libdw") for name in bundled)
    # AND one build serves every Python and says so
    modules = [path.name for path in libraries if path.name.startswith("_")]
    assert len(modules) == 7 and all(name.endswith(".abi3.so") for name in modules)
    assert re.fullmatch(r"whyperf-[\d.]+-cp311-abi3-manylinux_2_\d+_\w+\.whl", released.name)


def test_its_licences_are_those_of_all_that_it_ships(released: Path) -> None:
    with zipfile.ZipFile(released) as archive:
        names = archive.namelist()
        folder = next(name for name in names if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")
        metadata = email.message_from_bytes(archive.read(f"{folder}METADATA"))
        page = archive.read("whyperf/report/html/page-licences.md").decode()
    stated = set(re.findall(r"[\w.-]+", metadata["License-Expression"])) - {"AND", "OR"}
    # THEN the page's parts, the Valgrind tool's sources and the bundled libraries are among them
    assert {"Apache-2.0", "GPL-2.0-or-later", "LGPL-3.0-or-later", "BSD-2-Clause"} <= stated
    assert set(re.findall(r"^## .* \(([\w.-]+)\)$", page, re.MULTILINE)) <= stated
    # AND each has its text
    files = metadata.get_all("License-File")
    assert files and {f"{folder}licenses/{file}" for file in files} <= set(names)
    bundled = {re.split(r"[-.]", Path(name).name)[0] for name in names if name.startswith("whyperf.libs/lib")}
    assert {f"bundled/{name}.txt" for name in bundled} | {"LICENSE", "native/dependences/tool/LICENSE"} <= set(files)


def test_it_works_in_a_fresh_environment(released: Path, tmp_path: Path) -> None:
    # GIVEN a virtual environment that holds the wheel alone, with the dependencies lent by ours
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    target = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        target,
        str(released),
    ]
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
        [python, "-P", "-c", "from whyperf.collect.sampling.sampler import LIBRARY; print(LIBRARY)"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert where.stdout.startswith(target)
    assert whyperf("info", "rec").returncode == 0
    # AND debug information is read by the wheel's libraries, not by the system's
    show = "import pathlib, whyperf.debuginfo._debuginfo; print(pathlib.Path('/proc/self/maps').read_text())"
    maps = subprocess.run(
        [python, "-P", "-c", show], capture_output=True, text=True, env=environment, check=True
    ).stdout
    assert all("/whyperf.libs/" in line for line in maps.splitlines() if re.search(r"/lib(dw|elf)\b", line))
    assert "/whyperf.libs/libdw" in maps


@pytest.mark.parametrize("name", PRELOADED)
def test_what_is_preloaded_needs_only_the_c_library(wheel: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(f"whyperf/collect/libwhyperf_{name}.so", tmp_path)
    assert needed_by(Path(library)) <= {"libc.so.6", LINKER}
