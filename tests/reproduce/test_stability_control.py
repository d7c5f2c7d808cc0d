# SPDX-License-Identifier: BSD-2-Clause
"""Stability control: responses under PSEDF are bounded and do not move; SEDF's are as booked."""

import json

import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.experiments.reproduce import Asked, Figure, load_experiment
from hyperperiod.model import InputError

FEW = Asked(packets=1000)


def reproduced(name: str) -> Figure:
    return load_experiment(name).reproduce(FEW, lambda _done: None)


@pytest.mark.parametrize("name", ["psedf-fig5", "psedf-fig6", "psedf-fig7"])
def test_every_claim_holds(name: str) -> None:
    figure = reproduced(name)
    assert [claim.text for claim in figure.claims if not claim.holds] == [], figure.claims
    assert len(figure.claims) >= 2


def test_rows_say_all_there_is_to_say() -> None:
    rows = reproduced("psedf-fig7").rows
    wanted = {"policy", "host", "load", "domain", "packets", "dropped", "misses", "response_ns"}
    assert all(wanted <= set(row) for row in rows)
    assert {row["load"] for row in rows} == set(range(0, 101, 10))
    assert {row["domain"] for row in rows} == {f"wheel-{wheel}" for wheel in range(1, 5)}
    assert all(row["packets"] >= 1000 for row in rows)
    for row in rows:
        times = row["response_ns"]
        assert 100_000 <= times["min"] <= times["mean"] <= times["max"]


def test_loads_are_really_there() -> None:
    """Under SEDF a reserved load that overbooks the pcpu is felt by the wheels."""
    rows = [row for row in reproduced("psedf-fig6").rows if row["phases"] == "random"]
    largest = {
        (row["load_as"], row["load"]): row["response_ns"]["max"]
        for row in rows
        if row["domain"] == "wheel-1"
    }
    assert largest["reserved", 90] > 2 * largest["reserved", 0]
    assert largest["best effort", 100] == largest["best effort", 0]


def test_what_it_has_no_use_for_is_refused() -> None:
    with pytest.raises(InputError, match="--sets"):
        load_experiment("psedf-fig7").reproduce(Asked(sets=3), lambda _done: None)
    said = CliRunner().invoke(main, ["reproduce", "ertds-fig6", "--packets", "3"])
    assert said.exit_code == 2
    assert "--packets" in said.stderr


def test_the_command() -> None:
    arguments = ["reproduce", "psedf-fig7", "--packets", "100"]
    document = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert document["name"] == "psedf-fig7"
    assert "wheel-1" in CliRunner().invoke(main, arguments).stdout
