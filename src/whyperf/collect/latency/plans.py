"""Finds the function whose calls are timed, and writes the plan that the target finds beside its rings."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.collect.target.program import Program
from whyperf.collect.target.shell import without_shell
from whyperf.errors import WhyperfError

if TYPE_CHECKING:  # debug information takes long to load, and few recordings need it before the target has run
    from whyperf.debuginfo.binary import Binary
    from whyperf.debuginfo.latency.planning import TimedFunction

_SHOWN = 4
FOLDER = "latency"
"""In `raw/`: `native/latency/latency.c` has the same name."""


@dataclass(frozen=True)
class LatencyPlan:
    function: str
    """As recordings show it."""
    planned: TimedFunction
    inlined: int
    """Copies of it within other functions, which are not timed."""
    meant: tuple[str, ...] = ()
    """All functions that the name means."""

    def write(self, raw: Path) -> Path:
        """The folder that it was written to."""
        from whyperf.debuginfo.probes import plan_file
        from whyperf.debuginfo.probes.plan_cache import SUFFIX

        folder = raw / FOLDER
        folder.mkdir(mode=0o700)
        plan = self.planned.plan
        (folder / f"{plan.build_id}{SUFFIX}").write_bytes(plan_file.written(plan))
        return folder

    @property
    def notes(self) -> list[str]:
        notes = []
        if len(self.meant) > 1:
            shown = ", ".join(self.meant[:_SHOWN]) + (" and others" if len(self.meant) > _SHOWN else "")
            notes.append(f"--latency means {len(self.meant)} functions here, and calls of all are timed: {shown}.")
        if self.inlined:
            copies = "A copy" if self.inlined == 1 else f"{self.inlined} copies"
            notes.append(
                f"{copies} of {self.function} inlined into other functions {'is' if self.inlined == 1 else 'are'} not "
                "timed: only calls are."
            )
        if self.planned.onward:
            notes.append(
                f"{self.function} ends in {self.planned.onward} place(s) with a jump into a library or through a "
                "pointer. Calls are timed until that jump."
            )
        return notes


def file_and_name(function: str) -> tuple[str, str]:
    """Of `FILE:FUNCTION`; the file is empty for `FUNCTION` alone."""
    file, _, name = function.rpartition(":")
    return ("", function) if not file or file.endswith(":") else (file, name)  # a C++ name's own colons


def plan_of(function: str, program: Program, environment: Mapping[str, str]) -> LatencyPlan:
    """For `FUNCTION` of the program or of what is loaded with it, or `FILE:FUNCTION`. WhyperfError says what is wrong
    with it."""
    from whyperf.debuginfo.latency.planning import plan_latency
    from whyperf.debuginfo.probes.not_patched import NotPatched

    file, name = file_and_name(function)
    inlined: WhyperfError | None = None
    for binary in _binaries(file, program, environment):
        rows = binary.function_at(name)
        entries = sorted({address for row in rows for address in binary.entry_addresses(row)})
        if not entries:
            callers = [caller for row in rows for caller in binary.inlined_into(row)]
            inlined = inlined or (_inlined(name, callers) if rows else None)
            continue
        shown = binary.functions.names[rows[0]]
        try:
            planned = plan_latency(binary, shown, entries)
        except NotPatched as why:
            raise WhyperfError(
                f"--latency {name}: its calls cannot be timed, because it {why}.",
                f"whyperf record --latency CALLER_OF_{name.rpartition(':')[2]} -- ...",
            ) from None
        meant = tuple(sorted({binary.functions.names[row] for row in rows if binary.entry_addresses(row)}))
        return LatencyPlan(shown, planned, sum(len(binary.inlined_into(row)) for row in rows), meant)
    raise inlined or _unknown(name, file or program.path)


def _binaries(file: str, program: Program, environment: Mapping[str, str]) -> Iterator[Binary]:
    from whyperf.collect.target.loaded_files import paths_of
    from whyperf.debuginfo.describe import describe

    for path in [file] if file else paths_of(without_shell(program, environment) or program, environment):
        yield describe(path)


def _inlined(name: str, callers: Sequence[str]) -> WhyperfError:
    holders = [holder for holder, _ in Counter(callers).most_common(_SHOWN)]
    where = f" into {', '.join(holders)}" if holders else ""
    return WhyperfError(
        f"--latency {name}: there is no call of it to be timed, because the compiler inlined all of them{where}. Name "
        "a function that calls it, or compile it with __attribute__((noinline)).",
        f"whyperf record --latency {shlex.quote(holders[0])} -- ..." if holders else None,
    )


def _unknown(name: str, path: str) -> WhyperfError:
    return WhyperfError(
        f"--latency {name}: neither {path} nor the libraries that it loads at its start have a function of that name. "
        "FILE:FUNCTION names one of another library.",
        f"nm -C --defined-only {shlex.quote(path)} | grep -i {shlex.quote(name)}",
    )
