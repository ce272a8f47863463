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
    functions: tuple[str, ...]  # any of which is an answer; empty: any of the module
    layers: tuple[str, ...]  # any of which is right
    external: bool
    named: Path | None = None  # the guilty module with its symbols, where the runs use a stripped copy


@dataclass(frozen=True)
class ContextCase:
    id: str
    title: str
    runs: Callable[[Path], Runs]  # in a scratch folder
    truth: Callable[[], Truth]


PLUGIN, LIBRARY, LIBC, MAIN = "plug-in", "third-party library", "libc", "main binary"  # as the engine calls them
_DELAY = "injected_delay"  # what is inlined into the guilty function: debug information names it


def all_cases() -> list[ContextCase]:
    return [
        *(_pigz(kind, microseconds) for kind, microseconds in (("busy", 12000), ("sleep", 100000))),
        *(_nginx_libz(kind, microseconds) for kind, microseconds in (("busy", 500), ("sleep", 4000))),
        *(_apache(kind, microseconds) for kind, microseconds in (("busy", 5000), ("sleep", 60000))),
        *(_extension(kind, microseconds) for kind, microseconds in (("busy", 150), ("sleep", 1000))),
        *(_kiosk(kind, 2000) for kind in ("busy", "sleep")),
        _resolver(),
        _postgres(),
        _nginx_gzip(),
        _kiosk_list(),
    ]


