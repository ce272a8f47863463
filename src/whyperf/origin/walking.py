"""The way back, question by question, until there is nothing left to ask."""

from __future__ import annotations

from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.control import decided
from whyperf.origin.evidence import OutOfBudgetError, Targets
from whyperf.origin.memory import who_wrote, written
from whyperf.origin.questions import Ask, AskControl, AskMemory, Next, Read, Stop
from whyperf.origin.trail import Trail
from whyperf.origin.within_function import explain

_MOST_STEPS = 40


def walk_back(trail: Trail, first: Next, targets: Targets) -> Stop:
    """Adds steps to the trail; why it ended."""
    found: Next = first
    try:
        while not isinstance(found, Stop):
            long = Stop(ChainEnd.NOT_FOLLOWED, "The way back is longer than anybody would read.")
            found = _answer(trail, found, targets) if len(trail.steps) <= _MOST_STEPS else long
    except OutOfBudgetError as error:
        found = Stop(ChainEnd.NOT_FOLLOWED, f"Not followed further: {error}.")
    is_lost = found.end in (ChainEnd.NOT_FOLLOWED, ChainEnd.CONSTANT, ChainEnd.ADDRESS)
    return trail.otherwise if is_lost and trail.otherwise is not None else found


def _answer(trail: Trail, question: Ask | AskControl | AskMemory | Read, targets: Targets) -> Next:
    if isinstance(question, Ask):
        return explain(trail, question, targets)
    if isinstance(question, AskMemory):
        return written(trail, question.here, question.definition)
    if isinstance(question, Read):
        return who_wrote(trail, question, targets)
    if ("control", question.here.module.path, question.address) in trail.asked:
        return Stop(ChainEnd.NOT_FOLLOWED, "What decides leads back to itself.")
    trail.asked.add(("control", question.here.module.path, question.address))
    found = decided(trail, question.here, question.address)
    nothing = isinstance(found, Stop) and found.end is ChainEnd.CONSTANT and question.otherwise is not None
    return question.otherwise if nothing and question.otherwise is not None else found
