"""What to install, or which flag to compile with, when a binary says too little."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SECONDS = 5


def missing_debug_hint(path: str) -> str:
    """One sentence for a binary without debug information."""
    name = Path(path).name
    if path == "[vdso]":
        return "The vDSO belongs to the kernel and comes without debug information."
    package = _debian_package(path)
    if package:
        return f"{name} has no debug information: install {_debug_package(package)}{_or_debuginfod()}."
    if path.startswith(("/usr/", "/lib", "/bin/", "/sbin/")) and not path.startswith("/usr/local/"):
        return f"{name} has no debug information: install its package's debug symbols{_or_debuginfod()}."
    return f"{name} has no debug information: compile it with -g and do not strip it."


def _or_debuginfod() -> str:
    return (
        "" if os.environ.get("DEBUGINFOD_URLS") else ", or set DEBUGINFOD_URLS to your distribution's debuginfod server"
    )


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _debian_package(path: str) -> str:
    """The package that a file came from. dpkg may know it by its place before or after /usr was merged."""
    real = os.path.realpath(path)
    for candidate in dict.fromkeys((path, real, real.removeprefix("/usr"), f"/usr{real}")):
        owner = _output("dpkg", "-S", "--", candidate).partition(": ")[0]
        if owner and not owner.startswith("diversion"):
            return owner.split(",")[0].split(":")[0]
    return ""


def _debug_package(package: str) -> str:
    known = _output("apt-cache", "pkgnames", f"{package}-dbg").split()
    for candidate in (f"{package}-dbgsym", f"{package}-dbg"):
        if candidate in known:
            return candidate
    return f"{package}-dbgsym (from your distribution's archive of debug symbols)"
