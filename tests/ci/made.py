"""Reports as `whyperf ci` makes them, without running anything."""

from __future__ import annotations

from dataclasses import replace

from whyperf.ci.benchmark import Benchmark
from whyperf.ci.policy import FailOn
from whyperf.ci.result import BenchmarkRevision, Cause, Figures, Report, Result
from whyperf.ci.state import BenchmarkState
from whyperf.diagnose.verdict import ChangedBy, Symptom, Verdict, VerdictKind
from whyperf.engines.finding import HotLine

DIFF = (
    "@@ -18 +18 @@",
    " static int lookup(uint32_t key)",
    " {",
    "-    int steps = 1;",
    "+    int steps = 60000;",
    "     for (int i = 0; i < steps; i++)",
)
COMMIT = ChangedBy(
    "e785163533" * 4, "Ann <ann@example.org>", "Mon", "Look further", "lookup", "src/tool.c", (18,), (18,)
)
CAUSE = Cause(
    function="lookup",
    module="tool",
    file="src/tool.c",
    line=19,
    share=0.97,
    confidence="high",
    why="It takes 411 ms more per run in its own code: 0 s became 411 ms. Its code differs between the two builds.",
    diff=DIFF,
    commits=(COMMIT,),
    lines=(HotLine(18, 0.0, "    int steps = 60000;"), HotLine(19, 0.57, "    for (int i = 0; i < steps; i++)")),
    evidence=("steps stays at 60,000 for the whole run; was 1.",),
)
OTHER = replace(
    CAUSE, function="std::map<int, std::string>::find(int const&)", file="", line=0, share=0.02, diff=(), commits=()
)


def figures(base: float, head: float, measure: str = "cpu_s", unit: str = "run") -> Figures:
    return Figures(measure, unit, base, head, (base,) * 5, (head,) * 5, 0.05)


def verdict(kind: VerdictKind, good: float, bad: float) -> Verdict:
    runs = (good * 0.99, good, good * 1.01), (bad * 0.99, bad, bad * 1.01)
    return Verdict(kind, Symptom("cpu", "run", good, bad, "cpu_s", (3, 3), *runs, sentence="x"), (), ())


def slower(name: str = "lookup") -> Result:
    return Result(
        Benchmark(name, "./tool 8000", "make"),
        BenchmarkState.SLOWER,
        "4.3 times the CPU time per run: 122 ms → 517 ms (5+5 runs).",
        figures(0.122, 0.517),
        (CAUSE, OTHER),
        ("3 samples were dropped, the recorder could not keep up.",),
        verdict(VerdictKind.DIFFERENCE, 0.122, 0.517),
        12.5,
        4,
    )


def faster(name: str = "parse | all") -> Result:
    cause = replace(CAUSE, function="tokenize", line=7, why="", diff=(), lines=(), evidence=(), commits=())
    return Result(
        Benchmark(name, "./tool"),
        BenchmarkState.FASTER,
        "38% less CPU time per request: 3.10 ms → 1.92 ms (5+5 runs).",
        figures(0.0031, 0.00192, unit="request"),
        (cause,),
        verdict=verdict(VerdictKind.DIFFERENCE, 0.00192, 0.0031),
    )


def same(name: str = "startup") -> Result:
    sentence = "CPU time per run 31.0 ms → 31.2 ms (5+5 runs). A change of 6% or more would have shown."
    return Result(Benchmark(name, "./tool"), BenchmarkState.SAME, sentence, figures(0.031, 0.0312))


def insufficient(name: str = "network") -> Result:
    sentence = "wall time per run 1.02 s → 1.33 s (5+5 runs), but runs of one revision differ by 410 ms: run it longer."
    return Result(Benchmark(name, "./tool"), BenchmarkState.INSUFFICIENT, sentence, figures(1.02, 1.33, "wall_s"))


def out_of_budget(name: str = "soak") -> Result:
    sentence = "The time budget of 300 s has ended: no pair of runs, and 3 are the least that can be judged."
    return Result(Benchmark(name, "./tool"), BenchmarkState.INSUFFICIENT, sentence)


def failed(name: str = "export") -> Result:
    return Result(
        Benchmark(name, "./tool"),
        BenchmarkState.FAILED,
        "The head cannot be measured: its command ended with status 1.",
    )


def report(*results: Result, fail_on: FailOn = FailOn.SLOWER) -> Report:
    every = results or (slower(), faster(), same(), insufficient(), out_of_budget(), failed())
    return Report(
        BenchmarkRevision("823e18aca2" * 4, "Base"),
        BenchmarkRevision("e785163533" * 4, "Look further"),
        every,
        300.0,
        25.8,
        fail_on,
        ".whyperf.toml",
    )
