"""Runs inside gdb: stops a program at many addresses and compares what gdb prints with what the variables table says.

Called as `gdb -batch -x gdb_oracle.py PROGRAM`, with the file of settings that `oracle.py` wrote in
WHYPERF_ORACLE. Writes counts and every disagreement to the file named there.
"""

import json
import os
import platform
import random
import site
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

settings = json.loads(Path(os.environ["WHYPERF_ORACLE"]).read_text())
for folder in settings["path"]:
    site.addsitedir(folder)
sys.path[:0] = settings["path"]

import gdb  # noqa: E402

from tests.debuginfo.evaluate import Frame, evaluate, evaluate_fields  # noqa: E402
from whyperf.debuginfo.variable_tables.table import KINDS, read_table  # noqa: E402

MACHINE = platform.machine()
# By DWARF number, those that callers still have, and the vectors with their low eight bytes.
REGISTERS = {
    "x86_64": ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{number}" for number in range(8, 16))],
    "aarch64": [*(f"x{number}" for number in range(31)), "sp"],
}[MACHINE]
SURVIVING = {"x86_64": (3, 6, 7, 12, 13, 14, 15), "aarch64": (*range(19, 30), 31)}[MACHINE]
VECTORS = {
    "x86_64": [(f"xmm{number}", "v2_int64") for number in range(16)],
    "aarch64": [(f"v{number}", "d") for number in range(32)],
}[MACHINE]
STACK_POINTER = {"x86_64": "rsp", "aarch64": "sp"}[MACHINE]
DEPTH = 6

table = read_table(Path(settings["table"]))
names, lines = list(table.variables.name), table.variables.line
files, kinds = list(table.variables.file), table.variables.kind
counts: Counter[str] = Counter()
differences = []


