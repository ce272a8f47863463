"""Tables of what came of the cases, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.contexts.causes import CauseOutcome, Ranked


def causes_table(outcomes: Sequence[CauseOutcome]) -> str:
    """Ranks as `module/function`."""
    head = (
        "case", "bad/good", "whyperf", "without events", "perf diff", "longest off-CPU", "layer",
        "internal or external", "share", "first suspect",
    )  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    rows += [row(one) for one in outcomes]
    return "\n".join([*rows, "", _summary(outcomes)])


def row(one: CauseOutcome) -> str:
    ranks = (one.whyperf, one.others.excess, one.others.perf_diff, one.others.longest_waits)
    told = {True: "external", False: "internal", None: "not said"}[one.external]
    cells = (
        one.case,
        f"{one.ratio:.2f}",
        *map(str, ranks),
        _judged(one.layer or "not said", one.layer_right),
        _judged(told, one.external_right),
        f"{100 * one.share:.0f}%",
        f"`{one.first}`",
    )
    return f"| {' | '.join(cells)} |"


def _judged(text: str, right: bool) -> str:
    return text if right else f"({text})"


def _summary(outcomes: Sequence[CauseOutcome]) -> str:
    tools: dict[str, list[Ranked]] = {
        "whyperf": [one.whyperf for one in outcomes],
        "without kernel events": [one.others.excess for one in outcomes],
        "perf diff": [one.others.perf_diff for one in outcomes],
        "longest off-CPU stack": [one.others.longest_waits for one in outcomes],
    }
    first = [f"{tool} {sum(ranks.module == 1 for ranks in told)}" for tool, told in tools.items()]
    function = sum(one.whyperf.function == 1 for one in outcomes)
    layers, sides = sum(one.layer_right for one in outcomes), sum(one.external_right for one in outcomes)
    return (
        f"Guilty module first, of {len(outcomes)}: {', '.join(first)}. Guilty function first: whyperf {function}. "
        f"Layer right: {layers}; internal or external right: {sides}."
    )
