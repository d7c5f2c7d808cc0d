# SPDX-License-Identifier: BSD-2-Clause
"""A trace says when each vcpu got new parameters: at the hypervisor's call, not at the wish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.support.trace_writer import Script, make_header, vcpu

from hyperperiod.hosts.rings import Ring, RingHeader
from hyperperiod.hosts.xen.changes import changes_made
from hyperperiod.trace.format import RECORD, Call, Kind
from hyperperiod.trace.properties import PROPERTIES


def ring(*rows: tuple[int, int, int]) -> Ring:
    """A hypervisor's ring of (time, kind, vcpu)."""
    records = np.zeros(len(rows), RECORD)
    for name, values in zip(("time_ns", "kind", "vcpu"), zip(*rows, strict=True), strict=True):
        records[name] = values
    return Ring(RingHeader(64, 1 << 20, len(records), 10**9, 0, 0, 2, 0), records, 0)


def header(*wishes: tuple[int, str]) -> Any:
    vcpus = [vcpu("a.0", 10, 3), vcpu("a.1", 10, 3, pcpu=1), vcpu("b", 10, 3)]
    interface = {"period_ns": 8, "budget_ns": 2}
    changes = [{"at_ns": at, "domain": name, "interface": interface} for at, name in wishes]
    return make_header("sporadic", vcpus, changes=changes, pcpus=2)


def made(wished: Any, *rings: Ring) -> list[tuple[int, str, list[int] | None]]:
    return [
        (change["at_ns"], change["domain"], change.get("vcpus"))
        for change in changes_made(wished, rings)
    ]


def test_each_change_is_where_its_pcpu_made_it() -> None:
    wished = header((20, "a"), (10, "a"), (10, "b"))
    one = ring(
        (12, Call.UPDATE, 0), (13, Kind.ARRIVE, 1), (14, Call.UPDATE, 2), (23, Call.UPDATE, 0)
    )
    other = ring((12, Call.UPDATE, 1), (22, Call.UPDATE, 1))
    assert made(wished, one, other) == [
        (12, "a", [0, 1]),
        (14, "b", [2]),
        (22, "a", [1]),
        (23, "a", [0]),
    ]


def test_a_clock_that_is_read_before_the_lock_is_had_goes_on() -> None:
    assert made(header((10, "b")), ring((15, Kind.RUN, 0), (14, Call.UPDATE, 2))) == [
        (15, "b", [2])
    ]


def test_a_change_after_the_end_stays_a_wish() -> None:
    assert made(header((10, "b")), ring((9, Kind.RUN, 0))) == [(10, "b", None)]


def test_the_trace_checks_change_those_vcpus_alone(tmp_path: Path) -> None:
    """The two that get work at 30 had 3 each, and one of them has 2 by now."""
    wished = header((20, "a"))
    wished["changes"][0]["vcpus"] = [1]
    script = Script(wished).arrive(30, 0, 1).run(30, 0).run(30, 1, pcpu=1)
    script.idle(33).idle(33, pcpu=1).end(36)
    (depleted,) = (one for one in PROPERTIES if one.name == "depleted")
    found = depleted.check(*script.trace(tmp_path)).violations
    assert [(one.time_ns, one.text) for one in found] == [(32, "a.1 runs depleted")]
