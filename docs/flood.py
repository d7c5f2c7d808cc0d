# SPDX-License-Identifier: BSD-2-Clause
"""Draws how long a million packets took from wire to wire, without a flood beside them and with it.

    python docs/flood.py            writes docs/pictures/flood.svg, which takes minutes

Both are runs of systems/driver-domain.toml in the simulator. A row has how many packets of the loop
took how long, on a logarithmic scale, so that a single one is seen, and the bound of the analysis.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from math import log10
from pathlib import Path
from typing import Final

import hyperperiod as hp
from hyperperiod.report.schedule import COLORS, WIDTH, framed

FILE: Final = Path(__file__).parent / "pictures" / "flood.svg"
SYSTEM: Final = Path(__file__).parents[1] / "systems" / "driver-domain.toml"
PACKETS: Final = 1_000_000
FLOOD_NS: Final = 10_000
"""A packet for the neighbour comes so often."""
LEFT, RIGHT, ROW, FOOT = 110, 24, 130, 44
LEGEND: Final = (
    f"from wire to wire (ms); how many packets, on a logarithmic scale up to {PACKETS:,};"
    " the line is the bound"
)
LAST_NS, BIN_NS = 4_400_000, 50_000


def svg() -> str:
    """The picture, of two runs."""
    system = hp.load(SYSTEM)
    loop, bulk = system.flows
    faster = bulk.source.replace(period_ns=FLOOD_NS, burst=1)
    flood = system.replace(flows=(loop, bulk.replace(source=faster)))
    height = 2 * ROW + FOOT
    parts = [
        *axis(2 * ROW),
        *row(system, 1, "as declared"),
        *row(flood, 2, "flooded"),
        f'<text class="faint" x="{LEFT}" y="{height - 10}">{LEGEND}</text>',
    ]
    return framed(
        height, "A million packets of a control loop, without and with a flood beside them", parts
    )


def x(time_ns: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * time_ns / LAST_NS


def axis(bottom: int) -> Iterator[str]:
    for ms in range(LAST_NS // 1_000_000 + 1):
        place = f"{x(ms * 1_000_000):.1f}"
        yield f'<path class="line" d="M{place} 8V{bottom}"/>'
        middle = f'x="{place}" y="{bottom + 16}" text-anchor="middle"'
        yield f'<text class="faint" {middle}>{ms}</text>'


def row(system: hp.System, number: int, name: str) -> Iterator[str]:
    """The responses of the first flow of a system, as bars that stand on the row's line."""
    flow = system.flows[0]
    bound_ns = hp.analyze(system).flows[0].response_bound_ns or 0
    horizon_ns = PACKETS * (flow.source.period_ns or 0)
    found = hp.simulate(system, f"{horizon_ns}ns", histograms=True).flows[0]
    counts: Counter[int] = Counter()
    for low_ns, _, count in found.histogram or ():
        counts[low_ns // BIN_NS] += count
    bottom = number * ROW
    wide = x(BIN_NS) - x(0)
    for place, count in sorted(counts.items()):
        high = (ROW - 30) * (log10(count) + 0.3) / log10(PACKETS)
        yield (
            f'<rect x="{x(place * BIN_NS):.1f}" y="{bottom - high:.1f}" width="{wide:.1f}"'
            f' height="{high:.1f}" fill="{COLORS[number - 1]}"/>'
        )
    line = f"M{x(bound_ns):.1f} {bottom - ROW + 20}V{bottom}"
    yield f'<path class="mark" stroke-width="2" d="{line}"/>'
    yield f'<text class="ink" x="12" y="{bottom - 40}">{name}</text>'


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    FILE.write_text(svg(), "utf-8")
