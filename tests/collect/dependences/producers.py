"""What an event of a decoded stream depends on."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.stream import DecodedStream


class Producer(IntEnum):
    """As `native/dependences/stream.h` numbers them."""

    REGISTER = 0
    MEMORY = 1
    OLD = 2
    ADDRESS = 3


def producers_of(decoded: DecodedStream, event: int) -> npt.NDArray[np.uint32]:
    return decoded.producers[int(decoded.first[event]) : int(decoded.first[event + 1])]


def kinds_of(decoded: DecodedStream, event: int) -> npt.NDArray[np.uint8]:
    return decoded.kinds[int(decoded.first[event]) : int(decoded.first[event + 1])]
