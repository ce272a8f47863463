"""Tools that watch a program run, as their users start them; all that sample do so at one rate."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.tool import whyperf_command

RATE_HZ = 200
# Debian's COZ reads no other debug information.
COZ_FLAGS = "-gdwarf-4 -gstrict-dwarf -gno-variable-location-views"
_COZ = Path("/usr/lib/coz-profiler/libcoz.so")
_PERF = ("perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE_HZ))


def _no_words(_folder: Path) -> list[str]:
    return []


@dataclass(frozen=True)
class Tool:
    """`around` stands before the program and its counter, `within` between the two; both are told where to write."""

    name: str
    around: Callable[[Path], list[str]] = _no_words
    within: Callable[[Path], list[str]] = _no_words
    flags: str = ""  # what the program has to be built with
    package: str = ""  # that it comes with
    present: Callable[[], bool] = lambda: True
    costly: bool = False  # takes so many times as long that a few rounds tell enough

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("whyperf")


def _record(*options: str) -> Callable[[Path], list[str]]:
    return lambda folder: [
        *whyperf_command(), "record", "--quiet", *options, "--rate", str(RATE_HZ), "-o", str(folder / "recording"), "--"
    ]  # fmt: skip


def _perf(*options: str) -> Callable[[Path], list[str]]:
    return lambda folder: [*_PERF, *options, "-o", str(folder / "perf.data"), "--"]


def _coz(folder: Path) -> list[str]:
    """What `coz run --end-to-end` sets: the script itself would be counted as the program's."""
    settings = {
        "LD_PRELOAD": str(_COZ),
        "COZ_BINARY_SCOPE": "MAIN",
        "COZ_SOURCE_SCOPE": "%",
        "COZ_PROGRESS_POINTS": "",
        "COZ_END_TO_END": "1",
        "COZ_OUTPUT": str(folder / "profile.coz"),
    }
    return ["env", *(f"{name}={value}" for name, value in settings.items())]


def _installed(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is not None


NONE = Tool("none")
TOOLS: tuple[Tool, ...] = (
    NONE,
    Tool("whyperf", _record()),
    Tool("whyperf --no-values", _record("--no-values")),
    Tool("whyperf --trace", _record("--trace")),
    Tool("perf -g", _perf("-g"), package="linux-perf", present=_installed("perf")),
    Tool("perf dwarf", _perf("--call-graph", "dwarf"), package="linux-perf", present=_installed("perf")),
    Tool("gprof", within=lambda folder: ["env", f"GMON_OUT_PREFIX={folder / 'gmon'}"], flags="-pg"),
    Tool("COZ", within=_coz, flags=COZ_FLAGS, package="coz-profiler", present=_COZ.exists, costly=True),
    Tool(
        "strace -c",
        lambda folder: ["strace", "-c", "-f", "-o", str(folder / "strace")],
        package="strace",
        present=_installed("strace"),
        costly=True,
    ),
)


def tools_named(names: list[str]) -> list[Tool]:
    """In the book's order; the plain run is always among them."""
    return [tool for tool in TOOLS if tool is NONE or tool.name in names]
