# SPDX-License-Identifier: BSD-2-Clause
"""The example systems through the commands: each verdict and each run is what its story says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.printed import checked

from hyperperiod.cli import main

SYSTEMS = Path(__file__).parents[2] / "systems"

# The verdict of `analyze`: a proof, a proof of the contrary, or neither.
VERDICTS = {
    "brake-by-wire": True,
    "csa-synthetic": False,
    "deferrable-edf-counterexample": None,
    "deferrable-gedf-counterexample": None,
    "ertds-example3": False,
    "ertds-experiment-c": None,
    "exsched-table2": True,
    "exsched-table2-mixed": True,
    "flight-control": True,
    "hot-swap": None,
    "hungry-guests": True,
    "hungry-neighbours": True,
    "overload": False,
    "two-commands": True,
}


def command(*arguments: str) -> tuple[int, Any]:
    """The exit code and the JSON object of a command."""
    result = CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False)
    assert result.stdout, result.stderr
    assert result.stdout.count("\n") == 1
    return result.exit_code, checked(result.stdout)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    pytest.importorskip("hyperperiod._analysis")
    code, result = command("analyze", str(SYSTEMS / f"{name}.toml"))
    assert result["schedulable"] is VERDICTS[name], result.get("reason")
    assert code == (0 if VERDICTS[name] else 1)
    assert result["system"] == name


@pytest.mark.parametrize(
    "name", ["deferrable-edf-counterexample", "deferrable-gedf-counterexample"]
)
def test_the_paper_would_accept_the_counterexamples(name: str) -> None:
    pytest.importorskip("hyperperiod._analysis")
    _, result = command("analyze", str(SYSTEMS / f"{name}.toml"))
    assert all(pcpu["paper"]["schedulable"] for pcpu in result["pcpus"])
    assert not any(pcpu["schedulable"] for pcpu in result["pcpus"])


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts_for_people(name: str) -> None:
    pytest.importorskip("hyperperiod._analysis")
    result = CliRunner().invoke(main, ["analyze", str(SYSTEMS / f"{name}.toml")])
    words = {True: "yes", False: "no", None: "unknown"}
    assert result.stdout.splitlines()[0].endswith(f"schedulable? {words[VERDICTS[name]]}")
    if VERDICTS[name] is not True:
        assert "\n- " in result.stdout
