"""What kernel events add to a verdict."""

from __future__ import annotations

import jsonschema
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.engines.contexts.traced import Thread, ran, slept, traced, waited
from tests.engines.made import Made, recording
from tests.schemas import verdict_schema
from whyperf.diagnose.diagnosis import diagnose, examine
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.verdict import VerdictKind
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.schemas.tables import table_named
from whyperf.report.json import as_plain

NOISE = (1.0, 1.01, 0.99)


def waiting(delay, **more):
    def steps(factor):
        return [ran("main serve", 50 * factor), slept("main serve plug:filter", delay * factor)]

    return [traced([Thread(steps(factor), main=True)], **more) for factor in NOISE]


def computing(stack, ms, beside=0):
    """Events and samples of one run that computes, as --trace --all makes them; `beside`: threads that do the same."""
    made = []
    for factor in NOISE:
        steps = [ran("main serve", 300 * factor), ran(stack, ms * factor)]
        one = traced([Thread(steps, main=True), *(Thread(steps) for _ in range(beside))])
        events = one.tables["events"]
        sampled = events.filter(pc.equal(events.column("kind"), int(EventKind.SAMPLE)))
        columns = {name: sampled.column(name) for name in ("time", "thread", "stack")}
        columns |= {"weight": sampled.column("argument0"), "process": pa.array([0] * sampled.num_rows)}
        columns |= {"clock": pa.array([0] * sampled.num_rows), "wait": pa.array([-1] * sampled.num_rows)}
        samples = table_named("samples").completed(pa.table(columns))
        made.append(Made(one.path, one.manifest, {**one.tables, "samples": samples}))
    return made


def test_where_a_program_computes_they_tell_the_layer():
    verdict = diagnose(computing("main crunch", 100), computing("main crunch", 2000))
    first = verdict.suspects[0]
    assert (first.function, verdict.symptom.kind) == ("crunch", "cpu")
    assert [one.engine for one in first.evidence] == ["excess", "contexts"]
    assert first.evidence[1].detail.layer.value == "main binary"
    assert first.why.endswith("It is in the main binary.")


def test_where_a_program_waits_its_code_is_not_called_the_cause():
    verdict = diagnose(waiting(5), waiting(400))
    told = [suspect.why for suspect in verdict.suspects]
    assert any("The wait is in mod_plug.so, a plug-in." in why for why in told), told
    assert not any("The cause is" in why for why in told)


def test_cpu_time_of_threads_beside_is_said_to_be_in_no_context():
    # GIVEN three threads that each compute for 1.9 s more, side by side
    verdict = diagnose(computing("main crunch", 100, beside=2), computing("main crunch", 2000, beside=2))
    first = verdict.suspects[0]
    detail = first.evidence[1].detail
    assert detail.bad_s - detail.good_s == pytest.approx(1.9, rel=0.05)
    # THEN the suspect's figure and the context's are told apart by what lies between them
    assert any("3.80 s more of it per run passed beside" in note for note in verdict.notes)
    alone = diagnose(computing("main crunch", 100), computing("main crunch", 2000))
    assert not any("passed beside" in note for note in alone.notes)


def test_where_hardly_a_sample_fell_events_tell_it_alone():
    def runs(ms):
        return [
            Made(one.path, one.manifest, {**one.tables, "samples": one.tables["samples"].slice(0, 2)})
            for one in computing("main crunch", ms)
        ]

    verdict = diagnose(runs(100), runs(2000))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "cpu")
    assert verdict.suspects[0].function == "crunch"


def test_a_plug_in_that_computes_comes_before_the_program_that_called_it():
    """A plug-in of the system is library code to engines that look at the program alone."""

    def runs(ms):
        made = computing("main serve plug:filter", ms)
        for one in made:
            modules = one.tables["modules"]
            origins = ["system-library" if name == "mod_plug.so" else origin for name, origin in zip(
                modules.column("name").to_pylist(), modules.column("origin").to_pylist(), strict=True
            )]  # fmt: skip
            at = modules.schema.get_field_index("origin")
            one.tables["modules"] = modules.set_column(at, "origin", pa.array(origins))
        return made

    verdict = diagnose(runs(100), runs(2000))
    assert [one.function for one in verdict.suspects] == ["filter", "serve"]
    assert (verdict.suspects[0].module, verdict.suspects[0].pattern) == ("mod_plug.so", "external")
    assert sum(one.share for one in verdict.suspects) <= 1.0


