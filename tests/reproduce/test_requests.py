# SPDX-License-Identifier: BSD-2-Clause
"""Requests through three VMs: the figure comes out, and rows obey the laws of closed loops."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.rows_of_kind import rows_of

from hyperperiod.cli import main
from hyperperiod.experiments.confidence import mean_interval
from hyperperiod.model import InputError
from hyperperiod.papers import experiment as measuring
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions, Host
from hyperperiod.papers.requests import Requests, session_row
from hyperperiod.papers.result import RequestRow
from hyperperiod.papers.sessions import NS_PER_S, RequestSessions, Session
from hyperperiod.report.lines import LineChart
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read
from hyperperiod.trace.items import items

FEW = FigureOptions(sets=6, horizon_ns=30 * NS_PER_S)


def experiment() -> Requests:
    found = load_experiment("ertds-fig9")
    assert isinstance(found, Requests)
    return found


@pytest.fixture(scope="module")
def figure() -> Figure:
    return experiment().reproduce(FEW, lambda _done: None)


def test_the_picture_says_what_was_measured_where() -> None:
    """VMs in the simulator, services on Linux and in VMs; RTDS has one curve for all databases."""
    asked = experiment()
    each: tuple[tuple[Host, str, str], ...] = (
        ("sim", "Experiment D: requests through three VMs on one pcpu", "RTDS, any"),
        ("xen", "Experiment D: requests through real services in three VMs on one pcpu", "RTDS"),
        ("linux", "Experiment D: requests through real services on one cpu", "RTDS"),
    )
    for host, title, rtds in each:
        there = FigureOptions(host=host)
        chart = asked.draw([], there)
        assert isinstance(chart, LineChart)
        assert chart.title == asked.settled(there).title == title
        assert rtds in [curve.name for curve in chart.curves]
    kept = Path(__file__).parents[2] / "docs/pictures/reproduce-ertds-fig9-linux.svg"
    assert f"<title>{asked.linux['title']}</title>" in kept.read_text()


def test_every_claim_holds(figure: Figure) -> None:
    assert len(figure.claims) == 7
    assert all(claim.holds for claim in figure.claims), figure.claims


def test_claims_about_gains_have_their_intervals(figure: Figure) -> None:
    gains = [claim for claim in figure.claims if "gain" in claim.text]
    assert len(gains) == 4
    assert all("% (95 %: " in claim.ours for claim in gains), gains
    (spare,) = [claim for claim in figure.claims if "spare" in claim.text]
    assert spare.ours.count("(95 %: ") == 4


def test_what_is_measured_has_its_interval_over_sessions() -> None:
    """Throughputs have theirs, and what each VM had; those of one session have none."""
    run = experiment().runs[0]
    had = [({"web": 0.4 + n / 100}, {"web": n / 100}) for n in (1, 2, 6)]
    rates = {"ertds": (90.0, 92.0, 97.0), "rtds": (77.0, 76.0, 78.0)}
    found = {
        policy: [Session(hz, 1e6, *shares) for hz, shares in zip(hertz, had, strict=True)]
        for policy, hertz in rates.items()
    }
    row = session_row("sim", run, 640, found)
    assert row.ertds_hz_interval == mean_interval(rates["ertds"])
    assert row.rtds_hz_interval == mean_interval(rates["rtds"])
    assert row.used_interval == {"web": mean_interval([one["web"] for one, _ in had])}
    spare = mean_interval([0.01, 0.02, 0.06])
    assert spare is not None
    assert spare.low < 0
    assert row.donated_interval == {"web": spare.replace(low=0.0)}
    alone = session_row("sim", run, 640, {policy: each[:1] for policy, each in found.items()})
    assert (alone.ertds_hz_interval, alone.rtds_hz_interval) == (None, None)
    assert (alone.used_interval, alone.donated_interval) == ({}, {})


def test_every_point_of_the_picture_has_its_whisker(figure: Figure) -> None:
    chart = figure.chart
    assert isinstance(chart, LineChart)
    measured = [curve for curve in chart.curves if "paper" not in curve.name]
    assert len(measured) == 4
    for curve in measured:
        ends = zip(curve.points, curve.whiskers, strict=True)
        assert all(at == x and low <= y <= high for (x, y), (at, low, high) in ends)


@pytest.mark.slow
def test_every_claim_holds_in_full() -> None:
    full = experiment().reproduce(FigureOptions(), lambda _done: None)
    assert all(claim.holds for claim in full.claims), full.claims


def test_clients_are_thinking_or_waiting(figure: Figure) -> None:
    """Little's law of the loop: clients = throughput * (response + thought)."""
    think_ns = experiment().think_ns
    for row in rows_of(RequestRow, figure.rows):
        for policy in ("ertds", "rtds"):
            cycle_ns = getattr(row, f"{policy}_ns") + think_ns
            there = getattr(row, f"{policy}_hz") * cycle_ns / NS_PER_S
            assert there == pytest.approx(row.clients, rel=0.05), row


