"""From a call's result into the function that made it, or to the end where that is a library's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from whyperf.debuginfo.machines.operations import Memory
from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind, MemoryOperand
from whyperf.debuginfo.slices.function import SlicedInstruction
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.command_line import TEXT_BYTES, option_of
from whyperf.origin.evidence import Targets
from whyperf.origin.outside import end_at, reads_number, takes_text
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide, CodeAddress
from whyperf.origin.questions import AskMemory, CodeHere, Next, Stop
from whyperf.origin.read_files import files_read, in_words
from whyperf.origin.trail import Trail

_RUNS_FOR_A_TEXT = 6


def callee_of(trail: Trail, here: CodeHere, call: SlicedInstruction) -> tuple[str, CodeHere | None]:
    """Its name, and its code where values are followed into it."""
    callee = here.module.callee(call)
    if callee.entry is not None:
        slicer = here.module.slicer_at(callee.entry)
        return callee.name, None if slicer is None else CodeHere(here.module, slicer)
    if callee.name:
        return callee.name, _imported(trail, callee.name)
    return _through_pointer(trail, here, call)


def points_of_call(here: CodeHere, call: SlicedInstruction) -> list[Point]:
    """What is looked at when a call's result is wanted: where a pointer leads that is called through, and the text that
    a library's function is given."""
    path = here.module.path
    name = here.module.callee(call).name
    if name and not takes_text(name):
        return []
    if name:
        return [Point(path, call.address, memory=_text(here.slicer))]
    return [Point(path, call.address, memory=_target_in_memory(here, call))]


def _text(slicer: Slicer) -> MemoryOperand:
    """Where the first argument points to."""
    return MemoryOperand(slicer.function.registers.arguments[0][0], None, 1, 0, TEXT_BYTES)


def _target_in_memory(here: CodeHere, call: SlicedInstruction) -> MemoryOperand | None:
    row = here.slicer.function.row[call.address]
    operand = next((one for one in call.operation.operands if isinstance(one, Memory)), None)
    return None if operand is None else here.slicer.function.operand(row, operand)


def _through_pointer(trail: Trail, here: CodeHere, call: SlicedInstruction) -> tuple[str, CodeHere | None]:
    looked = trail.evidence.looked((here.module.path, call.address), BuildSide.BAD)
    if looked is None or not len(looked.rows):
        return "", None
    register = next((one for one in call.operation.operands if isinstance(one, int)), None)
    if register is not None:
        targets = looked.rows["registers"][:, register]
    elif _target_in_memory(here, call) is not None:
        targets = looked.rows["memory"]
    else:
        return "", None
    (target, _), *_ = Counter(targets.tolist()).most_common(1)
    at = trail.code.locate(BuildSide.BAD, trail.evidence.modules[BuildSide.BAD], target)
    if at is None:
        return "", None
    name = at.module.function_name(at.address)
    return name, trail.here(at) if trail.code.is_program(at.module) else None


def _imported(trail: Trail, name: str) -> CodeHere | None:
    """From another of the program's own binaries."""
    for path, _bias in trail.evidence.modules[BuildSide.BAD]:
        if not path.startswith("/"):
            continue
        module = trail.code.module(Path(path))
        if not trail.code.is_program(module) or module.image is None:
            continue
        entry = module.image.exports.get(name)
        if entry:
            return trail.here(CodeAddress(module, entry))
    return None


def library_end(trail: Trail, here: CodeHere, one: Definition, name: str, targets: Targets) -> Next:
    """Why a chain ends that comes to the result of a library's function; of a text that is neither an option nor in the
    environment, who read it."""
    looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD)
    if takes_text(name) and looked is not None and len(looked.rows):
        option = option_of(targets, int(looked.rows["memory"][-1]))
        if option:
            return Stop(ChainEnd.OUTSIDE, option)
    source = in_words(files_read(trail, here, one.address, name), "outside of the program")
    found = end_at(name, source)
    if found is not None and reads_number(name) and trail.evidence.has_room(_RUNS_FOR_A_TEXT):
        trail.otherwise = Stop(*found)
        memory = _text(here.slicer)
        return AskMemory(
            here, Definition(one.address, DefinitionKind.LOAD, None, TEXT_BYTES, memory=memory, reads_memory=True)
        )
    if found is not None:
        return Stop(*found)
    called = f"{name}()" if name else "a function that is called through a pointer"
    return Stop(ChainEnd.NOT_FOLLOWED, f"It is returned by {called}, whose code is not followed.")
