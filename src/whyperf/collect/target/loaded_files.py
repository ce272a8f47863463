"""Which files a program will be made of: itself and what the dynamic linker loads with it."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.target.module_layers import origin_of
from whyperf.collect.target.program import Program, dynamic_linker, executed_file
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe
from whyperf.errors import WhyperfError

_SECONDS = 20
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/\S.*?) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True)
class LoadedFile:
    binary: Binary
    origin: str
    """As in the table `modules`."""


def plug_in_files(named: Sequence[Path]) -> tuple[str, ...]:
    """Paths of the libraries that a user says will be loaded; refuses what is none."""
    for path in named:
        if not path.is_file() or describe(str(path)).elf is None:
            raise WhyperfError(f"{path} is no library that a program could load.", f"file {shlex.quote(str(path))}")
    return tuple(str(path.resolve()) for path in named)


def files_of(program: Program, environment: Mapping[str, str], plug_ins: Sequence[str] = ()) -> list[LoadedFile]:
    """The program first. What it loads by itself later is only known if an earlier run showed it: `plug_ins`."""
    main, *libraries = paths_of(program, environment, plug_ins)
    return [LoadedFile(describe(path), origin_of(path, {main}, "")) for path in (main, *libraries)]


def paths_of(program: Program, environment: Mapping[str, str], plug_ins: Sequence[str] = ()) -> list[str]:
    """The same, unread."""
    main = str(executed_file(program).resolve())
    libraries = (str(Path(path).resolve()) for path in (*_libraries(main, environment), *plug_ins))
    return list(dict.fromkeys([main, *libraries]))


def _libraries(path: str, environment: Mapping[str, str]) -> list[str]:
    linker = dynamic_linker(Path(path))
    if linker is None:
        return []
    try:
        # Only resolves: nothing of the program is executed.
        listed = subprocess.run(
            [linker, "--list", path],
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return _LOADED.findall(listed.stdout)