def test_nobody_is_served_beyond_budgets_and_spare(figure: Figure) -> None:
    """What completed requests cost in a VM is at most its bandwidth, and all the spare on top."""
    asked = experiment()
    runs = {run.name: run for run in asked.runs}
    spare = float(asked.spare.bandwidth)
    for row in rows_of(RequestRow, figure.rows):
        beyond = 0.0
        for vm in asked.vms:
            work_s = asked.work_ns(vm, runs[row.run], []) / NS_PER_S
            # Work is random: the sample is within some percent of its mean.
            assert row.rtds_hz * work_s <= 1.02 * float(vm.rtds.bandwidth), row
            beyond += max(0, row.ertds_hz * work_s - 1.02 * float(vm.ertds.bandwidth))
            assert row.donated[vm.name] <= spare + 1e-9
            # A VM is charged for the work that it does, finished or not.
            assert row.used[vm.name] == pytest.approx(row.ertds_hz * work_s, rel=0.06), row
        assert beyond <= spare, row
        assert sum(row.donated.values()) <= spare + 1e-9


def test_the_front_ends_work_fills_its_server_at_the_papers_throughput() -> None:
    asked = experiment()
    web, database, _ = asked.vms
    runs = asked.measured_runs
    for vm, run in ((web, runs[0]), (database, runs[-1])):
        filled = asked.paper_rtds_hz * asked.work_ns(vm, run, []) / NS_PER_S
        assert filled == pytest.approx(float(vm.rtds.bandwidth), rel=1e-3)


def test_a_session_is_what_a_trace_has_after_the_ramp(tmp_path: Path) -> None:
    asked = experiment().replace(horizon_ns=10 * NS_PER_S)
    bench = RequestSessions(asked, "sim")
    system = bench.system("ertds", asked.runs[1], 640)
    end_ns = asked.ramp_ns + 10 * NS_PER_S
    session = bench.session(system, 4)
    simulate(system, end_ns, 4, tmp_path / "run.hpt")
    done = [
        item.finish_ns - item.release_ns
        for item in items(*read(tmp_path / "run.hpt"))
        if item.finish_ns is not None and item.finish_ns > asked.ramp_ns
    ]
    assert session.throughput_hz == len(done) / 10
    assert session.response_ns == pytest.approx(fmean(done), abs=50)


def test_interrupted_it_keeps_what_it_has() -> None:
    def after_five(done: int) -> None:
        if done == 13:
            raise KeyboardInterrupt

    cut = experiment().reproduce(FEW, after_five)
    assert (cut.interrupted, cut.claims) == (True, [])
    assert [row.clients for row in rows_of(RequestRow, cut.rows)] == [100, 200]


def test_a_run_that_ctrl_c_cut_short_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(*arguments: Any) -> Any:
        return simulate(*arguments).replace(interrupted=True)

    monkeypatch.setattr(measuring, "simulate", cut_short)
    cut = experiment().reproduce(FEW, lambda _done: None)
    assert (cut.interrupted, cut.rows) == (True, [])


def test_too_short_to_measure_and_what_it_has_no_use_for() -> None:
    for options, text in (
        (["--horizon", "1ns"], "--horizon: found 1ns, in which no request was completed"),
        (["--packets", "3"], "--packets with ertds-fig9"),
    ):
        said = CliRunner().invoke(main, ["reproduce", "ertds-fig9", *options])
        assert (said.exit_code, said.stdout) == (2, "")
        assert text in said.stderr


def test_a_wrong_file_says_where(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "experiments/ertds-fig9.toml").read_text()
    (tmp_path / "ertds-fig9.toml").write_text(text.replace('think = "7s"', 'think = "0s"'))
    with pytest.raises(InputError, match="think"):
        load_experiment("ertds-fig9", tmp_path)


def test_the_command(tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    few = ["--sets", "1", "--horizon", "20s", "--plot", str(picture), "--json"]
    said = CliRunner().invoke(main, ["reproduce", "ertds-fig9", *few])
    document = json.loads(said.stdout)
    assert document["name"] == "ertds-fig9"
    keys = {"run", "host", "clients", "ertds_hz", "rtds_hz", "gain", "ertds_ns", "rtds_ns"}
    assert keys <= set(document["rows"][0])
    assert {"text", "mark", "paper", "ours", "holds"} == set(document["claims"][0])
    assert picture.read_text().startswith("<svg")
    assert said.exit_code == (0 if all(claim["holds"] for claim in document["claims"]) else 1)
