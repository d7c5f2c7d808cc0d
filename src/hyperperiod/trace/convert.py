# SPDX-License-Identifier: BSD-2-Clause
"""`trace convert`: a trace in another format, chosen by the suffix of the output file.

What a format needs is loaded when it is asked for: Parquet needs a library that is not part of
the smallest installation.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from hyperperiod.model.errors import MissingError
from hyperperiod.trace.format import Header, Progress, Records

Writer = Callable[[Header, Records, Path, Progress], None]

WRITERS: Final = {
    ".pftrace": ("convert_perfetto", "write_perfetto"),
    ".csv": ("convert_csv", "write_csv"),
    ".parquet": ("convert_parquet", "write_parquet"),
}
"""By suffix: the module here and its function that writes that format, in pieces,
and says how many records it has written."""

EXTRAS: Final = {"convert_parquet": "parquet"}
"""Which extra of the package brings a module's library."""


def writer_for(suffix: str) -> Writer:
    """Returns the writer of the format of a suffix; MissingError if its library is missing."""
    module, name = WRITERS[suffix]
    try:
        writer: Writer = getattr(import_module(f"hyperperiod.trace.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hyperperiod"):
            raise
        raise MissingError(
            f"a trace as {suffix} needs the Python package {(error.name or '').partition('.')[0]}",
            f"pip install 'hyperperiod[{EXTRAS[module]}]'",
        ) from None
    return writer
