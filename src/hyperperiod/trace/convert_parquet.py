# SPDX-License-Identifier: BSD-2-Clause
"""A trace as a table in Parquet: one row per record, names instead of numbers.

The columns are those of the record. What does not apply to a record is empty. `value` keeps the
number of the record, read as signed: what it means depends on the kind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from hyperperiod._convert import Columns
from hyperperiod.trace.format import (
    SPARE,
    Header,
    Kind,
    Progress,
    Records,
    chunks,
    counted,
    server_name,
    task_name,
)

_NAME: Final = pa.dictionary(pa.int32(), pa.string())
SCHEMA: Final = pa.schema(
    [
        ("time_ns", pa.uint64()),
        ("kind", _NAME),
        ("pcpu", pa.uint16()),
        ("vcpu", _NAME),
        ("payer", _NAME),
        ("task", _NAME),
        ("job", pa.uint32()),
        ("value", pa.int64()),
        ("also_pays", pa.bool_()),
        ("extra_time", pa.bool_()),
        ("stolen", pa.bool_()),
    ]
)


NAMES: Final = [field.name for field in SCHEMA if field.type == _NAME]


def write_parquet(header: Header, records: Records, path: Path, progress: Progress) -> None:
    """Writes all records to `path` as a Parquet file, a row for each."""
    # Times and values hardly repeat: to look for those that do takes longer than all the rest. The
    # least and greatest of the names of many records would say nothing.
    numbers = [name for name in SCHEMA.names if name not in NAMES]
    with pa_parquet.ParquetWriter(
        path, SCHEMA, use_dictionary=NAMES, write_statistics=numbers
    ) as writer:
        for batch in batches(header, records, progress):
            writer.write_batch(batch)


def batches(header: Header, records: Records, progress: Progress) -> Iterator[pa.RecordBatch]:
    """The records piece by piece, as columns of readable values."""
    servers = [server_name(header, vcpu) for vcpu in range(len(header["vcpus"]))]
    servers.append(server_name(header, SPARE))
    tasks = [task_name(header, task) for task in range(len(header["tasks"]))]
    kinds = [kind.name.lower() for kind in Kind]
    names = {"kind": kinds, "vcpu": servers, "payer": servers, "task": tasks}
    words = {name: pa.array(names[name], pa.string()) for name in NAMES}
    writer = Columns(vcpus=len(header["vcpus"]))
    for chunk in counted(chunks(records), progress):
        columns = [
            _column(field, len(chunk), buffers, words)
            for field, buffers in zip(SCHEMA, writer.columns(chunk), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _column(
    field: pa.Field, length: int, buffers: tuple[bytes | None, bytes], words: dict[str, pa.Array]
) -> pa.Array:
    """A column from its bits and numbers, which it does not copy."""
    plain = field.type if field.name not in words else field.type.index_type
    kept = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    column = pa.Array.from_buffers(plain, length, kept)
    if field.name not in words:
        return column
    return pa.DictionaryArray.from_arrays(column, words[field.name])
