"""The sealed tables' schemas; `docs/format.md` is generated from them.

Every `..._id`-like integer is a row number within the same recording and means nothing outside it. Across
recordings things are told apart by the identities in `identity.py`.
"""

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

from whyperf.recording.schemas.call_tables import CALL_COUNTS
from whyperf.recording.schemas.deep_tables import DEEP_TABLES
from whyperf.recording.schemas.events import EVENTS
from whyperf.recording.schemas.memory_tables import ALLOCATIONS
from whyperf.recording.schemas.schema import Column, Table


class Clock(IntEnum):
    """What a sample's weight measures."""

    CPU = 0
    BLOCKED = 1
    MEMORY = 2
    """No time at all: memory was allocated, freed or first touched."""


_text = pa.string()
_id = pa.int32()
_ns = pa.int64()

SAMPLES = Table(
    "samples",
    "One moment at which one thread was seen, in time order.",
    (
        Column("time", _ns, "CLOCK_MONOTONIC, nanoseconds", rising=True),
        Column("process", _id, "row of `processes`", "processes"),
        Column("thread", _id, "row of `threads`", "threads"),
        Column("stack", _id, "innermost node in `stacks`; -1 when nothing is known", "stacks"),
        Column("weight", _ns, "nanoseconds that the sample stands for", least=0),
        Column(
            "clock",
            pa.int8(),
            "0: CPU time, 1: time blocked in the kernel, 2: no time, but memory: see `allocations`",
            one_of=Clock,
        ),
        Column(
            "wait",
            pa.int16(),
            "x86-64's number of the system call that a blocked thread is in, on every machine; -1 otherwise",
        ),
    ),
)
STACKS = Table(
    "stacks",
    "The calling-context tree. A node is a frame called from its parent's frame; parents come before children. "
    "A function that ended with a jump to another one has a node where the code shows that it was called.",
    (
        Column("node", _id, "row number", own_number=True),
        Column("parent", _id, "the caller's node, an earlier row; -1 at the root", "stacks"),
        Column(
            "frame",
            _id,
            "row of `frames`: the innermost one at this address; its inlined callers follow by `inlined_in`",
            "frames",
        ),
    ),
)
FRAMES = Table(
    "frames",
    "A place in code. An address inside inlined code has one row per inlined function, linked by `inlined_in`.",
    (
        Column("frame", _id, "row number", own_number=True),
        Column("module", _id, "row of `modules`; -1 when the address belongs to none", "modules"),
        Column("offset", pa.int64(), "ELF virtual address in the module (for callers: of the call, not the return)"),
        Column("function", _id, "row of `functions`; -1 when unknown", "functions"),
        Column(
            "inlined_in",
            _id,
            "frame of the function into which this one was inlined, a later row; -1 if it was not",
            "frames",
        ),
        Column("file", _text, "source file; empty when unknown"),
        Column("line", pa.int32(), "source line; 0 when unknown"),
        Column("block", pa.int32(), "basic block within the out-of-line function, counted by address; -1 when unknown"),
        Column("in_loop", pa.int8(), "1: a loop of this very function repeats the place, 0: none does, -1: unknown"),
    ),
)
FUNCTIONS = Table(
    "functions",
    "Functions of the modules in which samples fell, sampled or not.",
    (
        Column("function", _id, "row number", own_number=True),
        Column("module", _id, "row of `modules`", "modules"),
        Column("name", _text, "demangled, qualified, without parameters"),
        Column("file", _text, "where it is declared; empty when unknown"),
        Column("line", pa.int32(), "line of its declaration; 0 when unknown"),
        Column("order", pa.int32(), "tells functions of the same module, name and file apart"),
        Column("inlined", pa.bool_(), "the binary holds no out-of-line copy"),
        Column("sampled", pa.bool_(), "some frame lies in it"),
    ),
)
PASSED = Table(
    "passed",
    "Calls that certainly happened, seen or not: every path by some sampled place leads through them.",
    (
        Column("caller", _id, "row of `functions`", "functions"),
        Column("callee", _id, "row of `functions`", "functions"),
    ),
    optional=True,
)
DECISIONS = Table(
    "decisions",
    "Which line decides that a place of the program's own code is reached: a condition of the very function.",
    (
        Column("frame", _id, "row of `frames`", "frames"),
        Column("line", pa.int32(), "of the nearest branch on which the place depends, in the frame's file; 0: of none"),
        Column(
            "every_round",
            pa.bool_(),
            "all that decides is whether a loop goes on: the place is reached in every round of it",
            absent=False,
        ),
        Column("every_call", pa.bool_(), "nothing decides: the place is reached in every call", absent=False),
    ),
    optional=True,
)
FINGERPRINTS = Table(
    "fingerprints",
    "The machine code of the program's functions, so that two builds can be compared when neither is at hand.",
    (
        Column("function", _id, "row of `functions`", "functions"),
        Column(
            "code",
            pa.uint64(),
            "of one copy, inlined ones too: operations, constants, all callees, but no registers, addresses or order",
        ),
    ),
    optional=True,
)
MODULES = Table(
    "modules",
    "Programs and libraries in which code ran.",
    (
        Column("module", _id, "row number", own_number=True),
        Column("name", _text, "file name without folder"),
        Column("path", _text, "as mapped"),
        Column("build_id", _text, "hexadecimal; empty when the file has none"),
        Column("origin", _text, "program, library, system-library, libc, vdso, jit, kernel, sampler or unknown"),
        Column("debug", _text, "what was known when sealing: full, symbols or none"),
        Column(
            "plug_in",
            pa.bool_(),
            "loaded by dlopen(): no program that maps it is linked with it; only recordings made with --trace tell",
            absent=False,
        ),
    ),
)
MAPPINGS = Table(
    "mappings",
    "Where each process had its modules.",
    (
        Column("process", _id, "row of `processes`", "processes"),
        Column("module", _id, "row of `modules`", "modules"),
        Column("time", _ns, "from when", rising=True),
        Column("start", pa.uint64(), "first address of the executable mapping"),
        Column("end", pa.uint64(), "first address after it"),
        Column("bias", pa.uint64(), "address minus ELF virtual address"),
    ),
)
PROCESSES = Table(
    "processes",
    "Programs that ran: a new row for every fork and every exec.",
    (
        Column("process", _id, "row number", own_number=True),
        Column("pid", pa.int32(), ""),
        Column("parent_pid", pa.int32(), ""),
        Column("start", _ns, "CLOCK_MONOTONIC, nanoseconds"),
        Column("origin", _text, "exec, fork or attached; met: talked to what was recorded; beside: only ran next"),
        Column("executable", _text, "path"),
        Column("command", pa.list_(_text), "arguments; what has none is named in brackets"),
        Column("cgroup", _text, "control group, which names its container or service; empty when unknown", absent=""),
    ),
)
THREADS = Table(
    "threads",
    "Threads that were seen.",
    (
        Column("thread", _id, "row number", own_number=True),
        Column("process", _id, "row of `processes`", "processes"),
        Column("tid", pa.int32(), ""),
        Column("name", _text, "as last known"),
        Column("start", _ns, "CLOCK_MONOTONIC, nanoseconds"),
        Column("cpu", _ns, "CPU time used, -1 when the thread was still running or was killed"),
    ),
)
WORK = Table(
    "work",
    "Units of work done: what costs are divided by when runs are compared.",
    (
        Column("time", _ns, "when the count was taken", rising=True),
        Column("unit", _text, "what is counted: run, or what the driver or the user named"),
        Column("count", pa.float64(), "how many, since the start of the window", least=0),
    ),
)
SOURCE = Table(
    "source",
    "Excerpts of the source around the sampled lines, so that a report needs no source tree.",
    (
        Column("file", _text, "path as in `frames`"),
        Column("first_line", pa.int32(), "line number of the first line"),
        Column("text", _text, "the lines"),
        Column("sha256", _text, "of the whole file when sealed"),
    ),
)

