"""The user's own rules, in one file: what tracing shall look for, and what the causes engine makes of it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from whyperf.errors import WhyperfError

MORE_RULES = "WHYPERF_CAUSES_RULES"


def users_rules() -> dict[str, Any]:
    """Empty where there are none."""
    more = os.environ.get(MORE_RULES)
    if not more:
        return {}
    try:
        return tomllib.loads(Path(more).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise unusable(f"{more} ({MORE_RULES}) cannot be read: {error}.") from None


def users_file() -> str:
    """As errors name it."""
    return os.environ.get(MORE_RULES, "")


def unusable(sentence: str) -> WhyperfError:
    return WhyperfError(f"The rules of causes cannot be used. {sentence}", f"unset {MORE_RULES}")
