# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmark of dom0's server makes of a session."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bench import dom0
from hyperperiod.hosts.services import PAGE, ServiceSession, SessionRequest
from hyperperiod.trace.format import NONE, RECORD, Kind

MS = 1_000_000


def test_a_session_counts_from_its_ramp_on() -> None:
    """A page and 30 ms of dom0 that came before it are left out; packets are those of all pages."""
    records = np.zeros(5, RECORD)
    records["time_ns"] = [0, 470 * MS, 511 * MS, 600 * MS, dom0.RAMP_NS + dom0.HORIZON_NS]
    records["kind"] = [Kind.IDLE, Kind.RUN, Kind.RUN, Kind.IDLE, Kind.END]
    records["vcpu"] = [NONE, 0, 1, NONE, NONE]
    pages = np.array([(10, 20), (520 * MS, 525 * MS), (530 * MS, 537 * MS)], PAGE)
    seen = dom0.seen(ServiceSession(records, pages, packets=66))
    assert seen.pages_hz == pytest.approx(2 / 1.1)
    assert (seen.median_ns, seen.late_ns) == pytest.approx((6 * MS, 6.9 * MS))
    assert (seen.dom0, seen.page_ns) == pytest.approx((0.01, 5.5 * MS))
    assert seen.packet_ns == pytest.approx(0.25 * MS)


def test_rows_are_means_with_where_they_lie() -> None:
    one = dom0.Seen(40.0, 2e6, 3e6, 0.03, 7e5, 2e4)
    rows = {row.name: row.value for row in dom0.rows("none", [one, one._replace(pages_hz=42.0)])}
    assert rows["none: pages"] == 41
    assert rows["none: pages from"] < 40
    assert rows["none: pages to"] > 42
    assert rows["none: share"] == rows["none: share from"] == pytest.approx(3)


def test_each_setting_has_its_own_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many pages come here as its seed says, five times as many where dom0 has a fifth."""

    def run(asked: Sequence[SessionRequest]) -> list[ServiceSession]:
        found = []
        for one in asked:
            budget = one.run.system.domains[0].interface
            times = 5 if budget and budget.bandwidth * 5 == 1 else 1
            pages = np.full(times * one.run.seed, dom0.RAMP_NS, PAGE)
            found.append(ServiceSession(np.zeros(0, RECORD), pages, packets=1))
        return found

    monkeypatch.setattr(dom0, "run_sessions", run)
    rows = {row.name: row.value for row in dom0.measure()}
    assert len(rows) == 3 * len(dom0.SHOWN) * sum(len(group) for group in dom0.SETTINGS)
    pages = {name: rows[f"{name}: pages"] for group in dom0.SETTINGS for name in group}
    assert pages.pop("200 us in 1 ms") == pytest.approx(5 * 4.5 / 1.1)
    assert all(value == pytest.approx(4.5 / 1.1) for value in pages.values())
