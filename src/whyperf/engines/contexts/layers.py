"""Whose code a context's functions are: the layers of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import PurePosixPath

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, ints, texts


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
OF_THE_PROGRAM = frozenset({"exec", "fork", "attached"})  # origins of processes; others are those that it met
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
        users = _users(run, len(paths))
        columns = zip(index.module_names[run], origins, paths, plug_ins, users, strict=True)
        for name, origin, path, plug_in, programs in columns:
            by_module.setdefault(name, _layer(origin, path, programs, bool(plug_in)))
    return [by_module.get(function.key.module, Layer.UNKNOWN) for function in index.functions]


def _users(run: Run, modules: int) -> list[set[str]]:
    """By module the executables of the program's own processes that have it; all of them where nothing is known."""
    processes, mappings = run.recording.table("processes"), run.recording.table("mappings")
    own = dict(enumerate(texts(processes, "executable")))
    for process, origin in enumerate(texts(processes, "origin")):
        if origin not in OF_THE_PROGRAM:
            del own[process]
    found: list[set[str]] = [set() for _ in range(modules)]
    for process, module in zip(ints(mappings, "process"), ints(mappings, "module"), strict=True):
        if process in own and module >= 0:
            found[module].add(own[process])
    return [users or set(own.values()) for users in found]


def _layer(origin: str, path: str, programs: Collection[str], plug_in: bool) -> Layer:
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