def stripped_cases() -> list[ContextCase]:
    """Those whose guilty module we build, without any symbol that can be done without."""
    return [
        _pigz("busy", 12000, stripped=True),
        _nginx_libz("sleep", 4000, stripped=True),
        _apache("busy", 5000, stripped=True),
        _apache("sleep", 60000, stripped=True),
        _extension("busy", 150, stripped=True),
        _kiosk("busy", 2000, stripped=True),
        _kiosk("sleep", 2000, stripped=True),
        _kiosk_list(stripped=True),
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


def _named(what: str, stripped: bool) -> str:
    return f"{what}-stripped" if stripped else what


def _pigz(kind: str, microseconds: int, stripped: bool = False) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        text = scratch / "text"
        text.write_bytes((servers.web_folder(scratch) / "page.txt").read_bytes() * 40)
        command = ["/usr/bin/pigz", "--processes", "2", "--stdout", "-3", str(text)]
        return _delay(kind, microseconds, command, LD_LIBRARY_PATH=str(injected.used(injected.libz(), stripped)))

    name = _named(f"pigz-libz-{kind}", stripped)
    return ContextCase(name, f"pigz, libz's deflate delayed ({kind})", runs, lambda: _libz(stripped))


def _nginx_libz(kind: str, microseconds: int, stripped: bool = False) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        command = servers.nginx(scratch, port, gzip_level=1)
        library = injected.used(injected.libz(), stripped)
        delayed = _delay(kind, microseconds, command, LD_LIBRARY_PATH=str(library))
        return _driven(delayed, f"tcp:{port}", servers.web_load(port, 40))

    name = _named(f"nginx-libz-{kind}", stripped)
    return ContextCase(name, f"nginx, libz's deflate delayed ({kind})", runs, lambda: _libz(stripped))


def _libz(stripped: bool) -> Truth:
    named = injected.libz() / "libz.so.1" if stripped else None
    return Truth("libz.so.1", ("deflate", _DELAY), (LIBRARY,), external=True, named=named)


def _apache(kind: str, microseconds: int, stripped: bool = False) -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        module = injected.used(injected.mod_deflate(), stripped) / "mod_deflate.so"
        command = servers.apache(scratch, port, module)
        return _driven(_delay(kind, microseconds, command), f"tcp:{port}", servers.web_load(port, 200))

    def truth() -> Truth:
        named = injected.mod_deflate() / "mod_deflate.so" if stripped else None
        return Truth("mod_deflate.so", ("deflate_out_filter", _DELAY), (PLUGIN,), external=True, named=named)

    name = _named(f"apache-module-{kind}", stripped)
    return ContextCase(name, f"Apache, mod_deflate's filter delayed ({kind})", runs, truth)


def _extension(kind: str, microseconds: int, stripped: bool = False) -> ContextCase:
    def runs(_: Path) -> Runs:
        command = [sys.executable, str(HERE / "pages.py"), "40" if kind == "busy" else "15"]
        return _delay(kind, microseconds, command, PYTHONPATH=str(injected.used(injected.markupsafe(), stripped)))

    def truth() -> Truth:
        functions = ("escape_unicode_kind1", "escape_unicode", "_escape_inner", _DELAY)
        module = injected.extension_name()
        named = injected.markupsafe() / "markupsafe" / module if stripped else None
        return Truth(module, functions, (PLUGIN,), external=True, named=named)

    name = _named(f"python-extension-{kind}", stripped)
    return ContextCase(name, f"Python, markupsafe's extension delayed ({kind})", runs, truth)


def _kiosk(kind: str, microseconds: int, stripped: bool = False) -> ContextCase:
    def runs(_: Path) -> Runs:
        return _delay(kind, microseconds, _kiosk_command(stripped, 1000, refused=50))

    def truth() -> Truth:
        named = own("kiosk").parent / "printing.so" if stripped else None
        return Truth("printing.so", ("print_ticket", _DELAY), (PLUGIN,), external=True, named=named)

    name = _named(f"kiosk-plugin-{kind}", stripped)
    return ContextCase(name, f"our threaded server, its plug-in delayed ({kind})", runs, truth)


def _kiosk_list(stripped: bool = False) -> ContextCase:
    def runs(_: Path) -> Runs:
        good, bad = (Side(_kiosk_command(stripped, 1500, refused)) for refused in (50, 150_000))
        return Runs(good, bad)

    def truth() -> Truth:
        return Truth(
            "kiosk", ("is_refused", "mix_of"), (MAIN,), external=False, named=own("kiosk") if stripped else None
        )

    name = _named("kiosk-list", stripped)
    return ContextCase(name, "our threaded server, a list that grew long", runs, truth)


def _kiosk_command(stripped: bool, requests: int, refused: int) -> list[str]:
    folder = injected.used(own("kiosk").parent, stripped)
    return [str(folder / "kiosk"), str(folder / "printing.so"), str(requests), str(refused)]


def _resolver() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        log = scratch / "access.log"
        log.write_text("".join(f'10.0.0.{i} - - [x] "GET / HTTP/1.0" 200 1\n' for i in range(1, 81)))

        def side(milliseconds: int) -> Side:
            server = ("unshare", "--mount", "--net", sys.executable, str(HERE / "slow_dns.py"), str(milliseconds), "--")
            return Side(["/bin/sh", "-c", f"exec logresolve < {log}"], around=server)

        return Runs(side(2), side(30))

    truth = Truth("libc.so.6", (), (LIBC,), external=True)
    return ContextCase("resolver-dns", "logresolve, a slow name server behind libc's resolver", runs, lambda: truth)


def _postgres() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        good, bad = (Side(servers.postgres(folder, port)) for folder in servers.postgres_folders(scratch))
        load = servers.postgres_load(scratch, port)
        return _driven(Runs(good, bad), servers.postgres_ready(scratch, port), load)

    functions = ("heap_getnextslot", "heapgetpage", "ExecSeqScan", "SeqNext", "ExecScan", "heapgettup_pagemode")
    truth = Truth("postgres", functions, (MAIN,), external=False)
    return ContextCase("postgres-index", "PostgreSQL, lookups without their index", runs, lambda: truth)


def _nginx_gzip() -> ContextCase:
    def runs(scratch: Path) -> Runs:
        port = servers.free_port()
        good, bad = (Side(servers.nginx(scratch, port, level)) for level in (1, 9))
        return _driven(Runs(good, bad), f"tcp:{port}", servers.web_load(port, 24))

    # Stripped: its filters have no names. What one of them asks for, libz does.
    truth = Truth("nginx", (), (MAIN,), external=False)
    return ContextCase("nginx-gzip-9", "nginx, gzip level 9 instead of 1", runs, lambda: truth)
