"""Whose code a context's functions are: the layers of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePosixPath

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import texts


class Layer(Enum):
    MAIN = "main binary"
    OWN_LIBRARY = "own library"
    THIRD_PARTY = "third-party library"
    PLUG_IN = "plug-in"
    LIBC = "libc"
    KERNEL = "kernel"
    UNKNOWN = "unknown"

    @property
    def external(self) -> bool:
        """Not made by who made the program."""
        return self in _EXTERNAL

    @property
    def mechanism(self) -> bool:
        """The way in which others run and wait: what happens there is their doing, unless shown otherwise."""
        return self in (Layer.LIBC, Layer.KERNEL)


_EXTERNAL = frozenset({Layer.THIRD_PARTY, Layer.PLUG_IN, Layer.LIBC, Layer.KERNEL})
_SYSTEM, _LOCAL = ("/usr/", "/bin/", "/sbin/", "/lib"), "/usr/local/"
_TOP_LEVEL = 2  # parts of a folder in which different programs lie side by side: /opt, /home, /tmp
_OF_ORIGIN: Mapping[str, Layer] = {
    "program": Layer.MAIN,
    "jit": Layer.MAIN,
    "library": Layer.OWN_LIBRARY,
    "system-library": Layer.THIRD_PARTY,
    "libc": Layer.LIBC,
    "sampler": Layer.LIBC,
    "vdso": Layer.KERNEL,
    "kernel": Layer.KERNEL,
}


def layers_of(index: FunctionIndex) -> list[Layer]:
    """By function number."""
    by_module: dict[str, Layer] = {}
    for run in (*index.bad, *index.good):
        modules = run.recording.table("modules")
        origins, paths = texts(modules, "origin"), texts(modules, "path")
        plug_ins = modules.column("plug_in").to_pylist()
        programs = [path for path, origin in zip(paths, origins, strict=True) if origin == "program"]
        columns = zip(index.module_names[run], origins, paths, plug_ins, strict=True)
        for name, origin, path, plug_in in columns:
            by_module.setdefault(name, _layer(origin, path, programs, bool(plug_in)))
    return [by_module.get(function.key.module, Layer.UNKNOWN) for function in index.functions]


def _layer(origin: str, path: str, programs: Sequence[str], plug_in: bool) -> Layer:
    layer = _OF_ORIGIN.get(origin, Layer.UNKNOWN)
    if plug_in and layer in (Layer.OWN_LIBRARY, Layer.THIRD_PARTY):
        return Layer.PLUG_IN
    if layer is Layer.OWN_LIBRARY and not any(_came_with(path, program) for program in programs):
        return Layer.THIRD_PARTY
    return layer


def _came_with(library: str, program: str) -> bool:
    """Whether a library lies in the program's own tree. A program of the system owns nothing that is elsewhere."""
    if program.startswith(_SYSTEM) and not program.startswith(_LOCAL):
        return False
    folder = PurePosixPath(program).parent
    # bin/program and lib/library.so, or src/program and lib/library.so of one build.
    tree = folder.parent if len(folder.parent.parts) > _TOP_LEVEL else folder
    return PurePosixPath(library).is_relative_to(tree)
