"""The cases: what runs on either side, and which module and functions are guilty."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.contexts import injected, servers
from bench.subjects import own

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Side:
    command: list[str]
    drive: tuple[str, ...] = ()
    around: tuple[str, ...] = ()  # put before whatever records the command: a namespace of its own


@dataclass(frozen=True)
class Runs:
    good: Side
    bad: Side
    ready: str = ""


@dataclass(frozen=True)
class Truth:
    module: str  # file name of the guilty one
    functions: tuple[str, ...]  # any of which is an answer; none: the module has no names for them
    layers: tuple[str, ...]  # any of which is right
    external: bool


@dataclass(frozen=True)
class ContextCase:
    id: str
    title: str
    runs: Callable[[Path], Runs]  # in a scratch folder
    truth: Truth


PLUGIN, LIBRARY, LIBC, MAIN = "plug-in", "third-party library", "libc", "main binary"  # as the engine calls them


def all_cases() -> list[ContextCase]:
    return [
        *(_pigz(kind, microseconds) for kind, microseconds in (("busy", 4000), ("sleep", 12000))),
        *(_nginx_libz(kind, microseconds) for kind, microseconds in (("busy", 300), ("sleep", 600))),
        *(_apache(kind, microseconds) for kind, microseconds in (("busy", 5000), ("sleep", 10000))),
        *(_extension(kind, microseconds) for kind, microseconds in (("busy", 40), ("sleep", 20))),
        *(_kiosk(kind, microseconds) for kind, microseconds in (("busy", 15), ("sleep", 5))),
        _resolver(),
        _postgres(),
        _nginx_gzip(),
        _kiosk_list(),
    ]


def _delay(kind: str, microseconds: int, command: list[str], **variables: str) -> Runs:
    """The same command without and with the delay."""

    def side(length: int) -> Side:
        told = {"INJECTED_DELAY": f"{kind}:{length}" if length else "none", **variables}
        return Side(["/usr/bin/env", *(f"{name}={value}" for name, value in told.items()), *command])

    return Runs(side(0), side(microseconds))


def _driven(runs: Runs, ready: str, drive: list[str]) -> Runs:
    good, bad = (Side(side.command, tuple(drive), side.around) for side in (runs.good, runs.bad))
    return Runs(good, bad, ready)


def _text(scratch: Path, repeats: int) -> str:
    text = scratch / "text"
    text.write_bytes((servers.web_folder(scratch) / "page.txt").read_bytes() * repeats)
    return str(text)


def _pigz(kind: str, microseconds: int) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        command = ["/usr/bin/pigz", "--processes", "2", "--stdout", "-3", _text(scratch, 60)]
        return _delay(kind, microseconds, command, LD_LIBRARY_PATH=str(injected.libz()))

    truth = Truth("libz.so.1", ("deflate",), (LIBRARY,), external=True)
    return ContextCase(f"pigz-libz-{kind}", f"pigz, libz's deflate delayed ({kind})", runs, truth)


def _nginx_libz(kind: str, microseconds: int) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        command = servers.nginx(scratch, port, gzip_level=1)
        delayed = _delay(kind, microseconds, command, LD_LIBRARY_PATH=str(injected.libz()))
        return _driven(delayed, f"tcp:{port}", servers.web_load(port, 100))

    truth = Truth("libz.so.1", ("deflate",), (LIBRARY,), external=True)
    return ContextCase(f"nginx-libz-{kind}", f"nginx, libz's deflate delayed ({kind})", runs, truth)


def _apache(kind: str, microseconds: int) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        command = servers.apache(scratch, port, injected.mod_deflate())
        return _driven(_delay(kind, microseconds, command), f"tcp:{port}", servers.web_load(port, 200))

    truth = Truth("mod_deflate.so", ("deflate_out_filter",), (PLUGIN,), external=True)
    return ContextCase(f"apache-module-{kind}", f"Apache, mod_deflate's filter delayed ({kind})", runs, truth)


def _extension(kind: str, microseconds: int) -> ContextCase:
    def runs(_: Path) -> Runs:
        command = [sys.executable, str(HERE / "pages.py"), "150"]
        return _delay(kind, microseconds, command, PYTHONPATH=str(injected.markupsafe()))

    functions = ("escape_unicode_kind1", "escape_unicode", "_escape_inner")
    module = injected.extension_name()
    truth = Truth(module, functions, (PLUGIN,), external=True)
    return ContextCase(f"python-extension-{kind}", f"Python, markupsafe's extension delayed ({kind})", runs, truth)


def _kiosk(kind: str, microseconds: int) -> ContextCase:
    def runs(_: Path) -> Runs:
        kiosk = own("kiosk")
        return _delay(kind, microseconds, [str(kiosk), str(kiosk.parent / "printing.so"), "1500", "50"])

    truth = Truth("printing.so", ("draw_line",), (PLUGIN,), external=True)
    return ContextCase(f"kiosk-plugin-{kind}", f"our threaded server, its plug-in delayed ({kind})", runs, truth)


def _resolver() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        log = scratch / "access.log"
        log.write_text("".join(f'10.0.0.{i} - - [x] "GET / HTTP/1.0" 200 1\n' for i in range(1, 81)))

        def side(milliseconds: int) -> Side:
            server = ("unshare", "--mount", "--net", sys.executable, str(HERE / "slow_dns.py"), str(milliseconds), "--")
            return Side(["/bin/sh", "-c", f"exec logresolve < {log}"], around=server)

        return Runs(side(2), side(15))

    truth = Truth("libc.so.6", (), (LIBC,), external=True)
    return ContextCase("resolver-dns", "logresolve, a slow name server behind libc's resolver", runs, truth)


def _postgres() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        good, bad = (Side(servers.postgres(folder, port)) for folder in servers.postgres_folders(scratch))
        return _driven(Runs(good, bad), servers.postgres_ready(scratch, port), servers.postgres_load(scratch, port))

    functions = ("heap_getnextslot", "heapgetpage", "ExecSeqScan", "SeqNext", "ExecScan", "heapgettup_pagemode")
    truth = Truth("postgres", functions, (MAIN,), external=False)
    return ContextCase("postgres-index", "PostgreSQL, lookups without their index", runs, truth)


def _nginx_gzip() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        good, bad = (Side(servers.nginx(scratch, port, level)) for level in (1, 9))
        return _driven(Runs(good, bad), f"tcp:{port}", servers.web_load(port, 24))

    # What nginx was told to do is done by libz.
    truth = Truth("libz.so.1.2.13", ("deflate",), (LIBRARY, MAIN), external=False)
    return ContextCase("nginx-gzip-9", "nginx, gzip level 9 instead of 1", runs, truth)


def _kiosk_list() -> ContextCase:
    def runs(_: Path) -> Runs:
        kiosk = own("kiosk")
        command = [str(kiosk), str(kiosk.parent / "printing.so"), "1500"]
        return Runs(Side([*command, "50"]), Side([*command, "150000"]))

    truth = Truth("kiosk", ("is_refused", "mix_of"), (MAIN,), external=False)
    return ContextCase("kiosk-list", "our threaded server, a list that grew long", runs, truth)
