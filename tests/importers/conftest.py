"""A program that is fast or slow, recorded by the real perf in every way."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared_cache import SHARED_CACHE
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.recording.sealed.reader import Recording

SOURCE = Path(__file__).parent / "programs" / "ledger.c"
WAYS = {"fp": ["-g"], "dwarf": ["--call-graph", "dwarf"], "none": []}

Perf = Callable[..., Path]


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program with frame pointers and without."""
    folder = tmp_path_factory.mktemp("ledger")
    built = {}
    for name, option in (("fp", "-fno-omit-frame-pointer"), ("dwarf", "-fomit-frame-pointer")):
        built[name] = folder / name / "ledger"
        built[name].parent.mkdir()
        options = ["-O2", "-g", option, *(["-mno-omit-leaf-frame-pointer"] if name == "fp" else [])]
        subprocess.run(["gcc", *options, SOURCE, "-o", built[name], "-lpthread"], check=True)
    built["none"] = built["dwarf"]
    return built


@pytest.fixture(scope="session")
def perf(tmp_path_factory: pytest.TempPathFactory) -> Perf:
    """Records a command: perf(options, command) -> the file. perf's own cache of files stays in a folder of its own."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed: apt-get install linux-perf")
    folder = tmp_path_factory.mktemp("perf")
    count = 0

    def record(options: list[str], command: list[str | Path]) -> Path:
        nonlocal count
        count += 1
        file = folder / f"{count}.data"
        line = ["perf", "--buildid-dir", folder / "cache", "record", "-q", "-o", file, *options, "--", *command]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        return file

    return record


@pytest.fixture(scope="session")
def recorded(ledger: dict[str, Path], perf: Perf) -> Callable[[str, str], Path]:
    """A perf.data file by way (fp, dwarf, none) and behaviour (good, bad), each recorded once.

    With switches, which tell a busy machine from a program that waits.
    """
    known: dict[tuple[str, str], Path] = {}

    def get(way: str, behaviour: str) -> Path:
        if (way, behaviour) not in known:
            slowly: list[str | Path] = ["slowly"] if behaviour == "bad" else []
            known[way, behaviour] = perf(["-F", "1999", "--switch-events", *WAYS[way]], [ledger[way], *slowly])
        return known[way, behaviour]

    return get


@pytest.fixture
def imported(
    recorded: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], Recording]:
    monkeypatch.setenv("XDG_CACHE_HOME", SHARED_CACHE)
    return lambda way, behaviour: import_perf_data(recorded(way, behaviour), tmp_path / f"{way}-{behaviour}")
