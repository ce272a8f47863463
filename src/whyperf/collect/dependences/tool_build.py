"""The Valgrind tool, compiled on the user's machine: it is linked with the Valgrind that is installed there.

So one package of whyperf serves every version of Valgrind, and nothing under Valgrind's licence is shipped as a binary.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect import _dependences
from whyperf.collect.architecture import ARM_64, X86_64, this_architecture
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.private_folders import cache_root

SOURCES = Path(_dependences.__file__).parent / "valgrind"
"""`stream.h`, and the tool's own sources in `tool/`."""
TOOL = "dependences"
CACHE = "valgrind"
OLDEST = (3, 19)
_NAMES = {X86_64: "amd64", ARM_64: "arm64"}
_COMPILERS = ("cc", "gcc", "clang")
_COMPILE = ("-std=gnu11", "-O2", "-g", "-fno-stack-protector", "-fno-strict-aliasing", "-fno-builtin", "-fno-pie",
            "-fomit-frame-pointer")  # fmt: skip
# A tool is a static program that runs without libc, below the addresses of the program that it carries.
_LINK = ("-static", "-nodefaultlibs", "-nostartfiles", "-no-pie", "-u", "_start", "-Wl,--build-id=none",
         "-Wl,-Ttext-segment=0x58000000")  # fmt: skip
INSTALL = "sudo apt-get install valgrind gcc libc6-dev"


@dataclass(frozen=True)
class ToolParts:
    """What the tool is made of, beside its sources."""

    compiler: str
    headers: Path
    libraries: Path
    beside: Path
    """Holds what Valgrind wants to find beside a tool."""


def tool_folder(version: str) -> Path:
    """What VALGRIND_LIB must name, for the tool of these sources and this Valgrind."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.[ch]")):
        digest.update(path.read_bytes())
    return cache_root() / CACHE / f"{version}-{_machine()}-{digest.hexdigest()[:16]}"


def is_built(folder: Path) -> bool:
    return (folder / f"{TOOL}-{_machine()}-linux").is_file()


def find_parts(valgrind: str, version: str, environment: Mapping[str, str]) -> ToolParts:
    """What builds the tool for the Valgrind at this path; an error that names what is missing."""
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        raise WhyperfError(f"--deep needs Valgrind {OLDEST[0]}.{OLDEST[1]} or newer; {version} is installed.", INSTALL)
    prefix = Path(valgrind).resolve().parents[1]
    headers = prefix / "include" / "valgrind"
    core = f"libcoregrind-{_machine()}-linux.a"
    preloaded = f"vgpreload_core-{_machine()}-linux.so"
    libraries = _folder_with(core, prefix, "lib/*-linux-gnu/valgrind", "lib/valgrind", "lib64/valgrind")
    beside = _folder_with(
        preloaded, prefix, "libexec/valgrind", "lib/*-linux-gnu/valgrind", "lib64/valgrind", "lib/valgrind"
    )
    if not (headers / "pub_tool_tooliface.h").is_file() or libraries is None or beside is None:
        raise WhyperfError(
            f"--deep builds a tool for Valgrind, and the files that it needs for this are not below {prefix}.", INSTALL
        )
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name, path=environment.get("PATH")))), None)
    if compiler is None:
        raise WhyperfError("--deep builds a tool for Valgrind, and there is no C compiler here.", INSTALL)
    return ToolParts(compiler, headers, libraries, beside)


def build(parts: ToolParts, folder: Path) -> None:
    """Compile the tool into the folder, at once for others: they see a whole one or none."""
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            new = Path(scratch) / folder.name
            new.mkdir()
            for name in (f"vgpreload_core-{_machine()}-linux.so", "default.supp"):
                shutil.copy(parts.beside / name, new)
            done = subprocess.run(
                _command(parts, new / f"{TOOL}-{_machine()}-linux"),
                cwd=SOURCES / "tool",
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                first = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
                raise WhyperfError(f"The tool for Valgrind could not be compiled: {first}.", INSTALL)
            _put(new, folder)
    except OSError as error:
        raise WhyperfError(
            f"The tool for Valgrind cannot be written below {folder.parent}: {error.strerror}.",
            "export XDG_CACHE_HOME=$(mktemp -d)",
        ) from None


def _put(new: Path, folder: Path) -> None:
    try:
        new.rename(folder)
    except OSError:
        if is_built(folder):
            return  # somebody else was faster
        shutil.rmtree(folder)  # what is incomplete
        new.rename(folder)


def _command(parts: ToolParts, tool: Path) -> list[str]:
    machine = _machine()
    others = tuple(f"_{name}.c" for name in _NAMES.values() if name != machine)
    sources = [path.name for path in sorted((SOURCES / "tool").glob("*.c")) if not path.name.endswith(others)]
    defined = (f"VGA_{machine}", "VGO_linux", f"VGP_{machine}_linux", f"VGPV_{machine}_linux_vanilla")
    libraries = [str(parts.libraries / f"lib{name}-{machine}-linux.a") for name in ("coregrind", "vex")]
    supplement = parts.libraries / f"libgcc-sup-{machine}-linux.a"
    if supplement.is_file():
        # It stands in for what libgcc wants of a C library, so it comes after that as well.
        libraries += [str(supplement), "-lgcc", str(supplement)]
    defines = [f"-D{name}=1" for name in defined]
    return [parts.compiler, *_COMPILE, *defines, "-isystem", str(parts.headers), *sources, "-o", str(tool), *_LINK,
            *libraries, "-lgcc"]  # fmt: skip


def _folder_with(name: str, prefix: Path, *patterns: str) -> Path | None:
    folders = (folder for pattern in patterns for folder in sorted(prefix.glob(pattern)))
    return next((folder for folder in folders if (folder / name).is_file()), None)


def _machine() -> str:
    return _NAMES[this_architecture()]
