"""What all tools share: checked recordings, progress to the client, mistakes as sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from whyperf.assistants.folders import Folders
from whyperf.assistants.jobs import Jobs, Report
from whyperf.assistants.reply import Reply
from whyperf.assistants.results import Recordings
from whyperf.assistants.worker import WorkerRequest
from whyperf.errors import WhyperfError, no_permission
from whyperf.recording.compared import compared_in
from whyperf.recording.distinct import refuse_same
from whyperf.recording.safe_files.dataclass_json import to_plain
from whyperf.report.printable import printable

Folder = Annotated[
    str | None,
    Field(description="the folder that `compare` made, instead of `good` and `bad`; or one traced run"),
]
Good = Annotated[list[str] | None, Field(description="recordings of good runs")]
Bad = Annotated[list[str] | None, Field(description="recordings of bad runs")]
Caller = Context[Any, Any]


def reporter(caller: Caller) -> Report:
    """Progress is the seconds since the call began. The SDK is silent where the client did not ask for it."""
    began = time.monotonic()

    async def report(doing: str) -> None:
        await caller.report_progress(time.monotonic() - began, None, printable(doing))

    return report


@contextmanager
def mistakes_told() -> Iterator[None]:
    """A mistake becomes a result that says what is wrong."""
    try:
        yield
    except WhyperfError as error:
        raise _told(error) from None
    except PermissionError as error:
        if error.filename is None:
            raise
        raise _told(no_permission(error)) from None


def _told(error: WhyperfError) -> ToolError:
    advice = f" In a terminal: {error.next_command}" if error.next_command else ""
    return ToolError(printable(f"{error.sentence}{advice}"))


def sent(reply: Reply) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=reply.text)], structured_content=reply.structure)


async def asked(jobs: Jobs, request: WorkerRequest, directory: Path, report: Report, doing: str) -> CallToolResult:
    """The answer of a worker."""
    words = [json.dumps(to_plain(request))]
    finished = await jobs.run("whyperf.assistants.worker", words, directory=directory, report=report, doing=doing)
    if finished.status != 0:
        raise finished.failure()
    return sent(Reply.from_json(finished.output))


def recordings_named(
    folders: Folders, folder: str | None, good: Sequence[str] | None, bad: Sequence[str] | None
) -> Recordings:
    """One recording alone is a bad one without good ones."""
    if folder is not None and not good and not bad:
        path = folders.inside(folder)
        sides = compared_in(path)
        if all(sides):
            return Recordings(_checked(folders, sides[0]), _checked(folders, sides[1]), str(path))
        return Recordings([], [str(path)], str(path))
    if folder is None and good and bad:
        named = _checked(folders, good), _checked(folders, bad)
        refuse_same(*(map(Path, side) for side in named))
        return Recordings(*named, None)
    raise WhyperfError("Give `folder`, or both `good` and `bad`.", status=2)


def _checked(folders: Folders, paths: Sequence[str | Path]) -> list[str]:
    return [str(folders.inside(str(path))) for path in paths]
