# SPDX-License-Identifier: BSD-2-Clause
"""A trace of 10 GB: written, checked and converted; CPU time and memory of the whole commands.

It is that of 20.4 hours of systems/flight-control.toml. What it is converted to goes to /dev/null,
so that the disk holds no more than the trace.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.convert import Used, simulated, used
from bench.environment import BUILD, SkippedError
from bench.results import Row

from hyperperiod.trace.convert import WRITERS
from hyperperiod.trace.format import read_windows

SECONDS = 73_600
NEEDS_GB = 11


def measure() -> Iterator[Row]:
    """Each command once; SkippedError where the disk has too little room."""
    BUILD.mkdir(parents=True, exist_ok=True)
    free_gb = shutil.disk_usage(BUILD).free / 1e9
    if free_gb < NEEDS_GB:
        raise SkippedError(f"{free_gb:.1f} GB of disk are free; the trace takes {NEEDS_GB}")
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        trace = Path(place) / "run.hpt"
        wrote = simulated(trace, SECONDS)
        records = read_windows(trace).total
        yield Row("size", trace.stat().st_size / 1e9, "GB")
        yield Row("records", records / 1e6, "million")
        yield from rows("simulate", wrote, records)
        yield from rows("check", used("trace", "check", str(trace)), records)
        for suffix in WRITERS:
            nowhere = trace.with_suffix(suffix)
            nowhere.symlink_to("/dev/null")
            yield from rows(suffix, used("trace", "convert", str(trace), str(nowhere)), records)


def rows(name: str, spent: Used, records: int) -> Iterator[Row]:
    """Time, rate and memory of one command."""
    yield Row(name, spent.cpu_s, "CPU s")
    yield Row(f"{name}: rate", records / spent.cpu_s, "records/s")
    yield Row(f"{name}: memory", spent.peak_mib, "MiB")
