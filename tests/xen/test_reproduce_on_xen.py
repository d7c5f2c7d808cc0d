# SPDX-License-Identifier: BSD-2-Clause
"""Figures of papers on the real hypervisor: reduced, and what is said of them holds there."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.reproduce.rows import rows_of

from hyperperiod.cli import main
from hyperperiod.experiments.reproduce import Asked, Figure, load_experiment, spare_gain
from hyperperiod.experiments.reproduce.result import PacketRow, SpareGainRow
from hyperperiod.hosts.xen import plan
from hyperperiod.model import InputError


def reproduced(name: str, asked: Asked, loads: tuple[int, ...] | None = None) -> Figure:
    """A figure on Xen; only some of its loads if that is enough."""
    experiment = load_experiment(name)
    if loads is not None:
        xen = experiment.xen.replace(loads=loads)  # type: ignore[attr-defined]
        experiment = experiment.replace(xen=xen)  # type: ignore[attr-defined]
    return experiment.reproduce(asked, lambda _done: None)


def test_psedf_keeps_its_bounds_and_no_load_moves_it() -> None:
    figure = reproduced("psedf-fig7", Asked(host="xen", packets=40), (0, 100))
    assert [claim.text for claim in figure.claims if not claim.holds] == [], figure.claims
    assert {row.host for row in rows_of(PacketRow, figure.rows)} == {"xen"}
    first = [row for row in rows_of(PacketRow, figure.rows) if row.domain == "wheel-1"]
    assert all(row.response_ns and 100_000 < row.response_ns.max < 121_000 for row in first), first


def test_a_spare_gains_as_in_the_simulator() -> None:
    asked = Asked(host="xen", horizon_ns=500_000_000)
    figure = reproduced("ertds-fig6", asked, (60, 70))
    alike = figure.claims[-1]
    assert "of the simulator's" in alike.text
    assert alike.holds, alike.ours
    assert all(row.donated_ns > 0 for row in rows_of(SpareGainRow, figure.rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["psedf-fig5", "psedf-fig6", "psedf-fig7", "ertds-fig6", "ertds-fig7", "csa-table2"]
)
def test_in_full(name: str) -> None:
    figure = reproduced(name, Asked(host="xen"))
    assert [claim.text for claim in figure.claims if not claim.holds] == [], figure.claims


@pytest.mark.slow
def test_a_spare_gains_as_in_the_simulator_on_two_pcpus() -> None:
    figure = reproduced("ertds-fig8", Asked(host="xen", horizon_ns=500_000_000), (60, 140))
    assert all(not row.timing for row in rows_of(SpareGainRow, figure.rows))
    alike = [claim for claim in figure.claims if "of the simulator's" in claim.text]
    assert len(alike) == 4
    assert [claim.ours for claim in alike if not claim.holds] == []


@pytest.mark.slow
def test_in_threads_only_who_is_helped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in (plan, spare_gain):
        monkeypatch.setattr(user, "can_keep_in_step", lambda: False)
    figure = reproduced("ertds-fig8", Asked(host="xen", horizon_ns=500_000_000), (60, 140))
    assert all(row.timing == "host" for row in rows_of(SpareGainRow, figure.rows))
    assert all("busy host" in claim.ours for claim in figure.claims)


@pytest.mark.slow
def test_the_command_says_where_it_was() -> None:
    arguments = ["reproduce", "psedf-fig7", "--on", "xen", "--packets", "1", "--json"]
    document = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert {row["host"] for row in document["measured"]} == {"xen"}
    with pytest.raises(InputError, match="--packets"):
        load_experiment("ertds-fig6").reproduce(Asked(host="xen", packets=1), lambda _done: None)
