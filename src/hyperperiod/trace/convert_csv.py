# SPDX-License-Identifier: BSD-2-Clause
"""A trace as CSV: one row per record, names instead of numbers, as in Parquet (convert_parquet).

What does not apply to a record is empty. The rows are written by a native module, piece by piece.
"""

from pathlib import Path
from typing import Final

from hyperperiod._convert import Csv
from hyperperiod.trace.format import (
    Header,
    Progress,
    Records,
    chunks,
    counted,
    task_name,
)

COLUMNS: Final = "time_ns,kind,pcpu,vcpu,payer,task,job,value,also_pays,extra_time,stolen\n"
RECORDS_AT_ONCE: Final = 1 << 13
"""Between two looks at progress: some hundredths of a second, and some 5 MB of rows."""


def write_csv(header: Header, records: Records, path: Path, progress: Progress) -> None:
    """Writes all records to `path` as CSV with a heading."""
    writer = Csv(
        vcpus=[entry["name"] for entry in header["vcpus"]],
        tasks=[task_name(header, task) for task in range(len(header["tasks"]))],
    )
    with path.open("wb") as file:
        file.write(COLUMNS.encode())
        for chunk in counted(chunks(records, RECORDS_AT_ONCE), progress):
            file.write(writer.rows(chunk))
