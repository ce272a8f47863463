"""Threaded programs that log when each of their functions is entered and left, and the runs that are traced."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.cache import kept, run
from bench.contexts import servers
from bench.contexts.case import Side
from bench.registries import debian_source
from bench.subjects import PROGRAMS, own, redis

_LOGGER = PROGRAMS / "entrylog" / "entrylog.c"


@dataclass(frozen=True)
class TruthRun:
    name: str
    title: str
    side: Callable[[Path, Path], tuple[Side, str]]  # scratch folder, folder of the log -> what runs, when it is ready


def truth_runs() -> list[TruthRun]:
    return [
        TruthRun("redis", "redis-server with an I/O thread, under load", _redis),
        TruthRun("zstd", "zstd -T2, compressing", _zstd),
        TruthRun("kiosk", "our threaded server: locks, a socket, a file, a plug-in", _kiosk),
    ]


def logger() -> Path:
    """The folder of libentrylog.so."""

    def make(folder: Path) -> None:
        run(["gcc", "-g", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-o", "libentrylog.so", _LOGGER], folder)

    return kept("entrylog", [_LOGGER], make)


def flags() -> str:
    """Without inlining a function's entry is the call of it; exits are logged on every path anyway."""
    folder = logger()
    return f"-finstrument-functions -fno-inline -Wl,--no-as-needed -L{folder} -lentrylog -Wl,-rpath,{folder}"


def _logged(log: Path, command: list[str]) -> list[str]:
    return ["/usr/bin/env", f"ENTRYLOG={log}", *command]


def _redis(scratch: Path, log: Path) -> tuple[Side, str]:
    port = servers.free_port()
    # Threads spin on the first, and the rest is called for every byte or so.
    left_out = "getIOPendingCount,sdslen,siptlw,clientHasPendingReplies"
    built = redis(f"{flags()} -finstrument-functions-exclude-function-list={left_out}") / "src"
    settings = ["--save", "", "--appendonly", "no", "--io-threads", "2", "--io-threads-do-reads", "yes"]
    command = [str(built / "redis-server"), "--port", str(port), "--dir", str(scratch), *settings]
    commands = "set,get,lpush,lrange_100,hset,zadd"
    load = [str(redis() / "src/redis-benchmark"), "-p", str(port), "-n", "900", "-c", "30", "-r", "10000", "-q"]
    return Side(_logged(log, command), (*load, "-t", commands)), f"tcp:{port}"


def _zstd(scratch: Path, log: Path) -> tuple[Side, str]:
    text = scratch / "text"
    text.write_bytes((servers.web_folder(scratch) / "page.txt").read_bytes() * 150)
    command = [str(_zstd_program()), "-T2", "-3", "-f", "-q", str(text), "-o", str(scratch / "text.zst")]
    return Side(_logged(log, command)), ""


def _zstd_program() -> Path:
    # Its headers' functions are called for every byte: a log of them would be of nothing but itself.
    logged = f"{flags()} -finstrument-functions-exclude-file-list=.h -g -O2"

    def make(folder: Path) -> None:
        source = folder / "source"
        shutil.copytree(debian_source("libzstd"), source, symlinks=True)
        features = ["HAVE_ZLIB=0", "HAVE_LZMA=0", "HAVE_LZ4=0", "ZSTD_LEGACY_SUPPORT=0"]
        jobs = f"-j{os.cpu_count() or 1}"
        run(["make", jobs, "-C", str(source / "programs"), "zstd", *features, f"MOREFLAGS={logged}"], folder)

    return kept("logged-zstd", [logged], make) / "source" / "programs" / "zstd"


def _kiosk(_: Path, log: Path) -> tuple[Side, str]:
    kiosk = own("kiosk", flags())
    return Side(_logged(log, [str(kiosk), str(kiosk.parent / "printing.so"), "700", "100"])), ""
