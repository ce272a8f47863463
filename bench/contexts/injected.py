"""Real libraries, modules and extensions with a delay put into one of their functions.

The delay is told by the environment (`INJECTED_DELAY=busy:MICROSECONDS` or `sleep:...`), so that good and bad runs use
the same binaries. It stands in the function itself: the guilty module and function are what a user would have to find.
"""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
from pathlib import Path

from bench.cache import SubjectError, kept, run
from bench.registries import debian_source, python_source
from bench.subjects import PROGRAMS

DELAY = PROGRAMS / "groundwork" / "delay.h"
_FLAGS = ["-g", "-O2", "-fPIC", "-w"]


def delayed(source: str, function: str) -> str:
    """The source with a delay at the beginning of one function's body."""
    for found in re.finditer(rf"^[^\s#/][^\n;]*\b{function}\s*\(|^{function}\s*\(", source, re.MULTILINE):
        body = source.find("\n{", found.start())
        head = source[found.start() : body]
        if body >= 0 and "\n\n" not in head and not re.search(r"\)\s*;", head):
            return f"{source[: body + 2]}\n    injected_delay();{source[body + 2 :]}"
    raise SubjectError(f"No definition of {function} was found.")


def libz() -> Path:
    """The folder of a libz.so.1 whose `deflate` can be delayed; for LD_LIBRARY_PATH."""

    def make(folder: Path) -> None:
        source = folder / "source"
        shutil.copytree(debian_source("zlib"), source, symlinks=True)
        _inject(source / "deflate.c", "deflate")
        run(["./configure"], source, {"CFLAGS": " ".join(_FLAGS)})
        run(["make", "-s", "shared"], source)
        shutil.copy(next(source.glob("libz.so.1.*")), folder / "libz.so.1")

    return kept("delayed-libz", [DELAY, *_FLAGS], make)


def mod_deflate() -> Path:
    """The folder of an Apache module, `mod_deflate.so`, whose output filter can be delayed."""

    def make(folder: Path) -> None:
        source = debian_source("apache2") / "modules" / "filters" / "mod_deflate.c"
        shutil.copy(source, folder / source.name)
        _inject(folder / source.name, "deflate_out_filter")
        headers = ["/usr/include/apache2", "/usr/include/apr-1.0", str(source.parent.parent / "ssl")]
        options = [*_FLAGS, "-shared", *(f"-I{header}" for header in headers), "-D_GNU_SOURCE"]
        run(["gcc", *options, "-o", "mod_deflate.so", source.name, "-lz"], folder)

    return kept("delayed-mod-deflate", [DELAY, *_FLAGS], make)


def markupsafe() -> Path:
    """A folder for PYTHONPATH with markupsafe, whose extension's escaping can be delayed."""

    def make(folder: Path) -> None:
        package = folder / "markupsafe"
        shutil.copytree(python_source("MarkupSafe") / "src" / "markupsafe", package)
        source = package / "_speedups.c"
        _inject(source, "escape_unicode_kind1")
        extension = extension_name()
        include = f"-I{sysconfig.get_paths()['include']}"
        run(["gcc", *_FLAGS, "-shared", include, "-o", extension, source.name], package)

    return kept("delayed-markupsafe", [DELAY, *_FLAGS, sys.version], make)


def used(folder: Path, stripped: bool) -> Path:
    """The folder itself, or a copy whose programs and libraries keep only the symbols that others link to.

    Copies get a build-id of their own: by the old one the names would be found again where somebody has read them.
    """
    if not stripped:
        return folder

    def make(copy: Path) -> None:
        shutil.copytree(folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("source", "*.[aco]", ".done"))
        binaries = [path for path in copy.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        run(["strip", "--strip-all", *binaries], copy)
        for binary in binaries:
            _give_other_build_id(binary)

    return kept(f"stripped-{folder.name}", ["other build-id"], make)


def _give_other_build_id(binary: Path) -> None:
    section, note = ".note.gnu.build-id", binary.with_suffix(".note")
    run(["objcopy", "--dump-section", f"{section}={note}", binary], binary.parent)
    told = note.read_bytes()
    note.write_bytes(told[:-1] + bytes([told[-1] ^ 1]))
    run(["objcopy", "--update-section", f"{section}={note}", binary], binary.parent)
    note.unlink()


def extension_name() -> str:
    return f"_speedups{sysconfig.get_config_var('EXT_SUFFIX')}"


def _inject(path: Path, function: str) -> None:
    path.write_text(f'#include "{DELAY}"\n{delayed(path.read_text(), function)}')
