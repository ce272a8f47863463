"""whyperf itself, called as a user calls it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cache import SubjectError

_ANSWERS = {0, 3, 4}  # a difference, none, not enough evidence; anything else is an error


def whyperf_command() -> list[str]:
    """The installed command beside this interpreter, else the one on the path."""
    beside = Path(sys.executable).parent / "whyperf"
    found = str(beside) if beside.exists() else shutil.which("whyperf")
    if found is None:
        raise SubjectError("whyperf is not installed here: make setup")
    return [found]


def whyperf(subcommand: str, *arguments: str, under: Sequence[str] = ()) -> dict[str, Any]:
    """Runs `compare` or `diagnose`, with other words before it if need be, and returns its JSON."""
    command = [*under, *whyperf_command(), subcommand, *arguments, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in _ANSWERS:
        raise ValueError(f"`{shlex.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return answer


def record(folder: Path, command: list[str], *options: str) -> None:
    """Records one run; the target's output goes nowhere."""
    whole = [*whyperf_command(), "record", *options, "--force", "-o", str(folder), "--", *command]
    done = subprocess.run(whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if not (folder.exists()):
        raise ValueError(f"`{shlex.join(whole)}` recorded nothing: {done.stderr.strip()[-2000:]}")


def whyperf_argument(command: list[str]) -> str:
    """A command as --good, --bad and --drive take it: one string."""
    return shlex.join(command)
