"""Our decoders in C, built with AddressSanitizer and UndefinedBehaviorSanitizer, in the place of the installed ones."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from bench.cache import BENCH, SubjectError, kept, run

_DECODERS = {
    "whyperf.collect._session": "_session",
    "whyperf.collect._dependences": "_dependences",
    "whyperf.debuginfo._debuginfo": "_debuginfo",
    "whyperf.importers._perf_data": "_perf_data",
}
_FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:handle_segv=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
}
_WITHIN = "WHYPERF_SANITIZED_DECODERS"  # their folder, in the process that is started anew


def start_anew() -> None:
    """Replaces this process by one with the sanitizers' runtime first and the sanitized decoders in it."""
    if _WITHIN in os.environ:
        sys.meta_path.insert(0, _Sanitized(Path(os.environ[_WITHIN])))
        os.RTLD_DEEPBIND = 0  # capstone asks for it, and the runtime refuses it
        return
    preloaded = ":".join(_runtime(name) for name in ("libasan.so", "libubsan.so"))
    environment = {**os.environ, **_OPTIONS, _WITHIN: str(_built()), "LD_PRELOAD": preloaded}
    os.execve(sys.executable, [sys.executable, "-m", "bench.fuzz", *sys.argv[1:]], environment)


def _built() -> Path:
    sources = [path for path in sorted((BENCH.parent / "native").rglob("*")) if path.is_file()]

    def build(folder: Path) -> None:
        python = f"-DPython_EXECUTABLE={sys.executable}"
        run(["cmake", "-S", BENCH.parent, "-B", ".", "-G", "Ninja", python, f"-DCMAKE_C_FLAGS={_FLAGS}"], folder)
        run(["ninja", *_DECODERS.values()], folder)

    return kept("sanitized-decoders", [BENCH.parent / "CMakeLists.txt", _FLAGS, sys.version, *sources], build)


def _runtime(name: str) -> str:
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if "/" not in found:
        raise SubjectError(f"{name} is not installed: it comes with gcc.")
    return found


class _Sanitized(importlib.abc.MetaPathFinder):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _DECODERS:
            return None
        (file,) = self._folder.glob(f"{_DECODERS[name]}.*.so")
        return importlib.util.spec_from_file_location(name, file)
