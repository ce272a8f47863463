"""Resources: which recordings are there, and what is in one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from mcp.server.mcpserver.exceptions import ResourceError

from whyperf.assistants.folders import Folders
from whyperf.assistants.jobs import Jobs
from whyperf.assistants.reply import presentable
from whyperf.errors import WhyperfError
from whyperf.report.printable import printable

_MOST = 200  # recordings
_MOST_FACTS = 20  # elements of a list


@dataclass(frozen=True)
class Library:
    folders: Folders
    jobs: Jobs

    async def recordings(self) -> str:
        """Recordings up to 4 folders deep in the given ones, the newest first; paths are arguments of the tools."""
        found = await to_thread.run_sync(self.folders.recordings)
        rows = [
            {"path": str(path), "uri": f"whyperf://recording/{quote(str(path), safe='')}"} for path in found[:_MOST]
        ]
        return json.dumps({"recordings": presentable(rows), "left_out": len(found[_MOST:])}, indent=1)

    async def recording(self, path: str) -> str:
        """What is in a recording, and what was lost. `path` is percent-encoded."""
        try:
            known = self.folders.inside(path)
            finished = await self.jobs.run(
                "whyperf", ["info", "--json", str(known)], directory=self.folders.first, report=_silently, doing=""
            )
            if finished.status != 0:
                raise finished.failure()
        except WhyperfError as error:
            raise ResourceError(printable(error.sentence)) from None
        facts: Any = json.loads(finished.output)
        return json.dumps(presentable(facts, most=_MOST_FACTS), indent=1)


async def _silently(_doing: str) -> None:
    return None
