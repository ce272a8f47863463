"""Values of the components that the user named: a table holds those of its whole program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from whyperf.collect.components import Components
from whyperf.collect.seal.values import SealedValues


def narrowed(sealed: SealedValues, components: Components, functions: pa.Table, modules: pa.Table) -> SealedValues:
    """Without the variables that no component means, the others numbered anew."""
    variables, values = sealed.variables, sealed.values
    if not components or not variables.num_rows:
        return sealed
    whole = [bool(components.of_module(path)) for path in _texts(modules, "path")]
    names, files = _texts(functions, "name"), _texts(functions, "file")

    def is_meant(function: int, module: int, file: str) -> bool:
        if module >= 0 and whole[module]:
            return True
        return components.hold(names[function], files[function]) if function >= 0 else components.hold("", file)

    columns = (variables.column(name).to_pylist() for name in ("function", "module", "file"))
    kept = np.array([is_meant(*row) for row in zip(*columns, strict=True)], bool)
    number = np.cumsum(kept, dtype=np.int32) - 1
    of_kept = kept[values.column("variable").to_numpy()]
    values = values.filter(pa.array(of_kept))
    return replace(
        sealed,
        variables=_with(variables.filter(pa.array(kept)), number[kept]),
        values=_with(values, number[values.column("variable").to_numpy()]),
        origins=tuple(
            replace(one, rows=number[one.rows[kept[one.rows]]].astype(np.int64), numbers=one.numbers[kept[one.rows]])
            for one in sealed.origins
        ),
    )


def _texts(table: pa.Table, name: str) -> list[str]:
    return [str(text) for text in table.column(name).to_pylist()]


def _with(table: pa.Table, number: np.ndarray[tuple[int], np.dtype[np.int32]]) -> pa.Table:
    at = table.schema.get_field_index("variable")
    return table.set_column(at, table.schema.field(at), pa.array(number))
