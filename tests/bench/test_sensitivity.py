"""Which settings are swept, and how their ranks are shown."""

from __future__ import annotations

from dataclasses import asdict

from bench.causes.sensitivity import path_settings
from bench.sensitivity import paper_settings
from bench.setting_table import Found, markdown

from whyperf.engines.causes.settings import CausesPaperSettings as PathSettings
from whyperf.engines.values.settings import ValuesPaperSettings


def test_every_setting_differs_from_the_papers_in_one_constant_at_most() -> None:
    usual = asdict(ValuesPaperSettings())
    for name, settings in paper_settings().items():
        assert sum(value != usual[key] for key, value in asdict(settings).items()) <= 1, name
    # AND the paper's own are among them, thrice
    assert list(paper_settings().values()).count(ValuesPaperSettings()) == 3


def test_so_does_every_setting_of_the_search_for_stalls() -> None:
    usual = asdict(PathSettings())
    for name, settings in path_settings().items():
        changed = {key for key, value in asdict(settings).items() if value != usual[key]}
        assert changed <= {name.split()[0]}, name
    assert list(path_settings().values()).count(PathSettings()) == 4


def test_cases_that_not_every_setting_was_tried_on_are_shown_but_not_counted() -> None:
    found = [Found("50 Hz", "a", 1), Found("50 Hz", "b", 1), Found("200 Hz", "a", 4), Found("200 Hz", "c", None)]
    told = markdown(found).splitlines()
    assert told[0] == "| setting | first, of 1 | first 3 | first 5 | a | b | c |"
    assert told[2] == "| 50 Hz | 1 | 1 | 1 | 1 | 1 | not run |"
    assert told[3] == "| 200 Hz | 0 | 0 | 1 | 4 | not run | - |"
    assert "bench.sensitivity --help" in markdown([])
