"""How a file was compiled: from compile_commands.json, else from what the compiler wrote into the binary.

Of the flags only those that change how source reads are kept: a source tree must not be able to load plug-ins.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from whyperf.errors import WhyperfError

Language = Literal["c", "cpp"]
DATABASE = "compile_commands.json"

_CPP_SOURCE = frozenset((".cc", ".cpp", ".cxx", ".c++", ".C", ".cu", ".ii"))
_CPP_HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".tcc", ".tpp", ".inl", ".inc", ".def", ""))
_C_ENDINGS = frozenset((".c", ".i"))
_FOLDERS_UP = 8
_DATABASE_BYTES = 64 << 20
_FOLDERS_MAX = 40
_WITH_VALUE = ("-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "--sysroot", "-isysroot")
_ALONE = re.compile(r"-std=[\w+:]+|-nostdinc(\+\+)?|-m(32|64|x32)|-pthread|-f(un)?signed-char|-fshort-enums|-fopenmp")
_PRODUCER = re.compile(rb"GNU (?:C|C\+\+)\d\d [^\0]{3,4000}|[^\0]{0,40}clang version \d[^\0]{0,4000}")
_PRODUCERS_MAX = 64


def language_of(file: str) -> Language | None:
    """None: neither C nor C++. C's headers read as C++ well enough."""
    ending = os.path.splitext(file)[1]  # noqa: PTH122 (a path of another machine, perhaps)
    if ending in _C_ENDINGS:
        return "c"
    return "cpp" if ending in _CPP_SOURCE | _CPP_HEADERS else None


@dataclass
class CompileFlags:
    """Answers file by file; databases that are found on the way are read once."""

    given: Path | None
    producers: Mapping[str, str]
    folders: tuple[str, ...]
    """Where headers may be, for files that no database knows."""
    _databases: dict[Path, dict[str, tuple[str, ...]] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.given is not None:
            path = self.given / DATABASE if self.given.is_dir() else self.given
            self._databases[path] = _read_database(path)
            if self._databases[path] is None:
                raise WhyperfError(f"{path} cannot be read as a compilation database.", f"head -c 300 {path}")
            self.given = path

    def of(self, file: str) -> tuple[str, ...] | None:
        """None where nothing at all is known."""
        for database in self._candidates(file):
            if database not in self._databases:
                self._databases[database] = _read_database(database)
            flags = (self._databases[database] or {}).get(os.path.realpath(file))
            if flags is not None:
                return flags
        producer = self.producers.get(file)
        if producer is None or os.path.splitext(file)[1] in _CPP_HEADERS:  # noqa: PTH122 (headers rarely stand alone)
            return None
        return (*producer_flags(producer), *self._guessed(file))

    def _candidates(self, file: str) -> Iterable[Path]:
        if self.given is not None:
            yield self.given
        for folder in list(Path(file).parents)[:_FOLDERS_UP]:
            yield folder / DATABASE
            yield folder / "build" / DATABASE

    def _guessed(self, file: str) -> list[str]:
        own = str(Path(file).parent)
        known = sorted(folder for folder in self.folders if folder.startswith("/"))
        near = sorted(known, key=lambda folder: -len(os.path.commonpath((own, folder))))
        return [f"-I{folder}" for folder in dict.fromkeys((own, *near[:_FOLDERS_MAX]))]


def _read_database(path: Path) -> dict[str, tuple[str, ...]] | None:
    try:
        if path.stat().st_size > _DATABASE_BYTES:
            return None
        entries = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(entries, list):
        return None
    flags: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        known = _entry(entry) if isinstance(entry, dict) else None
        if known is not None:
            flags.setdefault(known[0], known[1])
    return flags


def _entry(entry: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    folder, file = entry.get("directory"), entry.get("file")
    words = entry.get("arguments")
    try:
        words = shlex.split(entry["command"]) if words is None else words
        if not isinstance(folder, str) or not isinstance(file, str) or not all(isinstance(word, str) for word in words):
            return None
        path = os.path.realpath(Path(folder) / file)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return path, (*kept_flags(words[1:]), f"-working-directory={folder}")


def kept_flags(words: Sequence[str]) -> list[str]:
    """Those that change how source reads."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        name = next((name for name in _WITH_VALUE if word.startswith(name)), None)
        if word in _WITH_VALUE:
            kept += [word, next(rest, "")]
        elif name is not None or _ALONE.fullmatch(word):
            kept.append(word)
    return kept


def producer_flags(producer: str) -> list[str]:
    """The dialect, and what else the compiler recorded."""
    flags = kept_flags(producer.split())
    dialect = re.match(r"GNU (C|C\+\+)(\d\d) ", producer)
    if dialect and not any(flag.startswith("-std=") for flag in flags):
        flags.insert(0, f"-std=gnu{'++' if dialect[1] == 'C++' else ''}{dialect[2]}")
    return flags


def producers_in(binary: str) -> dict[Language, str]:
    """What DW_AT_producer says for C and for C++, found among the debug strings; compressed ones stay unknown."""
    found: dict[Language, str] = {}
    try:
        with open(binary, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:  # noqa: PTH123
            for count, match in enumerate(_PRODUCER.finditer(content)):
                text = match[0].decode(errors="replace")
                if text.startswith("GNU C++"):
                    found.setdefault("cpp", text)
                elif text.startswith("GNU C"):
                    found.setdefault("c", text)
                else:
                    found.setdefault("c", text)
                    found.setdefault("cpp", text)
                if count >= _PRODUCERS_MAX or len(found) == 2:
                    break
    except (OSError, ValueError):
        pass
    return found


@cache
def builtin_headers() -> tuple[str, ...]:
    """Flags that give libclang its own headers (stddef.h and the like), which its package does not carry."""
    clang = shutil.which("clang")
    if clang is not None:
        try:
            asked = subprocess.run(
                [clang, "-print-resource-dir"], capture_output=True, text=True, timeout=5, check=False
            )
            if Path(asked.stdout.strip(), "include").is_dir():
                return ("-resource-dir", asked.stdout.strip())
        except (OSError, subprocess.SubprocessError):
            pass
    installed = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/include/stddef.h"))
    if installed:
        return ("-resource-dir", str(installed[-1].parent.parent))
    gcc = sorted(Path("/usr/lib/gcc").glob("*/*/include/stddef.h"))
    return ("-isystem", str(gcc[-1].parent)) if gcc else ()
