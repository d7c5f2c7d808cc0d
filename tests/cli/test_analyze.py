# SPDX-License-Identifier: BSD-2-Clause
"""`analyze` for people and for programs: what stands beside what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.printed import checked

from hyperperiod.cli import main

SYSTEMS = Path(__file__).parents[2] / "systems"
GLOBAL = str(SYSTEMS / "deferrable-gedf-counterexample.toml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["analyze", *arguments], catch_exceptions=False)


def result_of(*arguments: str) -> Any:
    return checked(run(*arguments, "--json").stdout)


def test_a_paper_that_is_wrong_stands_beside_the_sound_test_and_does_not_count() -> None:
    result = result_of(GLOBAL)
    assert result["schedulable"] is None
    told = {one["test"]: one for one in result["pcpus"][0]["tests"]}
    assert told["theorem 4"]["schedulable"] is True
    assert told["theorem 4"]["sound"] is False
    assert told["deferrable edf"]["schedulable"] is None
    assert "reason" in told["deferrable edf"]


# Those without pcpus are analysed only once they are fitted.
FITTED = [path for path in sorted(SYSTEMS.glob("*.toml")) if not path.stem.endswith("-unfitted")]


@pytest.mark.parametrize("system", FITTED, ids=lambda path: path.stem)
def test_a_pcpu_holds_exactly_if_a_sound_test_says_so(system: Path) -> None:
    for pcpu in result_of(str(system))["pcpus"]:
        sound = [one["schedulable"] for one in pcpu["tests"] if one["sound"]]
        if True in sound:
            assert pcpu["schedulable"] is True
        assert not (False in sound and True in sound), pcpu["tests"]


def test_tests_are_shown_when_asked_for() -> None:
    assert "theorem 4" not in run(GLOBAL).stdout.replace("Theorem", "")
    shown = run(GLOBAL, "--tests").stdout
    rows = [line.split() for line in shown.splitlines() if "theorem 4" in line]
    assert [row[:3] for row in rows] == [["pcpu", "0,", "1"]]


def test_a_reason_is_said_once_behind_all_it_is_about() -> None:
    shown = run(str(SYSTEMS / "ertds-experiment-c.toml")).stdout
    reasons = [line for line in shown.splitlines() if line.startswith("- ")]
    assert len(reasons) == len(set(reasons)) == 1
    assert reasons[0].startswith("- vm1, vm2, vm3, vm4: ")


def test_a_spare_that_cannot_be_computed_is_unknown() -> None:
    system = str(SYSTEMS / "late-packets-sedf-prime.toml")
    asked = (system, "--policy", "deferrable+edf+spare")
    assert result_of(*asked)["spare"] == {"period_ns": None, "budget_ns": None}
    assert "spare: unknown, as not every interface is known\n" in run(*asked).stdout
