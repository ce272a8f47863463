"""What the code of the program's own functions is, so that another build can be told from it later."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from whyperf.recording.schemas.tables import FINGERPRINTS
from whyperf.seal.code_tables.code import Code
from whyperf.seal.symbols import Symbols


def fingerprints_table(symbols: Symbols, code: Code) -> pa.Table:
    functions, numbers = [np.zeros(0, np.int32)], [np.zeros(0, np.uint64)]
    sampled = code.functions.column("sampled").to_numpy()
    for number, told in code.own_modules():
        rows = code.function_rows[number]
        used = np.flatnonzero((rows[:-1] >= 0) & sampled[rows[:-1]]).astype(np.int32)
        found = symbols.fingerprints(told["path"], told["build_id"], used)
        row = rows[found.function]
        functions.append(row[row >= 0])
        numbers.append(found.code[row >= 0])
    return pa.table([np.concatenate(functions), np.concatenate(numbers)], schema=FINGERPRINTS.schema)
