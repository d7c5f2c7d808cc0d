# SPDX-License-Identifier: BSD-2-Clause
"""Draws the schedules of the documentation from what the simulator really does.

    python docs/timeline.py            writes every picture in docs/pictures
    python docs/timeline.py NAME ...   writes these

Each picture is one system under one policy, drawn as `hyperperiod trace draw` does, so that a test
can say whether a picture is still true.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.report.schedule import schedule_svg
from hyperperiod.trace.format import read
from hyperperiod.workbench import load, simulate

TOP: Final = Path(__file__).parents[1]


class Picture(NamedTuple):
    """One picture: what is run, for how long, what a step of the axis is, and where it begins."""

    system: str
    policy: str
    horizon: str
    step_ns: int
    from_ns: int = 0


MS: Final = 1_000_000
PICTURES: Final = {
    "ptps": Picture("docs/examples/idle-time.toml", "ptps", "40ms", 5 * MS),
    "wcps": Picture("docs/examples/idle-time.toml", "wcps", "40ms", 5 * MS),
    "crps": Picture("docs/examples/idle-time.toml", "crps", "40ms", 5 * MS),
    "ds": Picture("docs/examples/late-work.toml", "ds", "40ms", 5 * MS),
    "polling": Picture("docs/examples/late-work.toml", "polling", "40ms", 5 * MS),
    "sporadic": Picture("docs/examples/late-work.toml", "sporadic", "40ms", 5 * MS),
    "rtds": Picture("docs/examples/extra-time.toml", "rtds", "20ms", 2 * MS),
    "ertds": Picture("systems/ertds-example3.toml", "ertds", "24us", 2_000),
    "spare-later-rtds": Picture("docs/examples/spare-later.toml", "rtds", "24ms", 2 * MS),
    "spare-later": Picture("docs/examples/spare-later.toml", "ertds", "24ms", 2 * MS),
    "cbs": Picture("systems/deferrable-edf-counterexample.toml", "cbs", "30ms", 5 * MS),
    "deferrable-edf": Picture(
        "systems/deferrable-edf-counterexample.toml", "deferrable+edf", "30ms", 5 * MS
    ),
    "sedf": Picture("docs/examples/short-unblocking.toml", "sedf", "60ms", 5 * MS),
    "sedf-prime": Picture("docs/examples/short-unblocking.toml", "sedf-prime", "60ms", 5 * MS),
    "psedf": Picture("docs/examples/short-unblocking.toml", "psedf", "60ms", 5 * MS),
    "partitioned-hsf-fp": Picture(
        "systems/exsched-table2.toml", "partitioned-hsf-fp", "80ms", 10 * MS
    ),
    "packet-path": Picture("systems/packet-path.toml", "crps", "5ms", MS // 2),
    "driver-domain": Picture("systems/driver-domain.toml", "ds", "6ms", MS // 2),
    "ros2-robot": Picture("systems/ros2-robot.toml", "ds", "100ms", 10 * MS),
    "overload": Picture("systems/overload.toml", "ptps", "60ms", 10 * MS),
    "brake-by-wire": Picture("systems/brake-by-wire.toml", "crps", "40ms", 5 * MS),
    "linux-four-vcpus": Picture("systems/linux-four-vcpus.toml", "crps", "40ms", 5 * MS),
    "zone-controller": Picture("systems/zone-controller.toml", "ptps", "12ms", MS),
    "stability-control": Picture("systems/stability-control.toml", "psedf", "500us", MS // 20),
    "lesson-back-to-back": Picture("docs/lessons/back-to-back.toml", "ds", "30ms", 2 * MS),
    "lesson-polling": Picture("docs/lessons/polling.toml", "polling", "40ms", 5 * MS),
    "lesson-sporadic": Picture("docs/lessons/back-to-back.toml", "sporadic", "30ms", 2 * MS),
    "lesson-idle-budget": Picture("docs/lessons/idle-budget.toml", "ptps", "20ms", 2 * MS),
    "lesson-blackout": Picture("docs/lessons/blackout.toml", "ptps", "40ms", 5 * MS),
    "lesson-lending": Picture("docs/lessons/lending.toml", "wcps", "20ms", 2 * MS),
    "lesson-spare": Picture("docs/lessons/spare.toml", "ertds", "24ms", 2 * MS),
    "lesson-control-loop": Picture(
        "docs/lessons/control-loop.toml", "sedf", "54ms", 2 * MS, from_ns=38 * MS
    ),
    "lesson-dhall": Picture("docs/lessons/dhall.toml", "rtds", "20ms", 2 * MS),
    "lesson-overheads": Picture("docs/lessons/short-periods.toml", "ptps", "10ms", MS),
    "lesson-hot-swap": Picture("docs/lessons/hot-swap.toml", "ptps", "30ms", 2 * MS),
}


def svg(name: str) -> str:
    """The text of one picture."""
    picture = PICTURES[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.hpt"
        simulate(load(TOP / picture.system, picture.policy), picture.horizon, trace=file)
        title = f"{picture.system} under {picture.policy}"
        return schedule_svg(*read(file), picture.from_ns, step_ns=picture.step_ns, title=title)


def main(names: Iterable[str]) -> None:
    """Writes the named pictures, or all."""
    for name in list(names) or PICTURES:
        (TOP / "docs" / "pictures" / f"{name}.svg").write_text(svg(name))


if __name__ == "__main__":
    main(sys.argv[1:])
