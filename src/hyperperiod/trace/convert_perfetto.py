# SPDX-License-Identifier: BSD-2-Clause
"""A trace for https://ui.perfetto.dev: tracks, slices, counters and instants.

- `pcpus` has one track per pcpu: a slice per stretch of a vcpu and task, with who pays, and one
  named `idle` where a server pays for time that nobody uses.
- One track per domain holds a track per task: a slice per job, from its release (or from the end
  of the job before it: jobs of a task are served in order) to its completion; one that is not
  completed has no end. Releases and missed deadlines are instants on it.
- `budgets` has one counter per server: what it has left, a step at each charge and refill, and
  an instant for each refill and each depletion.
- `machine` has an instant for each swap of the policy, for each vcpu that moves, for each item of a
  flow that is dropped, and for the end of the run.

The category of a slice or an instant says which of these it is (run, idle, job, release, miss,
budget, machine), its arguments name vcpu, task and job: SQL need not take names apart
(docs/howto/perfetto.md).

The packets are written by a native module, piece by piece; nothing is kept in memory but what is
open.
"""

from pathlib import Path
from typing import Final

from hyperperiod._convert import Perfetto
from hyperperiod.trace.format import (
    Header,
    Progress,
    Records,
    chunks,
    counted,
    end_ns,
    has_one_spare,
)
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS

RECORDS_AT_ONCE: Final = 1 << 13
"""Between two looks at progress: some hundredths of a second, and some 3 MB of packets."""


def write_perfetto(header: Header, records: Records, path: Path, progress: Progress) -> None:
    """Writes the trace to `path` as one that Perfetto reads."""
    writer = Perfetto(
        pcpus=header["pcpus"],
        vcpus=[(entry["name"], not entry["best_effort"]) for entry in header["vcpus"]],
        tasks=[(entry["domain"], entry["name"]) for entry in header["tasks"]],
        flows=[entry["name"] for entry in header.get("flows", [])],
        has_one_spare=has_one_spare(header),
        budgets=BUDGETS,
        orders=ORDERS,
        slacks=SLACKS,
    )
    with path.open("wb") as file:
        for chunk in counted(chunks(records, RECORDS_AT_ONCE), progress):
            file.write(writer.packets(chunk))
        file.write(writer.last_packets(end_ns(records)))
