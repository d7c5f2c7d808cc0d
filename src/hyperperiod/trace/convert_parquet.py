# SPDX-License-Identifier: BSD-2-Clause
"""A trace as a table in Parquet: one row per record, names instead of numbers.

The columns are those of the record. What does not apply to a record is empty. `value` keeps the
number of the record, read as signed: what it means depends on the kind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from hyperperiod.trace.format import (
    EXTRA,
    JOB_KINDS,
    NONE,
    SECOND_PAYER,
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
    ]
)


def write_parquet(header: Header, records: Records, path: Path, progress: Progress) -> None:
    """Writes all records to `path` as Parquet."""
    # Times and values hardly repeat: to look for those that do takes longer than all the rest.
    repeat = [field.name for field in SCHEMA if field.type == _NAME]
    with pa_parquet.ParquetWriter(path, SCHEMA, use_dictionary=repeat) as writer:
        for batch in batches(header, records, progress):
            writer.write_batch(batch)


def batches(header: Header, records: Records, progress: Progress) -> Iterator[pa.RecordBatch]:
    """The records piece by piece, as columns of readable values."""
    servers = [server_name(header, vcpu) for vcpu in range(len(header["vcpus"]))]
    servers.append(server_name(header, SPARE))
    tasks = [task_name(header, task) for task in range(len(header["tasks"]))]
    kinds = [kind.name.lower() for kind in Kind]
    for chunk in counted(chunks(records), progress):
        kind = chunk["kind"]
        no_job = (chunk["task"] == NONE) | ~np.isin(kind, JOB_KINDS)
        columns = [
            pa.array(chunk["time_ns"]),
            _named(kind.astype(np.int32) - min(Kind), kinds),
            pa.array(chunk["pcpu"], mask=chunk["pcpu"] == NONE),
            _named(_places(chunk["vcpu"], len(servers)), servers),
            _named(_places(chunk["payer"], len(servers)), servers),
            _named(_places(chunk["task"], len(servers)), tasks),
            pa.array(chunk["job"], mask=no_job),
            pa.array(chunk["value"].view(np.int64)),
            pa.array((chunk["flags"] & SECOND_PAYER) != 0),
            pa.array((chunk["flags"] & EXTRA) != 0),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _places(ids: NDArray[np.uint16], names: int) -> NDArray[np.int32]:
    """Places in a list of names whose last one is the spare; -1 for nobody."""
    wide = ids.astype(np.int32)
    return np.where(wide == NONE, -1, np.where(wide == SPARE, names - 1, wide))


def _named(places: NDArray[np.int32], names: list[str]) -> pa.Array:
    index = pa.array(places, mask=places < 0)
    return pa.DictionaryArray.from_arrays(index, pa.array(names, pa.string()))
