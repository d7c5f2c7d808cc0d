# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler's handlers in a run on Xen are counted, and counting them changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.xen_images import guest, image

from hyperperiod.hosts.recorded_run import CallTime
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.xen.handlers import HANDLERS, Counter, functions
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.model import PRESETS, Domain, FailedError, Interface, System, Task
from hyperperiod.runs import run_on_xen
from hyperperiod.trace.format import Kind, read

MS = 1_000_000
HORIZON_NS = 200 * MS
SYSTEM = System(
    name="two",
    policy=PRESETS["hsf-fp"],
    domains=tuple(
        Domain(
            name=f"S{number}",
            priority=number,
            interface=Interface(period_ns=period_ns, budget_ns=budget_ns),
            tasks=(Task(name="t", period_ns=period_ns, wcet_ns=budget_ns - MS),),
        )
        for number, (period_ns, budget_ns) in enumerate([(24 * MS, 4 * MS), (100 * MS, 40 * MS)])
    ),
)


def counted(system: System, folder: Path) -> tuple[RunResult, Mapping[str, CallTime]]:
    image("arm64")
    guest()
    counter = Counter(folder)
    options = counter.options(XenOptions())
    result = run_on_xen(system, HORIZON_NS, trace_path=folder / "run.hpt", options=options)
    return result, counter.counted()


def test_all_runs_of_a_handler_are_counted(tmp_path: Path) -> None:
    """A decision is a call of `schedule`, and a job's release one of `wake`."""
    result, spent = counted(SYSTEM, tmp_path)
    (pcpu,) = result.pcpus
    _, records = read(tmp_path / "run.hpt")
    # The decision of the epoch is a pick and not counted; that of the horizon the other way round.
    assert abs(spent["schedule"].runs - pcpu.picks) <= 1
    releases = int((records["kind"] == Kind.RELEASE).sum())
    assert releases - len(SYSTEM.domains) <= spent["wake"].runs <= releases
    assert spent["sleep"] == CallTime(0, 0)
    assert set(spent) == set(HANDLERS)
    for name in ("schedule", "wake"):
        assert 100 < spent[name].ns / spent[name].runs < 3_000


def test_counting_changes_nothing(tmp_path: Path) -> None:
    counted(SYSTEM, tmp_path)
    run_on_xen(SYSTEM, HORIZON_NS, trace_path=tmp_path / "alone.hpt")
    assert (tmp_path / "run.hpt").read_bytes() == (tmp_path / "alone.hpt").read_bytes()


def test_more_of_the_same_takes_more(tmp_path: Path) -> None:
    """Twice as many releases of a server: twice as many wakes, and decisions for them."""
    often = SYSTEM.domains[0]
    twice = often.replace(
        interface=Interface(period_ns=12 * MS, budget_ns=2 * MS),
        tasks=(Task(name="t", period_ns=12 * MS, wcet_ns=MS),),
    )
    before, after = (
        counted(SYSTEM.replace(domains=(domain,)), tmp_path)[1] for domain in (often, twice)
    )
    assert after["wake"].runs == pytest.approx(2 * before["wake"].runs, abs=1)
    assert after["schedule"].ns == pytest.approx(2 * before["schedule"].ns, rel=0.15)


def test_the_schedulers_functions_lie_apart() -> None:
    found = [one for one in functions(image("arm64").with_name("xen-syms")) if one.is_ours]
    assert {f"hyperperiod_{name}" for name in HANDLERS} <= {one.name for one in found}
    for one, following in pairwise(found):
        assert one.start < one.end <= following.start


def test_what_was_not_counted_is_said(tmp_path: Path) -> None:
    image("arm64")
    with pytest.raises(FailedError, match="not counted"):
        Counter(tmp_path).counted()
