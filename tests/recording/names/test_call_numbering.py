"""Numbers of system calls: as the kernel's own headers have them, and one numbering for recordings of all machines."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from whyperf.collect.tracer.system_call_numbers import recorded_numbers
from whyperf.recording.names.call_numbering import AARCH64_NAMES, own_number, recorded_number
from whyperf.recording.names.system_calls import NAMES, NUMBERS

pytestmark = pytest.mark.process

_X86_64_HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/x86_64-linux-gnu/include/asm/unistd_64.h"),
)
_GENERIC_HEADER = Path("/usr/include/asm-generic/unistd.h")
# What arch/arm64/include/uapi/asm/unistd.h asks for.
_AARCH64_WANTS = ("RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "TIME32_SYSCALLS", "SYS_CLONE3", "MEMFD_SECRET")
_NO_CALLS = {"syscalls", "arch_specific_syscall"}


def _defined(header: Path, *definitions: str) -> dict[int, str]:
    """Names by number, as the C preprocessor understands the header."""

    def preprocess(text: str, *options: str) -> list[str]:
        command = ["gcc", "-E", "-P", *options, *(f"-D{one}" for one in definitions), "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()

    included = f'#include "{header}"\n'
    macros = re.findall(r"^#define __NR_(\w+) ", "\n".join(preprocess(included, "-dM")), re.MULTILINE)
    asked = included + "\n".join(f'"{name}" __NR_{name}' for name in macros if name not in _NO_CALLS)
    answers = (re.fullmatch(r'"(\w+)" (\d+)', line) for line in preprocess(asked))
    return {int(answer[2]): answer[1] for answer in answers if answer}


def _agree(known: dict[int, str], defined: dict[int, str]) -> None:
    """The newest calls may be missing from either: both go by one kernel or another."""
    assert len(defined) > 250
    until_then = {number: name for number, name in defined.items() if number <= max(known)}
    assert {number: known.get(number) for number in until_then} == until_then


def test_x86_64_numbers_are_the_headers() -> None:
    header = next((one for one in _X86_64_HEADERS if one.exists()), None)
    if header is None:
        pytest.skip("the x86-64 kernel headers are not installed (linux-libc-dev-amd64-cross)")
    _agree(NAMES, _defined(header))


def test_aarch64_numbers_are_the_headers() -> None:
    if not _GENERIC_HEADER.exists():
        pytest.skip("the kernel headers are not installed (linux-libc-dev)")
    _agree(AARCH64_NAMES, _defined(_GENERIC_HEADER, *(f"__ARCH_WANT_{one}" for one in _AARCH64_WANTS)))


def test_this_machine_knows_calls_by_its_own_numbers() -> None:
    asked = subprocess.run(
        ["gcc", "-E", "-P", "-"], input="#include <asm/unistd.h>\n__NR_bpf", capture_output=True, text=True, check=True
    )
    assert own_number("bpf") == int(asked.stdout.split()[-1]) == {"x86_64": 321, "aarch64": 280}[os.uname().machine]


def test_every_call_of_aarch64_is_recorded_by_the_same_name() -> None:
    for number, name in AARCH64_NAMES.items():
        assert NAMES[recorded_number(number, "aarch64")] == name


def test_what_is_no_call_stays_none() -> None:
    assert recorded_number(-1, "aarch64") == -1
    assert recorded_number(300, "aarch64") == -1  # no call of aarch64, one of x86-64
    assert recorded_number(300, "x86_64") == 300


def test_many_at_once_are_numbered_alike() -> None:
    numbers = np.arange(-3, 600, dtype=np.int32)
    for machine in ("x86_64", "aarch64"):
        expected = [recorded_number(number, machine) for number in numbers.tolist()]
        assert recorded_numbers(numbers, machine).tolist() == expected
    assert recorded_numbers(np.array([98], np.int32), "aarch64").tolist() == [NUMBERS["futex"]]
