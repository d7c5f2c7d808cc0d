# SPDX-License-Identifier: BSD-2-Clause
"""Stability control: responses under PSEDF are bounded and do not move; SEDF's are as booked."""

import json
from functools import cache
from statistics import fmean

import pytest
from click.testing import CliRunner
from tests.support.rows_of_kind import rows_of

from hyperperiod.cli import main
from hyperperiod.model import InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.expressions import where
from hyperperiod.papers.packets import JobCosts, StabilityControl
from hyperperiod.papers.result import PacketRow, PacketRunRow

FEW = FigureOptions(packets=500, sets=4)


@cache
def reproduced(name: str) -> Figure:
    return load_experiment(name).reproduce(FEW, lambda _done: None)


@pytest.mark.parametrize(
    ("name", "count"), [("psedf-fig5", 4), ("psedf-fig6", 5), ("psedf-fig7", 4)]
)
def test_every_claim_holds_but_the_papers_numbers(name: str, count: int) -> None:
    figure = reproduced(name)
    failed = [claim for claim in figure.claims if not claim.holds]
    numbers = [claim for claim in failed if claim.text.endswith(("0.09 ms.", "90us.", "10%."))]
    assert {claim.mark for claim in numbers} <= {"paper"}
    others = [claim.text for claim in failed if claim not in numbers]
    assert [text for text in others if "a switch" not in text] == [], failed
    assert len(figure.claims) == count


def test_rows_are_as_said() -> None:
    rows = rows_of(PacketRow, reproduced("psedf-fig7").rows)
    assert len(rows) == 11 * 4
    assert {row.load for row in rows} == set(range(0, 101, 10))
    assert {row.domain for row in rows} == {f"wheel-{wheel}" for wheel in range(1, 5)}
    for row in rows:
        assert row.response_ns is not None
        assert row.response_ns.max == 100_000
        assert (row.packets, row.misses) == (500, 0)


def test_everything_else_is_there_too() -> None:
    measured = rows_of(PacketRunRow, reproduced("psedf-fig6").measured)
    ways = {(row.policy, row.load_as, row.come, row.switch_ns) for row in measured}
    assert len(ways) == 9
    assert ("sedf", "reserved", "random", 15_000) in ways
    assert all(row.misses >= row.dropped for row in measured)
    assert any(row.dropped for row in measured)


def test_what_comes_at_random_is_drawn_again_and_again() -> None:
    """Each draw is the run of its own seed, and the row is all of them; apart there is one."""
    measured = rows_of(PacketRunRow, reproduced("psedf-fig6").measured)
    assert {(row.come, row.draws) for row in measured} == {("apart", 1), ("random", 4)}
    key = {"domain": "wheel-1", "load": 80, "load_as": "reserved", "policy": "sedf", "switch_ns": 0}
    (row,) = where(measured, come="random", **key)
    singles = []
    for seed in range(1, 5):
        one = load_experiment("psedf-fig6")
        assert isinstance(one, StabilityControl)
        only = one.replace(policies=("sedf",), loads=(80,))
        asked = FigureOptions(seed=seed, packets=500, sets=1)
        figure = only.reproduce(asked, lambda _done: None)
        (single,) = where(rows_of(PacketRunRow, figure.measured), come="random", **key)
        singles.append(single)
    assert row.packets == sum(one.packets for one in singles)
    assert row.misses == sum(one.misses for one in singles)
    assert row.late_draws == sum(one.late_draws for one in singles)
    assert row.response_ns is not None
    assert row.mean_interval_ns is not None
    assert row.max_interval_ns is not None
    longest = [one.response_ns.max for one in singles if one.response_ns]
    assert row.response_ns.max == max(longest)
    assert len(set(longest)) == 4
    assert row.max_interval_ns.low < fmean(longest) < row.max_interval_ns.high
    assert {(one.mean_interval_ns, one.max_interval_ns) for one in singles} == {(None, None)}


def test_loads_are_really_there() -> None:
    """Under SEDF a reserved load that overbooks the pcpu is felt by the wheels."""
    measured = rows_of(PacketRunRow, reproduced("psedf-fig6").measured)
    rows = where(measured, domain="wheel-1", come="random", policy="sedf")
    largest = {
        (row.load_as, row.load): row.response_ns.max
        for row in rows
        if row.response_ns and not row.switch_ns
    }
    assert largest["reserved", 90] > 2 * largest["reserved", 0]
    assert largest["best effort", 100] == largest["best effort", 0]


def with_longest(row: PacketRunRow, longest_ns: int) -> PacketRunRow:
    """The row with another longest response."""
    assert row.response_ns is not None
    return row.replace(response_ns=row.response_ns.replace(max=longest_ns))


def test_claims_can_fail() -> None:
    """A response above its bound, one that moves, a miss without overbooking."""
    figure, options = reproduced("psedf-fig7"), FigureOptions()
    experiment = load_experiment("psedf-fig7")
    rows = rows_of(PacketRunRow, figure.measured)
    rows[0] = with_longest(rows[0], 2_000_000)
    assert [one.holds for one in experiment.judge(rows, options)] == [False, False, False, False]
    short = [with_longest(row, 90_000) for row in rows]
    judged = experiment.judge(short, options)
    assert next(one for one in judged if "exceeds" in one.text).holds
    early = rows_of(PacketRunRow, reproduced("psedf-fig6").measured)
    missed = where(early, load=10, load_as="reserved", switch_ns=0)[0]
    early[early.index(missed)] = missed.replace(misses=1)
    assert not load_experiment("psedf-fig6").judge(early, options)[1].holds


def test_claims_allow_what_the_host_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1 us more for each job, four packets do not fit the driver's slice: no bound."""
    taken = JobCosts(start_ns=1000)
    monkeypatch.setattr(StabilityControl, "costs", lambda _self, _host: taken)
    experiment = load_experiment("psedf-fig7")
    rows = rows_of(PacketRunRow, reproduced("psedf-fig7").measured)
    rows[0] = with_longest(rows[0], 103_000)
    judged = experiment.judge(rows, FigureOptions())
    assert [claim.holds for claim in judged] == [False, True, False, True]
    rows[0] = with_longest(rows[0], 103_001)
    judged = experiment.judge(rows, FigureOptions())
    assert [claim.holds for claim in judged] == [False, False, False, False]


def test_interrupted_it_keeps_what_it_has() -> None:
    def after_two(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    figure = load_experiment("psedf-fig7").reproduce(FigureOptions(packets=10, sets=1), after_two)
    assert figure.interrupted
    assert {row.load for row in rows_of(PacketRunRow, figure.measured)} == {0, 10}
    assert not figure.claims


def test_what_it_has_no_use_for_is_refused() -> None:
    with pytest.raises(InputError, match="--plays"):
        load_experiment("psedf-fig7").reproduce(FigureOptions(plays=3), lambda _done: None)
    said = CliRunner().invoke(main, ["reproduce", "ertds-fig6", "--packets", "3"])
    assert said.exit_code == 2
    assert "--packets" in said.stderr


def test_the_command() -> None:
    arguments = ["reproduce", "psedf-fig7", "--packets", "100", "--sets", "2"]
    document = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert document["name"] == "psedf-fig7"
    assert {"text", "mark", "paper", "ours", "holds"} == set(document["claims"][0])
    assert "psedf" in CliRunner().invoke(main, arguments).stdout