def test_waits_that_a_busy_machine_hides_in_the_wall_time_are_found():
    """The good runs took as long: others had the CPUs."""

    def runs(asleep, without_cpu):
        def steps(factor):
            away = waited("main serve", without_cpu * factor, state=0)
            return [ran("main serve", 50 * factor), away, slept("main serve plug:filter", asleep * factor)]

        return [traced([Thread(steps(factor), main=True)]) for factor in NOISE]

    verdict = diagnose(runs(10, 500), runs(400, 110))
    assert (verdict.kind, verdict.suspects[0].function) == (VerdictKind.DIFFERENCE, "filter")
    assert verdict.symptom.sentence.startswith("Without the time in which others had the CPUs")
    assert diagnose(runs(10, 100), runs(10, 110)).kind is VerdictKind.NONE


def test_where_a_program_waits_the_contexts_lead():
    verdict = diagnose(waiting(5), waiting(400))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "wait")
    (suspect,) = verdict.suspects
    assert (suspect.function, suspect.module, suspect.pattern) == ("filter", "mod_plug.so", "external")
    assert (suspect.confidence, suspect.process, suspect.thread) == ("high", "tool", "thread 0")
    assert [one.engine for one in suspect.evidence] == ["contexts"]
    assert verdict.contexts is not None
    assert verdict.contexts.contexts[0].steps[verdict.contexts.contexts[0].hot].function == "filter"


def test_a_single_pair_asks_for_more_traced_runs():
    verdict = diagnose(waiting(5)[:1], waiting(400)[:1])
    assert verdict.suspects[0].confidence == "low"
    assert verdict.next_command is not None and verdict.next_command.startswith("whyperf compare --trace --runs 3")


def test_the_published_ranking_is_an_option():
    verdict = examine(waiting(5), waiting(400), method=Method.PAPER).verdict
    assert verdict.suspects[0].function == "hrtimer_nanosleep"


def test_windows_of_the_same_length_can_differ_by_iterations():
    def server(delay):
        handled = [
            step
            for _ in range(40)
            for step in (
                waited("main loop libc:epoll_wait", 60 - delay, "epoll_wait"),
                ran("main loop handle", 2),
                slept("main loop handle plug:throttle", delay),
            )
        ]
        return [traced([Thread(handled, main=True)], stopped_by="for", wall_s=2.5)] * 2

    verdict = diagnose(server(1), server(50))
    assert (verdict.kind, verdict.symptom.unit, verdict.symptom.measure) == (
        VerdictKind.DIFFERENCE, "iteration", "wall_s",
    )  # fmt: skip
    assert verdict.suspects[0].function == "throttle"
    assert "One iteration of the program's loops takes" in verdict.symptom.sentence
    assert any("per iteration" in note for note in verdict.notes)


@pytest.mark.parametrize("delays", [(5, 5), (400, 400)])
def test_the_same_behaviour_is_no_difference(delays):
    verdict = diagnose(waiting(delays[0]), waiting(delays[1]))
    assert (verdict.kind, verdict.suspects, verdict.contexts) == (VerdictKind.NONE, (), None)


def test_json_is_as_the_schema_says():
    plain = as_plain(diagnose(waiting(5), waiting(400)))
    jsonschema.validate(plain, verdict_schema())
    (context,) = plain["contexts"]["ranked"]
    assert context["path"][context["hot"]]["layer"] == "plug-in"
    assert plain["contexts"]["unit"] == "run"


def test_without_events_nothing_is_added():
    stacks = [(("main", "f"), 1.0)]
    slow = [(("main", "f"), 9.0)]
    plain = as_plain(diagnose([recording(stacks)] * 3, [recording(slow)] * 3))
    assert "contexts" not in plain
    assert [one["engine"] for one in plain["suspects"][0]["evidence"]] == ["excess"]
    assert "internal" not in plain["suspects"][0]["why"]
