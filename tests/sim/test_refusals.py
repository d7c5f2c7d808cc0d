# SPDX-License-Identifier: BSD-2-Clause
"""What the simulator refuses, and how it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.worlds import alone, domain, server, system, task

from hyperperiod import _sim
from hyperperiod.model import Domain, InputError
from hyperperiod.runs import simulate


def test_domains_in_domains() -> None:
    inner = domain("inner", (2, 10), task("t", 10, 1))
    outer = Domain(name="outer", interface=server(5, 10), domains=(inner,))
    with pytest.raises(InputError, match="two levels"):
        simulate(system("ptps", outer), 100)


@pytest.mark.parametrize("horizon", [0, -1, 2**62])
def test_horizons(horizon: int) -> None:
    with pytest.raises(InputError, match="horizon"):
        simulate(alone("rm", task("t", 10, 1)), horizon)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds(seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        simulate(alone("rm", task("t", 10, 1)), 100, seed)


def test_the_largest_seed() -> None:
    assert simulate(alone("rm", task("t", 10, 5, etf=0.5)), 100, 2**64 - 1).seed == 2**64 - 1


def test_a_trace_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        simulate(alone("rm", task("t", 10, 1)), 100, trace_path=tmp_path / "nowhere" / "run.hpt")


def test_a_full_disk() -> None:
    """The error comes when the buffer is written, and is the system's own."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this machine")
    one = alone("rm", task("t", 10, 1))
    scenario = _scenario(one.pcpus)
    run = _sim.Run(scenario, str(full))
    run.advance(10)
    with pytest.raises(OSError, match="trace") as caught:
        run.finish()
    assert caught.value.errno == 28


def _scenario(pcpus: int) -> _sim.Scenario:
    return _sim.Scenario(
        budget=0,
        order=0,
        slack=0,
        is_global=False,
        pcpus=pcpus,
        quantum_ns=0,
        horizon_ns=100,
        seed=1,
    )


def _add_domain(scenario: _sim.Scenario, period: int, budget: int) -> None:
    scenario.add_domain(scheduler=0)
    scenario.add_vcpu(
        pcpu=0,
        priority=0,
        period_ns=period,
        budget_ns=budget,
        best_effort=False,
        extra=False,
        weight=0,
    )


def test_the_native_side_refuses_what_the_core_refuses() -> None:
    scenario = _scenario(1)
    _add_domain(scenario, 10, 11)
    with pytest.raises(ValueError, match="budget"):
        _sim.Run(scenario)


@pytest.mark.parametrize("pcpus", [0, 65])
def test_the_native_side_refuses_pcpus(pcpus: int) -> None:
    with pytest.raises(ValueError, match="pcpus"):
        _sim.Run(_scenario(pcpus))


def test_the_native_side_refuses_a_missing_pcpu() -> None:
    scenario = _scenario(1)
    scenario.add_domain(scheduler=0)
    scenario.add_vcpu(
        pcpu=1,
        priority=0,
        period_ns=10,
        budget_ns=5,
        best_effort=False,
        extra=False,
        weight=0,
    )
    with pytest.raises(ValueError, match="pcpu"):
        _sim.Run(scenario)


def test_a_task_needs_a_domain() -> None:
    with pytest.raises(ValueError, match="domain"):
        _scenario(1).add_task(
            kind=0,
            period_ns=10,
            wcet_ns=1,
            bcet_ns=1,
            deadline_ns=10,
            offset_ns=0,
            jitter_ns=0,
            priority=None,
            vcpu=None,
        )
