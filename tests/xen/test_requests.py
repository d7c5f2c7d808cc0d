# SPDX-License-Identifier: BSD-2-Clause
"""Experiment D of the ERTDS paper on real Xen, beside the simulator."""

from __future__ import annotations

import pytest
from tests.support.on_xen import need_xen

from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import FigureOptions
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.sessions import NS_PER_S, POLICIES, RequestSessions


@pytest.fixture(scope="module", autouse=True)
def _xen() -> None:
    need_xen()


def test_a_session_is_about_the_simulators() -> None:
    """An item that is a microsecond late may be behind another one: the numbers are near."""
    asked = load_experiment("ertds-fig9")
    assert isinstance(asked, Requests)
    short = asked.on("xen").replace(ramp_ns=NS_PER_S // 5, horizon_ns=NS_PER_S)
    benches = [RequestSessions(short, host) for host in ("sim", "xen")]
    (run,) = short.measured_runs
    on_sim, on_xen = (
        bench.session(bench.system(POLICIES[0], run, 70), seed=1) for bench in benches
    )
    assert on_xen.throughput_hz == pytest.approx(on_sim.throughput_hz, abs=3)
    assert on_xen.response_ns == pytest.approx(on_sim.response_ns, rel=0.1)


@pytest.mark.slow
def test_every_claim_holds_on_xen() -> None:
    asked = FigureOptions(host="xen")
    figure = load_experiment("ertds-fig9").reproduce(asked, lambda _done: None)
    assert [claim.holds for claim in figure.claims] == [True] * 4, figure.claims
