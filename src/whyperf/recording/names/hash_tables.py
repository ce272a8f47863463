"""Hash tables of libstdc++ by the names of their functions: which walk a bucket, and whose hash fills it."""

from __future__ import annotations

import re

_WALKS = re.compile(r"::_M_find_(before_)?node(_tr)?\b|::_M_(key_)?equals(_tr)?\b")
_TABLES = {"std::_Hashtable": 5, "std::__detail::_Hashtable_base": 4}  # which template argument is the hash
_OPEN, _CLOSE = "<([{", ">)]}"


def walks_bucket(name: str) -> bool:
    """Whether the function goes from node to node of a bucket: as long as hashes of different keys are the same."""
    return "_Hashtable" in name and _WALKS.search(name) is not None


def hash_of(name: str) -> str:
    """The hash of the table that a function belongs to, if it is none of the standard library's; else empty."""
    for table, place in _TABLES.items():
        if name.startswith(f"{table}<"):
            arguments = _arguments(name[len(table) + 1 :])
            found = arguments[place] if place < len(arguments) else ""
            return "" if found.startswith("std::") else found
    return ""


def _arguments(text: str) -> list[str]:
    """Template arguments, up to the bracket that closes them."""
    found: list[str] = []
    depth = start = 0
    for at, letter in enumerate(text):
        if letter in _CLOSE and depth == 0:
            return [*found, text[start:at].strip()]
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return found
