# SPDX-License-Identifier: BSD-2-Clause
"""`trace convert`: a trace in another format, chosen by the name of the output file."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from hyperperiod.model.errors import InputError
from hyperperiod.trace.convert_perfetto import write_perfetto
from hyperperiod.trace.convert_table import write_csv, write_parquet
from hyperperiod.trace.format import Header, Records, read

FORMATS: Final[dict[str, Callable[[Header, Records, Path], None]]] = {
    ".pftrace": write_perfetto,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def convert(source: Path, target: Path) -> None:
    """Read `source`, write `target` in the format of its suffix; all or nothing.

    The result is put in place when it is whole, so that an interrupted conversion leaves no
    half-written file under the name that was asked for.
    """
    write = FORMATS.get(target.suffix)
    if write is None:
        allowed = "a name that ends in " + ", ".join(FORMATS)
        raise InputError(str(target), None, "output", target.suffix or "no suffix", allowed)
    header, records = read(source)
    unfinished = target.with_name(target.name + ".part")
    try:
        write(header, records, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
