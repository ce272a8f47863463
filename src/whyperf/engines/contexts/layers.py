"""Whose code a context's functions are: the layers of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

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
        plug_ins = modules.column("plug_in").to_pylist()
        columns = zip(index.module_names[run], texts(modules, "origin"), plug_ins, strict=True)
        for name, origin, plug_in in columns:
            layer = _OF_ORIGIN.get(origin, Layer.UNKNOWN)
            if plug_in and layer in (Layer.OWN_LIBRARY, Layer.THIRD_PARTY):
                layer = Layer.PLUG_IN
            by_module.setdefault(name, layer)
    return [by_module.get(function.key.module, Layer.UNKNOWN) for function in index.functions]
