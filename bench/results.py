# SPDX-License-Identifier: BSD-2-Clause
"""What a benchmark says: one row per number, with a peer's number beside it if there is one."""

import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hyperperiod.cli.screen import Screen
from hyperperiod.cli.table import Table, numbers, words
from hyperperiod.measured import processor


@dataclass(frozen=True)
class Row:
    """One measured number. `peer` is what another tool needs for the same, in the same unit; with
    `rate` it is what the other tool does, and more is better."""

    name: str
    value: float
    unit: str
    peer: float | None = None
    peer_name: str | None = None
    rate: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times as much the peer needs, or we do."""
        if self.peer is None:
            return None
        return self.value / self.peer if self.rate else self.peer / self.value


def write(rows: Iterable[Row], path: Path) -> None:
    """Writes all rows and the machine they were measured on."""
    document = {
        "processor": processor(),
        "python": platform.python_version(),
        "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")


def show(rows: Iterable[Row]) -> None:
    """Prints the rows as a table."""
    columns = [*words("what"), *numbers("ours"), *words("unit"), *numbers("peer", "ratio")]
    table = Table(f"Measured on {processor()}", columns)
    for row in rows:
        peer = f"{row.peer:,.4g} ({row.peer_name})" if row.peer is not None else ""
        ratio = f"{row.ratio:,.4g} x" if row.ratio is not None else ""
        table.add_row(row.name, f"{row.value:,.4g}", row.unit, peer, ratio)
    Screen().table(table)
