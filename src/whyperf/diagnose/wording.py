"""The verdict's sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.measures import Measures
from whyperf.diagnose.measured.significance import Judgement, Measure
from whyperf.diagnose.verdict import Percentile
from whyperf.engines.kernel.blocked_waits import BlockedWaits
from whyperf.engines.quantities import count, in_bytes, percent, seconds
from whyperf.engines.same_command import SameWork
from whyperf.engines.sampled_bytes import SampledBytes, SampledPair

SPREAD_UNKNOWN = "Spread unknown: a single run of a kind cannot show how much runs differ by themselves."
COUNT_UNITS = "Count units of work to tell more work from slower work: work=N from the driver or --work-count FUNCTION."
LEFT_OUT = {
    BlockedWaits.ALL: [],
    BlockedWaits.OUTSIDE: [
        "Waits for other threads and for child processes are excluded: they only pass on another wait."
    ],
    BlockedWaits.LOCKS: ["Only waits for locks are counted, which explain the excess: other waits only pass them on."],
}
HOLDER_UNSEEN = "Who holds the lock is not seen here, only who waits for it"
WAITS_UNSEEN = "Samples of CPU time do not show if threads wait for each other"
_UNSAMPLED = "too little to sample"
_SHOWN_WORD = 40  # characters of a command's word
_TIMES = {
    "cpu_s": "CPU time",
    "sampled_cpu_s": "sampled CPU time",
    "wall_s": "wall time",
    "own_s": "time without the run queue",
}


def grew(measure: Measure, unit: str, steadied: Measure | None = None) -> str:
    """`steadied`: without the machine's changes of speed, where the difference shows only so."""
    time = _TIMES[measure.name]
    counted = f"{seconds(measure.bad_mean)} per {unit}, not {seconds(measure.good_mean)} ({_runs(measure)})"
    if steadied is None:
        return f"Bad runs use {factor(measure)} {time}: {counted}."
    alike = "measured by what all runs do alike, since the machine's speed changed"
    return f"Bad runs use {factor(steadied)} {time}, {alike}; counted were {counted}."


def grew_alike(sentence: str) -> str:
    return f"{sentence} All functions slowed down by the same factor: more of the same work, or a slower machine."


def waited(measures: Measures, *, knows_queue: bool) -> str:
    """`knows_queue`: the runs would show it if threads had been ready to run instead."""
    wall, cpu = measures.wall, measures.cpu
    so = "they wait" if knows_queue else "they wait, or others had the CPUs: samples alone do not show which"
    return (
        f"Bad runs take {factor(wall)} {_TIMES[wall.name]}: {seconds(wall.bad_mean)} per {measures.unit} instead of "
        f"{seconds(wall.good_mean)} ({_runs(wall)}), while CPU time went from {seconds(cpu.good_mean)} to "
        f"{seconds(cpu.bad_mean)}: {so}."
    )


def slower_requests(measure: Measure, percentiles: Sequence[Percentile], function: str) -> str:
    """The percentile that grew most, and the others behind it. `function`: whose calls are the requests, if known."""
    which = measure.name.removeprefix(PREFIX).removesuffix("_s")
    others = [
        f"p{one.percentile:g} {seconds(one.bad)}, was {seconds(one.good)}"
        for one in percentiles
        if f"{one.percentile:g}" != which
    ]
    beside = f"; {'; '.join(others)}" if others else ""
    return (
        f"p{which} of {f'a call of {function}' if function else 'a request'}: {seconds(measure.bad_mean)}, was "
        f"{seconds(measure.good_mean)} ({_runs(measure)}){beside}."
    )


def requests_wait(sentence: str, cpu: Measure, unit: str) -> str:
    went = f"{seconds(cpu.bad_mean)} per {unit}, was {seconds(cpu.good_mean)}"
    return f"{sentence} They wait: CPU time is {went}."


def queued_requests(sentence: str, added_s: float, queued_s: float) -> str:
    return (
        f"{sentence} The threads did not get a CPU: they were runnable for {seconds(queued_s)} more, and requests took "
        f"{seconds(added_s)} longer in all."
    )


def quota(measures: Measures, cpus: float, throttled_s: float) -> str:
    wall = measures.wall
    return (
        f"A CPU quota slows the bad runs: {seconds(wall.bad_mean)} wall time per {measures.unit} instead of "
        f"{seconds(wall.good_mean)} ({_runs(wall)}) at the same CPU time. Their control group allows {cpus:.2g} CPUs "
        f"and was stopped for {seconds(throttled_s)} of a run."
    )


