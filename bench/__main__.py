# SPDX-License-Identifier: BSD-2-Clause
"""Runs every benchmark: `python -m bench [NAME...]`; prints a table, writes bench/results.json.

A benchmark is a module of this folder with `measure()`, which yields rows and raises `SkippedError`
where the machine lacks something. Results are written after each one, so that a failure or an
interruption loses none that is done. A benchmark that is skipped says why on standard error, and
the exit code is then 3.
"""

import importlib
import sys
from pathlib import Path

from bench.environment import SkippedError
from bench.results import Row, show, write

from hyperperiod.measured import BENCHMARKS, EXIT_SKIPPED

RESULTS = Path(__file__).parent / "results.json"


def main() -> int:
    """Runs the benchmarks that are named, or all; 2 if there is none of that name, 3 if skipped."""
    names = sys.argv[1:] or BENCHMARKS
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
        return 2
    rows: list[Row] = []
    code = 0
    for name in names:
        try:
            rows.extend(importlib.import_module(f"bench.{name}").measure())
        except SkippedError as reason:
            print(f"{name}: skipped: {reason}", file=sys.stderr)
            code = EXIT_SKIPPED
        write(rows, RESULTS)
    show(rows)
    return code


if __name__ == "__main__":
    sys.exit(main())
