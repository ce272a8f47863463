"""Finding Valgrind and the tool that is linked with it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.dependences.tool_build import (
    CACHE,
    INSTALL,
    TOOL,
    ToolParts,
    build,
    find_parts,
    is_built,
    tool_folder,
)
from whyperf.collect.sampling.sampler import cache_folder
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.private_folders import check_private

# Nothing that a tool does between a load-exclusive and its store-exclusive may make the store fail for ever.
TOOL_OPTIONS = (f"--tool={TOOL}", "--quiet", "--sim-hints=fallback-llsc")
_SECONDS = 20
_VERSION = re.compile(r"valgrind-(\S+)")


@dataclass(frozen=True)
class Valgrind:
    path: str
    version: str
    tools: Path
    """What VALGRIND_LIB must name."""
    parts: ToolParts | None
    """Of what the tool must be built first; None where it is built."""

    def prepare(self) -> None:
        """Build the tool where it is missing; takes seconds, once for each version of Valgrind."""
        cache_folder(CACHE)  # checks that nobody else can put a tool there
        if self.parts is not None:
            build(self.parts, self.tools)

    def command(self, log: Path, *options: str) -> list[str]:
        """`log` gets Valgrind's own messages: the target's streams are the user's."""
        return [self.path, *TOOL_OPTIONS, f"--log-file={output_name(log)}", *options]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**base, "VALGRIND_LIB": str(self.tools)}


def output_name(path: Path) -> str:
    """A file's name as Valgrind wants it where it expands %p and the like."""
    return str(path).replace("%", "%%")


def find_valgrind(environment: Mapping[str, str]) -> Valgrind:
    """A Valgrind that can run the tool once it is prepared, or a sentence that says what is missing."""
    path = shutil.which("valgrind", path=environment.get("PATH"))
    if path is None:
        raise WhyperfError("--deep needs Valgrind, which is not installed.", INSTALL)
    version = _installed_version(path)
    tools = tool_folder(version)
    check_private(tools)  # a tool that somebody else put there is not the one that was built
    return Valgrind(path, version, tools, None if is_built(tools) else find_parts(path, version, environment))


def _installed_version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise WhyperfError(f"{path} cannot be started: {error}.", INSTALL) from None
    found = _VERSION.search(done.stdout)
    if found is None:
        raise WhyperfError(f"{path} does not say which version it is.", f"{path} --version")
    return found[1]
