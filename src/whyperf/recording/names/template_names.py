"""Names of C++ templates and their members, as people read them."""

from __future__ import annotations

import re

# operator<, operator<< and operator-> are names, not brackets.
_TOKENS = re.compile(r"operator(?:<=>|<<=?|>>=?|[<>]=?|->\*?)|.", re.DOTALL)


def without_template_arguments(name: str, dots: str = "…") -> str:
    kept: list[str] = []
    depth = 0
    for token in _TOKENS.findall(name):
        if token == "<":
            if depth == 0:
                kept.append(f"<{dots}>")
            depth += 1
        elif token == ">" and depth:
            depth -= 1
        elif depth == 0:
            kept.append(token)
    return "".join(kept)
