"""Quantities as people read them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal


def seconds(value: float) -> str:
    """Three digits and the unit that keeps them short."""
    size = abs(value)
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if 0 < size < limit:
            return f"{_digits(value * factor)} {unit}"
    return f"{_digits(value)} s"


def percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.01 or share == 0 else f"{100 * share:.1f}%"


def part(share: float) -> str:
    """Of a whole: all of it and nothing are said only of what is exactly that."""
    rounded = f"{share:.0%}"
    return {"0%": "under 1%", "100%": "over 99%"}.get(rounded, rounded) if 0 < share < 1 else rounded


def count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else _digits(value)


def how_many(value: float) -> str:
    """Three digits of what is less than a thousand: a mean."""
    return count(float(f"{value:.3g}") if value < 1000 else round(value))


def times(value: float) -> str:
    return "once" if value == 1 else f"{how_many(value)} times"


def in_bytes(value: float) -> str:
    size = abs(value)
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= limit:
            shown = value / limit
            return f"{shown:,.0f} {unit}" if size >= 10 * limit else f"{shown:.1f} {unit}"
    return f"{value:,.0f} bytes"


def below(value: float, shown: Callable[[float], str]) -> str:
    """`less than 26 ms`: rounded up to two digits, so that it holds; but 3 * 0.1 / 3 is 0.1."""
    exact = Decimal(f"{value:.12g}")
    most = float(exact.quantize(Decimal(f"1e{exact.adjusted() - 1}"), ROUND_CEILING))
    number, space, unit = shown(most).partition(" ")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"less than {number}{space}{unit}"


def _digits(value: float) -> str:
    size = abs(value)
    if size >= 1e15:
        return f"{value:.3g}"
    if size >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
