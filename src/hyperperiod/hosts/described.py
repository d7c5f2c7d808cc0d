# SPDX-License-Identifier: BSD-2-Clause
"""A system as the parts that the simulator is told, in plain data: for one that runs elsewhere.

The same simulator as WebAssembly (hosts/sim/wasm) is told them by a web page, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from hyperperiod import _sim
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import System


def describe(system: System, horizon_ns: int, seed: int) -> list[dict[str, Any]]:
    """The parts of a system whose interfaces are known: "part" names each, then come its values.

    Values stand in the order of the native function, times in nanoseconds; None is none. Before
    them domains, tasks and flows have their "name", tasks their "etf" as two numbers, the system
    its "sbf", none of which the simulator is told. InputError for what it cannot run.
    """
    scenario = make_scenario(system, horizon_ns, seed, kind=_Described)
    assert isinstance(scenario, _Described)
    tasks = [task for domain in system.domains for task in domain.tasks]
    named: dict[str, Iterator[dict[str, Any]]] = {
        "set_up": iter([{"sbf": system.sbf}]),
        "add_domain": iter([{"name": domain.name} for domain in system.domains]),
        "add_task": iter(
            [{"name": task.name, "etf": list(task.etf.as_integer_ratio())} for task in tasks]
        ),
        "add_flow": (flows := iter([{"name": flow.name} for flow in system.flows])),
        "add_closed_flow": flows,
    }
    return [
        {"part": one["part"], **next(named.get(one["part"], iter([{}]))), **one}
        for one in scenario.parts
    ]


class _Described(_sim.Scenario):
    """A scenario that keeps what it is told."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.parts = [{"part": "set_up", **values}]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._kept(name, found) if name.startswith(("add_", "set_")) else found

    def _kept(self, part: str, tell: Callable[..., None]) -> Callable[..., None]:
        names = re.findall(r"(\w+): ", str(tell.__doc__))

        def told(*values: Any, **named: Any) -> None:
            tell(*values, **named)
            given = {**dict(zip(names, values, strict=False)), **named}
            self.parts.append({"part": part, **{name: given[name] for name in names}})

        return told