def read_memory(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.error:
        return None


def physical_frames():
    """The stack without gdb's invented frames (inlined and tail-called functions); each with those inlined in it."""
    frame, inlined, found = gdb.newest_frame(), [], []
    while frame is not None and len(found) < DEPTH + 1:
        if frame.type() == gdb.INLINE_FRAME:
            inlined.append(frame)
        elif frame.type() == gdb.NORMAL_FRAME:
            found.append((frame, [*inlined, frame]))
            inlined = []
        elif frame.type() != gdb.TAILCALL_FRAME:
            break
        frame = frame.older()
    return found


def stack_pointer_above(frame):
    """The canonical frame address: what the caller's stack pointer is after the return."""
    older = frame.older()
    while older is not None and older.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        older = older.older()
    return None if older is None else int(older.read_register(STACK_POINTER)) & (2**64 - 1)


def registers_of(frame, innermost):
    found = {}
    for number, name in enumerate(REGISTERS):
        if innermost or number in SURVIVING:
            value = frame.read_register(name)
            if not value.is_optimized_out:
                found[number] = int(value) & (2**64 - 1)
    return found


def vectors_of(frame):
    found = {}
    for number, (name, part) in enumerate(VECTORS):
        halves = frame.read_register(name)[part]
        halves = halves["u"] if MACHINE == "aarch64" else halves
        found[number] = b"".join((int(halves[i]) & (2**64 - 1)).to_bytes(8, "little") for i in range(2))
    return found


def as_frames(physical, bias):
    """From gdb's frames to the evaluator's, callers first made."""
    caller, caller_pc, found = None, None, []
    for depth in reversed(range(len(physical))):
        frame, _ = physical[depth]
        cfa = stack_pointer_above(frame)
        if cfa is None:
            caller = caller_pc = None
            found.append(None)
            continue
        innermost = depth == 0
        block = thread_block(frame)
        caller = Frame(
            registers=registers_of(frame, innermost),
            cfa=cfa,
            bias=bias,
            thread_local_block=block,
            vectors=vectors_of(frame) if innermost else {},
            return_address=caller_pc,
            caller=caller,
        )
        caller_pc = frame.pc()
        found.append(caller)
    return found[::-1]


def plain(value):
    """A number as the table would have it, or why there is none."""
    if value.is_optimized_out:
        return "optimised out"
    kind = value.type.strip_typedefs().code
    try:
        if kind == gdb.TYPE_CODE_FLT:
            return float(value)
        if kind in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            pointed = value if kind == gdb.TYPE_CODE_PTR else value.referenced_value().address
            return int(pointed) & (2**64 - 1) if pointed is not None else "unavailable"  # not in memory
        return int(value)
    except (gdb.error, ValueError, OverflowError) as error:
        return "unavailable" if "optimized out" in str(error) or "synthetic" in str(error) else f"error: {error}"


def follow(value, path):
    """A field by the path that the table names it by, through bases and unnamed members."""
    for step in path.split("."):
        if step == "size()":
            return container_size(value)
        value = value[step]
    if str(value.type.strip_typedefs()).startswith("std::atomic<"):
        value = value["_M_i"]
    return value


def container_size(value):
    kind = str(value.type.strip_typedefs().unqualified())
    if kind.startswith("std::vector"):
        size = value["_M_impl"]["_M_finish"] - value["_M_impl"]["_M_start"]
        return size.cast(gdb.lookup_type("unsigned long"))
    if kind.startswith("std::__cxx11::basic_string"):
        return value["_M_string_length"]
    if not kind.startswith("std::"):
        return container_size(value[value.type.strip_typedefs().fields()[0]])  # of its base class
    return value["_M_t"]["_M_impl"]["_M_node_count"]


def gdb_value(symbol_value, own, name):
    """What gdb has for the table's variable `name`, which belongs to the symbol called `own`."""
    is_reference = symbol_value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
    if is_reference:
        if name == f"&{own}":
            return plain(symbol_value)
        target = symbol_value.referenced_value()
        return plain(target if name == own else follow(target, name[len(own) + 1 :]))
    if name == own:
        return plain(symbol_value)
    if name == f"*{own}":
        return plain(symbol_value.dereference())
    if name.startswith(f"{own}->"):
        return plain(follow(symbol_value.dereference(), name[len(own) + 2 :]))
    if name.startswith("length of "):
        low, high = symbol_value.type.strip_typedefs().range()
        return high - low + 1
    return plain(follow(symbol_value, name[len(own) + 1 :]))


def own_name(name):
    stripped = name.removeprefix("length of ").lstrip("*&")
    return stripped.split("->")[0].split(".")[0]


def symbols_of(frame):
    """Variables in sight, innermost first, up to the function's own."""
    try:
        block = frame.block()
    except RuntimeError:
        return
    while block is not None:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.addr_class != gdb.SYMBOL_LOC_STATIC:
                yield symbol
        if block.function is not None:
            return
        block = block.superblock


def compare_one(symbol, frame, variable, ours, where):
    try:
        theirs = gdb_value(symbol.value(frame), symbol.name, names[variable])
    except (gdb.error, RuntimeError) as error:
        theirs = f"error: {error}"
    if isinstance(theirs, str):
        kind = "optimised out" if "optimi" in theirs or theirs == "unavailable" else "gdb cannot"
        counts[f"{kind}, ours {'none' if ours is None else 'some'}"] += 1
        if ours is not None:
            note(where, variable, ours, theirs)
        return
    if ours is None:
        counts["unreadable"] += 1
        note(where, variable, "unreadable", theirs)
        return
    same = is_same(ours, theirs)
    counts["agree" if same else "disagree"] += 1
    counts[f"kind {KINDS[kinds[variable]]}"] += 1
    if not same:
        differences.append([*where, names[variable], str(lines[variable]), repr(ours), repr(theirs)])


def is_same(ours, theirs):
    return ours == theirs or (ours != ours and theirs != theirs)


def note(where, variable, ours, theirs):
    if settings["verbose"]:
        differences.append([*where, names[variable], str(lines[variable]), str(ours), repr(theirs)])


def last_name(name):
    """Without qualification, arguments and template arguments: what both sides spell the same."""
    depth, kept = 0, []
    for letter in name:
        depth += (letter in "<(") - (letter in ">)")
        kept += letter if depth == 0 and letter not in ">)" else ""
    return "".join(kept).rpartition("::")[2]


def function_name(variable):
    row = table.variables.function[variable]
    return last_name(settings["function_names"][row]) if row >= 0 else ""


def compare_frame(frame, mine, levels, depth):
    pc = frame.pc() - (depth > 0) - mine.bias
    listed = {}
    for location in table.at(pc):
        row = table.locations[location]
        value = evaluate(table, location, mine, read_memory)
        listed[int(row["variable"])] = value
        if isinstance(value, int) and row["field_count"]:
            listed |= dict(evaluate_fields(table, location, value, read_memory))
    by_declaration = {}
    for variable, value in listed.items():
        place = Path(files[variable]).name if lines[variable] else function_name(variable)
        key = (own_name(names[variable]), int(lines[variable]), place)
        by_declaration.setdefault(key, []).append((variable, value))
    for level in levels:
        for symbol in symbols_of(level):
            place = Path(symbol.symtab.filename).name if symbol.line else last_name(str(level.name()))
            key = (symbol.name, symbol.line, place)
            where = [hex(pc), str(depth), str(level.name())]
            found = by_declaration.pop(key, None)
            if found is None:
                note_missing(symbol, level, where)
                continue
            if len({int(table.variables.order[variable]) for variable, _ in found}) > 1:
                continue  # a parameter pack: one name, one line, several variables
            for variable, value in found:
                compare_one(symbol, level, variable, value, where)


def note_missing(symbol, level, where):
    """What gdb can print and the table does not list."""
    try:
        value = plain(symbol.value(level))
    except (gdb.error, RuntimeError):
        return
    if not isinstance(value, str):
        counts["gdb alone"] += 1
        if settings["verbose"]:
            differences.append([*where, symbol.name, str(symbol.line), "not listed", repr(value)])


def compare_globals(bias):
    frame = gdb.newest_frame()
    mine = Frame(registers={}, cfa=0, bias=bias, thread_local_block=thread_block(frame))
    for location in table.globals.tolist():
        variable = int(table.locations[location]["variable"])
        if table.variables.function[variable] >= 0 or names.count(names[variable]) > 1:
            continue  # gdb's lookup by name knows only one of several
        ours = evaluate(table, location, mine, read_memory)
        try:
            value = gdb.parse_and_eval(f"'{own_name(names[variable])}'")
            theirs = gdb_value(value, own_name(names[variable]), names[variable])
        except gdb.error:
            continue
        if isinstance(theirs, (int, float)):
            same = is_same(ours, theirs)
            counts["globals agree" if same else "globals disagree"] += 1
            if not same:
                differences.append(["global", "0", "", names[variable], "", repr(ours), repr(theirs)])


def thread_block(frame):
    if not settings["tls_bytes"]:
        return None
    # Below the thread pointer on x86-64; above it and two words on aarch64.
    if MACHINE == "aarch64":
        return (int(frame.read_register("tpidr")) & (2**64 - 1)) + settings["tls_offset"]
    return (int(frame.read_register("fs_base")) & (2**64 - 1)) - settings["tls_bytes"]


def load_bias():
    for mapping in gdb.execute("info proc mappings", to_string=True).splitlines():
        parts = mapping.split()
        if parts and parts[-1] == settings["program"]:
            return int(parts[0], 16) - int(parts[3], 16) - settings["first_address"]
    raise RuntimeError("the program is not mapped")


def addresses(bias):
    """Instructions all over the functions that were asked for."""
    architecture = gdb.newest_frame().architecture()
    found = []
    for low, high in settings["functions"]:
        instructions = architecture.disassemble(low + bias, high + bias - 1)
        found += [one["addr"] for one in instructions]
    random.Random(5).shuffle(found)
    return found[: settings["stops"]]


def run():
    for setting in ("pagination off", "confirm off", "disable-randomization off", "backtrace past-main on"):
        gdb.execute(f"set {setting}")
    gdb.execute("starti " + settings["arguments"], to_string=True)
    gdb.execute("tbreak main", to_string=True)
    gdb.execute("continue", to_string=True)
    bias = load_bias()
    for address in addresses(bias):
        gdb.Breakpoint(f"*{address:#x}", internal=True, temporary=True)
    driver = subprocess.Popen(settings["driver"], shell=True) if settings["driver"] else None
    end = time.monotonic() + settings["seconds"]
    while counts["stops"] < settings["stops"] and time.monotonic() < end:
        try:
            gdb.execute("continue", to_string=True)
        except gdb.error:
            break
        if not gdb.selected_thread() or gdb.selected_inferior().pid == 0:
            break
        counts["stops"] += 1
        physical = physical_frames()
        frames = as_frames(physical, bias)
        for depth, ((frame, levels), mine) in enumerate(zip(physical, frames, strict=True)):
            in_program = gdb.solib_name(frame.pc()) is None
            if mine is not None and in_program and depth < DEPTH:
                counts["frames"] += 1
                compare_frame(frame, mine, levels, depth)
        if counts["stops"] % 25 == 0:
            compare_globals(bias)
    if driver:
        driver.kill()
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)


failure = ""
try:
    run()
except Exception:
    failure = traceback.format_exc()
result = {"counts": counts, "differences": differences, "failure": failure}
Path(settings["output"]).write_text(json.dumps(result))
