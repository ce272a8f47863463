"""The verdict's sentences."""

from __future__ import annotations

from math import floor

from whyperf.diagnose.measures import Measures
from whyperf.diagnose.significance import Judgement, Measure
from whyperf.engines.blocked_waits import Waits
from whyperf.engines.quantities import count, percent, seconds
from whyperf.engines.same_work import Work

SPREAD_UNKNOWN = "Spread unknown: a single run of a kind cannot show how much runs differ by themselves."
COUNT_UNITS = "Count units of work to tell more work from slower work: work=N from the driver or --work-count FUNCTION."
LEFT_OUT = {
    Waits.ALL: [],
    Waits.OUTSIDE: ["Waits of threads for each other and for child processes are left out: they wait along."],
    Waits.LOCKS: ["Only waits for locks are counted, which explain the added time: who waits for others waits along."],
}
HOLDER_UNSEEN = "Who holds the lock is not seen here, only who waits for it"
WAITS_UNSEEN = "Samples of CPU time do not show if threads wait for each other"
_SHOWN_WORD = 40  # characters of a command's word
_TIMES = {"cpu_s": "CPU time", "sampled_cpu_s": "sampled CPU time", "wall_s": "wall time"}


def grew(measure: Measure, unit: str, steadied: Measure | None = None) -> str:
    """`steadied`: without the machine's changes of speed, where the difference shows only so."""
    time = _TIMES[measure.name]
    counted = f"{seconds(measure.bad_mean)} per {unit}, not {seconds(measure.good_mean)} ({_runs(measure)})"
    if steadied is None:
        return f"Bad runs use {factor(measure)} {time}: {counted}."
    alike = "measured by what all runs do alike, since the machine's speed changed"
    return f"Bad runs use {factor(steadied)} {time}, {alike}; counted were {counted}."


def grew_alike(sentence: str) -> str:
    return f"{sentence} Every part of the program grew alike: more of the same work, or a slower machine."


def waited(measures: Measures) -> str:
    wall, cpu = measures.wall, measures.cpu
    return (
        f"Bad runs take {factor(wall)} wall time: {seconds(wall.bad_mean)} per {measures.unit} instead of "
        f"{seconds(wall.good_mean)} ({_runs(wall)}), while CPU time went from {seconds(cpu.good_mean)} to "
        f"{seconds(cpu.bad_mean)}: they wait."
    )


def grew_beyond_cpu(sentence: str, wall: Measure) -> str:
    return (
        f"{sentence} Wall time grew by more than that explains, to {seconds(wall.bad_mean)} from "
        f"{seconds(wall.good_mean)}: the threads run less side by side."
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
    verb = "take" if measure.name == "wall_s" else "use"
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


def memory_note(memory: Measure) -> str:
    return f"Peak memory went from {memory.good_mean / 1e6:,.0f} MB to {memory.bad_mean / 1e6:,.0f} MB."


def more_memory(memory: Measure) -> str:
    return (
        f"Bad runs are not slower, but use {factor(memory)} memory: {memory.bad_mean / 1e6:,.0f} MB at the peak, not "
        f"{memory.good_mean / 1e6:,.0f} MB ({_runs(memory)})."
    )


def no_cpu(measures: Measures, cpu_wait_s: float) -> str:
    wall = measures.wall
    return (
        f"The program is not slower, but got no CPU: {seconds(wall.bad_mean)} wall time per {measures.unit} instead of "
        f"{seconds(wall.good_mean)} ({_runs(wall)}), {seconds(cpu_wait_s)} more of it ready to run, at the same CPU "
        f"time."
    )


def starved_thread(cpu_wait_s: float) -> str:
    return (
        f"One thread was runnable for {seconds(cpu_wait_s)} more without getting a CPU. If the main thread waited for "
        "that thread, the machine was too busy and the program is not slower."
    )


def assumed_work(work: Work) -> str:
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


def _runs(measure: Measure) -> str:
    """Good and bad, in as few words as fit on the symptom's line."""
    return f"{len(measure.good)}+{len(measure.bad)} runs"
