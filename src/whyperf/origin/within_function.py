"""What made a value, within a function and those that it calls, as far as one pair of runs shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from whyperf.debuginfo.machines.machine import FlowStep as Leads
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input
from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.origin.callers import passed
from whyperf.origin.changed import changed_in
from whyperf.origin.choosing import Through, choose, choose_address, input_of, is_step
from whyperf.origin.evidence import Targets
from whyperf.origin.made_of import (
    CONSTANT,
    IN_A_LOOP,
    NOT_UNDERSTOOD,
    constant,
    made_of_itself,
    supplying_input,
    undecided,
)
from whyperf.origin.points import Point, result_in
from whyperf.origin.questions import Ask, AskControl, AskMemory, CodeHere, Next, Stop
from whyperf.origin.returned import callee_of, library_end, points_of_call
from whyperf.origin.supplied import Use, held_before, narrowed, supplier
from whyperf.origin.trail import Trail, TrailStep
from whyperf.origin.values import ComparedValues, cut

_SITES = 40
_INNER_SITES = 16
_INNER_DEPTH = 2
_CALLERS_DEPTH = 3
_FEW_CALLS = 3
_KINDS = {
    DefinitionKind.LOAD: HopKind.LOADED,
    DefinitionKind.COMPUTE: HopKind.COMPUTED,
    DefinitionKind.SELECT: HopKind.CHOSEN,
    DefinitionKind.CONSTANT: HopKind.CONSTANT,
    DefinitionKind.STORE: HopKind.STORED,
    DefinitionKind.UNKNOWN: HopKind.COMPUTED,
}
_ONLY_IN_BAD = Stop(ChainEnd.NOT_FOLLOWED, "Only bad runs make it.")
_SAME_INPUTS = Stop(ChainEnd.SAME_INPUTS, "Everything that this code reads is the same, but its result is not.")


def explain(trail: Trail, ask: Ask, targets: Targets) -> Next:
    if (ask.at.key, ask.location) in trail.asked:
        return Stop(ChainEnd.NOT_FOLLOWED, "It is made of itself, again and again.")
    trail.asked.add((ask.at.key, ask.location))
    here = trail.here(ask.at)
    if here is None:
        return Stop(ChainEnd.NOT_FOLLOWED, "The code there could not be read.")
    if trail.code.in_good(here.entry) is None:
        return _changed(trail, here, ask.compared)
    made = here.slicer.definitions(ask.at.address, ask.location)
    if not made:
        return Stop(ChainEnd.NOT_FOLLOWED, "No instruction was found that makes it.")
    if not all(trail.is_seen(here, one) for one in made):
        _look(trail, here, made, _INNER_DEPTH)
    within = _Within(trail, here, made, ask.compared, held_before(ask.at, ask.location), targets)
    while (found := within.step()) is None:
        pass
    return found


def _changed(trail: Trail, here: CodeHere, compared: ComparedValues) -> Stop:
    found = changed_in(trail.code, here)
    whole = here.module.declared(here.entry.address) or SourcePlace("", "", 0)
    place = found[0].place if found else whole
    trail.add(TrailStep(HopKind.RETURNED, here.entry, compared, "", callee=place.function, changed=place))
    names = ", ".join(f"{one.place.function}()" for one in found) or f"{whole.function}()"
    into = f", inlined into {found[0].into}()," if found and found[0].into else ""
    return Stop(ChainEnd.CHANGED_CODE, f"The code of {names}{into} is not the same in both builds.")


def _look(trail: Trail, here: CodeHere, made: Sequence[Definition], depth: int) -> None:
    wanted = list(_with_callees(trail, here, made, depth))
    wanted += _in_callers(trail, wanted, _CALLERS_DEPTH)
    calls = [point for where, one in wanted for point in _calls(where, one)]
    trail.look(wanted, f"following values through {here.module.function_name(here.entry.address)}()", calls)


def _with_callees(
    trail: Trail, here: CodeHere, made: Sequence[Definition], depth: int, most: int = _SITES
) -> Iterator[tuple[CodeHere, Definition]]:
    """A slice, and those of the functions that return values in it."""
    inner: list[tuple[CodeHere, Sequence[Definition]]] = []
    for one in here.slicer.closure(made, most):
        yield here, one
        call = here.slicer.function.at(one.address)
        if one.kind is DefinitionKind.RETURNED and depth and call is not None and one.target is not None:
            entry = here.module.callee(call).entry
            slicer = here.module.slicer_at(entry) if entry is not None else None
            if slicer is not None and slicer is not here.slicer:
                inner.append((CodeHere(here.module, slicer), slicer.returned(one.target)))
    for callee, results in inner:
        if trail.code.in_good(callee.entry) is not None:
            yield from _with_callees(trail, callee, results, depth - 1, _INNER_SITES)


def _in_callers(
    trail: Trail, wanted: Sequence[tuple[CodeHere, Definition]], depth: int
) -> list[tuple[CodeHere, Definition]]:
    """What the arguments among the definitions come from, where few calls pass them: looked at along with the rest, so
    that a chain of calls takes one pair of runs."""
    found: list[tuple[CodeHere, Definition]] = []
    for here, one in wanted:
        calls = here.module.calls_of(here.slicer.function.entry) if one.kind is DefinitionKind.ARGUMENT else []
        for call in calls if len(calls) <= _FEW_CALLS else ():
            slicer = here.module.slicer_at(call)
            if slicer is None or not isinstance(one.target, int) or call not in slicer.function.row:
                continue
            caller = CodeHere(here.module, slicer)
            if trail.code.in_good(caller.entry) is not None:
                found += _with_callees(trail, caller, slicer.definitions(call, one.target), 0, _INNER_SITES)
    return found + (_in_callers(trail, found, depth - 1) if found and depth > 1 else [])


def _calls(here: CodeHere, one: Definition) -> list[Point]:
    call = here.slicer.function.at(one.address)
    returned = one.kind is DefinitionKind.RETURNED and call is not None and call.step is Leads.CALL
    return points_of_call(here, call) if returned and call is not None else []


@dataclass
class _Within:
    """From definition to definition, by what was looked at."""

    trail: Trail
    here: CodeHere
    made: Sequence[Definition]
    used: ComparedValues
    """What the place held that the definitions make."""
    use: Use
    """That place."""
    targets: Targets
    _visited: set[tuple[object, Definition]] = field(default_factory=set)

    def step(self) -> Next | None:
        """None: one further back."""
        trail, here = self.trail, self.here
        one = self._chosen()
        if isinstance(one, Stop):
            return one
        if one is None:
            return self._alike()
        if one.kind is DefinitionKind.ARGUMENT:
            return passed(trail, here, one, self.used)
        if (here.module.path, one) in self._visited:
            return made_of_itself(here, one.address) if trail.is_alone else AskControl(here, one.address, IN_A_LOOP)
        self._visited.add((here.module.path, one))
        return self._enter(one) if one.kind is DefinitionKind.RETURNED else self._follow(one)

    def _chosen(self) -> Definition | Stop | None:
        """Of what makes the value; None: it is the same in good and bad runs."""
        if self.trail.is_alone:
            found = supplier(self.trail, self.here, self.use, self.made, self.used)
            if isinstance(found, Stop):
                return found
            one, self.used = found
            return one
        return choose(self.trail, self.here, self.made) or self._made_in_rounds()

    def _follow(self, one: Definition) -> Next | None:
        trail, here = self.trail, self.here
        if one.kind is not DefinitionKind.TEST:
            trail.add_result(here, one, _KINDS[one.kind], self._what_it_makes(one))
        if one.kind is DefinitionKind.CONSTANT:
            return constant(trail, here, one.address, CONSTANT)
        if trail.is_alone:
            return self._through(one)
        if one.kind is DefinitionKind.UNKNOWN:
            return AskControl(here, one.address, NOT_UNDERSTOOD)
        if self._runs_in_bad_only(one):
            return AskControl(here, one.address, _ONLY_IN_BAD)
        if heads := _heads(trail, here, one):
            self.made = heads
            return None
        return self._through(one)

    def _runs_in_bad_only(self, one: Definition) -> bool:
        """Whether there is nothing in good runs that its inputs could be compared with: then why it runs is asked."""
        good, bad = self.trail.counts(self.here, one)
        return one.kind is not DefinitionKind.TEST and not good and bool(bad)

    def _what_it_makes(self, one: Definition) -> ComparedValues:
        """As it is used, where the definition ran on one side only or makes it round by round of a loop."""
        made = self.trail.result(self.here, one)
        if self.trail.is_alone:
            as_used = one.kind is DefinitionKind.RETURNED and bool(len(self.used.bad.values))
            return self.used if as_used or not len(made.bad.values) else narrowed(made, self.used)
        in_rounds = one.kind is DefinitionKind.COMPUTE and bool(self.used.rank) and is_step(self.here, one)
        return self.used if in_rounds or not made.is_on_both_sides else made

    def _made_in_rounds(self) -> Definition | None:
        """What alone made a value that differs, round by round of a loop: such as a hash, whose rounds look alike."""
        ran = [one for one in self.made if any(self.trail.counts(self.here, one))]
        alone = ran[0] if len(ran) == 1 and self.used.rank else None
        return alone if alone is not None and is_step(self.here, alone) else None

    def _alike(self) -> Next:
        """No definition makes other values: an address is another one, or one of them runs more often."""
        address = choose_address(self.trail, self.here, self.made) if self.used.only_addresses else None
        if address is not None and address.kind is DefinitionKind.LOAD:
            return AskMemory(self.here, address)
        return _by_counts(self.trail, self.here, self.made)

    def _through(self, one: Definition) -> Next | None:
        """To what made the input that differs."""
        trail, here = self.trail, self.here
        wanted = supplying_input(trail, here, one) if trail.is_alone else input_of(trail, here, one)
        if isinstance(wanted, Stop):
            return wanted
        unseen = not all(trail.input(here, one, each).is_on_both_sides for each in _numbers(one))
        if wanted is Through.NOTHING and unseen and not trail.is_alone:
            return Stop(ChainEnd.NOT_FOLLOWED, "It is made of a number in a vector register that could not be seen.")
        if wanted is Through.NOTHING:
            otherwise = _SAME_INPUTS if self._differs_by_itself(one) else undecided(here, one)
            return constant(trail, here, one.address, otherwise)
        if one.kind is DefinitionKind.TEST:
            trail.add_decision(here, one, wanted if isinstance(wanted, Input) else None)
        if not isinstance(wanted, Input):
            return AskMemory(here, one)
        made = here.slicer.definitions(one.address, wanted.location)
        compared = trail.input(here, one, wanted)
        if not made or any(not trail.is_seen(here, each) for each in made):
            return Ask(here.at(one.address), wanted.location, compared)
        self.use = held_before(here.at(one.address), wanted.location)
        if wanted.location == FLAGS:
            self.made = made if trail.is_alone else _compared(here, made)
        else:
            self.made, self.used = made, compared
        return None

    def _differs_by_itself(self, one: Definition) -> bool:
        """Whether a computation makes other values of inputs that are the same, as far as they were seen."""
        result = self.trail.result(self.here, one)
        makes = one.kind in (DefinitionKind.COMPUTE, DefinitionKind.LOAD) and result.is_on_both_sides
        return makes and (result.differs or (bool(self.used.rank) and is_step(self.here, one)))

    def _enter(self, one: Definition) -> Next | None:
        """Into the function that returned it, or the end."""
        trail, here = self.trail, self.here
        call = here.slicer.function.at(one.address)
        assert call is not None
        name, inner = callee_of(trail, here, call)
        result = cut(self._what_it_makes(one), self.used.size)  # the callee may leave anything in the upper half
        trail.add_result(here, one, HopKind.RETURNED, result, callee=name)
        if inner is None or not trail.code.is_program(inner.module):
            return library_end(trail, here, one, name, self.targets)
        if trail.code.in_good(inner.entry) is None:
            return _changed(trail, inner, self.used)
        made = inner.slicer.returned(one.target) if one.target is not None else ()
        if ("returned", inner.entry.key) in trail.asked:
            return Stop(ChainEnd.NOT_FOLLOWED, f"{name}() calls itself.")
        if not made:
            return Stop(ChainEnd.NOT_FOLLOWED, f"It is returned by {name}(), which does not say from what.")
        trail.asked.add(("returned", inner.entry.key))
        if not all(trail.is_seen(inner, each) for each in made):
            _look(trail, inner, made, _INNER_DEPTH - 1)
        behind = trail.point(here, one)
        if behind is not None:  # else it is what this function returns, too
            self.use = Use(behind, lambda rows: result_in(rows, one))
        used = self._what_it_makes(one) if trail.is_alone else trail.result(here, one)
        self.here, self.made, self.used = inner, made, used
        return None


def _numbers(one: Definition) -> list[Input]:
    """What it reads from vector registers."""
    return [each for each in one.inputs if each.location >= VECTOR]


def _compared(here: CodeHere, tests: Sequence[Definition]) -> Sequence[Definition]:
    """Comparisons, with those that they depend on (`a && b` in one go)."""
    found = list(tests)
    for one in found:
        if one.reads_flags:
            found += (each for each in here.slicer.definitions(one.address, FLAGS) if each not in found)
    return found


def _heads(trail: Trail, here: CodeHere, one: Definition) -> list[Definition]:
    """Of a step along a list: how it begins, where that differs."""
    if one.kind is not DefinitionKind.LOAD or not isinstance(one.target, int) or one.target not in one.of_address:
        return []
    heads = [each for each in here.slicer.definitions(one.address, one.target) if not is_step(here, each)]
    seen = all(trail.is_seen(here, each) for each in heads)
    return heads if seen and choose(trail, here, heads) is not None else []


def _by_counts(trail: Trail, here: CodeHere, made: Sequence[Definition]) -> Next:
    """What decides between definitions that make the same values, if one runs more often."""
    counts = {one: trail.counts(here, one) for one in made}
    ran = [one for one in made if any(counts[one])]
    if not ran:
        return Stop(ChainEnd.NOT_FOLLOWED, "None of the instructions that make it ran.")
    good, bad = (max(1, sum(counts[one][side] for one in ran)) for side in (0, 1))
    most = max(ran, key=lambda one: abs(counts[one][0] / good - counts[one][1] / bad))
    if most.kind is DefinitionKind.ARGUMENT:
        return AskControl(here, here.slicer.function.entry, undecided(here, most))
    return AskControl(here, most.address, undecided(here, most))
