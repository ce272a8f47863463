"""Which values are kept: those of the components that the user named, without the variables that the user left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.sampling.components import Components
from whyperf.seal.tables import texts, with_column
from whyperf.seal.value_tables.values import SealedValues

_PARTS = re.compile(r"->|\.|\*|\[|\]")


def narrowed(sealed: SealedValues, components: Components, functions: pa.Table, modules: pa.Table) -> SealedValues:
    """Without the variables that no component means: a table holds those of its whole program."""
    variables = sealed.variables
    if not components or not variables.num_rows:
        return sealed
    whole = [bool(components.of_module(path)) for path in texts(modules, "path")]
    names, files = texts(functions, "name"), texts(functions, "file")

    def is_meant(function: int, module: int, file: str) -> bool:
        if module >= 0 and whole[module]:
            return True
        return components.hold(names[function], files[function]) if function >= 0 else components.hold("", file)

    columns = (variables.column(name).to_pylist() for name in ("function", "module", "file"))
    return _keeping(sealed, np.array([is_meant(*row) for row in zip(*columns, strict=True)], bool))


def without(sealed: SealedValues, excluded: Sequence[str], functions: pa.Table) -> SealedValues:
    """Without variables of these names (globs), what they point to and what they are part of; FUNCTION.NAME means only
    that function's."""
    if not excluded or not sealed.variables.num_rows:
        return sealed
    names = texts(functions, "name")

    def is_excluded(function: int, name: str) -> bool:
        parts = [name, *filter(None, _PARTS.split(name))]
        owner = names[function] if function >= 0 else ""
        return any(
            fnmatchcase(part, glob) or fnmatchcase(f"{owner}.{part}", glob) for part in parts for glob in excluded
        )

    columns = (sealed.variables.column(name).to_pylist() for name in ("function", "name"))
    return _keeping(sealed, ~np.array([is_excluded(*row) for row in zip(*columns, strict=True)], bool))


def _keeping(sealed: SealedValues, kept: npt.NDArray[np.bool_]) -> SealedValues:
    """The chosen variables, numbered anew."""
    number = np.cumsum(kept, dtype=np.int32) - 1
    of_kept = kept[sealed.values.column("variable").to_numpy()]
    values = sealed.values.filter(pa.array(of_kept))
    return replace(
        sealed,
        variables=with_column(sealed.variables.filter(pa.array(kept)), "variable", number[kept]),
        values=with_column(values, "variable", number[values.column("variable").to_numpy()]),
        origins=tuple(
            replace(one, rows=number[one.rows[kept[one.rows]]].astype(np.int64), numbers=one.numbers[kept[one.rows]])
            for one in sealed.origins
        ),
    )