def busy_machine(good: float, bad: float, *, judged_by_clock: bool) -> str:
    """`judged_by_clock`: the symptom is of elapsed time or latency, of which the run queue is a part."""
    busy = (
        f"The machine was busy: threads waited for a CPU {_ratio(good)} times as long as they used one in the good "
        f"runs, {_ratio(bad)} times in the bad ones."
    )
    if judged_by_clock:
        return (
            f"{busy} Elapsed time and latency contain that time. A quieter machine would show how much of them is the "
            "program's own."
        )
    return (
        f"{busy} Judged by CPU time and by time in which threads were blocked; elapsed time and latency say little of "
        "the program here. A quieter machine would tell."
    )


def grew_beyond_cpu(sentence: str, wall: Measure) -> str:
    return (
        f"{sentence} Wall time grew by more than that explains, to {seconds(wall.bad_mean)} from "
        f"{seconds(wall.good_mean)}: parallelism dropped."
    )


def slower_iterations(measure: Measure) -> str:
    return (
        f"One iteration of the program's loops takes {factor(measure)} time: {seconds(measure.bad_mean)} instead of "
        f"{seconds(measure.good_mean)} ({_runs(measure)})."
    )


def slower_itself(measure: Measure) -> str:
    return (
        f"Without the time in which others had the CPUs, bad runs take {factor(measure)} time: "
        f"{seconds(measure.bad_mean)} instead of {seconds(measure.good_mean)} ({_runs(measure)})."
    )


def beside(added_s: float, unit: str) -> str:
    return (
        "Contexts count every moment of the wall clock once, along the main thread and whom it waits for; CPU time is "
        f"summed over threads: {seconds(added_s)} more of it per {unit} passed beside, in other threads."
    )


def divided_differently(measure: Measure, function: str) -> str:
    return (
        f"The time is divided differently: {function} takes {percent(measure.bad_mean)} of it in the bad runs, "
        f"{percent(measure.good_mean)} in the good ({_runs(measure)})."
    )


def more_work(measures: Measures) -> str:
    units, cpu = measures.units, measures.cpu
    return (
        f"Bad runs did {units.bad_mean / units.good_mean:.1f} times the work ({count(units.bad_mean)} against "
        f"{count(units.good_mean)} × {measures.unit}) at the same cost each: {seconds(cpu.bad_mean)} and "
        f"{seconds(cpu.good_mean)} CPU time per {measures.unit}."
    )


def no_difference(measures: Measures, judgement: Judgement) -> str:
    cpu = measures.cpu
    return (
        f"No difference: {seconds(cpu.bad_mean)} CPU time per {measures.unit} in the bad runs, "
        f"{seconds(cpu.good_mean)} in the good ({_runs(cpu)}). "
        f"{100 * judgement.detectable:.0f}% or more would have shown."
    )


def unclear(measure: Measure, unit: str, judgement: Judgement, runs: int | None) -> str:
    verb = "take" if measure.name in ("wall_s", "own_s") else "use"
    seen = (
        f"Bad runs {verb} {factor(measure)} {_TIMES[measure.name]} ({seconds(measure.bad_mean)} per {unit} instead of "
        f"{seconds(measure.good_mean)})"
    )
    if measure.single:
        return (
            f"{seen}, but with a single run of a kind less than {100 * judgement.detectable:.0f}% cannot be told from "
            f"noise: {runs} runs of each would tell."
        )
    spread = f"runs of the same kind differ by {seconds(judgement.spread)}"
    if runs is None:
        return f"{seen}, but {spread}: too noisy to tell. Run longer, or on a quieter machine."
    return f"{seen}, but {spread}: about {runs} runs of each would tell."


def too_few_samples(sentence: str, have: float, need: float, times: float) -> str:
    """Never rounded to what would be enough."""
    return (
        f"{sentence} The excess was sampled only about {floor(have)} times; {need:.0f} are needed to name functions: "
        f"run {times:.1f} times as long, or sample as much faster."
    )


def shrank(measure: Measure, unit: str) -> str:
    less = 100 * (1 - measure.bad_mean / measure.good_mean)
    return (
        f"Bad runs are not slower: they use {less:.0f}% less {_TIMES[measure.name]}, {seconds(measure.bad_mean)} "
        f"per {unit} instead of {seconds(measure.good_mean)} ({_runs(measure)}). Were good and bad swapped?"
    )


def wall_grew(wall: Measure, cpu_wait_s: float) -> str:
    ready = max(cpu_wait_s, 0.0)
    grew = f"Wall time did grow, to {seconds(wall.bad_mean)} from {seconds(wall.good_mean)}"
    return (
        f"{grew}: {seconds(ready)} of that passed ready to run while others had the CPUs. A quieter machine, or "
        "--clock wall, shows what else it waits for."
    )


def wall_unclear(wall: Measure) -> str:
    why = "a single run cannot show if that is noise" if wall.single else "varies as much between runs of the same kind"
    return f"Wall time is {100 * wall.relative:.0f}% higher in the bad runs, but {why}."


