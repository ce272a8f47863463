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
_ENTRIES_MAX = 20_000
_ROOT_PARTS_MIN = 3  # /home and the like hold more than one program
_SOURCE_FOLDERS = frozenset(("src", "source", "sources", "lib"))
_WITH_VALUE = ("-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "--sysroot", "-isysroot")
_ALONE = re.compile(r"-std=[\w+:]+|-nostdinc(\+\+)?|-m(32|64|x32)|-pthread|-f(un)?signed-char|-fshort-enums|-fopenmp")
_GNU = re.compile(rb"GNU C(\+\+)?\d\d [^\0]{3,4000}")
_PRODUCERS: tuple[tuple[tuple[Language, ...], bytes, re.Pattern[bytes]], ...] = (
    (("cpp",), b"GNU C++", _GNU),
    (("c",), b"GNU C1", _GNU),
    (("c",), b"GNU C9", _GNU),
    (("c",), b"GNU C8", _GNU),
    (("c",), b"GNU C2", _GNU),
    (("c", "cpp"), b"clang version ", re.compile(rb"clang version \d[^\0]{0,4000}")),
)


def language_of(file: str) -> Language | None:
    """None: neither C nor C++. C's headers read as C++ well enough."""
    ending = os.path.splitext(file)[1]  # noqa: PTH122 (a path of another machine, perhaps)
    if ending in _C_ENDINGS:
        return "c"
    return "cpp" if ending in _CPP_SOURCE | _CPP_HEADERS else None


def compilation_database(given: Path) -> Path:
    """The file that a user means, who may also name its folder; refused if it is no compilation database."""
    path = given / DATABASE if given.is_dir() else given
    if not path.exists():
        raise WhyperfError(
            f"There is no compilation database {path}.", "cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -B build"
        )
    if _read_database(path) is None:
        raise WhyperfError(f"{path} cannot be read as a compilation database.", f"head -c 300 {shlex.quote(str(path))}")
    return path


@dataclass
class CompileFlags:
    """Answers file by file; databases that are found on the way are read once."""

    given: Path | None
    producers: Mapping[str, str]
    folders: tuple[str, ...]
    """Where headers may be, for files that no database knows."""
    built_in: tuple[str, ...] = ()
    """Where the binaries are: a database may be there, or above."""
    _databases: dict[Path, dict[str, tuple[str, ...]] | None] = field(default_factory=dict)
    _with_headers: list[str] | None = None

    def __post_init__(self) -> None:
        if self.given is not None:
            self.given = compilation_database(self.given)

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
        for built in self.built_in:
            for folder in (Path(built), *list(Path(built).parents)[: _FOLDERS_UP - 1]):
                yield folder / DATABASE

    def _guessed(self, file: str) -> list[str]:
        """Nearest first: several folders may have a header of one name. What was merely found comes after the
        system's own headers, or some library's `assert.h` takes their place."""
        known = sorted(folder for folder in self.folders if folder.startswith("/"))
        if self._with_headers is None:
            self._with_headers = _folders_with_headers(known)
        own = str(Path(file).parent)

        def near(folders: list[str]) -> list[str]:
            return sorted(folders, key=lambda folder: -len(os.path.commonpath((own, folder))))[:_FOLDERS_MAX]

        sure = list(dict.fromkeys((own, *near(known))))
        found = [folder for folder in near(self._with_headers) if folder not in sure]
        return [f"-I{folder}" for folder in sure] + [f"-idirafter{folder}" for folder in found]


def _folders_with_headers(known: list[str]) -> list[str]:
    """Of the tree that all these are part of: what is compiled without debug information is known by nothing else."""
    root = os.path.commonpath(known) if known else "/"
    if root in known and Path(root).name in _SOURCE_FOLDERS:
        root = str(Path(root).parent)
    found: list[str] = []
    entries = 0
    if len(Path(root).parts) < _ROOT_PARTS_MIN:
        return found
    for folder, inner, files in os.walk(root):
        entries += len(inner) + len(files)
        if entries > _ENTRIES_MAX:
            break
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        if any(name.endswith((".h", ".hpp", ".hh")) for name in files):
            found.append(folder)
    return found


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
    try:
        with open(binary, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:  # noqa: PTH123
            found: dict[Language, str] = {}
            for languages, start, shape in _PRODUCERS:
                text = _first(content, start, shape)
                for language in languages if text else ():
                    found.setdefault(language, text)
            return found
    except (OSError, ValueError):
        return {}


def _first(content: mmap.mmap, start: bytes, shape: re.Pattern[bytes]) -> str:
    """The first string that looks so. Searching for plain bytes first is twenty times faster than for the shape."""
    at = content.find(start)
    while at >= 0:
        match = shape.match(content, at)
        if match:
            return match[0].decode(errors="replace")
        at = content.find(start, at + 1)
    return ""


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
