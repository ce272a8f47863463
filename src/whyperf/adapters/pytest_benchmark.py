"""pytest-benchmark: rounds times iterations from its JSON. Starting pytest, which may take longer than the benchmark,
is cut off: a plugin of ours waits before the first call until the window is open."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from whyperf.adapters.adapted import Adapted
from whyperf.adapters.reports import read_report
from whyperf.errors import WhyperfError

PLUGIN = "whyperf_pytest_window"
FOLDER_VARIABLE = "WHYPERF_PYTEST_WINDOW"
_BEYOND_ROUNDS = 2  # calls: one to find out how long it takes, one for its result
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
    report, waits, begun = scratch / "report.json", scratch / "waits", scratch / "begun"
    variables = (f"{FOLDER_VARIABLE}={scratch}", f"{FOLDER_VARIABLE}_NAME={name}")
    options = ("-p", PLUGIN, "--benchmark-only", "--benchmark-warmup=off", f"--benchmark-json={report}")
    moved = f"mv {shlex.quote(str(waits))} {shlex.quote(str(begun))} 2>/dev/null"

    def taken(_recording: Path) -> float | None:
        found = iterations_of(read_report(report), name)
        for file in (report, waits, begun):
            file.unlink(missing_ok=True)
        return found

    return Adapted(
        ("/bin/sh", "-c", _RUN, str(scratch), *variables, *words, *options),
        taken,
        WhyperfError(
            f"{shlex.join(words)} has no benchmark {name}, or it failed.",
            shlex.join([*words, "--benchmark-only", "--collect-only", "-q"]),
        ),
        ready=f"cmd:{moved}",
    )


# The plugin's folder, $0, comes before the user's own in Python's search path.
_RUN = 'PYTHONPATH="$0${PYTHONPATH:+:$PYTHONPATH}" exec env "$@"'


def iterations_of(report: object, name: str) -> float | None:
    """Calls of the benchmark with this name, or with this full name."""
    found = report.get("benchmarks") if isinstance(report, dict) else None
    for one in found if isinstance(found, list) else []:
        stats = one.get("stats") if isinstance(one, dict) and name in (one.get("name"), one.get("fullname")) else None
        if isinstance(stats, dict):
            rounds, iterations = stats.get("rounds"), stats.get("iterations")
            if isinstance(rounds, int) and isinstance(iterations, int):
                return float(rounds * iterations + _BEYOND_ROUNDS)
    return None
