# SPDX-License-Identifier: BSD-2-Clause
"""Beside a thread of a higher class, which takes a fifth of the cpu, servers get what is computed.

The machine is robbed while it is measured, and its thefts become `[[stolen]]` tables. Systems that
the analysis accepts with these and with overheads run on a machine that is robbed in the same way:
no job is late, and none responds later than the analysis says.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linux.promises import keep_their_promises
from tests.support.guarantees import POLICIES
from tests.support.on_linux import OVERHEADS, load_program, need_linux

from hyperperiod.analysis.proofs import Cover, Rules, find_proof
from hyperperiod.hosts.linux.attend import ExtraLoad
from hyperperiod.hosts.linux.measure import observe
from hyperperiod.hosts.linux.thefts import bound, thefts_in
from hyperperiod.model import Stolen, System

MS = 1_000_000
THIEF = "load fifo 2000 7700 &\n"
"""A SCHED_FIFO thread: 2 ms, and 7.7 ms later again."""
TRAFFIC = "while :; do busybox true; busybox usleep 20000; done &\n"
"""Processes that come and go, so that the kernel takes something as well."""
COVERED = [
    name
    for name, policy in POLICIES.items()
    if (proof := find_proof(Rules.of(policy))) and Cover.STOLEN in proof.covers
]
"""Policies of which the analysis says something beside stolen time."""
OF_EACH = 3


def measured(load: ExtraLoad, horizon_ns: int) -> tuple[Stolen, ...]:
    """The tables of a machine that is robbed like this."""
    thefts = thefts_in(observe(load, horizon_ns).decisions[0])
    taken_ns = sum(theft.length_ns for theft in thefts)
    assert 0.2 * horizon_ns <= taken_ns <= 0.25 * horizon_ns
    return bound(thefts)


@pytest.mark.slow
def test_systems_of_each_policy_keep_their_promises_beside_a_thief(tmp_path: Path) -> None:
    need_linux()
    assert OF_EACH * len(COVERED) >= 20
    load = ExtraLoad(TRAFFIC + THIEF, {"load": load_program(tmp_path)})
    stolen = measured(load, 4_000 * MS)

    def costs(system: System) -> System:
        return system.replace(overheads=OVERHEADS, stolen=stolen)

    keep_their_promises(COVERED, OF_EACH, 1_000 * MS, tmp_path, costs, load)
