"""All that is known of one function, suspected or not, beside the verdict."""

from __future__ import annotations

from dataclasses import replace

from whyperf.diagnose.diagnosis import Diagnosis
from whyperf.engines.excess.explain import Explanation
from whyperf.engines.excess.explain import explain as explain_time
from whyperf.engines.values.explain import explain as explain_data
from whyperf.errors import WhyperfError


def explain(diagnosis: Diagnosis, function: str) -> list[Explanation]:
    """One for each function so named, or of the suspect whose rank it is; empty where time was not compared."""
    if diagnosis.excess is None:
        return []
    suspects = diagnosis.verdict.suspects
    if function.isdecimal() and 0 < int(function) <= len(suspects):
        function = suspects[int(function) - 1].function
    found = explain_time(diagnosis.excess, function, diagnosis.verdict.symptom.unit)
    if not found:
        raise WhyperfError(
            f"No run was ever seen in a function called {function}: it is not on any recorded stack.",
            "whyperf diagnose GOOD BAD --top 50",
        )
    values = diagnosis.values
    if values is None:
        return found
    return [replace(one, sentences=(*one.sentences, *explain_data(values, one.function))) for one in found]
