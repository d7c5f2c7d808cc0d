# SPDX-License-Identifier: BSD-2-Clause
"""`trace convert`: a trace in another format, chosen by the suffix of the output file."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from hyperperiod.trace.convert_perfetto import write_perfetto
from hyperperiod.trace.convert_table import write_csv, write_parquet
from hyperperiod.trace.format import Header, Progress, Records

CONVERTERS: Final[dict[str, Callable[[Header, Records, Path, Progress], None]]] = {
    ".pftrace": write_perfetto,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
"""By suffix: who writes header and records in that format, in pieces, and says how many it has."""
