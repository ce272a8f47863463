"""The arrays that traces are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Floats, Ints

__all__ = ["Bools", "Floats", "Int8s", "Int32s", "Ints"]

Bools = npt.NDArray[np.bool_]
Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
