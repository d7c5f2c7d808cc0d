# SPDX-License-Identifier: BSD-2-Clause
"""The time limit is of processor time: what else the machine does changes no answer."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.model import System, load_system, parse_policy
from hyperperiod.model.generate import csa_system

SYSTEMS = Path(__file__).parents[2] / "systems"
KINDS = {
    "driver loop": ("stability-control-unfitted.toml", Options(limit_s=60.0)),
    "bandwidth": ("avionics-unfitted.toml", Options(limit_s=60.0)),
    "overhead": ("exsched-table2-unfitted.toml", Options(least=Least.OVERHEAD, limit_s=60.0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_that_is_always_elsewhere(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever somebody looks at the clock on the wall, an hour has gone by."""
    file, options = KINDS[kind]
    hours = count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: 3600.0 * next(hours))
        fitted = fit(load_system(SYSTEMS / file), options)
    assert fitted.status == "optimal"
    assert next(hours) > 1, "it was looked at, for what is shown"


@pytest.mark.parametrize("kind", KINDS)
def test_without_processor_time_nothing_is_proved(kind: str) -> None:
    file, options = KINDS[kind]
    fitted = fit(load_system(SYSTEMS / file), replace(options, limit_s=0.0))
    assert fitted.status in ("not found", "fitted")


def test_the_solver_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only processor time can end a search that would take days: an hour goes by a look."""
    made = csa_system(
        "many", parse_policy("crps"), seed=1, utilization=Fraction(26, 10), domains=30
    )
    system = made.replace(domains=tuple(one.replace(pcpu=None) for one in made.domains), pcpus=4)
    hours = count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "process_time", lambda: 3600.0 * next(hours))
        # Candidates take some 2,800 looks of these.
        fitted = fit(system, Options(least=Least.OVERHEAD, limit_s=3100 * 3600.0))
    assert fitted.status == "fitted"
    assert fitted.rounds > 0, "the solver had begun"


def test_the_limit_reaches_what_is_tried_for_one_domain() -> None:
    """A period of eleven days beside one of 20 ms: each budget takes a good part of a second."""
    tasks = [
        {"name": "t", "period": "20ms", "wcet": "15ms"},
        {"name": "u", "period": "1000000s", "wcet": "200000s"},
    ]
    domain = {"name": "a", "scheduler": "edf", "task": tasks}
    system = System.of({"name": "s", "policy": "ptps", "domain": [domain]})
    before_s = time.process_time()
    result = result_of(fit(system, Options(limit_s=0.1, solver=False)))
    assert time.process_time() - before_s < 8, "all periods take half a minute"
    assert result.domains[0].candidates == 1
