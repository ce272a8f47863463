"""The process that reads source: a parser that crashes or never ends takes nobody with it.

Reads one JSON object from standard input, the jobs and a limit of CPU time; writes one JSON object a line as soon as it
is known. All files by their grammar first, then by libclang those with flags: whenever the time is over, the best so
far is out.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from whyperf.source.reading import rows_of_uses
from whyperf.source.syntax import uses_by_syntax
from whyperf.source.uses import Uses, Wanted


def main() -> None:
    request = json.load(sys.stdin)
    jobs = request["jobs"]
    # Ends the process even within a parser.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, max(request["cpu_seconds"], 0.01))
    for number, job in enumerate(jobs):
        if job["syntax"]:
            _say(number, "syntax", _by_syntax(job))
    semantic = [(number, job) for number, job in enumerate(jobs) if job["flags"] is not None]
    if not semantic:
        return
    # Loading libclang takes a tenth of a second: not before it is needed.
    from whyperf.source.semantics import UncleanError, uses_by_semantics

    for number, job in semantic:
        try:
            found = uses_by_semantics(job["file"], job["flags"], _wanted(job))
        except (UncleanError, RecursionError):
            found = {}
        _say(number, "semantics", found)


def _by_syntax(job: dict[str, Any]) -> dict[Wanted, Uses]:
    try:
        content = Path(job["file"]).read_bytes()
    except OSError:
        return {}
    return uses_by_syntax(content, job["language"], _wanted(job))


def _wanted(job: dict[str, Any]) -> list[Wanted]:
    return [(line, name) for line, name in job["wanted"]]


def _say(job: int, reader: str, found: dict[Wanted, Uses]) -> None:
    functions = [[line, name, rows_of_uses(uses)] for (line, name), uses in found.items()]
    sys.stdout.write(json.dumps({"job": job, "reader": reader, "functions": functions}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
