# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises of whole systems, the simulator must keep: all features at once.

Systems of every policy that hosts run, on one to three pcpus, drawn from everything that a file can
say: given and computed interfaces of each way to compute them, the three supply bounds, quanta,
priorities with equals, several vcpus, extra time, a spare, best effort, domains that want more
than they get, all kinds of tasks with offsets, jitter, deadlines around their periods and short
executions, flows, overheads. Times are few whole ticks, so that instants coincide. What is called
schedulable is run from many phases and seeds, long enough for phases to drift, and must not miss a
deadline, drop an item or take longer than its bound. Some runs check the laws of the core as well,
and some the properties of their trace.
"""

from __future__ import annotations

from tests.support.campaign import hunt, sizes
from tests.support.whole_worlds import trial


@sizes(50)
def test_whole_systems_keep_what_is_promised(systems: int) -> None:
    hunt("whole systems", systems, trial, least_accepted=0.3)
