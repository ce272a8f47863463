"""Pages of made recordings."""

from __future__ import annotations

from collections.abc import Sequence

from tests.engines.made import Made
from whyperf.diagnose.diagnosis import examine
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import PageModel


def model_of(good: Sequence[Made], bad: Sequence[Made]) -> PageModel:
    diagnosis = examine(good, bad)
    return page_model(diagnosis.verdict, Examined(good, bad, diagnosis.excess, diagnosis.values))
