# SPDX-License-Identifier: BSD-2-Clause
"""The rows of a part as Parquet, in memory: what a worker hands back, and a file as it stands.

Every row begins with the number of its point and the point's values, a column for each key of the
grid: a number where all values are numbers, else the text. The same rows are the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hyperperiod.experiments.sweep.experiment import MACHINES, LoadedSweep, PartOfWork
from hyperperiod.experiments.sweep.folder import TABLES
from hyperperiod.experiments.sweep.judge import Columns, judge
from hyperperiod.model.values import show

_WORD: Final = pa.dictionary(pa.int32(), pa.string())
_TYPES: Final = {
    "system": pa.int32(),
    "seed": pa.uint64(),
    "utilization": pa.float64(),
    "judge": _WORD,
    "accepted": pa.bool_(),
    "reason": _WORD,
    "domain": _WORD,
    "task": _WORD,
    "schedulable": pa.bool_(),
    "dmr": pa.float64(),
    "jobs": pa.int64(),
    "misses": pa.int64(),
}
"""By column; what is not here is a time in nanoseconds."""


def part_as_parquet(experiment: LoadedSweep, part: PartOfWork) -> dict[str, bytes]:
    """The three tables of a part, judged now."""
    rows = judge(part)
    return {name: _parquet(experiment, part, rows[name]) for name in TABLES}


def is_number(value: Any) -> bool:
    """Whether a value of the grid is a number."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def axis_values(values: Sequence[Any]) -> list[float] | list[str]:
    """The values of a key of the grid as a column holds them."""
    if all(is_number(value) for value in values):
        return [float(value) for value in values]
    return [value_text(value) for value in values]


def value_text(value: Any) -> str:
    """A value of the grid in words: a text as it is, a table or list as files have it."""
    return value if isinstance(value, str) else _in_files(value)


def _in_files(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{name} = {_in_files(one)}" for name, one in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_in_files(one) for one in value)}]"
    return show(value)


def _of_any_host(name: str) -> str:
    """What a column of a run on a machine is called among those of the simulator."""
    for host in MACHINES:
        name = name.removeprefix(f"{host}_")
    return name


def _parquet(experiment: LoadedSweep, part: PartOfWork, columns: Columns) -> bytes:
    count = len(columns["system"])
    point = part.point
    arrays = {"point": pa.repeat(pa.scalar(point.number, pa.int32()), count)}
    for path, value in point.values.items():
        all_values = axis_values(experiment.sweep.grid[path])
        at = experiment.sweep.grid[path].index(value)
        kind = pa.float64() if isinstance(all_values[at], float) else pa.string()
        column = pa.repeat(pa.scalar(all_values[at], kind), count)
        arrays[path] = column if kind == pa.float64() else column.dictionary_encode()
    for name, values in columns.items():
        # In an array there is no null: what is negative stands for it.
        mask = None if isinstance(values, list) else np.less(values, 0)
        arrays[name] = pa.array(values, _TYPES.get(_of_any_host(name), pa.int64()), mask=mask)
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays), buffer, compression="zstd")
    return buffer.getvalue()
