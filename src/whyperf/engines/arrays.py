"""The arrays that traces and graphs are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]

Int32s = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