VARIABLES = Table(
    "variables",
    "Variables of the functions in which values were read; a pointer's target and fields are variables of their own.",
    (
        Column("variable", _id, "row number", own_number=True),
        Column("function", _id, "row of `functions`; -1 for globals", "functions"),
        Column("module", _id, "row of `modules`", "modules"),
        Column("name", _text, "as in the source: n, *p, p->n, this->size"),
        Column("type", _text, "as in the source"),
        Column(
            "kind",
            _text,
            "signed, unsigned, float, boolean, enum, pointer or size; redacted: scaled, scaled-size (in a secret unit)",
        ),
        Column("scope", _text, "parameter, local, global"),
        Column("order", pa.int32(), "declaration order within the function, to tell shadowed names apart"),
        Column("file", _text, "of the declaration"),
        Column("line", pa.int32(), "of the declaration"),
        Column(
            "roles",
            _text,
            "its use in the source: loop, condition, truth, argument, global, joined by |; empty: unknown",
        ),
    ),
)
VALUES = Table(
    "values",
    "What variables held when samples were taken, sorted by variable and sample.",
    (
        Column("variable", _id, "row of `variables`", "variables"),
        Column("sample", _id, "row of `samples`", "samples"),
        Column("depth", pa.int16(), "how many (out-of-line) frames above the innermost; -1 for globals"),
        Column("frame", _id, "row of `frames`: where it was read; -1 for globals", "frames"),
        Column(
            "value",
            pa.int64(),
            "the number; of floats and scaled ones a double's IEEE bits; for pointers the class (0 null, 1 module, 2 "
            "heap, 3 stack, 4 other) in the upper 8 bits and an identity within the run below",
        ),
    ),
)

TABLES: tuple[Table, ...] = (
    SAMPLES,
    STACKS,
    FRAMES,
    FUNCTIONS,
    PASSED,
    DECISIONS,
    FINGERPRINTS,
    MODULES,
    MAPPINGS,
    PROCESSES,
    THREADS,
    WORK,
    SOURCE,
    VARIABLES,
    VALUES,
    EVENTS,
    CALL_COUNTS,
    ALLOCATIONS,
    *DEEP_TABLES,
)


def table_named(name: str) -> Table:
    return next(table for table in TABLES if table.name == name)
