# SPDX-License-Identifier: BSD-2-Clause
"""Experiment D of the ERTDS paper with real services in VMs: the whole machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.stack.sessions import need_exact_clock, need_tools
from tests.support.promises import require_budgets
from tests.support.xen_images import TOP, dom0, image, tools

from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.linux.services import build_services
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.services import ServiceSessions
from hyperperiod.papers.sessions import POLICIES


@pytest.mark.slow
def test_vms_serve_pages_and_keep_to_their_servers(tmp_path: Path) -> None:
    """Pages come whole, and each VM has what its server and the spare give it.

    That every decision is the core's is looked at by the session itself.
    """
    need_tools()
    need_exact_clock()
    image("x86_64")
    tools()
    dom0()
    build_services(BuildJob(TOP / "build", None, bar))
    experiment = load_experiment("ertds-fig9")
    assert isinstance(experiment, Requests)
    asked = experiment.on("xen").replace(clients=(25,))
    (tmp_path / "25").mkdir()
    bench = ServiceSessions(asked, tmp_path, "xen")
    found = bench.sessions(asked.measured_runs[0], 25, [1], lambda _done: None)
    for policy in POLICIES:
        (session,) = found[policy]
        require_budgets(bench.system(policy), session.used, session.donated, asked.horizon_ns)
        assert session.throughput_hz > 20
    assert all(value == 0 for value in found["rtds"][0].donated.values())
    assert max(found["ertds"][0].donated.values()) > 0
