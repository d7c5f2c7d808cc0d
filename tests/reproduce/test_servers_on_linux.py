# SPDX-License-Identifier: BSD-2-Clause
"""ExSched's study on Linux: handlers' times are measured, and its tables come out."""

from __future__ import annotations

import pytest
from tests.support.on_linux import need_linux
from tests.support.rows_of_kind import rows_of

from hyperperiod.experiments.confidence import Interval
from hyperperiod.model import InputError, Interface
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.result import ServerEventsRow, ServerRunRow
from hyperperiod.papers.server_events import refill_runs, two_level_system
from hyperperiod.papers.server_handlers import LEFT_NS, cores
from hyperperiod.papers.server_overhead import (
    HANDLER_TIMES,
    ServerAllocations,
    ServerNumbers,
)

MS = 1_000_000
ON_LINUX = FigureOptions(host="linux")


def on_linux(name: str, horizon_ns: int | None = None, sets: int | None = None) -> Figure:
    need_linux()
    asked = FigureOptions(host="linux", horizon_ns=horizon_ns, sets=sets)
    figure = load_experiment(name).reproduce(asked, lambda _done: None)
    assert figure.picture.startswith("<svg")
    return figure


def require_times(rows: list[ServerEventsRow], horizon_ns: int) -> None:
    """All handlers took time, together less than a hundredth of the run on each core."""
    for row in rows:
        assert row.overhead_ns is not None
        assert row.overhead_ns == pytest.approx(sum(getattr(row, one) for one in HANDLER_TIMES))
        assert all(getattr(row, one) > 0 for one in HANDLER_TIMES)
        assert row.overhead_ns < horizon_ns * row.pcpus / 100


@pytest.mark.slow
def test_table_1() -> None:
    """A part of it: twelve releases of ten servers, and a long server preempted twenty times.

    The claims compare sums that differ by a few in a hundred, less than what the kernel's own
    threads take in so short a run: the page has them for a long one.
    """
    horizon_ns = 960 * MS
    figure = on_linux("exsched-table1", horizon_ns)
    rows = rows_of(ServerEventsRow, figure.rows)
    require_times(rows, horizon_ns)
    assert [row.refill_runs for row in rows] == [12, 24, 41, 42]
    preempted, not_preempted = rows[2:]
    assert preempted.preemptions >= 20
    assert not_preempted.preemptions == 0
    assert len(figure.claims) == 2
    # Each server of the first test starts and ends twelve times; a decision is a us or two.
    assert rows[0].picks > 240
    assert rows[0].decide_ns is not None
    assert 500 < rows[0].decide_ns / rows[0].picks < 5_000


@pytest.mark.slow
def test_the_others() -> None:
    figure = on_linux("exsched-table3", 1000 * MS)
    grouped, mixed, fitted = rows_of(ServerEventsRow, figure.rows)
    require_times([grouped, mixed, fitted], 1000 * MS)
    assert mixed.preemptions > 50 > grouped.preemptions
    assert figure.claims[1].holds
    figure = on_linux("exsched-fig8")
    assert all(claim.holds for claim in figure.claims), figure.claims
    assert {row.host for row in rows_of(ServerRunRow, figure.rows)} == {"linux"}
    figure = on_linux("exsched-fig7", 100 * MS, sets=2)
    require_times(rows_of(ServerEventsRow, figure.rows), 100 * MS)


def test_cores_have_the_servers_of_the_system() -> None:
    servers = [Interface(period_ns=n * 10 * MS, budget_ns=n * MS) for n in (3, 1, 2, 4)]
    system = two_level_system("four", servers, [0, 1, 1, 0])
    first, second = cores(system)
    assert [domain.name for domain in first.domains] == ["S0", "S3"]
    assert [domain.name for domain in second.domains] == ["S1", "S2"]
    assert {core.pcpus for core in (first, second)} == {1}
    assert sum(refill_runs(core, 600 * MS) for core in (first, second)) == refill_runs(
        system, 600 * MS
    )
    for core in (first, second):
        for domain in core.domains:
            assert domain.interface is not None
            (task,) = domain.tasks
            assert task.wcet_ns == domain.interface.budget_ns - LEFT_NS


def row(policy: str, overhead_ns: float, test: str = "") -> ServerEventsRow:
    return ServerEventsRow(
        test=test,
        policy=policy,
        host="linux",
        servers=2,
        pcpus=2,
        draws=2,
        refill_runs=1.0,
        refill_runs_interval=None,
        preemptions=0.0,
        preemptions_interval=None,
        picks=1.0,
        picks_interval=None,
        paper_ns=1000,
        overhead_ns=overhead_ns,
    )


def test_claims_of_numbers() -> None:
    """They hold where the whole interval is on the side that the paper says."""
    experiment = load_experiment("exsched-fig7")
    assert isinstance(experiment, ServerNumbers)

    def claims(width: float, cheaper: tuple[int, ...]) -> list[bool]:
        rows = []
        for count in experiment.servers:
            times = 0.9 if count in cheaper else 1.1
            interval = Interval(low=times - width, high=times + width)
            two = row("partitioned-hsf-fp", 9.0).replace(times=times, times_interval=interval)
            rows += [one.replace(servers=count) for one in (row("hsf-fp", 10.0), two)]
        return [claim.holds for claim in experiment.judge(rows, ON_LINUX)]

    assert claims(0.05, (3, 5)) == [True, True]
    assert claims(0.15, (3, 5)) == [False, False]
    assert claims(0.05, ()) == [True, False]
    assert claims(0.05, (3, 4, 5)) == [False, True]


def test_claims_of_tables_can_fail() -> None:
    tests, allocations = load_experiment("exsched-table1"), load_experiment("exsched-table3")

    def table_1(release: float, preemption: float) -> list[bool]:
        rows = [
            row("hsf-fp", 100.0, "release"),
            row("partitioned-hsf-fp", release, "release"),
            row("hsf-fp", 100.0, "preemption").replace(preemptions=5.0),
            row("partitioned-hsf-fp", preemption, "preemption"),
        ]
        return [claim.holds for claim in tests.judge(rows, ON_LINUX)]

    assert table_1(101.0, 99.0) == [True, True]
    assert table_1(99.0, 101.0) == [False, False]
    for times, expected in (((100.0, 134.0, 101.0), True), ((100.0, 120.0, 103.0), False)):
        rows = [row("partitioned-hsf-fp", each) for each in times]
        assert [one.holds for one in allocations.judge(rows, ON_LINUX)] == [expected] * 2


def test_what_is_not_about_linux_is_refused() -> None:
    for name in ("ertds-fig6", "psedf-fig5", "csa-fig5"):
        with pytest.raises(InputError, match="--on"):
            load_experiment(name).reproduce(FigureOptions(host="linux"), lambda _done: None)


def test_fit_gives_the_cores_what_the_paper_does() -> None:
    experiment = load_experiment("exsched-table3")
    assert isinstance(experiment, ServerAllocations)
    for one in experiment.allocations:
        assert [len(core.domains) for core in cores(one.allocated())] == [8, 8]
