"""Stalls with ground truth: each a real program or real parts, recorded twice, once as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.recording.rules_file import MORE_RULES

PROGRAMS = Path(__file__).parent / "programs"


def working_folder(given: Path | None) -> Path:
    """For recordings and what they need: the one that was asked for, or a new one."""
    if given is not None:
        given.mkdir(exist_ok=True, parents=True)
        return given
    made = Path(tempfile.mkdtemp(prefix="whyperf-causes-"))
    made.chmod(0o755)  # servers run there as users of their own
    return made


@dataclass(frozen=True)
class Truth:
    """Who is to blame. Any of the functions will do; none: the thread alone is what can be known."""

    program: str  # beginning of its name
    thread: str = ""
    functions: tuple[str, ...] = ()
    ending: str = ""  # how a path to it ends; empty: does not matter
    words: str = ""  # of the command line, where several processes run the same program


@dataclass(frozen=True)
class Case:
    name: str
    command: tuple[str, ...]  # {mode} is normal or stalled, {program} what was built from the C source
    truth: Truth
    source: str = ""
    needs: tuple[str, ...] = ()  # programs that must be installed
    libraries: tuple[str, ...] = ()  # that the C source is linked with
    prepared: str = ""  # a folder that the same command makes beforehand when its mode is `prepare`
    packages: tuple[str, ...] = ()  # as pkg-config knows them
    rules: str = ""  # a file of rules about the program's own queues

    def why_not(self) -> str:
        """Why it cannot be run here; empty: it can."""
        missing = [one for one in self.needs if shutil.which(one) is None]
        missing += [one for one in self.libraries if not Path("/usr/include", f"lib{one}.h").exists()]
        if "psql" in self.needs and not list(Path("/usr/lib").glob("postgresql/*/bin/postgres")):
            missing.append("postgres")
        missing += [one for one in self.packages if not shutil.which("pkg-config") or not _exists(one)]
        return f"{', '.join(missing)} not installed" if missing else ""

    @property
    def environment(self) -> dict[str, str]:
        """What recording it needs besides."""
        return {MORE_RULES: str(PROGRAMS / self.rules)} if self.rules else {}

    def commands(self, folder: Path) -> dict[str, list[str]]:
        """The command line of either run; compiles what it needs."""
        program = folder / self.name
        if self.source:
            compiler = "g++" if self.source.endswith(".cc") else "gcc"
            built = [compiler, "-g", "-O1", "-fPIC", "-pthread", "-o", str(program), str(PROGRAMS / self.source)]
            flags = [word for one in self.packages for word in _pkg_config("--cflags", "--libs", one).split()]
            subprocess.run([*built, *(f"-l{one}" for one in self.libraries), *flags], check=True)
        known = {"program": str(program), "programs": str(PROGRAMS), "python": sys.executable, "folder": str(folder)}
        if self.prepared and not (folder / self.prepared).exists():
            subprocess.run([word.format(mode="prepare", **known) for word in self.command], check=True, timeout=100)
        return {mode: [word.format(mode=mode, **known) for word in self.command] for mode in ("normal", "stalled")}


def _exists(package: str) -> bool:
    return subprocess.run(["pkg-config", "--exists", package], check=False).returncode == 0


def _pkg_config(*words: str) -> str:
    return subprocess.run(["pkg-config", *words], capture_output=True, text=True, check=True).stdout


def _compiled(name: str, source: str, truth: Truth, *, killed: bool = False, libraries: tuple[str, ...] = ()) -> Case:
    command = ("{program}", "{mode}")
    limited = ("timeout", "-s", "KILL", "4", *command) if killed else command
    return Case(name, limited, truth, source, ("gcc",), libraries)


CASES: tuple[Case, ...] = (
    Case(
        "postgres-row-lock",
        ("bash", "{programs}/postgres_lock.sh", "{mode}", "{folder}/postgres"),
        Truth("sleep", ending="slept"),  # the silent client behind the backend that holds the lock
        needs=("psql", "setpriv"),
        prepared="postgres",
    ),
    Case(
        "web-query",
        ("{python}", "{programs}/web.py", "{mode}", "{folder}/web"),
        Truth("postgres", functions=("ExecutorRun", "standard_ExecutorRun"), ending="ran"),
        needs=("nginx", "gunicorn", "psql", "setpriv"),
        prepared="web",
    ),
    Case(
        "redis-keys",
        ("{python}", "{programs}/redis_clients.py", "{mode}", "KEYS"),
        Truth("redis-server", functions=("keysCommand", "stringmatchlen", "stringmatchlen_impl")),
        needs=("redis-server",),
    ),
    Case(
        "redis-lua",
        ("{python}", "{programs}/redis_clients.py", "{mode}", "EVAL"),
        Truth(
            "redis-server",
            functions=("evalGenericCommand", "evalCommand", "luaCallFunction", "lua_pcall"),
        ),
        needs=("redis-server",),
    ),
    Case(
        "gui-subprocess",
        ("bash", "{programs}/editor.sh", "{mode}"),
        Truth("sleep", ending="slept"),
        needs=("Xvfb", "xdotool"),
    ),
    _compiled(
        "missing-signal", "missing_signal.c", Truth("missing-signal", "worker", ("reject", "worker"), "no-reply")
    ),
    _compiled(
        "two-pipes", "two_pipes.c", Truth("two-pipes", functions=("send_batch", "whole"), ending="cycle"), killed=True
    ),
    _compiled("mutex-over-io", "convoy.c", Truth("mutex-over-io", functions=("flush_to_reader",))),
    Case(
        "flock",
        ("{python}", "{programs}/file_lock.py", "{mode}"),
        Truth("python", ending="ran", words="first"),
    ),
    Case(
        "slow-dns",
        ("unshare", "-m", "bash", "{programs}/slow_dns.sh", "{mode}"),
        Truth("python", ending="no-reply", words="name_server.py"),
        needs=("unshare",),
    ),
    _compiled("shared-flag", "flag.c", Truth("shared-flag", "preparer", ("prepare",))),
    _compiled("inotify", "watcher.c", Truth("inotify", functions=("reparse_bibliography",))),
    Case(
        "d-bus",
        ("/usr/bin/python3", "{programs}/bus.py", "{mode}"),
        Truth("python", ending="slept", words="Store"),
        needs=("dbus-daemon",),
    ),
    Case(
        "asyncio",
        ("{python}", "{programs}/asyncio_server.py", "{mode}"),
        Truth("sleep", ending="slept"),
    ),
    _compiled("thread-pool", "pool.c", Truth("thread-pool", "pool", ("await_task", "outer"), "cycle")),
    _compiled("io-uring", "ring.c", Truth("io-uring", functions=("prepare",), ending="ran"), libraries=("uring",)),
    _compiled("brief-lock", "brief.c", Truth("brief-lock", "saver", ("compact",), "ran")),
    _compiled("two-mutexes", "deadlock.c", Truth("two-mutexes", functions=("transfer",), ending="cycle"), killed=True),
)


# Tasks handed over through queues of the programs' own.
QUEUES: tuple[Case, ...] = (
    Case(
        "glib-late",
        ("{program}", "{mode}", "late"),
        Truth("glib-late", "loader", ("decode_image",), "ran"),
        "glib_loop.c",
        packages=("glib-2.0",),
    ),
    Case(
        "glib-busy",
        ("{program}", "{mode}", "busy"),
        Truth("glib-busy", "glib-busy", ("import_catalogue",), "ran"),
        "glib_loop.c",
        packages=("glib-2.0",),
    ),
    Case(
        "uv-pool",
        ("{program}", "{mode}"),
        Truth("uv-pool", functions=("archive",), ending="slept"),
        "uv_pool.c",
        packages=("libuv",),
    ),
    Case(
        "node-pool",
        ("node", "{programs}/node_pool.js", "{mode}"),
        Truth("node", functions=("kdf_pbkdf2_derive",), ending="ran"),
        needs=("node",),
    ),
    Case(
        "qt-events",
        ("{program}", "{mode}"),
        Truth("qt-events", functions=("rebuild_index",), ending="slept"),
        "qt_events.cc",
        packages=("Qt5Core",),
    ),
    Case(
        "own-executor",
        ("{program}", "{mode}"),
        Truth("own-executor", "worker", ("print_page",), "slept"),
        "executor.cc",
        needs=("g++",),
        rules="executor.toml",
    ),
)


def _frozen(name: str, truth: Truth, needs: tuple[str, ...] = (), script: str = "frozen.py") -> Case:
    return Case(name, ("{python}", f"{{programs}}/{script}", "{mode}", name), truth, needs=needs)


# Made after the rules were frozen; reported apart.
FROZEN: tuple[Case, ...] = (
    _frozen("sqlite", Truth("python", ending="slept", words="importer")),
    _frozen("queue", Truth("python", ending="ran")),
    _frozen("pipeline", Truth("sleep", ending="slept"), ("bash",)),
    _frozen("batch", Truth("python", ending="ran", words="batch-daemon")),
    _frozen("stopped", Truth("python", words="stopped")),
    _frozen("nginx", Truth("python", ending="slept", words="backend"), ("nginx",)),
    _frozen("git", Truth("sleep", ending="slept"), ("git", "flock"), "frozen_tools.py"),
    _frozen("rsync", Truth("python", ending="ran", words="packer"), ("rsync",), "frozen_tools.py"),
)


def record(case: Case, mode: str, folder: Path, *, number: int = 0) -> Path:
    """Records one run and returns the recording."""
    out = folder / f"{case.name}.{mode}{number or ''}"
    if out.exists():
        return out
    command = case.commands(folder)[mode]
    environment = {**os.environ, **case.environment, "WHYPERF_TRACE_FOLDER": str(folder / "tracer")}
    done = subprocess.run(
        [sys.executable, "-m", "whyperf", "record", "--trace", "-o", str(out), "--", *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    if not out.exists():
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return out


def named(names: Sequence[str]) -> list[Case]:
    if not names:
        return list(CASES)
    return [case for case in (*CASES, *QUEUES, *FROZEN) if case.name in names]
