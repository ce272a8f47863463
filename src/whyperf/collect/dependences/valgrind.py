"""Finding Valgrind and the tool that was linked against it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect import _dependences
from whyperf.collect.architecture import ARM_64, X86_64, this_architecture
from whyperf.errors import WhyperfError

TOOL = "dependences"
TOOLS_FOLDER = Path(_dependences.__file__).parent / "valgrind"
_NAMES = {X86_64: "amd64", ARM_64: "arm64"}
# Nothing that a tool does between a load-exclusive and its store-exclusive may make the store fail for ever.
TOOL_OPTIONS = (f"--tool={TOOL}", "--quiet", "--sim-hints=fallback-llsc")
_INSTALL = "sudo apt-get install valgrind"
_REBUILD = "make setup"
_SECONDS = 20
_VERSION = re.compile(r"valgrind-(\S+)")


@dataclass(frozen=True)
class Valgrind:
    path: str
    version: str
    tools: Path
    """What VALGRIND_LIB must name."""

    def command(self, log: Path, *options: str) -> list[str]:
        """`log` gets Valgrind's own messages: the target's streams are the user's."""
        return [self.path, *TOOL_OPTIONS, f"--log-file={output_name(log)}", *options]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**base, "VALGRIND_LIB": str(self.tools)}


def output_name(path: Path) -> str:
    """A file's name as Valgrind wants it where it expands %p and the like."""
    return str(path).replace("%", "%%")


def find_valgrind(environment: Mapping[str, str], tools: Path = TOOLS_FOLDER) -> Valgrind:
    """A Valgrind that can run the tool, or a sentence that says what is missing."""
    path = shutil.which("valgrind", path=environment.get("PATH"))
    if path is None:
        raise WhyperfError("--deep needs Valgrind, which is not installed.", _INSTALL)
    if not (tools / f"{TOOL}-{_NAMES[this_architecture()]}-linux").is_file():
        raise WhyperfError(
            "--deep needs a Valgrind tool that was not built, because Valgrind's files were not there when whyperf was "
            "installed.",
            _REBUILD,
        )
    installed, built = _installed_version(path), _built_version(tools)
    if installed != built:
        raise WhyperfError(
            f"whyperf's tool was built for Valgrind {built}, and Valgrind {installed} is installed: build it again.",
            _REBUILD,
        )
    return Valgrind(path, installed, tools)


def _installed_version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise WhyperfError(f"{path} cannot be started: {error}.", _INSTALL) from None
    found = _VERSION.search(done.stdout)
    if found is None:
        raise WhyperfError(f"{path} does not say which version it is.", f"{path} --version")
    return found[1]


def _built_version(tools: Path) -> str:
    try:
        return (tools / "VERSION").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return "of an unknown version"
