"""What a page is fed, from made recordings."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.page_model import MODEL_TS
from tools.page_model import page_model as typescript

from tests.engines.made import Made, recording
from tests.engines.values.made import Read, with_values
from tests.page.made import model_of
from tests.page.stalls import stalled
from tests.report import verdicts
from whyperf.engines.run import Run
from whyperf.report.html import model as page
from whyperf.report.html.build import page_model
from whyperf.report.html.contexts import MOST_CONTEXTS, contexts_section
from whyperf.report.html.examined import Examined
from whyperf.report.html.excerpts import excerpt
from whyperf.report.html.page import embedded, render
from whyperf.report.json import to_json

_SOURCE = {"/src/tool.c": (30, "\n".join(f"line {number};" for number in range(30, 60)))}


def run(*, slow: bool) -> Made:
    stacks = [
        (("main@35", "serve@40", "find@45*", "libc:strcmp"), 6.0 if slow else 0.5),
        (("main@35", "work@50"), 2.0),
    ]
    limits = Read("find", "limit", [9000 if slow else 30] * 400, roles="loop|condition")
    made = recording(stacks, source=_SOURCE, blocked=[(("main@36", "libc:poll"), 1.0)], clock="wall")
    return with_values(made, limits)


@pytest.fixture(scope="module")
def slower() -> page.PageModel:
    return model_of([run(slow=False)] * 3, [run(slow=True)] * 3)


def test_every_claim_of_the_verdict_leads_to_its_evidence(slower: page.PageModel) -> None:
    assert slower.verdict is not None and slower.values is not None and slower.contexts is not None
    first = slower.verdict.suspects[0]
    assert first.function == "find" and first.path == ("main", "serve", "find")
    assert [slower.values.variables[number].name for number in first.variables] == ["limit"]
    assert first.frame is not None and slower.contexts.functions[first.frame].name == "find"
    assert first.runs is not None and len(first.runs.good) == len(first.runs.bad) == 3
    assert first.interval is not None and first.interval[0] <= first.share <= first.interval[1]
    assert slower.relations is None


def test_which_engines_name_a_suspect_and_what_its_sentence_does_not_say(slower: page.PageModel) -> None:
    assert slower.verdict is not None
    assert [(one.engine, one.why) for one in slower.verdict.suspects[0].evidence] == [("excess", ""), ("values", "")]
    both = page_model(verdicts.joined(), Examined([run(slow=False)], [run(slow=True)])).verdict
    assert both is not None and len(both.disagreements) == 1
    causes, contexts = both.suspects[1].evidence
    assert causes.why == "" and contexts.why.startswith("It sleeps for")


def test_source_is_shown_with_what_lies_around_the_line(slower: page.PageModel) -> None:
    assert slower.verdict is not None
    shown = slower.verdict.suspects[0].excerpt
    assert shown is not None and shown.file == "/src/tool.c"
    assert [line.number for line in shown.lines] == list(range(39, 52))
    assert max(shown.lines, key=lambda line: line.share).number == 45


def test_variables_come_with_distribution_course_and_lines(slower: page.PageModel) -> None:
    assert slower.values is not None
    (limit,) = slower.values.variables
    assert limit.cells.labels == ("30", "9,000") and limit.cells.bad == (0.0, 1.0)
    assert {course.good for course in limit.courses} == {True, False}
    assert limit.excerpt is not None and [line.number for line in limit.excerpt.lines if line.share > 0] == [45]


def test_flame_graphs_of_running_and_waiting_hold_all_of_the_time(slower: page.PageModel) -> None:
    assert slower.contexts is not None
    assert [tree.clock for tree in slower.contexts.trees] == ["cpu", "blocked"]
    cpu, blocked = slower.contexts.trees
    assert sum(cpu.good) == pytest.approx(2.5) and sum(cpu.bad) == pytest.approx(8.0)
    assert sum(blocked.good) == pytest.approx(1.0)
    layers = {function.name: function.layer for function in slower.contexts.functions}
    assert layers["find"] == "program" and layers["strcmp"] == "libc"


def test_a_stall_is_told_from_who_stalled_to_who_should_have_acted() -> None:
    nothing = recording([])
    model = page_model(stalled(), Examined([nothing], [nothing]))
    assert model.causes is not None and model.verdict is not None
    (story,) = model.causes.stories
    assert story.lanes == ("convoy/worker (30415)", "convoy/worker (30414)", "convoy/flusher (30445)")
    assert [rung.lane for rung in story.rungs] == [0, 1, 2] and story.normal_s == 0.0036
    assert [rung.link.certainty if rung.link else None for rung in story.rungs] == ["weak", "strong", None]
    assert model.verdict.suspects[0].cause == 0


def test_a_suspect_of_which_only_the_line_is_known_is_shown_in_its_source() -> None:
    nothing = recording([(("main",), 1.0)], source={"/src/convoy.c": (10, "\n".join("x;" for _ in range(20)))})
    model = page_model(stalled(), Examined([], [nothing]))
    assert model.verdict is not None
    shown = model.verdict.suspects[0].excerpt
    assert shown is not None and [line.number for line in shown.lines if line.share > 0] == [18]


def test_slow_contexts_are_shown_even_where_nothing_was_sampled() -> None:
    nothing = recording([])
    contexts = page_model(stalled(), Examined([nothing], [nothing])).contexts
    assert contexts is not None and contexts.trees == () and contexts.heat is not None
    (row,) = contexts.heat.rows
    assert row.steps[row.hot].function == "append_line" and row.steps[0].layer == "libc"


def test_a_recording_alone_has_contexts_and_no_verdict() -> None:
    alone = page_model(None, Examined([], [run(slow=True)]))
    assert alone.verdict is None and alone.values is None
    assert alone.contexts is not None and not alone.contexts.compared
    assert [row.good for row in alone.recordings.rows] == [None]


def test_recordings_without_stacks_have_no_contexts() -> None:
    assert contexts_section(Examined([recording([])], [recording([])]), "run") is None


def test_a_handful_of_samples_is_looked_at_but_not_compared() -> None:
    few, many = (recording([(("main", "work"), seconds)]) for seconds in (0.04, 0.4))  # at 200 Hz
    assert contexts_section(Examined([few], [few]), "run") is None
    assert contexts_section(Examined([], [few]), "run") is not None
    assert contexts_section(Examined([few], [many]), "run") is not None


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.1, 5)), min_size=1, max_size=40), st.integers(1, 12))
def test_contexts_left_out_are_summed_up_in_their_callers(calls, room: int) -> None:
    # GIVEN a tree of calls, each stack a path of functions, and room for few of its contexts
    stacks = [
        (("main", *(f"f{at % (kind + 2)}" for at in range(kind + 1)), f"leaf{n}"), s)
        for n, (kind, s) in enumerate(calls)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whyperf.report.html.contexts.MOST_CONTEXTS", room)
        section = contexts_section(Examined([recording(stacks)], [recording(stacks)]), "run")
    # THEN every context comes after its caller, and no time is lost
    assert section is not None
    (tree,) = section.trees
    assert all(parent < at for at, parent in enumerate(tree.parent))
    assert sum(number >= 0 for number in tree.function) <= room
    assert sum(tree.bad) == pytest.approx(sum(seconds for _, seconds in calls), rel=1e-6)


def test_a_hundred_thousand_contexts_are_summed_up() -> None:
    rng = np.random.default_rng(7)
    names = [f"f{number}" for number in range(400)]
    stacks = [
        (("main", *(names[number] for number in rng.integers(0, 400, rng.integers(4, 12)))), 0.005)
        for _ in range(17_000)
    ]
    big = recording(stacks)
    assert big.table("stacks").num_rows > 100_000
    whole = page_model(None, Examined([], [big]))
    assert whole.contexts is not None
    (tree,) = whole.contexts.trees
    assert len(tree.parent) <= 2 * MOST_CONTEXTS and tree.left_out > 90_000
    assert len(render(whole)) < 3_000_000


def test_excerpts_stay_short_and_keep_what_matters_most() -> None:
    long = {"/src/tool.c": (1, "\n".join(["x;"] * 500))}
    runs = [Run(recording([(("main",), 1.0)], source=long))]
    shares = {line: 1 / line for line in range(1, 500, 20)}
    found = excerpt(runs, "/src/tool.c", shares, 6)
    assert found is not None and 1 in {line.number for line in found.lines} and len(found.lines) <= 60
    assert excerpt(runs, "/src/other.c", {3: 1.0}, 6) is None
    assert excerpt(runs, "/src/tool.c", {}, 6) is None


def test_the_embedded_model_cannot_end_its_element(slower: page.PageModel) -> None:
    text = embedded(slower)
    assert not set("<>&") & set(text) and text.isascii()
    assert json.loads(text)["verdict"]["suspects"][0]["function"] == "find"


def test_the_page_asks_for_nothing_and_lets_nothing_run_but_itself(slower: page.PageModel) -> None:
    html = render(slower)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    head = html[: html.index("<style>")]
    assert not re.search(r"<(link|img|iframe|script src)", head) and "<title>tool - whyperf</title>" in head


def test_typescript_is_made_from_the_model() -> None:
    assert MODEL_TS.read_text() == typescript(), "run tools/page_model.py"


def test_the_verdict_is_the_same_as_in_the_json(slower: page.PageModel) -> None:
    from whyperf.diagnose.diagnosis import diagnose

    verdict = json.loads(to_json(diagnose([run(slow=False)] * 3, [run(slow=True)] * 3)))
    assert slower.verdict is not None
    assert slower.verdict.sentence == verdict["symptom"]["sentence"]
    assert [one.function for one in slower.verdict.suspects] == [one["function"] for one in verdict["suspects"]]


def test_pages_stay_small_whatever_was_recorded() -> None:
    # GIVEN twenty runs of a program with names as long as templates make them, and forty variables that went wrong
    def long_run(slow: bool) -> Made:
        names = [f"space::{'nested<' * 600}{number}" for number in range(40)]
        stacks = [(("main", f"{name}@{40 + at % 15}"), 0.5 if slow else 0.05) for at, name in enumerate(names)]
        stacks.append((("main", "steady"), 2.0))
        values = np.arange(2000) % (977 if slow else 31)
        reads = [Read(name, f"v{at}", values, roles="loop|condition") for at, name in enumerate(names)]
        source = {"/src/tool.c": (30, "\n".join("x" * 50_000 for _ in range(30)))}
        return with_values(recording(stacks, source=source), *reads)

    model = model_of([long_run(slow=False)] * 10, [long_run(slow=True)] * 10)
    # THEN everything that matters is there, in a page of an ordinary size
    assert model.values is not None and len(model.values.variables) == 30
    assert len(render(model)) < 3_000_000
