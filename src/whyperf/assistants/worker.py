"""One request read, its answer written: whatever a recording does to its reader, the server lives on.

python -m whyperf.assistants.worker '{"place": "parse", "good": ["good"], "bad": ["bad"]}'
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from whyperf.assistants.reply import Reply
from whyperf.assistants.results import Recordings
from whyperf.assistants.texts import explanation_text, recorded_text, source_text
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import from_plain


@dataclass(frozen=True)
class WorkerRequest:
    """What is asked: of a recording, of a place, else of a suspect, a function or a variable."""

    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    folder: str | None = None
    recorded: str | None = None  # a recording to be summed up
    remarks: tuple[str, ...] = ()  # that were made when it was recorded
    last_wrote: tuple[str, ...] = ()  # the program itself
    place: str | None = None  # of source
    suspect: int | None = None
    function: str | None = None
    variable: str | None = None


def answer(request: WorkerRequest) -> Reply:
    if request.recorded is not None:
        from whyperf.assistants.recorded import recorded

        return Reply.of(recorded(Path(request.recorded), request.remarks, request.last_wrote), recorded_text)
    recordings = Recordings(list(request.good), list(request.bad), request.folder)
    if request.place is not None:
        from whyperf.assistants.kept_source import source_of

        return Reply.of(source_of(recordings, request.place), source_text)
    from whyperf.assistants.evidence import ExplainedSubject, explain

    subject = ExplainedSubject(request.suspect, request.function, request.variable)
    return Reply.of(explain(recordings, subject), explanation_text)


def main() -> None:
    """Ends without unloading libraries, as the command line does."""
    try:
        print(answer(from_plain(WorkerRequest, json.loads(sys.argv[1]))).to_json(), flush=True)
        status = 0
    except WhyperfError as error:
        print(f"whyperf: {error.sentence}", file=sys.stderr)
        if error.next_command is not None:
            print(f"  try: {error.next_command}", file=sys.stderr)
        status = error.status
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
