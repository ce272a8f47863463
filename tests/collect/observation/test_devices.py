"""A forced value makes a program remove what it writes to. That must not be a device file, whoever runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.observation.device_files import device, is_intact, needs_root
from tests.collect.observation.programs import RESULT, compiled, last_before_return, observed
from whyperf.collect.observation import devices
from whyperf.collect.observation.devices import why_not_read_only
from whyperf.collect.observation.sites import Forced, Observed, ObservedSite

__all__ = ["device"]  # a fixture

MOUNTS = Path("/proc/self/mountinfo")

ASSEMBLER = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, noclone, noipa)) long errors_in(const char *text) { return strlen(text) / 100; }
static void copied_mounts(const char *to) {
    char line[4096];
    FILE *from = fopen("/proc/self/mountinfo", "r"), *file = fopen(to, "w");
    while (fgets(line, sizeof line, from)) fputs(line, file);
    fclose(file);
}
// The output file, where this program's mounts are written to, and what they are for: "use" devices, or assemble.
int main(int count, char **words) {
    char name[64];
    copied_mounts(words[2]);
    if (count > 3) {
        snprintf(name, sizeof name, "/whyperf-test-%d", getpid());
        int shared = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
        if (shared < 0 || ftruncate(shared, 4096) || shm_unlink(name)) return 10;
        if (terminal < 0) return 11;
        return 0;
    }
    FILE *output = fopen(words[1], "w");
    if (!output) return 20;
    if (fputs("code", output) < 0 || fclose(output)) return 21;
    if (!errors_in("nop")) return 0;
    if (unlink(words[1])) return errno == EROFS ? 1 : 22;
    int again = open(words[1], O_WRONLY | O_CREAT, 0600);
    return again < 0 ? 23 : 2;
}
"""


@pytest.fixture(scope="module")
def assembler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("assembler"), ASSEMBLER, "-lrt")


def _with_errors(assembler: Path, *words: Path | str) -> Observed:
    last = last_before_return(assembler, "errors_in")
    return observed([assembler, *words], [ObservedSite(assembler, last.address, True, forced=Forced(RESULT, 8, (3,)))])


@needs_root
def test_a_device_is_still_there_when_a_forced_run_has_removed_its_output(
    assembler: Path, device: Path, tmp_path: Path
) -> None:
    before = MOUNTS.read_text()
    # WHEN a program writes to a device, and a forced value makes it remove what it wrote to
    done = _with_errors(assembler, device, tmp_path / "mounts")
    # THEN it has written, it could not remove the device, and another file has not taken its place
    assert (done.status, done.hits) == (1, (1,))
    assert is_intact(device)
    # THEN outside of that run devices come and go as before
    assert MOUNTS.read_text() == before
    Path(f"{device}-2").touch()
    Path(f"{device}-2").unlink()


@needs_root
def test_ordinary_files_are_removed_as_the_program_likes(assembler: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    assert _with_errors(assembler, output, tmp_path / "mounts").status == 2
    assert output.read_bytes() == b""


@needs_root
def test_shared_memory_and_terminals_work_in_observed_runs(assembler: Path, tmp_path: Path) -> None:
    outside = _flags_of_mounts(MOUNTS)
    assert observed([assembler, "/dev/null", tmp_path / "mounts", "use"]).status == 0
    # THEN no mount has other flags than outside, but /dev
    inside = _flags_of_mounts(tmp_path / "mounts")
    assert "ro" in inside.pop("/dev").split(",")
    assert inside == {path: flags for path, flags in outside.items() if path != "/dev"}


def _flags_of_mounts(file: Path) -> dict[str, str]:
    """By path; of several mounts in one place, the uppermost one's."""
    return {fields[4]: fields[5] for fields in map(str.split, file.read_text().splitlines())}


def test_an_ordinary_user_cannot_remove_devices_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_wanted, **_how: False)
    monkeypatch.setattr(devices, "_check", _refuse)
    assert why_not_read_only() == ""


def test_where_the_system_forbids_it_the_reason_is_known(
    monkeypatch: pytest.MonkeyPatch, assembler: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda *_wanted, **_how: True)
    monkeypatch.setattr(devices, "_check", _refuse)
    assert why_not_read_only() == "Operation not permitted"
    # THEN the program runs all the same
    assert observed([assembler, tmp_path / "output", tmp_path / "mounts"]).status == 0


def _refuse(_failed: int) -> None:
    raise PermissionError(1, "Operation not permitted")


# In a new root that other mount namespaces would follow.
NO_MOUNT_OF_ITS_OWN = r"""
import ctypes, os, sys
from concurrent.futures import ThreadPoolExecutor
from whyperf.collect.observation.devices import make_devices_read_only
libc, root, shared = ctypes.CDLL(None), sys.argv[1], 1 << 20
assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, ctypes.c_ulong(1 << 18 | 1 << 14), None) == 0
assert libc.mount(b"none", root.encode(), b"tmpfs", ctypes.c_ulong(0), None) == 0
assert libc.mount(b"none", root.encode(), None, ctypes.c_ulong(shared), None) == 0
mounts = open("/proc/self/mountinfo")
before = mounts.read()
os.makedirs(root + "/dev/shm")
os.chroot(root)
os.chdir("/")
def inside():
    make_devices_read_only()
    open("/dev/shm/file", "w").close()
    try:
        open("/dev/file", "w")
    except OSError as error:
        return error.strerror
with ThreadPoolExecutor(1) as thread:
    print(thread.submit(inside).result())
open("/dev/file", "w").close()
mounts.seek(0)
print(mounts.read() == before, os.listdir("/dev/shm"))
"""


@needs_root
def test_devices_without_a_mount_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_MOUNT_OF_ITS_OWN, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["Read-only file system", "True ['file']"], done.stderr
