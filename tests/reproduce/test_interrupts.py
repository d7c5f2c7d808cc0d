# SPDX-License-Identifier: BSD-2-Clause
"""Interrupts of an idle VM: at once as in the paper, or late where the rules say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.rows_of_kind import rows_of

from hyperperiod.model import InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.loops import Interrupts
from hyperperiod.papers.result import InterruptRow
from hyperperiod.report.lines import LineChart
from hyperperiod.resources import EXPERIMENTS

US, MS = 1_000, 1_000_000
NAME = "rt-xen-fig7"


def experiment() -> Interrupts:
    found = load_experiment(NAME)
    assert isinstance(found, Interrupts)
    return found


def figure(policy: str = "ptps", asked: FigureOptions | None = None) -> Figure:
    shorter = FigureOptions(sets=3, horizon_ns=100 * MS)
    return experiment().replace(policy=policy).reproduce(asked or shorter, lambda _done: None)


def test_the_claim_holds_in_full() -> None:
    found = figure(asked=FigureOptions())
    assert [claim.ours for claim in found.claims if not claim.holds] == []
    short, long, ours = rows_of(InterruptRow, found.rows)
    assert (short.mean_ns, long.mean_ns) == (14 * US, 41_500)
    assert (ours.draws, ours.interrupts, ours.unanswered, ours.max_ns) == (20, 40_000, 0, 0)


def test_the_claim_fails_where_the_budget_is_gone_when_the_interrupt_comes() -> None:
    """An idle polling server has none before the next period, an equal of rtds no pcpu at all."""
    (claim,) = figure("polling").claims
    assert not claim.holds
    (ours,) = rows_of(InterruptRow, figure("polling").rows[2:])
    assert ours.max_ns is not None
    assert 45 * MS < ours.max_ns < 50 * MS
    assert ours.unanswered
    (claim,) = figure("rtds").claims
    assert not claim.holds
    assert "waited none" in claim.ours
    (ours,) = rows_of(InterruptRow, figure("rtds").rows[2:])
    assert (ours.mean_ns, ours.unanswered) == (None, ours.interrupts)


def test_runs_begin_at_drawn_instants() -> None:
    begins = []
    for seed in range(8):
        series = experiment().replace(horizon_ns=10 * MS).ours("sim", seed).series
        assert series is not None
        assert set((series.start_ns[1:] - series.start_ns[:-1]).tolist()) == {500 * US}
        begins.append(int(series.start_ns[0]))
    assert len(set(begins)) == 8
    assert max(begins) < 50 * MS


def test_the_picture_has_each_interrupt_and_the_papers_levels() -> None:
    chart = figure().chart
    assert isinstance(chart, LineChart)
    ours, short, long = chart.curves
    assert list(ours.points) == [(500 * US * number, 0) for number in range(40)]
    assert {y for _, y in short.points} == {14 * US}
    assert {y for _, y in long.points} == {41_500}


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--on"):
        figure(asked=FigureOptions(host="linux"))
    text = (EXPERIMENTS / f"{NAME}.toml").read_text()
    (tmp_path / f"{NAME}.toml").write_text(text.replace("higher level, neighbour", "nobody"))
    with pytest.raises(InputError, match="setting"):
        load_experiment(NAME, tmp_path)
