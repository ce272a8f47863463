"""Text from recordings made fit to print: names, paths and source are whatever the recorded program put there."""

from __future__ import annotations

import re
import unicodedata

# Controls, invisible and direction-changing characters, surrogates, private use, unassigned, line separators.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SAFE = re.compile(r"[\x20-\x7e]*")
_TAB = 4


def printable(text: str) -> str:
    """Every character that could move the cursor, change colours or reorder the line, spelled out instead."""
    if _SAFE.fullmatch(text):
        return text
    return "".join(_spelled(character) for character in text.expandtabs(_TAB))


def _spelled(character: str) -> str:
    if unicodedata.category(character) not in _UNPRINTABLE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
