# SPDX-License-Identifier: BSD-2-Clause
"""Several pcpus that are kept in step (hosts/xen/lockstep): their time is exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.on_xen import OnXen, run_on_xen

from hyperperiod.hosts.xen.machine import RunningXen
from hyperperiod.model import Domain, Interface, System, Task, parse_policy
from hyperperiod.trace.format import Kind

MS = 1_000_000


def crossing(pcpus: int) -> System:
    """One domain more than there are pcpus, on which they take turns.

    Their periods differ, so that who waits does not hang on how ties end.
    """
    domains = tuple(
        Domain(
            name=f"d{number}",
            interface=Interface(period_ns=(8 + number) * MS, budget_ns=(6 - number % 3) * MS),
            tasks=(Task(name="t", period_ns=2 * (8 + number) * MS, wcet_ns=(9 - number % 3) * MS),),
        )
        for number in range(pcpus + 1)
    )
    return System(name="crossing", policy=parse_policy("rtds"), pcpus=pcpus, domains=domains)


def same(first: OnXen, second: OnXen) -> bool:
    return first.result == second.result and (first.trace[1].tobytes() == second.trace[1].tobytes())


@pytest.mark.parametrize("pcpus", [2, 4])
def test_a_run_repeats_to_the_byte_however_often_one_looks(
    pcpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_on_xen(crossing(pcpus), 60 * MS, 1, tmp_path / "first")
    moved = {(int(row["pcpu"]), int(row["vcpu"])) for row in runs_of(first)}
    assert len(moved) > pcpus + 1, "nobody ran on two pcpus"
    wait_for = RunningXen.wait_for

    def look_all_the_time(
        running: RunningXen, pattern: str, **more: Callable[[], object]
    ) -> object:
        for _ in range(200):
            running.read(running.places[0].memory, 64)
        return wait_for(running, pattern, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(RunningXen, "wait_for", look_all_the_time)
    assert same(first, run_on_xen(crossing(pcpus), 60 * MS, 1, tmp_path / "second"))


def runs_of(seen: OnXen) -> list[dict[str, int]]:
    records = seen.trace[1]
    return list(records[records["kind"] == Kind.RUN])