def more_memory(memory: Measure) -> str:
    return (
        f"Bad runs are not slower, but use {factor(memory)} memory: {memory.bad_mean / 1e6:,.0f} MB at the peak, not "
        f"{memory.good_mean / 1e6:,.0f} MB ({_runs(memory)})."
    )


def more_memory_held(grown: Measure, live: SampledPair, kept: SampledPair, *, is_allocated: bool) -> str:
    """`grown`: what shows it, `live` itself if `is_allocated`; `live` and `kept`: what the allocations come to at the
    peak and at the end."""
    never = f"{kept.bad} are never freed, was {kept.good}"
    if not (kept.good.is_measured or kept.bad.is_measured):
        never = "what is never freed is too little to sample"
    runs = _runs(grown)
    if is_allocated and live.good.is_measured:
        how = f"{factor(grown)} memory: {live.bad} at the peak, not {live.good} ({runs})"
        return f"Bad runs use {how}; {never}."
    if is_allocated:
        how = f"more memory: {live.bad} at the peak, was {live.good} ({_UNSAMPLED}; {runs})"
        return f"Bad runs use {how}; {never}."
    resident = f"{in_bytes(grown.bad_mean)} resident at the peak, not {in_bytes(grown.good_mean)} ({runs})"
    then = f"{live.bad} are allocated then, was {_first_said(live.good)}"
    return f"Bad runs use {factor(grown)} memory: {resident}. {then}; {never}."


def more_memory_for_more_work(live: SampledPair, measures: Measures) -> str:
    units = measures.units
    return (
        f"Bad runs did {units.bad_mean / units.good_mean:.1f} times the work ({count(units.bad_mean)} against "
        f"{count(units.good_mean)} × {measures.unit}) and hold {live.bad} at the peak, not "
        f"{_first_said(live.good)}: no more for each {measures.unit}."
    )


def memory_churns(grown: Measure, allocated: SampledPair, in_use: SampledPair) -> str:
    used = f"{in_use.bad} are in use on average, was {in_use.good}"
    if not allocated.good.is_measured:
        was = f"was {allocated.good} ({_UNSAMPLED}; {_runs(grown)})"
        return f"Bad runs allocate more memory, {allocated.bad}, {was}, and free it again: {used}."
    return (
        f"Bad runs allocate {factor(grown)} memory, {allocated.bad} instead of {allocated.good} ({_runs(grown)}), and "
        f"free it again: {used}."
    )


def same_memory(live: SampledPair) -> str:
    if live.good.mean == live.bad.mean == 0:
        return (
            "No allocation was sampled: there are few, or the program has an allocator of its own (--allocator malloc)."
        )
    return f"Allocated memory did not grow beyond doubt: {live.bad} at the peak, {live.good} in good runs."


def _first_said(one: SampledBytes) -> str:
    return str(one) if one.is_measured else f"{one} ({_UNSAMPLED})"


def no_cpu(measures: Measures, cpu_wait_s: float) -> str:
    wall = measures.wall
    return (
        f"The program is not slower, but was starved of CPU: {seconds(wall.bad_mean)} wall time per {measures.unit} "
        f"instead of {seconds(wall.good_mean)} ({_runs(wall)}), at the same CPU time. Threads were ready to run for "
        f"{seconds(cpu_wait_s)} more, and the CPUs busy with others."
    )


def starved_thread(cpu_wait_s: float) -> str:
    return (
        f"One thread was runnable for {seconds(cpu_wait_s)} more without getting a CPU. If the main thread waited for "
        "that thread, the machine was too busy and the program is not slower."
    )


def assumed_work(work: SameWork) -> str:
    words = " and ".join(word if len(word) <= _SHOWN_WORD else f"…{word[-_SHOWN_WORD:]}" for word in work.differing)
    if work.same:
        return f"Two builds whose commands differ in {words}: taken for the same work. --same-work no says otherwise."
    return (
        f"Two builds whose commands differ in {words}: taken for other work, so code that differs between the builds "
        "is not preferred. --same-work yes says otherwise."
    )


def factor(measure: Measure) -> str:
    """`1.3 times the`, or `12% more` where a factor would hide the digits."""
    if measure.good_mean <= 0:
        return "more"
    ratio = measure.bad_mean / measure.good_mean
    return f"{ratio:,.1f} times the" if ratio >= 1.5 else f"{100 * measure.relative:.0f}% more"


def _ratio(value: float) -> str:
    return f"{value:,.1f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


def _runs(measure: Measure) -> str:
    """Good and bad, in as few words as fit on the symptom's line."""
    return f"{len(measure.good)}+{len(measure.bad)} runs"
