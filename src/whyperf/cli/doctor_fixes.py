"""Running what `whyperf doctor` prints, each command after a yes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from whyperf.collect.machine import Check
from whyperf.errors import WhyperfError
from whyperf.optional import INSTALL_NUMBA

_PACKAGES = "sudo apt-get install "
_SETTING = "sudo sysctl "
_LISTS = Path("/var/lib/apt/lists")


def runnable(checks: Iterable[Check]) -> list[str]:
    """Fixes that are commands to run, each once; others are for the user, who alone can set a shell's variables."""
    fixes = dict.fromkeys(check.fix for check in checks if check.fix)
    return [fix for fix in fixes if fix.startswith((_PACKAGES, _SETTING)) or fix == INSTALL_NUMBA]


def is_asked_always(fix: str) -> bool:
    """A setting of the kernel lowers a protection of all users: that is decided one by one."""
    return fix.startswith(_SETTING)


def ask(fix: str) -> bool:
    print(f"\n  {fix}")
    notes = ["it needs root, sudo may ask for your password"] if fix.startswith("sudo ") and os.geteuid() else []
    if is_asked_always(fix):
        notes.append("it lowers a protection of all users of this machine, until the next boot")
    question = f"Run this?{''.join(f' ({note})' for note in notes)} [y/N] "
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def check_can_ask(*, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise WhyperfError(
            "--fix asks before it runs a command, and there is no terminal to ask on.",
            "whyperf doctor --fix --yes",
            status=2,
        )


def run_fixes(checks: Iterable[Check], agreed: Callable[[str], bool]) -> bool:
    """Whether something was run."""
    ran = False
    for fix in runnable(checks):
        if agreed(fix):
            ran = True
            for command in commands_of(fix):
                print(f"$ {shlex.join(command)}", flush=True)
                if not _succeeds(command):
                    break
    return ran


def commands_of(fix: str, lists: Path = _LISTS) -> list[list[str]]:
    """What is run for it: without sudo as root, and package lists first where there are none."""
    command = shlex.split(fix)
    before = command[:1] if command[0] == "sudo" and os.geteuid() else []
    bare = command[1:] if command[0] == "sudo" else command
    if not fix.startswith(_PACKAGES):
        return [[*before, *bare]]
    install = [*before, "apt-get", "install", "--yes", "--no-install-recommends", *bare[2:]]
    return [install] if any(lists.glob("*_Packages*")) else [[*before, "apt-get", "update"], install]


def _succeeds(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        print(f"{command[0]} is not installed here: run the command by other means.", file=sys.stderr)
        return False
    status = subprocess.run(command, check=False).returncode
    if status:
        print(f"It failed with status {status}.", file=sys.stderr)
    return status == 0
