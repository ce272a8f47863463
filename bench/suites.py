"""Other projects' own tests, as lines that must be the same watched and unwatched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench import subjects
from bench.watching import Seen

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TIME = re.compile(r" \(\d+ ms\)$")


@dataclass(frozen=True)
class Suite:
    """A command, where to run it, the pattern of the lines that tell how a test ended, and the programs under test."""

    name: str
    command: list[str]
    folder: Path
    outcome: re.Pattern[str]
    programs: tuple[Path, ...]

    def outcomes(self, seen: Seen) -> list[str]:
        """What each test came to, sorted: tests run in parallel end in any order."""
        lines = _COLOUR.sub("", seen.stdout).splitlines()
        return sorted(_TIME.sub("", line) for line in lines if self.outcome.match(line))


REDIS_UNITS = ("unit/type/string", "unit/type/incr", "unit/protocol", "unit/multi", "unit/scan")
MORE_REDIS_UNITS = (
    *REDIS_UNITS, "unit/auth", "unit/expire", "unit/dump", "unit/type/hash", "unit/type/set", "unit/type/zset",
    "unit/type/list", "unit/type/stream", "unit/sort", "unit/scripting", "unit/pubsub", "unit/introspection",
    "unit/aofrw", "unit/other", "unit/bitops", "unit/tracking", "unit/lazyfree", "unit/slowlog",
)  # fmt: skip

# Chosen because they look at what a sampler disturbs: environment, signals, time limits, preloading, pipes, threads.
COREUTILS_TESTS = (
    "misc/env.sh", "misc/env-signal-handler.sh", "misc/env-S.pl", "misc/env-S-script.sh", "misc/printenv.sh",
    "misc/nohup.sh", "misc/timeout.sh", "misc/timeout-parameters.sh", "misc/timeout-group.sh", "misc/nice.sh",
    "misc/kill.sh", "misc/stdbuf.sh", "misc/tee.sh", "misc/head.pl", "misc/close-stdout.sh", "misc/nproc-avail.sh",
    "misc/seq.pl", "du/basic.sh", "du/exclude.sh", "split/filter.sh", "dd/stats.sh",
)  # fmt: skip


def redis_suite(units: tuple[str, ...] = REDIS_UNITS) -> Suite:
    chosen = [word for unit in units for word in ("--single", unit)]
    pattern = re.compile(r"\[(ok|err|exception|skip|ignore)\]: ")
    folder = subjects.redis()
    command = ["./runtest", "--clients", "2", *chosen]
    return Suite("redis", command, folder, pattern, (folder / "src" / "redis-server",))


# Statements, indices, transactions, threads, full text, what allocates much, and what asks for its own use of memory.
SQLITE_TESTS = (
    "select1", "select4", "index", "insert", "update", "trans", "join", "where", "func", "blob", "sort", "trigger1",
    "thread001", "thread003", "memsubsys1", "softheap1", "fts3ab", "json101", "window1", "vacuum", "attach", "incrblob",
)  # fmt: skip


def sqlite_suite() -> Suite:
    """Each file in a process of its own. Lines of time and memory differ between two runs anyway."""
    files = " ".join(f"test/{name}.test" for name in SQLITE_TESTS)
    script = f"for file in {files}; do ./testfixture $file 2>&1; done"
    pattern = re.compile(r"(! )?[\w.]+-[\w.]+\.\.\. |\d+ errors out of \d+ tests")
    folder = subjects.sqlite_tests()
    return Suite("sqlite", ["/bin/sh", "-c", script], folder, pattern, (folder / "testfixture",))


def coreutils_suite(tests: tuple[str, ...] = COREUTILS_TESTS) -> Suite:
    folder = subjects.coreutils()
    names = " ".join(f"tests/{test}" for test in tests)
    command = ["make", "-s", "check", "SUBDIRS=.", f"TESTS={names}"]
    found = [path for path in sorted((folder / "src").iterdir()) if path.is_file() and not path.suffix]
    programs = tuple(path for path in found if path.read_bytes()[:4] == b"\x7fELF")
    return Suite("coreutils", command, folder, re.compile(r"(PASS|FAIL|SKIP|XFAIL|ERROR): "), programs)


def all_coreutils_tests() -> tuple[str, ...]:
    """Every test of a few folders of coreutils' own suite."""
    folder = subjects.coreutils() / "tests"
    wanted = ("misc", "du", "split", "dd", "cp", "mv", "rm", "ls", "tail-2", "df", "touch", "mkdir")
    found = [path for name in wanted for path in sorted((folder / name).iterdir()) if path.suffix in {".sh", ".pl"}]
    return tuple(str(path.relative_to(folder)) for path in found)
