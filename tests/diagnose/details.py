"""Evidence of engines, of which tests say only what matters to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whyperf.engines.excess.blame_reasons import BlameReason
from whyperf.engines.excess.detail import ExcessDetail

_NOTHING = ExcessDetail(
    role=BlameReason.OWN,
    repeats=False,
    in_every_round=False,
    two_builds=False,
    new_code=False,
    code="unknown",
    good_self_s=1.0,
    bad_self_s=2.0,
    good_inclusive_s=1.0,
    bad_inclusive_s=2.0,
    charged_s=1.0,
    sigma=9.0,
    inside=(),
)


def excess_detail(**known: Any) -> ExcessDetail:
    return replace(_NOTHING, **known)
