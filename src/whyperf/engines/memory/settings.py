"""Constants of the comparison of memory, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemorySettings:
    # A caller that was seen so often, and whose memory did not grow, shows that what it calls is not to blame: the
    # chance to see none of a growth that is there is e^-5.
    enough_samples: int = 5
    # Growth below this part of what grew elsewhere counts as none: five samples vary by 45%, so not much less can be
    # told from none.
    grew_not: float = 0.1
    # Of a function's excess its error, in standard errors: crossed by chance once in 700 functions.
    least_sigma: float = 3.0
    # Parts of the excess that are worth naming.
    least_share: float = 0.05
    # What a function must have freed of what is now kept to be who no longer frees it: the larger part.
    freed_part: float = 0.5
    # A caller up the path is a further suspect at this part of the score of the function that it calls.
    next_in_line: float = 0.7
