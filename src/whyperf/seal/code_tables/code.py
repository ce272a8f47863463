"""Frames, functions and modules: places in code with their names, as the sealed tables want them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.collect.target.module_layers import file_name, origin_of
from whyperf.collect.tracer.traced import KERNEL_FIRST
from whyperf.recording.names.identity import COMPILED_WHILE_RUNNING
from whyperf.recording.safe_files.dataclass_json import storable
from whyperf.recording.schemas.tables import FRAMES, FUNCTIONS, MODULES
from whyperf.seal.code_tables.kernel_code import Kernel
from whyperf.seal.evidence import Int32, Int64, UInt64
from whyperf.seal.participants.address_spaces import Module
from whyperf.seal.participants.places import CodePlaces
from whyperf.seal.symbols import DescribedBinary, NamedAddresses, Symbols

_WITH_ALL_FUNCTIONS = ("program", "library")
DROPPED = -1  # the frame of a place in the sampler itself


@dataclass(frozen=True)
class Code:
    frames: pa.Table
    functions: pa.Table
    modules: pa.Table
    place_frame: Int32  # innermost frame of each place; DROPPED for the sampler's own
    module_row: Int32  # row of `modules` for each module of the address spaces; -1: no code of it was seen
    function_rows: dict[int, Int32]  # by module: rows of `functions` for its binary's functions; the last is for -1

    def own_modules(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Modules of the program's own in which code was seen: number, and row of `modules`."""
        for number in self.function_rows:
            told = self.modules.slice(int(self.module_row[number]), 1).to_pylist()[0]
            if told["origin"] in _WITH_ALL_FUNCTIONS:
                yield number, told

    def function_row(self, module: int, functions: Int32) -> Int32:
        """Rows of `functions` from a module's number and its binary's function numbers; -1: none."""
        rows = self.function_rows.get(module)
        return np.full(len(functions), -1, np.int32) if rows is None else rows[functions]


@dataclass
class _Columns:
    """Parts of a table, column by column, until they are joined."""

    parts: dict[str, list[pa.Array[Any]]] = field(default_factory=dict)
    rows: int = 0

    def add(self, rows: int, **columns: pa.Array[Any] | npt.NDArray[Any] | Sequence[str | bool]) -> None:
        for name, values in columns.items():
            self.parts.setdefault(name, []).append(values if isinstance(values, pa.Array) else pa.array(values))
        self.rows += rows

    def table(self, schema: pa.Schema, number: str) -> pa.Table:
        if not self.rows:
            return schema.empty_table()
        arrays = {
            name: pa.chunked_array([part.cast(schema.field(name).type) for part in parts]).combine_chunks()
            for name, parts in self.parts.items()
        }
        arrays[number] = pa.array(np.arange(self.rows, dtype=np.int32))
        return pa.table([arrays[name] for name in schema.names], schema=schema)


