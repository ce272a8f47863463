"""Of one run alone: what a value is made of, as far as that is one thing, and why the way ends where it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.choosing import Through, is_step, read_by
from whyperf.origin.evidence import Looked
from whyperf.origin.points import content_in, input_in, result_in
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import AskControl, CodeHere, Stop
from whyperf.origin.shown import listed, shown_alone
from whyperf.origin.starts import StartingPoint
from whyperf.origin.supplied import settle
from whyperf.origin.trail import Trail
from whyperf.origin.values import masked

NOT_UNDERSTOOD = Stop(ChainEnd.NOT_FOLLOWED, "It is made by an instruction that is not understood.")
CONSTANT = Stop(ChainEnd.CONSTANT, "A constant.")
IN_A_LOOP = Stop(ChainEnd.NOT_FOLLOWED, "It changes in a loop: each value is made from the one before.")
_MADE_ALIKE = Stop(ChainEnd.NOT_FOLLOWED, "No difference between good and bad runs was found in what makes it.")


def values_of_line(trail: Trail, points: list[StartingPoint]) -> list[StartingPoint] | Stop:
    """Of what a line reads, neither numbers of the program nor what is counted up, unless there is nothing else. All
    must come from the same: one run does not tell which of several values matters."""
    best = [one for one in points if one.preference == points[0].preference]
    varying = [one for one in best if one.wanted is None or not _is_counter(one.here, one.definition, one.wanted)]
    described = [(_described(trail, one.here, one.definition, one.wanted), one) for one in varying or best]
    described.sort(key=lambda each: not each[0][0])  # those with a name first
    of_roots: dict[object, tuple[str, str]] = {}
    for told, one in described:
        of_roots.setdefault(_roots(one), told)
    texts = {name or text: text for name, text in of_roots.values()}
    if len(texts) == 1:
        return [one for _, one in described]
    names = [f"`{name}`" for name in dict.fromkeys(name for name, _ in of_roots.values()) if name]
    of_names = f"follow {listed(names, 'or')} with --variable" if names else "one run does not tell which matters"
    return Stop(ChainEnd.NOT_FOLLOWED, f"The line reads {listed(texts.values())}: {of_names}.")


def _is_counter(here: CodeHere, one: Definition, wanted: Input) -> bool:
    made = here.slicer.definitions(one.address, wanted.location)
    return _is_constant(here, one, wanted) or any(is_step(here, each) for each in made)


def _roots(point: StartingPoint) -> object:
    """What the value is computed from in the end, without numbers of the program."""
    slicer = point.here.slicer
    if point.wanted is None:
        return point.here.module.path, frozenset((point.definition,))
    ahead, seen = list(slicer.definitions(point.definition.address, point.wanted.location)), set[Definition]()
    while ahead:
        one = ahead.pop()
        if one not in seen and one.kind is DefinitionKind.COMPUTE and not one.reads_memory:
            ahead += (each for value in one.inputs for each in slicer.definitions(one.address, value.location))
        seen.add(one)
    computed = (DefinitionKind.COMPUTE, DefinitionKind.CONSTANT)
    return point.here.module.path, frozenset(one for one in seen if one.kind not in computed)


def supplying_input(trail: Trail, here: CodeHere, one: Definition) -> Input | Through | Stop:
    """Of what a definition reads, that by which its values came; NOTHING: it reads numbers of the program only."""
    if one.kind is DefinitionKind.LOAD:
        return Through.MEMORY
    if one.kind is DefinitionKind.UNKNOWN:
        return NOT_UNDERSTOOD
    registers = [each for each in one.inputs if each.location != FLAGS]
    is_choice = one.kind is DefinitionKind.SELECT
    if not is_choice and is_step(here, one):
        return made_from_before(trail, here, one)
    if not is_choice:
        registers = [each for each in registers if not _is_constant(here, one, each)]
    read: list[Input | Through] = [*registers, *((Through.MEMORY,) if one.reads_memory else ())]
    joins = one.reads_flags and one.kind is DefinitionKind.TEST
    if len(read) > 1 or (read and (is_choice or joins)):
        return _unchanged(trail, here, one, read) or _made_of(trail, here, one, read)
    return read[0] if read else Input(FLAGS, 8) if one.reads_flags else Through.NOTHING


def _is_constant(here: CodeHere, one: Definition, value: Input) -> bool:
    return is_constant(here.slicer.definitions(one.address, value.location))


def is_constant(made: Sequence[Definition]) -> bool:
    return bool(made) and all(each.kind is DefinitionKind.CONSTANT for each in made)


def _unchanged(
    trail: Trail, here: CodeHere, one: Definition, read: Sequence[Input | Through]
) -> Input | Through | None:
    """What the result is as it is, in most of the records."""
    if one.kind is DefinitionKind.TEST or any(isinstance(each, Input) and each.location >= VECTOR for each in read):
        return None
    looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD)
    if looked is None:
        return None
    counts = _same(looked, one, read)
    if counts and not looked.complete:
        trail.count([(here, one)], "counting which of its inputs it is")
        looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD) or looked
        counts = _same(looked, one, read)
    best = settle(trail, counts, len(looked.rows) - counts.total(), looked)
    return None if best is None else read[best]


def _same(looked: Looked, one: Definition, read: Sequence[Input | Through]) -> Counter[int]:
    """How often the result is which of the inputs, and no other one."""
    made, rows, size = result_in(looked.rows, one), looked.rows, one.size
    seen = [
        input_in(rows, Input(each.location, size)) if isinstance(each, Input) else content_in(rows, one)
        for each in read
    ]
    same = np.array([each == made for each in seen])
    alone = same.sum(axis=0) == 1
    return Counter(np.argmax(same[:, alone], axis=0).tolist()) if alone.any() else Counter()


def _made_of(trail: Trail, here: CodeHere, one: Definition, read: Sequence[Input | Through]) -> Stop:
    parts = [_described(trail, here, one, each if isinstance(each, Input) else None)[1] for each in read]
    what = listed(parts) if len(parts) > 1 else f"{parts[0]} and of a condition"
    return Stop(ChainEnd.NOT_FOLLOWED, f"It is made of {what}: one run does not tell which of them to follow.")


def _described(trail: Trail, here: CodeHere, one: Definition, read: Input | None) -> tuple[str, str]:
    """What a definition reads: its name, if there is one, and what it held. None: what it reads from memory."""
    variables = here.module.variables
    compared = trail.content(here, one) if read is None else trail.input(here, one, read)
    where = one.memory if read is None else read.location
    name = "" if variables is None or where is None else variables.name_of(one.address, where)
    values = shown_alone(compared.bad, compared.size)
    return name, f"`{name}` ({values})" if name else f"an unnamed value ({values})"


def made_of_itself(here: CodeHere, address: int) -> Stop:
    return Stop(ChainEnd.NOT_FOLLOWED, f"It is made of itself, again and again.{_deciding(here, address, 'how often')}")


def made_from_before(trail: Trail, here: CodeHere, one: Definition) -> Stop:
    how = "It is a counter: each value" if _counts(trail, here, one) else "Each value"
    what = f"{how} is made from the one before."
    return Stop(ChainEnd.NOT_FOLLOWED, f"{what}{_deciding(here, one.address, 'how often')}")


def _counts(trail: Trail, here: CodeHere, one: Definition) -> bool:
    """Whether the same number was added each time that was seen."""
    looked = trail.evidence.looked((here.module.path, one.address), BuildSide.BAD)
    made = trail.result(here, one).bad.values
    if looked is None or len(made) != len(looked.rows):
        return False
    if isinstance(one.target, int) and 0 <= one.target < VECTOR:
        was = input_in(looked.rows, Input(one.target, one.size))
    elif one.kind is DefinitionKind.STORE:
        was = content_in(looked.rows, one)
    else:
        return False
    steps = np.unique(masked(made - was, one.size))
    return len(made) > 1 and len(steps) == 1 and bool(steps[0])


def undecided(here: CodeHere, one: Definition) -> Stop:
    """Why the way ends at a definition if nothing decides how often it runs."""
    if _is_number(here, one):
        return CONSTANT
    if is_step(here, one):
        return IN_A_LOOP
    lines = sorted(_lines_that_change(here, one)) if one.kind is DefinitionKind.ARGUMENT else []
    if not lines:
        return _MADE_ALIKE
    who = f"Line {lines[0]} changes" if len(lines) == 1 else f"Lines {listed(map(str, lines))} change"
    said = f"Its first value is the same in good and bad runs. {who} it in a loop: follow that with --line."
    return Stop(ChainEnd.NOT_FOLLOWED, said)


def _lines_that_change(here: CodeHere, first: Definition) -> set[int]:
    """Of loops that make each value from the one before, beginning with this one."""
    return {
        line
        for instruction in here.slicer.function.code
        for one in here.slicer.made_by(instruction.address)
        if is_step(here, one)
        and any(first in here.slicer.definitions(one.address, place) for place in read_by(here, one))
        and (line := here.module.line(one.address)[1])
    }


def _is_number(here: CodeHere, one: Definition) -> bool:
    """Of the program: it is made of nothing else."""
    if one.kind is not DefinitionKind.COMPUTE or one.reads_memory:
        return one.kind is DefinitionKind.CONSTANT
    return all(each.location != FLAGS and _is_constant(here, one, each) for each in one.inputs)


def constant(trail: Trail, here: CodeHere, address: int, otherwise: Stop) -> Stop | AskControl:
    """What decides about a number of the program; of one run alone the way ends there."""
    if not trail.is_alone:
        return AskControl(here, address, otherwise)
    return Stop(ChainEnd.CONSTANT, f"A constant.{_deciding(here, address, 'whether it is used')}")


def _deciding(here: CodeHere, address: int, what: str) -> str:
    """Names the line of the condition, where there is one."""
    lines = {here.module.line(one.address)[1] for one in here.slicer.deciders(address)}
    lines -= {0, here.module.line(address)[1]}
    return f" Line {lines.pop()} decides {what}." if len(lines) == 1 else ""
