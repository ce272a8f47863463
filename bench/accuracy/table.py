"""Outcomes as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from bench.accuracy.outcome import Outcome, Ranks
from bench.peers.book import PEERS

_OURS: dict[str, Callable[[Outcome], Ranks]] = {
    "whyperf": lambda one: one.ours,
    "without values": lambda one: one.without_values,
    "the paper's method": lambda one: one.paper,
}


def markdown(outcomes: Sequence[Outcome]) -> str:
    parts = [ranks_table(outcomes), first_places(outcomes), answers_table(outcomes), summary(outcomes)]
    return "\n\n".join(parts)


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def ranks_table(outcomes: Sequence[Outcome]) -> str:
    """Ranks as `cause/spent`: the function with the mistake, and the best ranked one where the excess is spent."""
    return rows(
        ("case", "bad/good", *_OURS, *(peer.name for peer in PEERS)),
        (
            (
                one.case,
                f"{one.excess:.2f}",
                *(str(told(one)) for told in _OURS.values()),
                *(str(one.peers.get(peer.name, "not run")) for peer in PEERS),
            )
            for one in outcomes
        ),
    )


def first_places(outcomes: Sequence[Outcome]) -> str:
    """How often each tool puts the function with the mistake first, and among the first three and five."""
    tools = {name: [told(one) for one in outcomes] for name, told in _OURS.items()}
    tools["whyperf, single runs"] = [ranks for one in outcomes for ranks in one.single]
    for peer in PEERS:
        tools[peer.name] = [one.peers[peer.name] for one in outcomes if peer.name in one.peers]
    return rows(
        ("tool", "asked", "first", "first 3", "first 5", "not ranked", "failed"),
        (
            (
                name,
                str(len(told)),
                *(f"{_within(told, most)} ({_percent(_within(told, most), len(told))})" for most in (1, 3, 5)),
                str(sum(ranks.cause is None and not ranks.problem for ranks in told)),
                str(sum(bool(ranks.problem) for ranks in told)),
            )
            for name, told in tools.items()
            if told
        ),
    )


def answers_table(outcomes: Sequence[Outcome]) -> str:
    """What whyperf says besides."""
    return rows(
        ("case", "pattern", "variable", "lines away", "blocks away (mean, least)", "false suspects ahead",
         "ranks of the cause from single runs", "CPU of a diagnosis", "memory", "load", "first suspect"),
        (
            (
                one.case,
                one.pattern if one.pattern_right else f"({one.pattern or '-'})",
                one.variable or "-",
                _or_dash(one.lines_away),
                f"{one.blocks_away.mean:g}, {one.blocks_away.least}" if one.blocks_away else "-",
                _or_dash(one.ahead),
                " ".join(_or_dash(ranks.cause) for ranks in one.single),
                f"{one.cost.cpu_s:.1f} s",
                f"{one.cost.memory_mb:.0f} MB",
                f"{one.load:.1f}",
                f"`{one.suspects[0]}`" if one.suspects else one.verdict,
            )
            for one in outcomes
        ),
    )  # fmt: skip


def summary(outcomes: Sequence[Outcome]) -> str:
    count = len(outcomes)
    if not count:
        return "No outcome."
    named = [one.blocks_away.least for one in outcomes if one.blocks_away]
    ahead = [one.ahead for one in outcomes if one.ahead is not None]
    return (
        f"{count} cases. Pattern right: {sum(one.pattern_right for one in outcomes)}. "
        f"Block distance 0: {sum(away == 0 for away in named)}, known in {len(named)}. "
        f"A variable that tells: {sum(bool(one.variable) for one in outcomes)}. "
        f"No false suspect ahead: {sum(one == 0 for one in ahead)}. "
        f"CPU of a diagnosis: median {median(one.cost.cpu_s for one in outcomes):.1f} s; memory: "
        f"at most {max(one.cost.memory_mb for one in outcomes):.0f} MB."
    )


def _within(told: Sequence[Ranks], most: int) -> int:
    return sum(ranks.cause is not None and ranks.cause <= most for ranks in told)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%"


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)
