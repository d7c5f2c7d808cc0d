# SPDX-License-Identifier: BSD-2-Clause
"""The spare of ERTDS: the paper's figures come out, or the reason why one does not."""

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.rows_of_kind import rows_of

from hyperperiod.cli import main
from hyperperiod.model import InputError
from hyperperiod.model.generate import ertds_tasks
from hyperperiod.papers import NAMES
from hyperperiod.papers import experiment as measuring
from hyperperiod.papers.catalogue import MEASURES, load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.latency import SCENARIOS
from hyperperiod.papers.result import SpareGainRow
from hyperperiod.papers.spare_gain import SpareGain
from hyperperiod.resources import EXPERIMENTS
from hyperperiod.runs import simulate

PAPER = FigureOptions()


def reproduced(name: str, asked: FigureOptions = PAPER) -> Figure:
    return load_experiment(name).reproduce(asked, lambda _done: None)


def test_the_command_offers_what_there_is() -> None:
    """Each file of a figure is offered, and measured by what its file says."""
    files = {path.stem for path in EXPERIMENTS.glob("*.toml")}
    lab = {f"latency-{name}" for name in (*SCENARIOS, "device")}
    assert files - set(NAMES) == {"papers", *lab}
    for name in NAMES:
        found = load_experiment(name)
        assert (found.name, type(found)) == (name, MEASURES[found.measure])
    assert {load_experiment(name).measure for name in NAMES} == set(MEASURES)


@pytest.mark.parametrize("name", ["ertds-fig6", "ertds-fig7"])
def test_on_one_pcpu_the_paper_is_right(name: str) -> None:
    figure = reproduced(name)
    assert [claim.holds for claim in figure.claims[:3]] == [True] * 3, figure.claims
    assert all("(95 %: " in claim.ours for claim in figure.claims), "means have their intervals"


def test_below_half_the_load_the_two_are_not_similar() -> None:
    """The paper says so of Experiment B: there ERTDS has a fifth less."""
    claim = reproduced("ertds-fig7").claims[-1]
    assert (claim.holds, claim.mark) == (False, "paper")
    assert claim.text == "ERTDS: below 50 % the mean responses are the same, to 10%."


def test_on_two_pcpus_a_spare_as_long_as_the_hyperperiod_idles_away() -> None:
    figure = reproduced("ertds-fig8")
    holds = {claim.text: claim.holds for claim in figure.claims}
    assert len(holds) == 4 * 3
    assert not any(holds[text] for text in holds if text.startswith("spare as printed:"))
    assert all(holds[text] for text in holds if "in tenths:" in text)
    corrected = [claim for claim in figure.claims if claim.text.startswith("corrected:")]
    assert [claim.holds for claim in corrected] == [True, False, False]
    for claim in (figure.claims[0], corrected[1]):
        assert "idles away" in claim.ours


def test_corrected_servers_keep_the_papers_own_bounds() -> None:
    """Theorem 4 for RTDS: 2 - max U; and what ERTDS reserves, spare included, is the same."""
    experiment = load_experiment("ertds-fig8")
    assert isinstance(experiment, SpareGain)
    for run in experiment.runs:
        shares = [server.bandwidth for server in run.rtds]
        if shares:
            assert sum(shares) == 2 - max(shares)
            lent = sum(vm.ertds.bandwidth for vm in experiment.vms) + run.spare.bandwidth
            assert lent == sum(shares)


@pytest.mark.parametrize("share", [1, 10, 140])
def test_tasks_ask_for_the_share(share: int) -> None:
    for seed in range(200):
        tasks = ertds_tasks(Random(seed), share)
        asked = sum((task.utilization for task in tasks), Fraction(0))
        assert abs(asked - Fraction(share, 100)) < Fraction(3, 20_000_000)


def test_the_same_seed_gives_the_same_rows() -> None:
    few = FigureOptions(sets=2, horizon_ns=10**9, seed=7)
    assert reproduced("ertds-fig6", few).rows == reproduced("ertds-fig6", few).rows


def test_interrupted_it_keeps_what_it_has() -> None:
    def after_three(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    few = FigureOptions(sets=1, horizon_ns=10**9, seed=1)
    figure = load_experiment("ertds-fig6").reproduce(few, after_three)
    assert figure.interrupted
    assert [row.load for row in rows_of(SpareGainRow, figure.rows)] == [20, 30]
    assert not figure.claims


def test_a_run_that_ctrl_c_cut_short_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C inside a run ends it early; its mean over a part of the time would be wrong."""
    few = FigureOptions(sets=2, horizon_ns=10**9, seed=1)
    done = 0

    def cut_short(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        result = simulate(*arguments)
        return result.replace(interrupted=True) if done == 7 else result

    monkeypatch.setattr(measuring, "simulate", cut_short)
    figure = load_experiment("ertds-fig6").reproduce(few, lambda _done: None)
    assert (figure.interrupted, done) == (True, 7)
    assert [row.load for row in rows_of(SpareGainRow, figure.rows)] == [20]


def test_too_short_to_measure(tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    asked = ["reproduce", "ertds-fig6", "--sets", "1", "--horizon", "1ns", "--plot", str(picture)]
    result = CliRunner().invoke(main, asked)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--horizon: found 1ns, in which no job finished; allowed: " in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_wrong_file_says_where(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "experiments/ertds-fig6.toml").read_text()
    (tmp_path / "ertds-fig6.toml").write_text(text.replace("loads =", "load ="))
    with pytest.raises(InputError, match="load"):
        load_experiment("ertds-fig6", tmp_path)


def test_the_command(tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    arguments = ["reproduce", "ertds-fig6", "--sets", "2", "--horizon", "1s"]
    said = CliRunner().invoke(main, [*arguments, "--plot", str(picture), "--json"])
    document = json.loads(said.stdout)
    assert document["name"] == "ertds-fig6"
    assert {"run", "load", "ratio"} <= set(document["rows"][0])
    assert {"text", "mark", "paper", "ours", "holds"} == set(document["claims"][0])
    assert picture.read_text().startswith("<svg")
    assert said.exit_code == (0 if all(claim["holds"] for claim in document["claims"]) else 1)
    for_people = CliRunner().invoke(main, arguments)
    assert "Experiment A" in for_people.stdout


def test_steps_are_what_is_run() -> None:
    experiment = load_experiment("ertds-fig8")
    assert isinstance(experiment, SpareGain)
    assert experiment.steps(PAPER) == 4 * 15 * 20
    assert experiment.steps(FigureOptions(host="xen")) == 4 * 3
