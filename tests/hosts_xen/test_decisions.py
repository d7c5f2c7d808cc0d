# SPDX-License-Identifier: BSD-2-Clause
"""What Xen has no time to decide is refused before it boots, by the numbers that Xen uses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hyperperiod.hosts.decisions import DECISION_NS, require_time
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.model import InputError, System

XEN = Path(__file__).parents[2] / "hosts" / "xen"


def servers(
    *interfaces: tuple[str, str], policy: str = "ptps", pcpus: int = 1, **more: Any
) -> System:
    """A domain for each period and budget, in turn on the pcpus."""
    domains = [
        {
            "name": f"d{number}",
            "interface": {"period": period, "budget": budget},
            **({} if policy != "ptps" else {"pcpu": number % pcpus}),
            "task": [{"name": "t", "period": "100ms", "wcet": "1us"}],
        }
        for number, (period, budget) in enumerate(interfaces)
    ]
    return System.of({"name": "s", "policy": policy, "pcpus": pcpus, "domain": domains, **more})


def test_the_time_of_a_decision_is_that_of_xen() -> None:
    said = re.search(r"XEN_HYPERPERIOD_DECISION_NS (\d+)U", (XEN / "public.h").read_text())
    assert said is not None
    assert int(said[1]) == DECISION_NS["Xen"]


@pytest.mark.parametrize(
    ("system", "found"),
    [
        (servers(("1us", "1us")), "d0: interface: budget: found 1us; allowed: at least 4.2us"),
        (servers(("1ms", "4199ns")), "d0: interface: budget: found 4.199us"),
        (servers(("16us", "9us")), "servers on pcpu 0: found 53 %"),
        (servers(("30us", "9us"), ("30us", "9us")), "servers on pcpu 0: found 56 %"),
        (servers(("30us", "9us"), ("30us", "9us"), policy="rtds", pcpus=2), "on all pcpus: found"),
        (servers(("20us", "9us"), quantum="1us"), "quantum: found 1us; allowed: at least 33.6us"),
        (
            servers(
                ("1ms", "9us"),
                change=[
                    {"at": "1s", "domain": "d0", "interface": {"period": "16us", "budget": "9us"}}
                ],
            ),
            "servers on pcpu 0: found 53 %",
        ),
        (
            servers(
                ("1ms", "9us"), policy="ertds", spare={"period": "16us", "budget": "1us"}, pcpus=2
            ),
            "spare: period: found 16us; allowed: at least 33.6us",
        ),
    ],
)
def test_what_there_is_no_time_for_is_refused(system: System, found: str) -> None:
    with pytest.raises(InputError) as error:
        xen_arguments(system, epoch_ns=0)
    assert found in str(error.value)


@pytest.mark.parametrize(
    "system",
    [
        servers(("17us", "4200ns")),
        servers(("17us", "9us"), ("17us", "9us"), pcpus=2),
        servers(*[("1ms", "10us")] * 59),
    ],
)
def test_what_there_is_time_for_is_not(system: System) -> None:
    require_time(system, "Xen")
