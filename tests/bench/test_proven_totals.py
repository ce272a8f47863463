"""What `bench.proven` found is added up as its table says."""

from __future__ import annotations

from typing import Any

from bench.proven_totals import total


def _row(*findings: str, rank: int | None = None, chain: tuple[str, ...] = ("f:1",), **other: Any) -> dict[str, Any]:
    row = {
        "cause": ["f"],
        "proven": rank,
        "chain": chain,
        "findings": findings,
        "seconds": 10.0,
        "runs": 4,
        "failed": "",
    }
    return {**row, **other}


def test_a_case_that_ends_in_a_value_is_proven_by_a_value() -> None:
    rows = [
        _row("proven value f", "not-testable value g", rank=1),
        _row("trigger value f"),
        _row("trigger value f", "proven value g"),
        _row("not-testable value f", seconds=60.0, runs=20),
        # a function of another build is proven: no value is asked for
        _row("proven function f", rank=1),
        _row("proven variable f", chain=()),
        # a decision is proven, and no way back is shown
        _row("proven decision f", chain=()),
        # nothing led back
        _row(chain=()),
        # could not be built
        _row(failed="no sources"),
    ]
    found = total("any", rows)
    assert (found.cases, found.first, found.functions, found.values) == (8, 2, 2, 5)
    assert (found.proven, found.triggers, found.elsewhere) == (3, 1, 1)
    assert (found.seconds, found.runs) == ((10.0, 60.0), (4, 20))


def test_nothing_measured_is_nothing() -> None:
    assert total("none", []).cases == 0
