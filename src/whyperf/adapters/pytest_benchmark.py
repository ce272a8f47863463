"""pytest-benchmark: rounds times iterations, as its report has them.

Starting pytest, which may take longer than the benchmark, is cut off, and so is its end: a plugin of ours waits before
the first call until the window is open, and after the last until it is closed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from whyperf.adapters.adapted_benchmark import Adapted
from whyperf.errors import WhyperfError

PLUGIN = "whyperf_pytest_window"
_PYTHON = re.compile(r"python[\d.]*")


def is_pytest(words: Sequence[str]) -> bool:
    """pytest, py.test, python -m pytest."""
    name = Path(words[0]).name
    return name in ("pytest", "py.test") or (bool(_PYTHON.fullmatch(name)) and "pytest" in _module(words))


def _module(words: Sequence[str]) -> tuple[str, ...]:
    at = words.index("-m") if "-m" in words else len(words)
    return tuple(words[at + 1 : at + 2])


def adapt(words: Sequence[str], name: str, scratch: Path) -> Adapted:
    """`scratch`: a folder for the runs of this command, one at a time."""
    plugin = resources.files("whyperf.adapters").joinpath("pytest_window.py").read_text(encoding="utf-8")
    (scratch / f"{PLUGIN}.py").write_text(plugin, encoding="utf-8")
    waits, begun, work = (scratch / file for file in ("waits", "begun", "work"))
    os.mkfifo(work, mode=0o600)
    return Adapted(
        ("/bin/sh", "-c", _RUN, str(scratch), name, *words, "-p", PLUGIN, "--benchmark-only", "--benchmark-warmup=off"),
        WhyperfError(
            f"{shlex.join(words)} has no benchmark {name}, or it failed.",
            shlex.join([*words, "--benchmark-only", "--collect-only", "-q"]),
        ),
        ready=f"cmd:mv {shlex.quote(str(waits))} {shlex.quote(str(begun))} 2>/dev/null",
        drive=f"cat {shlex.quote(str(work))}",
    )


# The plugin's folder comes before the user's own in Python's search path.
_RUN = """\
export WHYPERF_PYTEST_FOLDER="$0" WHYPERF_PYTEST_NAME="$1" PYTHONPATH="$0${PYTHONPATH:+:$PYTHONPATH}"
shift
exec "$@\""""
