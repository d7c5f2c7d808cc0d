# SPDX-License-Identifier: BSD-2-Clause
"""Flows on real Xen: items cross domains by shared memory and events, as the simulator says."""

from __future__ import annotations

from pathlib import Path

from tests.xen.on_xen import OnXen, run_on_xen

from hyperperiod.hosts.prepare import complete
from hyperperiod.hosts.sim import simulate
from hyperperiod.model import System, load_system
from hyperperiod.trace.format import read
from hyperperiod.trace.items import FlowItem, items

SYSTEMS = Path(__file__).parents[2] / "systems"
MS = 1_000_000


def both(
    system: System, horizon_ns: int, folder: Path, seed: int = 1
) -> tuple[OnXen, list[FlowItem], list[FlowItem]]:
    """A run on Xen, its items, and those of the simulator."""
    system = complete(system)
    on_xen = run_on_xen(system, horizon_ns, seed, folder)
    simulate(system, horizon_ns, seed, folder / "sim.hpt")
    return on_xen, items(*on_xen.trace), items(*read(folder / "sim.hpt"))


def test_every_item_comes_at_its_nanosecond(tmp_path: Path) -> None:
    system = load_system(SYSTEMS / "packet-path.toml")
    on_xen, there, here = both(system, 200 * MS, tmp_path)
    assert [(one.flow, one.item, one.release_ns) for one in there] == [
        (one.flow, one.item, one.release_ns) for one in here
    ]
    assert len(there) > 50
    left = [one for one in there if one.finish_ns is not None]
    assert len(left) > 0.9 * len(there)
    assert sum(flow["items"] for flow in on_xen.result["flows"]) == len(there)


def test_clients_wait_for_their_answers(tmp_path: Path) -> None:
    """A closed loop over three domains: as many pages per second as in the simulator."""
    system = load_system(SYSTEMS / "request-response.toml")
    on_xen, there, here = both(system, 1000 * MS, tmp_path)
    requests = on_xen.result["flows"][0]
    assert requests["dropped"] == 0
    assert 0.9 * len(here) < len(there) < 1.1 * len(here)
    # Whoever has not been served yet thought as long as in the simulator.
    assert [one.release_ns for one in there[:5]] == [one.release_ns for one in here[:5]]
    assert requests["finished"] > 50
