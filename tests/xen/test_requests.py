# SPDX-License-Identifier: BSD-2-Clause
"""Experiment D of the ERTDS paper on real Xen, beside the simulator."""

from __future__ import annotations

import pytest
from tests.support.on_xen import need_xen

from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.sessions import NS_PER_S, POLICIES, RequestSessions


@pytest.fixture(scope="module", autouse=True)
def _xen() -> None:
    need_xen()


def test_a_session_is_about_the_simulators() -> None:
    """An item that is a microsecond late may be behind another one: the numbers are near."""
    asked = load_experiment("ertds-fig9")
    assert isinstance(asked, Requests)
    # A tenth of the clients that think for a tenth of the time: as many requests, in less time.
    short = asked.replace(think_ns=7 * NS_PER_S // 10, ramp_ns=NS_PER_S // 5, horizon_ns=NS_PER_S)
    benches = [RequestSessions(short, host) for host in ("sim", "xen")]
    _, run, _ = short.measured_runs
    on_sim, on_xen = (
        bench.session(bench.system(POLICIES[0], run, 70), seed=1) for bench in benches
    )
    assert on_xen.throughput_hz == pytest.approx(on_sim.throughput_hz, abs=3)
    assert on_xen.response_ns == pytest.approx(on_sim.response_ns, rel=0.1)
