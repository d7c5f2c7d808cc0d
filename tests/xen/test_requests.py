# SPDX-License-Identifier: BSD-2-Clause
"""Experiment D of the ERTDS paper on real Xen, beside the simulator."""

from __future__ import annotations

import pytest
from tests.support.on_xen import need_xen

from hyperperiod.experiments.reproduce import Asked, load_experiment
from hyperperiod.experiments.reproduce.request_session import POLICIES
from hyperperiod.experiments.reproduce.requests import NS_PER_S, RequestBench, Requests


@pytest.fixture(scope="module", autouse=True)
def _xen() -> None:
    need_xen()


def test_a_session_is_about_the_simulators() -> None:
    """An item that is a microsecond late may be behind another one: the numbers are near."""
    asked = load_experiment("ertds-fig9")
    assert isinstance(asked, Requests)
    short = asked.xen.replace(ramp_ns=NS_PER_S // 5)
    benches = [RequestBench(asked, short, host, NS_PER_S) for host in ("sim", "xen")]
    (run,) = asked.runs_of(short)
    on_sim, on_xen = (
        bench.session(bench.system(POLICIES[0], run, 70), seed=1) for bench in benches
    )
    assert on_xen.throughput_hz == pytest.approx(on_sim.throughput_hz, abs=3)
    assert on_xen.response_ns == pytest.approx(on_sim.response_ns, rel=0.1)


@pytest.mark.slow
def test_every_claim_holds_on_xen() -> None:
    asked = Asked(host="xen")
    figure = load_experiment("ertds-fig9").reproduce(asked, lambda _done: None)
    assert [claim.holds for claim in figure.claims] == [True] * 4, figure.claims
