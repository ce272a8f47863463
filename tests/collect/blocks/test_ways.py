"""Which way a conditional jump goes, as the trap's handler says and as the processor does; of the other machine in an
emulator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture import HERE
from whyperf.collect.architecture import ARM_64, X86_64

pytestmark = pytest.mark.process

_NATIVE = Path(__file__).parents[3] / "native"
_NAMES = {X86_64: "x86_64", ARM_64: "aarch64"}


@pytest.mark.parametrize("machine", _NAMES.values())
def test_jumps_go_the_way_that_the_processor_takes(machine: str, tmp_path: Path) -> None:
    is_here = machine == _NAMES[HERE]
    compiler = "gcc" if is_here else f"{machine}-linux-gnu-gcc"
    emulator = [] if is_here else [f"qemu-{machine}-static"]
    for needed in (compiler, *emulator):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    program = tmp_path / "ways"
    sources = [_NATIVE / f"blocks/{machine}/ways.c", _NATIVE / f"observation/{machine}/registers.c"]
    command = [
        compiler,
        "-O1",
        "-static",
        "-D_GNU_SOURCE",
        f"-I{_NATIVE}",
        *sources,
        Path(__file__).with_name("ways.c"),
    ]
    subprocess.run([*command, "-o", program], check=True)
    done = subprocess.run([*emulator, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[0]) > 2000
