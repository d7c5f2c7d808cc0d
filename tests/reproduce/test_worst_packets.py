# SPDX-License-Identifier: BSD-2-Clause
"""The search over packet phases finds the worst case, and that lies within the bounds."""

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.rows_of_kind import rows_of
from tests.support.worlds import longest_ns

from hyperperiod.cli import main
from hyperperiod.model import (
    Domain,
    Flow,
    InputError,
    Interface,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
    load_system,
    parse_policy,
)
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import FigureOptions
from hyperperiod.papers.phases import Beat, _PhaseSearch, latest_answer
from hyperperiod.papers.result import WorstPacketRow
from hyperperiod.resources import EXPERIMENTS
from hyperperiod.runs import simulate

SYSTEMS = Path(__file__).parents[2] / "systems"
POLICIES = ("sedf", "sedf-prime", "psedf")


def small(policy: str) -> System:
    """One flow behind a driver, and a domain beside the driver, in a few nanoseconds."""

    def domain(name: str, pcpu: int, period: int, budget: int, task: Task) -> Domain:
        interface = Interface(period_ns=period, budget_ns=budget)
        return Domain(name=name, pcpu=pcpu, priority=pcpu, interface=interface, tasks=(task,))

    packet = Task(name="packet", kind=TaskKind.EVENT, period_ns=6, wcet_ns=1)
    answer = Task(name="answer", kind=TaskKind.EVENT, period_ns=6, wcet_ns=2)
    work = Task(name="work", kind=TaskKind.SPORADIC, period_ns=6, wcet_ns=3)
    beside = domain("beside", 0, 6, 3, work).replace(priority=9)
    flow = Flow(
        name="packets",
        source=Source(kind=SourceKind.SPORADIC, period_ns=40),
        hops=("driver.packet", "service.answer", "driver.packet"),
        deadline_ns=40,
    )
    return System(
        name="small",
        policy=parse_policy(policy),
        pcpus=2,
        domains=(domain("driver", 0, 6, 2, packet), domain("service", 1, 6, 3, answer), beside),
        flows=(flow,),
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_it_finds_what_trying_everything_finds(policy: str) -> None:
    """Every phase of the packet and the work beside it, and every distance of that up to 14."""
    search = _PhaseSearch(small(policy), seed=1)
    worst = max(
        longest_ns(simulate(search.staged((Beat(at, 40), Beat(begin, gap))), 150).flows[0])
        for at, begin, gap in product(range(12), range(14), range(6, 14))
    )
    found = latest_answer(small(policy), plays=1500)
    assert found.response_ns >= worst
    assert found.response_ns <= found.bound_ns


def test_the_play_is_a_system_that_runs() -> None:
    found = latest_answer(small("sedf"), plays=200)
    result = simulate(found.system, found.horizon_ns)
    flow = next(flow for flow in result.flows if flow.name == found.flow)
    assert longest_ns(flow) == found.response_ns
    for task in found.system.domains[2].tasks:
        assert task.period_ns is not None
        assert task.period_ns >= 6
    assert found.steps[-1] == (found.tried, found.ratio)


@pytest.mark.parametrize(
    ("policy", "plays"), [("psedf", 1500), ("sedf-prime", 1500)], ids=["psedf", "sedf-prime"]
)
def test_a_bound_is_nearly_reached(policy: str, plays: int) -> None:
    found = latest_answer(load_system(SYSTEMS / f"late-packets-{policy}.toml"), plays)
    assert 0.95 * found.bound_ns <= found.response_ns <= found.bound_ns


@pytest.mark.slow
def test_the_figure() -> None:
    figure = load_experiment("psedf-worst").reproduce(FigureOptions(), lambda _done: None)
    assert [claim.text for claim in figure.claims if not claim.holds] == [], figure.claims
    assert len(figure.claims) == 7


def test_the_command() -> None:
    arguments = ["reproduce", "psedf-worst", "--plays", "20", "--json"]
    document = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert {row["policy"] for row in document["rows"]} == set(POLICIES)
    assert set(document["rows"][0]) == {
        *("policy", "host", "load", "domain", "packets", "misses", "response_ns")
    }
    assert all(row["found_ns"] <= row["bound_ns"] for row in document["measured"])
    assert all(row["plays"] == 20 for row in document["measured"])


def test_interrupted_it_keeps_what_it_has() -> None:
    def after_thirty(done: int) -> None:
        if done == 30:
            raise KeyboardInterrupt

    figure = load_experiment("psedf-worst").reproduce(FigureOptions(plays=20), after_thirty)
    assert figure.interrupted
    assert [row.plays for row in rows_of(WorstPacketRow, figure.measured)] == [20, 10]
    assert not figure.claims


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(InputError, match="no flow"):
        latest_answer(load_system(SYSTEMS / "flight-control.toml"))
    wheels = load_system(SYSTEMS / "stability-control.toml")
    domains = tuple(domain.replace(pcpu=0) for domain in wheels.domains)
    overbooked = wheels.replace(pcpus=1, domains=domains, policy=parse_policy("sedf"))
    with pytest.raises(InputError, match="without a bound"):
        latest_answer(overbooked)
    said = CliRunner().invoke(main, ["reproduce", "psedf-worst", "--on", "xen"])
    assert said.exit_code == 2
    assert "--on" in said.stderr


def test_a_policy_that_the_paper_does_not_have_is_refused(tmp_path: Path) -> None:
    """What it says of the latest packet is there for its own three."""
    text = (EXPERIMENTS / "psedf-worst.toml").read_text(encoding="utf-8")
    file = tmp_path / "psedf-worst.toml"
    file.write_text(text.replace('policy = "sedf"', 'policy = "rtds"', 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment("psedf-worst", tmp_path)
    assert (caught.value.found, caught.value.allowed) == (
        "'rtds'",
        "'sedf', 'sedf-prime' or 'psedf'",
    )
    assert text.splitlines()[(caught.value.line or 0) - 1].strip() == 'policy = "sedf"'
