"""The one command that would settle what is open."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pyarrow as pa
import pytest

from tests.diagnose.joining.test_join import suspect
from tests.diagnose.test_diagnosis import NOISE, SLOW, STACKS, runs, scaled
from whyperf.diagnose.diagnosis import diagnose, examine
from whyperf.diagnose.joining.join import Joined
from whyperf.diagnose.next_command.advice import compare_again
from whyperf.diagnose.next_command.next_step import KnownPossible, RecordedSides, next_step
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import PEAK_BYTES, Symptom, VerdictKind
from whyperf.engines.run import Run
from whyperf.recording.sealed.manifest import RunOptions, TraceSummary, Window

SAMPLED = RecordedSides(traced=False, waits=False, fewest_runs=3)
CLEAR = Joined((suspect("a", score=0.9), suspect("b", score=0.2)), ())
CLOSE = Joined((suspect("a", score=0.5), suspect("b", score=0.45)), ())
PLACED = Joined(tuple(replace(one, file="a.c", line=7) for one in CLOSE.suspects), ())
UNPLACED = Joined(tuple(replace(one, file="", line=0) for one in CLOSE.suspects), ())
INLINED = replace(SAMPLED, inlined=frozenset({"a"}))
CERTAIN = Joined(tuple(replace(one, confidence="high") for one in CLOSE.suspects), ())
DISPUTED = Joined(CLEAR.suspects, ("The engines disagree.",))
NOBODY = Joined((), ())
ALL = KnownPossible(trace=True, deep=True)
NONE = KnownPossible()


def proposed(kind, joined, recordings=SAMPLED, possible=ALL, measure="wall_s"):
    symptom = Symptom(kind, "run", 1.0, 2.0, measure, (3, 3))
    step = next_step(symptom, joined, recordings, possible, DiagnoseSettings())
    return None if step is None else " ".join(step.options)


@pytest.mark.parametrize(
    ("kind", "joined", "recordings", "possible", "options"),
    [
        ("cpu", CLEAR, SAMPLED, ALL, None),
        ("cpu", CLEAR, replace(SAMPLED, fewest_runs=1), ALL, "--runs 3"),
        ("cpu", CLOSE, SAMPLED, ALL, "--deep --symptom instructions:a"),
        ("cpu", PLACED, INLINED, ALL, "--deep --symptom line:a.c:7"),
        ("cpu", UNPLACED, INLINED, ALL, "--runs 6"),
        ("cpu", CLOSE, SAMPLED, NONE, "--runs 6"),
        ("cpu", CERTAIN, SAMPLED, NONE, None),
        ("wait", NOBODY, SAMPLED, ALL, "--trace"),
        ("wait", NOBODY, SAMPLED, NONE, "--clock wall"),
        ("wait", NOBODY, replace(SAMPLED, traced=True), ALL, "--clock wall"),
        ("wait", NOBODY, replace(SAMPLED, fewest_runs=1), NONE, "--clock wall"),
        ("wait", NOBODY, replace(SAMPLED, traced=True, waits=True), ALL, None),
        ("io", CLOSE, replace(SAMPLED, waits=True), ALL, "--trace"),
        ("wait", DISPUTED, replace(SAMPLED, traced=True), ALL, "--clock wall"),
        ("wait", DISPUTED, replace(SAMPLED, traced=True, waits=True), ALL, "--runs 6"),
        ("external", NOBODY, SAMPLED, ALL, "--trace"),
        ("external", NOBODY, SAMPLED, NONE, None),
    ],
)
def test_the_cheapest_that_would_tell_is_proposed(kind, joined, recordings, possible, options):
    assert proposed(kind, joined, recordings, possible) == options


def test_who_keeps_memory_is_counted():
    assert proposed("memory", NOBODY, measure=PEAK_BYTES) == "--memory"
    assert proposed("memory", NOBODY, possible=NONE, measure=PEAK_BYTES) == "--memory"


def test_a_function_without_a_name_cannot_be_asked_for():
    nameless = Joined((suspect("tool+0x40", score=0.5), suspect("tool+0x80", score=0.5)), ())
    assert proposed("cpu", nameless) == "--runs 6"


def test_what_is_possible_comes_from_the_caller():
    good, bad = runs(STACKS, wall_s=3.0), runs(STACKS, wall_s=30.0)
    assert "--clock wall" in (diagnose(good, bad).next_command or "")
    asked = examine(good, bad, possible=ALL).verdict
    assert "--trace" in (asked.next_command or "")
    assert any("record with --trace" in note for note in asked.notes)


def made(*, lasted_s=3, **more):
    window = Window(0, lasted_s * 10**9)
    return [Run(replace(one, manifest=replace(one.manifest, window=window))) for one in runs(STACKS, **more)]


def test_a_comparison_is_repeated_with_what_it_was_recorded_with():
    again = compare_again(made(clock="wall", command=("tool", "a b")), made(clock="wall", command=("tool", "c")))
    assert shlex.split(again) == ["whyperf", "compare", "--clock", "wall", "--good", "tool 'a b'", "--bad", "tool c"]
    assert "--clock" not in compare_again(made(clock="wall"), made(clock="wall"), "--deep")


def with_options(made_runs, **options):
    told = RunOptions(**options)
    return [Run(replace(run.recording, manifest=replace(run.recording.manifest, options=told))) for run in made_runs]


def test_what_was_not_to_be_read_is_not_read_next_time_either():
    narrowed = with_options(made(), components=("lib*",), excluded_variables=("secret*", "serve.token"))
    again = shlex.split(compare_again(narrowed, narrowed, "--runs", "6"))
    words = ["--component", "lib*", "--exclude-variable", "secret*", "--exclude-variable", "serve.token"]
    assert again[2:8] == words
    nothing = with_options(made(), no_values=True)
    assert shlex.split(compare_again(nothing, nothing))[2] == "--no-values"


def test_a_servers_options_are_part_of_the_next_command():
    server = {"ready": "tcp:7000", "skip_s": 2.0, "stop_signal": 2, "work_count": "serve one", "unit": "request"}
    good = with_options(made(), drive="./load.sh 10", **server)
    again = shlex.split(compare_again(good, good, "--trace"))
    words = ["whyperf", "compare", "--trace", "--ready", "tcp:7000", "--skip", "2s", "--stop", "2", "--work-count"]
    assert again[: len(words) + 1] == [*words, "serve one"]
    assert again[again.index("--drive") + 1] == "./load.sh 10"
    timed = with_options(made(), latency="serve one")
    assert shlex.split(compare_again(timed, timed))[2:4] == ["--latency", "serve one"]
    assert "--latency" not in compare_again(timed, timed, "--counts")
    # THEN drivers of their own are told apart, and what deep recordings do not take is left out
    bad = with_options(made(), drive="./load.sh 20", **server)
    other = shlex.split(compare_again(good, bad, "--deep"))
    assert other[other.index("--good-drive") + 1] == "./load.sh 10"
    assert other[other.index("--bad-drive") + 1] == "./load.sh 20"
    assert "--work-count" not in other and "--drive" not in other


def test_of_a_whole_machine_one_more_recording_is_asked_for():
    everybody = {"command": ("[all processes]",), "trace": TraceSummary("bpf", "all", 99.0), "lasted_s": 30}
    command = compare_again(made(**everybody), made(**everybody), "--runs", "3")
    assert command == "whyperf record --trace --all --for 30s -o NAME"
    dumped = compare_again(made(stopped_by="dump", **everybody), made(stopped_by="dump", **everybody), "--runs", "3")
    assert dumped == "whyperf trace dump -o NAME"


def test_of_processes_that_ran_already_too():
    attached = made(stopped_by="for", lasted_s=5, command=("tool", "--serve"))
    for run in attached:
        row = {"process": 0, "pid": 7, "origin": "attached", "command": ["tool", "--serve"]}
        run.recording.tables["processes"] = pa.Table.from_pylist([row])
    assert compare_again(attached, attached, "--runs", "3") == "whyperf record --pid PID --for 5s -o NAME"


@pytest.mark.parametrize("part", [0.0124, 0.01, 0.001])
def test_too_few_samples_never_ask_for_what_was_done_already(part):
    # GIVEN an excess that was sampled just less often than needed, or hardly ever
    verdict = diagnose(runs(scaled(STACKS, part), NOISE), runs(scaled(SLOW, part), NOISE))
    assert verdict.kind is VerdictKind.INSUFFICIENT
    # THEN neither the sentence nor the command is rounded to what was there
    assert "only about 30 times" not in verdict.symptom.sentence
    words = shlex.split(verdict.next_command or "")
    assert int(words[words.index("--rate") + 1]) >= 300


def test_where_no_rate_is_high_enough_more_runs_are_asked_for():
    brief = scaled(STACKS, 0.0001), scaled(SLOW, 0.0001)
    verdict = diagnose(runs(brief[0], rate_hz=5000.0), runs(brief[1], rate_hz=5000.0))
    words = shlex.split(verdict.next_command or "")
    assert verdict.kind is VerdictKind.INSUFFICIENT
    assert "--rate" not in words and int(words[words.index("--runs") + 1]) > 3
