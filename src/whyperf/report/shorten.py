"""Long names made short without losing the end that tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.recording.names.template_names import without_template_arguments


def cut(text: str, width: int, dots: str = "…") -> str:
    """As much of its front as fits."""
    return text if len(text) <= width else text[: max(0, width - len(dots))] + dots


def indentation(text: str) -> int:
    return len(text) - len(text.lstrip())


def short_name(name: str, width: int, dots: str = "…") -> str:
    """Template arguments go first, then how a lambda is called, then outer namespaces, then the front."""
    if len(name) <= width:
        return name
    name = without_template_arguments(name, dots)
    if len(name) > width:
        name = name.replace("}::operator()", "}")
    parts = name.split("::")
    while len(parts) > 1 and len(name) > width:
        parts = parts[1:]
        name = f"{dots}::" + "::".join(parts)
    if len(name) > width:
        name = dots + name[-max(1, width - len(dots)) :]
    return name


def short_path(file: str, width: int, dots: str = "…") -> str:
    """As many last folders as fit."""
    if len(file) <= width:
        return file
    parts = file.split("/")
    kept = parts[-1]
    for part in reversed(parts[:-1]):
        if len(dots) + 1 + len(part) + 1 + len(kept) > width:
            break
        kept = f"{part}/{kept}"
    kept = f"{dots}/{kept}" if kept != file else kept
    return kept if len(kept) <= width else dots + kept[-max(1, width - len(dots)) :]


def call_path(names: Sequence[str], width: int, arrow: str = " › ", dots: str = "…") -> str:
    """The entry and as many of the last callers as fit; what is left out in the middle is counted."""
    longest = max(16, width // 3)
    short = [short_name(name, longest, dots) for name in names]
    if len(arrow.join(short)) <= width or len(short) <= 2:
        return short_name(arrow.join(short), max(width, longest), dots) if len(short) <= 1 else arrow.join(short)
    tail = [short[-1]]
    for left in range(len(short) - 2, 0, -1):
        candidate = [short[0], f"{dots} {left - 1} more {dots}", short[left], *tail]
        if len(arrow.join(candidate)) > width:
            break
        tail.insert(0, short[left])
    skipped = len(short) - 1 - len(tail)
    return arrow.join([short[0], *([f"{dots} {skipped} more {dots}"] if skipped else []), *tail])
