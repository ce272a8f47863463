"""Check that the numbers in a stream name what the plan and the stream itself hold, before they are used as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.instruments import Instruments
from whyperf.collect.dependences.stream import DecodedStream, Stream
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.deep_tables import RegionKind


def check_stream(stream: Stream, plan: Instruments) -> None:
    _check(stream, "variables that the plan does not name", stream.watches["watch"], len(plan.variables))
    modules = np.array([one.module for one in stream.unsupported], np.int64)
    _check(stream, "files that it does not name", modules, len(stream.modules))
    if not stream.modules:
        raise _damaged(stream, "names no file")


def check_decoded(stream: Stream, is_loaded: npt.NDArray[np.bool_], decoded: DecodedStream) -> None:
    """`is_loaded`: of each of the plan's functions, whether the stream names its file."""
    functions, regions = len(is_loaded), decoded.regions
    entered = regions["place"][regions["kind"] == RegionKind.ACTIVATION]
    _check(stream, "functions that the plan does not name", entered, functions)
    if not is_loaded[entered].all():
        raise _damaged(stream, "enters functions of files that it does not name")
    _check(stream, "functions that the plan does not name", decoded.heap["function"], functions)
    _check(stream, "calls that it does not hold", decoded.heap["region"], len(regions))
    _check(stream, "instructions that it does not hold", decoded.site, len(stream.sites))
    _check(stream, "executions that it does not hold", decoded.producers, len(decoded.site))


def _check(stream: Stream, what: str, numbers: npt.NDArray[Any], count: int) -> None:
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= count):
        raise _damaged(stream, f"names {what}")


def _damaged(stream: Stream, why: str) -> WhyperfError:
    return WhyperfError(f"{stream.path} is damaged: it {why}.", "whyperf record --deep -o NAME -- COMMAND")
