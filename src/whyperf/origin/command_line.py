"""Texts that a program is started with: which option, or which variable of the environment, one of them is."""

from __future__ import annotations

from whyperf.origin.evidence import Targets
from whyperf.origin.program_code import BuildSide

TEXT_BYTES = 8
"""Of a text that are looked at."""
_STACK_TOPS = (0x7FFFFFFFF000, 0x7FFFFFFFFFFF, 0xFFFFFFFFF000, 0x1000000000000)
ADDED_BYTES = 600
"""Of the environment, by those who start the program."""


def option_of(targets: Targets, content: int) -> str:
    """Says which one it is, by the first bytes of a text; empty: none."""
    text, zero, _ = content.to_bytes(TEXT_BYTES, "little").partition(b"\0")
    good, bad = (program.command for program in targets.programs)
    for number, word in enumerate(bad):
        if number and text and _is_text(word, text, bool(zero)):
            before = good[number] if number < len(good) else ""
            return _option(number, word, None if targets.is_alone else before)
    for name, value in targets.environment.items():
        if len(text) > 1 and _is_text(value, text, bool(zero)):
            return f"It comes from the environment: {name}."
    return ""


def options_that_differ(targets: Targets) -> str:
    """In a sentence; empty where none does."""
    good, bad = (program.command for program in targets.programs)
    differing = [number for number, word in enumerate(bad) if number and good[number : number + 1] != (word,)]
    if not differing:
        return ""
    first = differing[0]
    return _option(first, bad[first], good[first] if first < len(good) else "")


def _option(number: int, word: str, before: str | None) -> str:
    """`before`: in good runs, or empty; None: there are none."""
    was = ", as in good runs" if before == word else f", was `{before}`" if before else ", which good runs lack"
    was = "" if before is None else was
    return f"It is an option of the command line: argument {number} is `{word}`{was}."


def _is_text(word: str, text: bytes, ended: bool) -> bool:
    """Whether a word is a text, or `--name=` and the text."""
    content = word.encode(errors="surrogateescape")
    values = (content, content.partition(b"=")[2])
    return any(value == text if ended else value.startswith(text) for value in values if value)


def is_start_text(targets: Targets, address: int, added: int = ADDED_BYTES) -> bool:
    """Whether an address lies where the kernel puts arguments and environment: at the stack's very top."""
    words = sum(len(word) + 1 for word in targets.programs[BuildSide.BAD].command)
    room = words + sum(len(name) + len(value) + 2 for name, value in targets.environment.items()) + added
    return any(top - room <= address <= top for top in _STACK_TOPS)
