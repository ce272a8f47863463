"""The few signs beyond ASCII that reports use, and what stands for them where they cannot be printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text


@dataclass(frozen=True)
class Glyphs:
    arrow: str
    dots: str
    rule: str
    hot: str
    bullet: str
    bar: str  # from empty to full
    spark: str  # from low to high
    heat: str  # from nothing to most
    heat_cut: str  # where cells are left out


FULL = Glyphs(
    arrow=" › ", dots="…", rule="│", hot="▶", bullet="•", bar=" ▏▎▍▌▋▊▉█", spark=" ▁▂▃▄▅▆▇█", heat="·░▒▓█", heat_cut="…"
)
PLAIN = Glyphs(
    arrow=" > ", dots="..", rule="|", hot=">", bullet="-", bar=" #", spark=" .:-=+*#", heat=".-+*#", heat_cut="~"
)


def glyphs_for(encoding: str) -> Glyphs:
    try:
        "".join((FULL.arrow, FULL.dots, FULL.rule, FULL.hot, FULL.bullet, FULL.bar, FULL.spark, FULL.heat)).encode(
            encoding
        )
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return FULL


def encodable(text: Text, encoding: str) -> Text:
    """The text as it is where the output can take it, else with every other character spelled out, unstyled."""
    try:
        text.plain.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        plain = text.plain.replace("µ", "u").replace("×", "x")
        return Text(plain.encode("ascii", "backslashreplace").decode("ascii"))
    return text


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A share as a bar of so many cells, always padded to them; something is never shown as nothing."""
    steps = len(glyphs.bar) - 1
    filled = round(min(1.0, max(0.0, share)) * width * steps)
    if share > 0:
        filled = max(1, filled)
    whole, part = divmod(filled, steps)
    text = glyphs.bar[-1] * whole + (glyphs.bar[part] if part else "")
    return text.ljust(width)


def sparkline(shares: Sequence[float], glyphs: Glyphs) -> str:
    """A histogram in one row of cells, as high as its highest; something is never shown as nothing."""
    highest = max(shares, default=0.0)
    steps = len(glyphs.spark) - 1
    if highest <= 0:
        return glyphs.spark[0] * len(shares)
    return "".join(glyphs.spark[max(1, round(share / highest * steps)) if share > 0 else 0] for share in shares)
