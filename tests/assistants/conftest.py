"""The server as an assistant meets it: started over stdio, asked by the SDK's own client."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from tests.shared_cache import SHARED_CACHE

SOURCE = Path(__file__).parent / "programs" / "ledger.c"


@dataclass
class Assistant:
    """Calls tools and waits for their results."""

    portal: BlockingPortal
    client: Client
    folder: Path
    progress: list[tuple[float, str]] = field(default_factory=list)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        self.progress.clear()
        return self.portal.call(self._call, tool, arguments)

    def started(self, tool: str, **arguments: Any) -> Future[CallToolResult]:
        self.progress.clear()
        return self.portal.start_task_soon(self._call, tool, arguments)

    def read(self, uri: str) -> str:
        result = self.portal.call(self.client.read_resource, uri)
        return result.contents[0].text

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return await self.client.call_tool(tool, arguments, progress_callback=self._heard)

    async def _heard(self, progress: float, _total: float | None, message: str | None) -> None:
        self.progress.append((progress, message or ""))


def server_command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "whyperf", "mcp", "--folder", str(folder), *options]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server may use, with a program in it."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("assistants") / "given"
    folder.mkdir()
    subprocess.run(["gcc", "-g", "-O1", SOURCE, "-o", folder / "ledger"], check=True)
    return folder


@pytest.fixture(scope="session")
def assistant(folder: Path) -> Iterator[Assistant]:
    command, *arguments = server_command(folder)
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    server = StdioServerParameters(command=command, args=arguments, env=environment, cwd=folder.parent)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(stdio_client(server))) as client:
        yield Assistant(portal, client, folder)


@pytest.fixture(scope="session")
def compared(assistant: Assistant) -> CallToolResult:
    """Recorded and compared once, by a call."""
    result = assistant.call("compare", good="./ledger 60000", bad="./ledger 600000", runs=3, output="runs")
    compared_progress.extend(assistant.progress)
    return result


compared_progress: list[tuple[float, str]] = []
