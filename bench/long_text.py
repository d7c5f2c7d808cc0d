# SPDX-License-Identifier: BSD-2-Clause
"""A trace of 5 GB as text of the kernel, by a pipe: CPU time and memory of `observe`.

It is docs/examples/plant.txt.gz again and again, each time later, as one trace of 4.8 hours.
"""

import gzip
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.convert import used
from bench.environment import TOP
from bench.results import Row

SIZE = 5 * 10**9
_TIME = re.compile(r" (\d+)\.(\d{6}): ")


def measure() -> Iterator[Row]:
    """The command once."""
    with tempfile.TemporaryDirectory() as place:
        pipe = Path(place) / "plant.txt"
        os.mkfifo(pipe)
        writer = threading.Thread(target=write, args=(pipe,))
        writer.start()
        spent = used("observe", str(pipe))
        writer.join()
    yield Row("size", SIZE / 1e9, "GB")
    yield Row("observe", spent.cpu_s, "CPU s")
    yield Row("observe: rate", SIZE / 1e6 / spent.cpu_s, "MB/s")
    yield Row("observe: memory", spent.peak_mib, "MiB")


def write(pipe: Path) -> None:
    """Writes the example, moved by its length each time, until there are so many bytes."""
    with gzip.open(TOP / "docs/examples/plant.txt.gz", "rt") as file:
        parts = [
            (line[: at.start() + 1], int(at[1] + at[2]), line[at.end() - 2 :])
            for line in file
            if (at := _TIME.search(line))
        ]
    length_us = parts[-1][1] - parts[0][1] + 1000
    left = SIZE
    with pipe.open("w") as file:
        for number in count():
            times = (divmod(time_us + number * length_us, 10**6) for _, time_us, _ in parts)
            text = "".join(
                f"{before}{seconds}.{micros:06d}{after}"
                for (before, _, after), (seconds, micros) in zip(parts, times, strict=True)
            )
            left -= file.write(text)
            if left <= 0:
                return
