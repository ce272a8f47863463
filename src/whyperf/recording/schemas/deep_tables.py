"""The tables of deep recordings: what was executed, what it was part of, and what it depended on.

A sketch has `sites` (function entries, and what changes a watched variable), `calls` and `fanouts`. A zoom has `sites`
(every instruction of the planned functions), `regions`, `executions`, `dependences` and, where something is watched,
`updates`.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import pyarrow as pa

from whyperf.recording.schemas.schema import Column, Table


class SiteKind(IntEnum):
    """What an instruction does to the flow of control."""

    PLAIN = 0
    BRANCH = 1  # several successors within the function: a conditional jump, or one through a table
    CALL = 2
    RETURN = 3  # or nothing follows: ud2, hlt
    JUMP = 4  # one successor
    TAIL_CALL = 5  # leaves the function for another one without coming back


class MemoryUse(IntFlag):
    """What an instruction does to memory."""

    READS = 1
    WRITES = 2
    STACK = 4  # the address comes from the stack pointer or the frame pointer


class RegionKind(IntEnum):
    ACTIVATION = 0  # of a function, from its entry to its return
    LOOP = 1  # from entering a loop to leaving it
    ITERATION = 2
    ARM = 3  # of a branch, up to its immediate post-dominator
    THREAD = 4  # what a thread did
    SIGNAL = 5  # what a signal's handler did


class DependenceKind(IntEnum):
    """Through what a value reached the instruction that used it."""

    REGISTER = 0
    MEMORY = 1
    OLD = 2  # memory that the same instruction updates: what a counter was before it was counted up
    ADDRESS = 3  # a register that only addresses memory


_id = pa.int32()
_text = pa.string()

SITES = Table(
    "sites",
    "Instructions that a deep recording is about, by module and offset; of planned functions all, executed or not.",
    (
        Column("site", _id, "row number", own_number=True),
        Column("module", _id, "row of `modules`", "modules"),
        Column("offset", pa.int64(), "ELF virtual address in the module"),
        Column("function", _id, "row of `functions`: the out-of-line function", "functions"),
        Column(
            "inlined", _id, "row of `functions`: the innermost one there; `function` if nothing is inlined", "functions"
        ),
        Column("file", _text, "source file of the innermost function's line; empty when unknown"),
        Column("line", pa.int32(), "source line; 0 when unknown"),
        Column("frame", _id, "row of `frames`: `inlined`'s; what it is inlined in follows by `inlined_in`", "frames"),
        Column("block", pa.int32(), "basic block within the out-of-line function, by address; -1 outside the plan"),
        Column(
            "kind",
            pa.int8(),
            "0 plain, 1 branch (several successors within the function), 2 call, 3 return or end, 4 jump, 5 tail call",
            one_of=SiteKind,
        ),
        Column("entry", pa.bool_(), "the function starts here"),
        Column("copy", pa.bool_(), "only moves a value: mov, push, pop, conversions of width"),
        Column("memory", pa.int8(), "sum of 1: reads memory, 2: writes memory, 4: through stack or frame pointer"),
        Column(
            "loop",
            _id,
            "first site of the innermost loop's header, this row itself if it is that; -1 outside loops",
            "sites",
        ),
        Column("join", _id, "of branches: first site of the immediate post-dominator; -1: the function's end", "sites"),
        Column("callee", _id, "of direct calls within the module: the function called; -1 otherwise", "functions"),
    ),
    optional=True,
)
CALLS = Table(
    "calls",
    "Sketch: the calling-context tree with exact counts. Parents come before children. Recursive calls "
    "count in the context that they recur into.",
    (
        Column("call", _id, "row number", own_number=True),
        Column("parent", _id, "the caller's context, an earlier row; -1 where a thread starts", "calls"),
        Column("site", _id, "the function's entry, row of `sites`", "sites"),
        Column("caller", _id, "the call in the parent's function, row of `sites`; -1 when unknown", "sites"),
        Column("calls", pa.int64(), "how often the function was entered in this context"),
        Column("instructions", pa.int64(), "executed in the function itself in this context, callees apart"),
        Column("allocated", pa.int64(), "heap bytes that the function itself asked for in this context"),
        Column("live", pa.int64(), "of those, bytes in use when most is"),
    ),
    optional=True,
)
FANOUTS = Table(
    "fanouts",
    "Sketch: how many calls one activation of the caller makes. What is missing to the parent's calls made none.",
    (
        Column("call", _id, "the callee's context, row of `calls`", "calls"),
        Column(
            "times", pa.int64(), "calls within one activation of the parent, at least 1; rounded to 8 binary digits"
        ),
        Column("activations", pa.int64(), "activations of the parent that made so many calls"),
    ),
    optional=True,
)
REGIONS = Table(
    "regions",
    "Zoom: the tree of what was executed within what: threads, activations, loops, iterations and arms of branches. "
    "Parents come before children, and regions in the order in which they began.",
    (
        Column("region", _id, "row number", rising=True, own_number=True),
        Column(
            "parent",
            _id,
            "the region around it, an earlier row; of a thread the one that created it; -1: none",
            "regions",
        ),
        Column(
            "kind",
            pa.int8(),
            "0 activation, 1 loop, 2 iteration, 3 arm, 4 thread, 5 handler of a signal",
            one_of=RegionKind,
        ),
        Column(
            "site",
            _id,
            "activation: the function's entry; loop and iteration: the header's first; arm: the branch; -1 otherwise",
            "sites",
        ),
        Column("arm", _id, "of arms: the first site executed after the branch; -1 otherwise", "sites"),
        Column(
            "number", _id, "of iterations: counted from 0 within the loop; of signals: which; -1 otherwise", rising=True
        ),
        Column(
            "opener",
            _id,
            "the execution that led here: the call, the branch, of iterations the branch last taken; -1 when unknown",
            "executions",
            rising=True,
        ),
        Column("thread", _id, "row of `threads`", "threads"),
        Column(
            "first", pa.int64(), "row of the first execution at or after its beginning, in whatever thread", rising=True
        ),
        Column(
            "instructions",
            pa.int64(),
            "of activations: executed until it ended, by all it called too; else 0",
            rising=True,
        ),
    ),
    optional=True,
)
EXECUTIONS = Table(
    "executions",
    "Zoom: every execution of a planned instruction, in the order of time.",
    (
        Column("site", _id, "row of `sites`", "sites"),
        Column("region", _id, "the innermost region around it", "regions", rising=True),
        Column("joined", pa.bool_(), "no planned instruction: code outside the plan made one value of several"),
        Column(
            "dependences",
            pa.int64(),
            "its first row in `dependences`; they end where the next execution's begin",
            rising=True,
            firsts_in="dependences",
        ),
    ),
    optional=True,
)
DEPENDENCES = Table(
    "dependences",
    "Zoom: which earlier execution produced the values that an execution used, by execution.",
    (
        Column("producer", _id, "an earlier row of `executions`; -1: outside the plan", "executions", rising=True),
        Column(
            "kind",
            pa.int8(),
            "0 through a register, 1 through memory, 2 old value of updated memory, 3 only as an address",
            one_of=DependenceKind,
        ),
    ),
    optional=True,
)
UPDATES = Table(
    "updates",
    "Zoom: by how much executions changed what is watched: a variable's value, or the heap's size.",
    (
        Column("execution", _id, "row of `executions`", "executions", rising=True),
        Column(
            "amount",
            pa.int64(),
            "value after minus value before; bytes allocated, negative for bytes freed",
            rising=True,
        ),
    ),
    optional=True,
)

DEEP_TABLES: tuple[Table, ...] = (SITES, CALLS, FANOUTS, REGIONS, EXECUTIONS, DEPENDENCES, UPDATES)
