"""A variable's roles: what the source does with it (vProf, section 3.2.1)."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from whyperf.optional import has_libclang
from whyperf.source import source_cache
from whyperf.source.compile_flags import CompileFlags, builtin_headers, language_of
from whyperf.source.reading import Job, read_files
from whyperf.source.uses import UseRole, Uses, Wanted

_FILE_BYTES = 8 << 20
_NONE: frozenset[UseRole] = frozenset()


@dataclass(frozen=True)
class FunctionInSource:
    file: str
    line: int
    """Of its name."""
    name: str
    """As debug information has it: qualified, perhaps templated."""


@dataclass(frozen=True, eq=False)
class SourceRoles:
    _functions: Mapping[tuple[str, int], Uses]
    unread: int = 0
    """Files that are there but were not read, for lack of time or because nobody could."""
    by_semantics: int = 0
    """Functions that libclang read."""

    def knows(self, file: str, function_line: int) -> bool:
        """Whether the function was read."""
        return (file, function_line) in self._functions

    def of(self, file: str, function_line: int, variable: str, declared: int = 0) -> frozenset[UseRole]:
        """Of a function's variable; `declared`, the line of its declaration, tells shadowed ones apart."""
        uses = self._functions.get((file, function_line))
        if uses is None:
            return _NONE
        found: set[UseRole] = set()
        for path in paths(variable):
            found |= uses.get((declared, path), _NONE)
            if not declared:
                found |= _NONE.union(*(roles for (_, text), roles in uses.items() if text == path))
            elif not found:
                found |= uses.get((0, path), _NONE)
            if path.startswith("this."):  # what is not declared in the function may be a member
                found |= uses.get((0, path.removeprefix("this.")), _NONE)
        return frozenset(found)

    def of_global(self, file: str, line: int, variable: str) -> frozenset[UseRole]:
        """Of a variable outside of functions, or a static one within: all that the functions read do with it."""
        found = {UseRole.GLOBAL}
        for path in map(unqualified, paths(variable)):
            found |= self._declared_there.get((file, line, path), _NONE)
            found |= self._declared_elsewhere.get(path, _NONE)
        return frozenset(found)

    @cached_property
    def _declared_there(self) -> dict[tuple[str, int, str], frozenset[UseRole]]:
        joined: dict[tuple[str, int, str], frozenset[UseRole]] = defaultdict(frozenset)
        for (file, _), uses in self._functions.items():
            for (line, path), roles in uses.items():
                if line:
                    joined[file, line, path] |= roles
        return dict(joined)

    @cached_property
    def _declared_elsewhere(self) -> dict[str, frozenset[UseRole]]:
        joined: dict[str, frozenset[UseRole]] = defaultdict(frozenset)
        for uses in self._functions.values():
            for (line, path), roles in uses.items():
                if not line:
                    joined[path] |= roles
        return dict(joined)


@dataclass
class _File:
    """One file's functions: what is wanted, and what is known so far by each reader."""

    path: str
    content_hash: str
    wanted: list[Wanted]
    flags: tuple[str, ...] | None
    language: str
    known: dict[str, source_cache.Found] = field(default_factory=dict)

    @property
    def syntax(self) -> str:
        return source_cache.reader_key(None, self.language)

    @property
    def semantics(self) -> str | None:
        return None if self.flags is None else source_cache.reader_key(self.flags, self.language)

    def missing(self, reader: str | None) -> bool:
        return reader is not None and any(one not in self.known.get(reader, {}) for one in self.wanted)

    def best(self) -> Iterator[tuple[Wanted, Uses, bool]]:
        for one in self.wanted:
            by_semantics = self.known.get(self.semantics or "", {}).get(one)
            by_syntax = self.known.get(self.syntax, {}).get(one)
            if by_semantics is not None:
                yield one, by_semantics, True
            elif by_syntax is not None:
                yield one, by_syntax, False


