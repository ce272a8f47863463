"""A place of its own for one soak test, and what it must not leave behind: processes, files, pins in the kernel."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = "WHYPERF_SOAK"
_PINS = Path("/sys/fs/bpf")
_SHARED_MEMORY = Path("/dev/shm")
POLITELY = ("nice", "-n", "10")  # storms and crowds must leave the machine usable; recorders are started as ever


@dataclass(frozen=True)
class Surroundings:
    folder: Path  # for recordings and programs
    temporary: Path  # TMPDIR of everything that is started: empty in the end
    mark: str  # in the environment of everything that is started

    def leftovers(self) -> list[str]:
        """What is still there, in words."""
        found = [f"process {pid}: {command}" for pid, command in _processes_with(self.mark)]
        found += [f"file {path.name} in TMPDIR" for path in self.temporary.iterdir()]
        found += [f"pins {path}" for path in _PINS.glob(f"*{self.mark}*")]
        found += [f"shared memory {path.name}" for path in _SHARED_MEMORY.glob("*whyperf*")]
        return found + [f"raw log {path}" for path in self.folder.glob("**/raw") if path.is_dir()]


@contextmanager
def surroundings() -> Iterator[Surroundings]:
    mark = f"soak-{secrets.token_hex(6)}"
    folder = Path(tempfile.mkdtemp(prefix="whyperf-soak-"))
    own = {"TMPDIR": str(folder / "tmp"), "WHYPERF_TRACE_FOLDER": str(folder / mark), _VARIABLE: mark}
    before = {name: os.environ.get(name) for name in own}
    (folder / "tmp").mkdir()
    os.environ.update(own)
    try:
        yield Surroundings(folder, folder / "tmp", mark)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def _processes_with(mark: str) -> Iterator[tuple[int, str]]:
    wanted = f"{_VARIABLE}={mark}\0".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and wanted in (folder / "environ").read_bytes():
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