class CodeBuilder:
    """Resolves places module by module."""

    def __init__(
        self,
        symbols: Symbols,
        programs: Collection[str],
        sampler: str,
        plug_ins: Collection[Module] = (),
        kernel: Kernel | None = None,
    ) -> None:
        self._symbols = symbols
        self._programs = programs
        self._sampler = sampler
        self._plug_ins = plug_ins
        self._kernel = kernel or Kernel()
        self._frames = _Columns()
        self._functions = _Columns()
        self._modules = _Columns()

    def build(
        self,
        places: CodePlaces,
        modules: tuple[Module, ...],
        pid_of_space: Callable[[int], int],
        on_module: Callable[[str, float], None],
    ) -> Code:
        place_frame = np.full(len(places.pc), DROPPED, np.int32)
        module_row = np.full(len(modules), -1, np.int32)
        function_rows: dict[int, Int32] = {}
        order = np.argsort(places.module, kind="stable")
        bounds = np.searchsorted(places.module[order], np.arange(len(modules) + 1))
        for number, module in enumerate(modules):
            mine = order[bounds[number] : bounds[number + 1]]
            origin = origin_of(module.path, self._programs, self._sampler)
            if not len(mine) and origin != "program":
                continue
            on_module(file_name(module.path), number / len(modules))
            binary = self._symbols.describe(module.path, module.build_id)
            module_row[number] = self._add_module(module, origin, binary.debug)
            if len(mine) and origin != "sampler":
                whole = origin in _WITH_ALL_FUNCTIONS and binary.debug == "full"
                place_frame[mine], function_rows[number] = self._add_frames(
                    int(module_row[number]), binary, places, mine, whole
                )
        nowhere = order[: bounds[0]] if len(modules) else order
        in_kernel = places.pc[nowhere] >= KERNEL_FIRST
        place_frame[nowhere[in_kernel]] = self._add_kernel(places.pc[nowhere[in_kernel]])
        nowhere = nowhere[~in_kernel]
        place_frame[nowhere] = self._add_nowhere(places.space[nowhere], places.pc[nowhere], pid_of_space)
        return Code(
            frames=self._frames.table(FRAMES.schema, "frame"),
            functions=self._functions.table(FUNCTIONS.schema, "function"),
            modules=self._modules.table(MODULES.schema, "module"),
            place_frame=place_frame,
            module_row=module_row,
            function_rows=function_rows,
        )

    def _add_module(self, module: Module, origin: str, debug: str) -> int:
        self._modules.add(
            1,
            name=[storable(file_name(module.path))],
            path=[storable(module.path)],
            build_id=[module.build_id],
            origin=[origin],
            debug=[debug],
            plug_in=[module in self._plug_ins],
        )
        return self._modules.rows - 1

    def _add_frames(
        self, module: int, binary: DescribedBinary, places: CodePlaces, mine: Int64, whole: bool
    ) -> tuple[Int32, Int32]:
        """Frames for places, whose addresses may repeat (address spaces share modules): the innermost frame of each.
        And the rows of the module's functions."""
        unique, inverse = np.unique(places.address[mine], return_inverse=True)
        chains = binary.resolve(unique)
        lengths = np.diff(chains.start).astype(np.int64)
        rows_each = np.maximum(lengths, 1)
        ends = np.cumsum(rows_each)
        heads = ends - rows_each
        total = int(ends[-1])
        known = np.repeat(lengths > 0, rows_each)

        function, file, line = np.full(total, -1, np.int32), np.full(total, -1, np.int32), np.zeros(total, np.int32)
        function[known] = chains.function
        file[known] = chains.file
        line[known] = chains.line
        function_rows = self._add_functions(module, binary, function, whole)
        function = function_rows[function]

        inlined_in = self._frames.rows + 1 + np.arange(total, dtype=np.int32)
        inlined_in[ends - 1] = -1
        # Blocks and loops need the code itself, which takes its time: events do not ask for them.
        sampled, leaf = np.zeros((2, len(unique)), bool)
        sampled[inverse[places.sampled[mine]]] = True
        leaf[inverse[places.sampled[mine] & places.is_leaf[mine]]] = True
        block = np.full(len(unique), -1, np.int32)
        if leaf.any():
            block[leaf] = binary.block_of(unique[leaf])

        in_loop = np.full(total, -1, np.int8)
        if sampled.any():
            in_loop[known & np.repeat(sampled, rows_each)] = binary.in_loop(unique[sampled])

        files = pa.array([*chains.files, ""], pa.string())
        first = self._frames.rows
        self._frames.add(
            total,
            module=np.full(total, module, np.int32),
            offset=np.repeat(unique.astype(np.int64), rows_each),
            function=function,
            inlined_in=inlined_in,
            file=files.take(np.where(file < 0, len(chains.files), file)),
            line=np.maximum(line, 0),
            block=np.repeat(block, rows_each),
            in_loop=in_loop,
        )
        return (first + heads[inverse]).astype(np.int32), function_rows

    def _add_functions(self, module: int, binary: DescribedBinary, used: Int32, whole: bool) -> Int32:
        """Adds the module's functions, or those that are used; their rows by the binary's numbers, the last for -1."""
        functions = binary.functions
        is_used = np.zeros(len(functions.names), bool)
        is_used[used[used >= 0]] = True
        chosen = np.arange(len(is_used)) if whole else np.flatnonzero(is_used)
        row = np.full(len(is_used) + 1, -1, np.int32)  # the last one is for -1
        row[chosen] = self._functions.rows + np.arange(len(chosen))
        if len(chosen):
            names, files = functions.names, functions.files
            self._functions.add(
                len(chosen),
                module=np.full(len(chosen), module, np.int32),
                name=pa.array([names[i] for i in chosen.tolist()], pa.string()),
                file=pa.array([files[i] for i in chosen.tolist()], pa.string()),
                line=np.maximum(np.asarray(functions.lines)[chosen], 0),
                order=np.asarray(functions.order)[chosen],
                inlined=np.asarray(functions.inlined)[chosen],
                sampled=is_used[chosen],
            )
        return row

    def _add_nowhere(self, space: Int32, pc: UInt64, pid_of_space: Callable[[int], int]) -> Int32:
        """Addresses in no module: compiled while running and named in a perf map, or unknown."""
        names = _jit_names(space, pc, pid_of_space, self._symbols.perf_map)
        compiled = [name for name in dict.fromkeys(names) if name is not None]
        # Where compiled code lies differs from run to run, so its frames say only which function it is.
        frames = dict(zip(compiled, self._add_compiled(compiled), strict=True)) if compiled else {}
        unknown = self._add_bare_frames(-1, np.array([-1], np.int32))[0] if None in names else -1
        return np.array([unknown if name is None else frames[name] for name in names], np.int32)

    def _add_kernel(self, pc: UInt64) -> Int32:
        """The kernel's own code; what nobody could name is one frame, since its addresses change with every boot."""
        frames = np.zeros(len(pc), np.int32)
        for module, mine in self._kernel.by_module(pc).items():
            row = self._add_module(self._kernel.module(module), "kernel", "symbols")
            names = self._kernel.names(pc[mine])
            known = [name for name in dict.fromkeys(names) if name]
            first = self._add_named(row, known) if known else 0
            function = {"": -1, **{name: first + i for i, name in enumerate(known)}}
            functions = np.array([function[name] for name in names], np.int32)
            frames[mine] = self._add_bare_frames(row, functions, self._kernel.offsets(module, pc[mine]))
        return frames

    def _add_compiled(self, names: list[str]) -> Int32:
        module = self._add_module(Module(COMPILED_WHILE_RUNNING, "", 0), "jit", "symbols")
        first = self._add_named(module, names)
        return self._add_bare_frames(module, first + np.arange(len(names), dtype=np.int32))

    def _add_named(self, module: int, names: list[str]) -> int:
        """Functions of which nothing but the name is known; the row of the first."""
        first, count = self._functions.rows, len(names)
        zeros = np.zeros(count, np.int32)
        self._functions.add(
            count,
            module=np.full(count, module, np.int32),
            name=pa.array(names, pa.string()),
            file=pa.array([""] * count, pa.string()),
            line=zeros,
            order=zeros,
            inlined=np.zeros(count, bool),
            sampled=np.ones(count, bool),
        )
        return first

    def _add_bare_frames(self, module: int, functions: Int32, offsets: Int64 | None = None) -> Int32:
        first, count = self._frames.rows, len(functions)
        self._frames.add(
            count,
            module=np.full(count, module, np.int32),
            offset=np.zeros(count, np.int64) if offsets is None else offsets,
            function=functions,
            inlined_in=np.full(count, -1, np.int32),
            file=pa.array([""] * count, pa.string()),
            line=np.zeros(count, np.int32),
            block=np.full(count, -1, np.int32),
            in_loop=np.full(count, -1, np.int8),
        )
        return first + np.arange(count, dtype=np.int32)


def _jit_names(
    space: Int32, pc: UInt64, pid_of_space: Callable[[int], int], perf_map: Callable[[int], NamedAddresses | None]
) -> list[str | None]:
    names: list[str | None] = [None] * len(pc)
    for number in np.unique(space):
        known = perf_map(pid_of_space(int(number)))
        if known is None:
            continue
        mine = np.flatnonzero(space == number)
        for at, name in zip(mine, known.resolve(pc[mine]), strict=True):
            names[at] = name
    return names