def roles_of(
    requests: Sequence[FunctionInSource],
    *,
    compile_commands: Path | None = None,
    producers: Mapping[str, str] | None = None,
    folders: Sequence[str] = (),
    built_in: Sequence[str] = (),
    budget_s: float = 1.5,
    cache: Path | None = None,
) -> SourceRoles:
    """Of the variables in these functions, most important first: by libclang where it is installed, flags are known and
    there is time, else by grammar. `producers`: DW_AT_producer of files where known; `folders`: where headers may be,
    for these; `built_in`: where the binaries are. `budget_s`: CPU seconds. Damaged, missing and huge files have no
    roles."""
    flags = CompileFlags(compile_commands, producers or {}, tuple(folders), tuple(built_in))
    files = _files(requests, flags, cache)
    jobs = [
        Job(
            file.path,
            file.language,
            tuple(file.wanted),
            file.missing(file.syntax),
            (*_language_flags(file), *(file.flags or ())) if file.missing(file.semantics) else None,
        )
        for file in files
    ]
    changed: set[int] = set()
    for answer in read_files(jobs, budget_s):
        file = files[answer.job]
        reader = file.syntax if answer.reader == "syntax" else file.semantics
        if reader is not None:
            found = {one: answer.functions.get(one) for one in file.wanted}
            file.known[reader] = {**file.known.get(reader, {}), **found}
            changed.add(answer.job)
    for number in changed:
        source_cache.store(cache, files[number].content_hash, files[number].known)
    if changed:
        source_cache.drop_oldest(cache)
    best = [(file, *found) for file in files for found in file.best()]
    return SourceRoles(
        {(file.path, one[0]): uses for file, one, uses, _ in best},
        unread=sum(file.missing(file.syntax) and file.missing(file.semantics or file.syntax) for file in files),
        by_semantics=sum(semantic for *_, semantic in best),
    )


def _files(requests: Sequence[FunctionInSource], flags: CompileFlags, cache: Path | None) -> list[_File]:
    wanted: dict[str, list[Wanted]] = defaultdict(list)
    for request in requests:
        one = (request.line, short_name(request.name))
        if request.line > 0 and one not in wanted[request.file]:
            wanted[request.file].append(one)
    files, by_libclang = [], has_libclang()
    for path, functions in wanted.items():
        language, content_hash = language_of(path), _content_hash(path)
        if language is not None and content_hash is not None:
            known = source_cache.load(cache, content_hash)
            of_file = flags.of(path) if by_libclang else None
            files.append(_File(path, content_hash, functions, of_file, language, known))
    return files


def _language_flags(file: _File) -> tuple[str, ...]:
    return ("-x", "c" if file.language == "c" else "c++", *builtin_headers())


def _content_hash(path: str) -> str | None:
    """None where there is nothing to read: no absolute path, no plain file, too large."""
    if not path.startswith("/"):
        return None
    try:
        status = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode) or status.st_size > _FILE_BYTES:
            return None
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return None


def short_name(function: str) -> str:
    """Of a qualified, perhaps templated name: `std::vector<a::b>::size` is `size`."""
    start = function.find("operator")
    operator = function[start:] if start >= 0 and (start == 0 or function[start - 1] == ":") else ""
    if operator and not operator[len("operator") :][:1].isalnum():
        return operator.replace(" ", "")
    depth, plain = 0, []
    for letter in function:
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            plain.append(letter)
    return "".join(plain).rpartition("::")[2].strip()


def paths(variable: str) -> tuple[str, ...]:
    """Whose roles are a variable's: its own, and those of what it merely describes.

    A container's size is what matters about the container; the paper too takes a pointer to a number for the number.
    """
    name = variable.replace("->", ".").lstrip("&")
    if name.endswith(".size()"):
        return name, name.removesuffix(".size()")
    return (name, name[1:]) if name.startswith("*") else (name,)


def unqualified(path: str) -> str:
    """`ns::counter.n` is `counter.n` in the source that uses it."""
    head, dot, rest = path.partition(".")
    return head.rpartition("::")[2] + dot + rest
