"""Recording one side with whyperf, traced or not."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from bench.contexts.case import Side
from bench.tool import whyperf_command

TRACED = ("--trace",)
_LONGEST_S = 300  # also on a busy machine


def record(side: Side, ready: str, path: Path, *options: str) -> None:
    command = [*side.around, *whyperf_command(), "record", *options, "--quiet", "--force", "-o", str(path)]
    if ready:
        command += ["--ready", ready, "--drive", shlex.join(side.drive)]
    command += ["--", *side.command]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=_LONGEST_S
    )
    if not (path / "manifest.json").exists():
        raise ValueError(f"`{shlex.join(command)}` recorded nothing: {done.stderr.strip()[-2000:]}")
