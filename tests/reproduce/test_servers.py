# SPDX-License-Identifier: BSD-2-Clause
"""Servers on one core and on two: events are counted right, and the ExSched paper's claims hold."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from tests.support.rows_of_kind import rows_of

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.cli import main
from hyperperiod.model import InputError, Interface, load_system
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.result import ServerEventsRow, ServerRunRow
from hyperperiod.papers.server_events import (
    count_events,
    refill_runs,
    two_level_system,
)
from hyperperiod.papers.server_overhead import (
    ServerAllocations,
    ServerNumbers,
)
from hyperperiod.runs import simulate

MS = 1_000_000
NAMES = ("exsched-fig7", "exsched-fig8", "exsched-table1", "exsched-table3")


@cache
def reproduced(name: str) -> Figure:
    return load_experiment(name).reproduce(FigureOptions(), lambda _done: None)


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_holds(name: str) -> None:
    figure = reproduced(name)
    assert figure.claims
    assert all(claim.holds for claim in figure.claims), figure.claims
    assert figure.picture.startswith("<svg")


def test_ten_servers_of_one_period() -> None:
    """A release starts the first, each depletion the next or nobody: 11 picks, or 6 and 6."""
    figure = reproduced("exsched-table1")
    one, two, *_ = rows_of(ServerEventsRow, figure.rows)
    assert (one.refill_runs, one.picks) == (50, 11 * 50)
    assert (two.refill_runs, two.picks) == (2 * 50, 12 * 50)
    assert {one.preemptions, two.preemptions} == {0}


def test_prices_are_those_of_the_papers_release_test() -> None:
    allocations = load_experiment("exsched-table3")
    assert isinstance(allocations, ServerAllocations)
    one, two, *_ = rows_of(ServerEventsRow, reproduced("exsched-table1").rows)
    assert [allocations.price.time_ns(row) for row in (one, two)] == [one.paper_ns, two.paper_ns]


def test_refill_runs_are_those_of_a_count_by_ticks() -> None:
    draw = Random(4)
    for _ in range(50):
        periods = [draw.randint(2, 12) for _ in range(4)]
        servers = [Interface(period_ns=one * MS, budget_ns=MS // 4) for one in periods]
        pcpus = [draw.randrange(2) for _ in range(4)]
        system = two_level_system("ticks", servers, pcpus)
        counted = sum(
            any(
                tick % period == 0
                for period, side in zip(periods, pcpus, strict=True)
                if side == pcpu
            )
            for tick in range(100)
            for pcpu in range(2)
        )
        assert refill_runs(system, 100 * MS) == counted


def test_preemptions_of_the_trace_are_the_simulators() -> None:
    rows = rows_of(ServerRunRow, reproduced("exsched-fig8").rows)
    servers = [Interface(period_ns=24 * MS, budget_ns=4 * MS)]
    servers.append(Interface(period_ns=500 * MS, budget_ns=240 * MS))
    for pcpus, policy in (([0, 0], "hsf-fp"), ([0, 1], "partitioned-hsf-fp")):
        found = simulate(two_level_system("two", servers, pcpus), 500 * MS)
        mine = [row for row in rows if row.policy == policy]
        assert sum(row.preemptions for row in mine) == found.preemptions
    assert rows[1].preemptions > 5
    assert [row.pcpu for row in rows] == [0, 0, 0, 1]


def test_drawn_servers_are_as_the_paper_says() -> None:
    experiment = load_experiment("exsched-fig7")
    assert isinstance(experiment, ServerNumbers)
    for count in experiment.servers:
        for seed in range(50):
            servers = experiment.drawn_servers(Random(seed), count)
            assert len(servers) == count
            assert sum(one.bandwidth for one in servers) < Fraction(1, 2)
            for one in servers:
                assert 6 <= one.period_ns // experiment.jiffy_ns <= 125
                assert (
                    one.period_ns % experiment.jiffy_ns == 0 == one.budget_ns % experiment.jiffy_ns
                )
            on_one = two_level_system("drawn", servers, [0] * count)
            assert simulate(on_one, 2000 * MS).misses == 0


def test_the_solver_proves_that_nothing_costs_less() -> None:
    experiment = load_experiment("exsched-table3")
    assert isinstance(experiment, ServerAllocations)
    fitted = experiment.allocations[2].allocated()
    assert analyze(fitted).schedulable
    unfitted = load_system("systems/exsched-table2-unfitted.toml", pinned=False)
    solved = fit(unfitted, Options(least=Least.OVERHEAD))
    assert solved.system is not None
    assert solved.status == "optimal"
    both = [count_events(system, 4000 * MS, 1) for system in (fitted, solved.system)]
    assert both[0] == both[1]


def test_claims_can_fail() -> None:
    """With the rows of one core and of two exchanged nothing that is said of them is right."""
    options = FigureOptions()
    rows = rows_of(ServerEventsRow, reproduced("exsched-table1").rows)
    wrong = [
        row.replace(policy=other.policy)
        for row, other in zip(rows, [rows[1], rows[0], rows[3], rows[2]], strict=True)
    ]
    judged = load_experiment("exsched-table1").judge(wrong, options)
    assert [claim.holds for claim in judged] == [False, False]
    rows = rows_of(ServerEventsRow, reproduced("exsched-fig7").rows)
    for left, right in zip(rows[::2], rows[1::2], strict=True):
        at = rows.index(left)
        rows[at : at + 2] = [
            right.replace(policy=left.policy),
            left.replace(policy=right.policy),
        ]
    assert not any(claim.holds for claim in load_experiment("exsched-fig7").judge(rows, options))
    allocations = load_experiment("exsched-table3")
    grouped, mixed, fitted = rows_of(ServerEventsRow, reproduced("exsched-table3").rows)
    wrong = [grouped, mixed.replace(picks=grouped.picks), fitted.replace(picks=mixed.picks)]
    judged = allocations.judge(wrong, options)
    assert [claim.holds for claim in judged[:2]] == [False, False]
    found = [grouped, mixed, fitted]
    dear = [grouped, mixed.replace(picks=mixed.picks * 1.2), fitted]
    assert [allocations.judge(rows, options)[2].holds for rows in (found, dear)] == [True, False]


def test_only_the_ratio_of_two_prices_does_not_hang_on_the_period_that_we_chose() -> None:
    figure = reproduced("exsched-table3")
    claim = figure.claims[-1]
    assert claim.mark == "ours"
    assert claim.ours.startswith("1.35 times, 0.95 of the paper's")
    assert "categorized by period: 1.01 (80ms), 0.76 (60ms), 1.26 (100ms)" in claim.ours


@pytest.mark.parametrize("name", NAMES)
def test_interrupted_it_claims_nothing(name: str) -> None:
    def at_once(_done: int) -> None:
        raise KeyboardInterrupt

    figure = load_experiment(name).reproduce(FigureOptions(sets=None), at_once)
    assert (figure.interrupted, list(figure.claims)) == (True, [])


@pytest.mark.parametrize("name", NAMES)
def test_what_it_has_no_use_for_is_refused(name: str) -> None:
    experiment = load_experiment(name)
    with pytest.raises(InputError, match="--packets"):
        experiment.reproduce(FigureOptions(packets=3), lambda _done: None)


def test_the_command(tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    for name in NAMES:
        said = CliRunner().invoke(main, ["reproduce", name, "--json", "--plot", str(picture)])
        assert said.exit_code == 0
        assert json.loads(said.stdout)["name"] == name
        assert picture.read_text().startswith("<svg")
