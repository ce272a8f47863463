"""All odd targets, from small C programs of ours to other languages' run-time systems."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bench.odd_targets.target import OWN_PROGRAMS, AbsentError, Target, built, library, needed, program

_SEES_VARIABLES = dict.fromkeys(("counts", "observed", "blocks"), "sees the variables by which probes are loaded")
_SEES_START = dict.fromkeys(
    ("record", "counts", "trace", "memory", "observed", "blocks"),
    "/proc/self/environ keeps what the program was started with",
)
_NO_LIBRARY = dict.fromkeys(
    ("counts", "observed", "blocks"), "ld.so says that the library with the probes is not in the child's folders"
)
_QUIET_END = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}


def _with_plugin(source: str) -> Target:
    def command(folder: Path) -> list[str]:
        plugin = built("plugin.c", folder, "-shared -fPIC", name="plugin.so")
        return [*program(source)(folder), str(plugin)]

    return Target(source.removesuffix(".c").replace("_", " "), command)


def _preloading(name: str, source: str, file: str) -> Target:
    """The library goes before everything else, as its users do it."""

    def command(folder: Path) -> list[str]:
        return ["env", f"LD_PRELOAD={library(file)}", *program(source)(folder)]

    return Target(name, command)


def _sanitized(compiler: str, kind: str) -> Target:
    command = program("leaf.c", flags=f"-fsanitize={kind}", compiler=compiler)
    return Target(f"{compiler} {kind} sanitizer", command, _QUIET_END, known=_SEES_VARIABLES)


def _own_preload(folder: Path) -> list[str]:
    answers = built("answers.c", folder, "-shared -fPIC", name="answers.so")
    return ["env", f"LD_PRELOAD={answers}", *program("asks.c")(folder)]


def _stripped(folder: Path) -> list[str]:
    copy = folder / "leaf-without-symbols"
    subprocess.run(["strip", "-o", copy, built("leaf.c", folder)], check=True)
    return [str(copy)]


def _set_user_id(folder: Path) -> list[str]:
    copy = folder / "leaf-of-nobody"
    shutil.copy(built("leaf.c", folder), copy)
    shutil.chown(copy, 65534, 65534)
    copy.chmod(0o6755)
    return [str(copy)]


def _jailed(folder: Path) -> list[str]:
    jail = folder / "jail"
    jail.mkdir(exist_ok=True)
    return [*program("confined.c", "chroot")(folder), str(jail)]


def _java(folder: Path) -> list[str]:
    compiler, java = needed("javac"), needed("java")
    if not (folder / "Work.class").exists():
        subprocess.run([compiler, "-d", folder, OWN_PROGRAMS / "Work.java"], check=True, capture_output=True)
    return [java, "-Xmx128m", "-cp", str(folder), "Work"]


def _go(folder: Path) -> list[str]:
    made = folder / "cgo"
    if not made.exists():
        caches = {"GOCACHE": str(folder / "go"), "HOME": str(folder), "PATH": "/usr/bin:/bin", "CGO_ENABLED": "1"}
        words = [needed("go"), "build", "-o", str(made), str(OWN_PROGRAMS / "cgo.go")]
        done = subprocess.run(words, capture_output=True, text=True, env=caches, check=False)
        if done.returncode:
            raise AbsentError(f"go build: {done.stderr.strip()[-200:]}")
    return [str(made)]


def _placed(word: str, folder: Path) -> str:
    return word.replace("{programs}", str(OWN_PROGRAMS)).replace("{folder}", str(folder))


def _script(*words: str) -> Target:
    def command(folder: Path) -> list[str]:
        return [needed(words[1]), *(_placed(word, folder) for word in words[2:])]

    return Target(words[0], command)


_OWN = (
    Target("seccomp strict", program("seccomp.c", "strict")),
    Target("seccomp filter", program("seccomp.c", "filter")),
    Target("seccomp traps", program("trapped_calls.c")),
    *(Target(f"{kind} namespace", program("namespaces.c", kind)) for kind in ("user", "pid")),
    Target("mount namespace", program("namespaces.c", "mount"), known=_NO_LIBRARY),
    Target("all three namespaces", program("namespaces.c", "all"), known=_NO_LIBRARY),
    Target("chroot", _jailed, as_root=True),
    Target("drops privileges", program("confined.c", "setuid"), as_root=True),
    Target("setuid file", _set_user_id, as_root=True),
    Target("close_range of everything", program("close_range.c")),
    Target("closefrom loops", program("closefrom.c")),
    Target("exhausted descriptors", program("descriptors.c")),
    Target("vfork and exec", program("vfork_exec.c")),
    Target("posix_spawn attributes", program("spawn_attributes.c")),
    Target("clone flags", program("clone_flags.c")),
    Target("raw fork", program("raw_fork.c")),
    Target("500 children", program("many_children.c")),
    Target("churn", program("churn.c", "500")),
    Target("small sigaltstack", program("small_altstack.c")),
    Target("overflow on sigaltstack", program("altstack.c")),
    Target("own handlers of all signals", program("own_handlers.c")),
    Target("own traps", program("own_traps.c")),
    Target("signal storm", program("storm.c", "20000")),
    Target("all signals blocked", program("masks.c")),
    Target("waits", program("waiting.c")),
    Target("own timers", program("own_timers.c")),
    Target("own clock", program("own_clock.c")),
    Target("traces its child", program("traced_child.c")),
    Target("has itself traced", program("traces_itself.c")),
    Target("looks for a tracer", program("anti_debug.c")),
    Target("undumpable", program("undumpable.c")),
    Target("write xor execute", program("write_xor_execute.c")),
    *(
        Target(f"limit of {what}", program("limits.c", what))
        for what in ("files", "memory", "stack", "size", "pending", "processes", "cpu")
    ),
    Target("locked memory", program("locked_memory.c")),
    Target("static", program("leaf.c", flags="-static")),
    Target("static-pie", program("leaf.c", flags="-static-pie")),
    Target("stripped", _stripped, known=_SEES_VARIABLES),
    Target("musl", program("leaf.c", compiler="musl-gcc", flags="-DMUSL")),
    _with_plugin("dlopen_storm.c"),
    _with_plugin("dlmopen.c"),
    Target("own LD_PRELOAD", _own_preload),
    Target("coroutines", program("coroutines.c")),
    Target("jumps out of handlers", program("jump_from_signal.c")),
    Target("main thread gone", program("main_thread_gone.c")),
    Target("executes itself", program("executes_itself.c")),
    Target("looks at itself", program("looks_at_itself.c", "an argument", ""), known=_SEES_VARIABLES),
    Target("reads its first environment", program("first_environment.c"), known=_SEES_START),
    Target("lists its descriptors", program("own_descriptors.c")),
    Target("daemon", program("double_fork.c")),
    Target("stops and continues", program("stopped.c")),
    Target("closes its outputs", program("closed_output.c")),
    Target("binary output", program("binary_output.c", "200000")),
    Target("32 MB of output", program("binary_output.c", "32000000")),
    *(Target(f"exit status {number}", program("ends.c", number)) for number in ("1", "128", "255")),
    *(
        Target(f"ends by {way}", program("ends.c", way))
        for way in ("segv", "abort", "kill", "term", "fpe", "trap", "quick", "thread")
    ),
    Target("200 threads", program("many_threads.c")),
    Target("C++ exceptions", program("threads.cc", compiler="g++", flags="-std=c++17")),
)

_OF_OTHERS = (
    Target("io_uring", program("uring.c", flags="-luring")),
    _preloading("jemalloc", "allocations.c", "libjemalloc.so.2"),
    _preloading("tcmalloc", "allocations.c", "libtcmalloc_minimal.so.4"),
    _script("eatmydata", "eatmydata", "sh", "-c", "echo kept > {folder}/kept; sync {folder}/kept; cat {folder}/kept"),
    Target("Boehm GC", program("collected.c", flags="-lgc")),
    Target("JVM", _java),
    _script("node", "node", "{programs}/work.js"),
    Target("Go with cgo", _go),
    *(_sanitized("gcc", kind) for kind in ("address", "thread", "undefined", "leak")),
    *(_sanitized("clang", kind) for kind in ("address", "thread", "memory", "undefined")),
    _script(
        "shell with traps",
        "bash",
        "-c",
        "trap 'echo trapped' USR1; trap 'echo end' EXIT; kill -USR1 $$; (exit 3); exit 5",
    ),
    _script("closed by the shell", "bash", "-c", "exec 0<&- 1>&-; ls -d / >&2; echo lost; exit 4"),
    _script("pipe that closes early", "bash", "-c", "yes | head -n 3; echo ${PIPESTATUS[0]}"),
    _script("fixed addresses", "setarch", "-R", "sh", "-c", "echo fixed"),
    _script("time limit", "timeout", "--signal=INT", "0.5", "sh", "-c", "while :; do :; done"),
    _script("perl", "perl", "-e", "my $s = 0; $s += $_ % 7 for 1 .. 2000000; print qq($s\\n); exit 24"),
    Target("python", lambda _folder: [sys.executable, "-c", _PYTHON]),
)

_PYTHON = """
import multiprocessing, signal, subprocess, sys, threading
multiprocessing.set_start_method("fork")
def work(n): return sum(i * i % 7 for i in range(n))
threads = [threading.Thread(target=work, args=(100000,)) for _ in range(5)]
[t.start() for t in threads]; [t.join() for t in threads]
with multiprocessing.Pool(2) as pool: print(pool.map(work, [1000, 100000]))
print(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode, signal.getsignal(signal.SIGPROF))
sys.exit(25)
"""

TARGETS = (*_OWN, *_OF_OTHERS)
