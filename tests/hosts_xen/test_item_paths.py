# SPDX-License-Identifier: BSD-2-Clause
"""The way of items from guest to guest: what guests said is checked, what they did not is added."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.item_paths import Passed, follow
from hyperperiod.hosts.rings import new_records
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import FailedError, Scheduler, Source, System
from hyperperiod.runs import complete, simulate
from hyperperiod.trace.format import Item, Kind, Records, item_of, read

MS = 1_000_000
END_NS = 100 * MS
SEED = 3
FIRST, SECOND = 0, 1


@pytest.fixture(scope="module")
def system() -> System:
    hop = {"name": "h", "kind": "event", "period": "5ms"}
    return complete(
        Analysis(
            System.of(
                {
                    "name": "s",
                    "policy": "crps",
                    "domain": [
                        {
                            "name": "a",
                            "interface": {"period": "5ms", "budget": "2ms"},
                            "task": [{**hop, "wcet": "500us", "etf": 0.5}],
                        },
                        {
                            "name": "b",
                            "interface": {"period": "5ms", "budget": "2ms"},
                            "task": [{**hop, "wcet": "4ms", "etf": 0.5}],
                        },
                    ],
                    "flow": [
                        {
                            "name": "f",
                            "source": {"period": "5ms", "jitter": "1ms", "burst": 2},
                            "hops": ["a.h", "b.h"],
                            "deadline": "20ms",
                            "queue": 3,
                        }
                    ],
                }
            )
        )
    )


@pytest.fixture(scope="module")
def said(system: System, tmp_path_factory: pytest.TempPathFactory) -> Records:
    """A run of the simulator, with items dropped."""
    path = tmp_path_factory.mktemp("run") / "run.hpt"
    result = simulate(system, END_NS, SEED, path)
    assert 0 < result.flows[0].dropped < result.flows[0].items
    return np.array(read(path)[1])


def of(records: Records, *kinds: Kind) -> Records:
    return records[np.isin(records["kind"], kinds)].copy()


def followed(system: System, said: Records) -> Passed:
    scenario = make_scenario(system, END_NS, SEED)
    return follow(
        system,
        of(said, Kind.RELEASE),
        of(said, Kind.COMPLETE),
        of(said, Kind.ITEM, Kind.DROP),
        lambda flow, left: scenario.source_releases(flow, left, END_NS),
        END_NS,
    )


def places(records: Records) -> dict[Item, tuple[int, int, int]]:
    """Task, job and time of each item at a hop."""
    return {
        item_of(int(row["value"])): (int(row["task"]), int(row["job"]), int(row["time_ns"]))
        for row in of(records, Kind.ITEM)
    }


def drops(records: Records) -> list[tuple[int, int]]:
    return sorted(
        (int(row["time_ns"]), int(row["value"])) for row in records if row["kind"] == Kind.DROP
    )


def same_releases(found: Records, expected: Records) -> None:
    key = ("task", "job")
    assert (np.sort(found, order=key) == np.sort(expected, order=key)).all()


def test_what_was_all_said_stays_as_it_is(system: System, said: Records) -> None:
    found = followed(system, said)
    assert places(found.items) == places(said)
    assert drops(found.items) == drops(said)
    same_releases(found.releases, of(said, Kind.RELEASE))
    assert (found.completions == of(said, Kind.COMPLETE)).all()


def test_items_that_a_guest_never_saw_reached_it_all_the_same(
    system: System, said: Records
) -> None:
    """The second guest is silent from 40 ms on; then nothing leaves, and the source fills up."""
    silent = said[(said["task"] != SECOND) | (said["time_ns"] < 40 * MS)]
    lost = said[(said["kind"] == Kind.COMPLETE) & (said["task"] == SECOND)]
    gone = int((lost["time_ns"] < 40 * MS).sum())
    # The first guest drops what no longer fits.
    entered = [item for item in places(said) if item.hop == 0][: gone + 3]
    last_ns = places(said)[entered[-1]][2]
    silent = silent[(silent["time_ns"] < last_ns + 1) | (silent["kind"] == Kind.COMPLETE)]
    jobs = {places(said)[item][1] for item in entered}
    silent = silent[(silent["kind"] != Kind.COMPLETE) | np.isin(silent["job"], list(jobs))]
    found = followed(system, silent)
    told = {item: at for item, at in places(said).items() if item._replace(hop=0) in entered}
    assert places(found.items) == told
    came = make_scenario(system, END_NS, SEED).source_releases(0, [], END_NS)
    assert len(drops(found.items)) == 2 * len(came) - len(entered)
    tasks = [task for task, _, _ in told.values()]
    for task in (FIRST, SECOND):
        mine = found.releases[found.releases["task"] == task]
        assert mine["job"].tolist() == list(range(tasks.count(task)))
        assert (mine["value"] == mine["time_ns"] + 5 * MS).all()


def test_nothing_at_all_was_said(system: System, said: Records) -> None:
    found = followed(system, said[:0])
    assert sorted(item.number for item in places(found.items)) == [0, 1, 2]
    first = {item: at for item, at in places(said).items() if item.number < 3 and item.hop == 0}
    assert places(found.items) == first
    assert drops(found.items)[0][1] == 3


def through_a_ring(system: System) -> System:
    """The first hops of two flows are receptions by a device, for fewer than may come at once."""
    flow = system.flows[0].replace(hops=("b.h",), via="eth0", queue=8)
    bare = system.domains[0].replace(tasks=())
    device = {"name": "eth0", "driver": "a", "receive": "1ms", "send": "1us", "queue": 2}
    flows = (flow, flow.replace(name="g", source=Source(period_ns=3 * MS)))
    domains = (bare.replace(scheduler=Scheduler.FIFO), system.domains[1])
    return System.of({**vars(system), "domains": domains, "devices": [device], "flows": flows})


def test_what_a_ring_drops(system: System, tmp_path: Path) -> None:
    """It moves no completion, and what nobody saw fills the ring in the order in which it came."""
    through = through_a_ring(system)
    simulate(through, END_NS, SEED, tmp_path / "run.hpt")
    said = np.array(read(tmp_path / "run.hpt")[1])
    said["task"][said["kind"] == Kind.DROP] = FIRST  # whose ring it is; no queue was full
    found = followed(through, said)
    assert {value >> 48 for _, value in drops(said)} == {0, 1}
    assert (places(found.items), drops(found.items)) == (places(said), drops(said))
    assert (found.completions == of(said, Kind.COMPLETE)).all()
    unseen = followed(through, said[:0])
    first = sorted((at, item) for item, (_, _, at) in places(said).items() if item.hop == 0)[:2]
    assert sorted(places(unseen.items)) == sorted(item for _, item in first)


def test_an_item_that_is_seen_late_was_done_late(system: System, said: Records) -> None:
    """The first guest was stopped for 3 us between the last instruction and passing it on."""
    changed = said.copy()
    row = changed[np.flatnonzero((said["kind"] == Kind.ITEM) & (said["task"] == SECOND))[4]]
    job = (changed["task"] == SECOND) & (changed["job"] == row["job"])
    released = job & np.isin(changed["kind"], (Kind.RELEASE, Kind.ITEM))
    number = item_of(int(row["value"])).number
    carrier = places(said)[Item(0, 0, number)][1]
    changed["time_ns"][released] += 3000
    changed["value"][job & (changed["kind"] == Kind.RELEASE)] += 3000
    found = followed(system, changed)
    before = of(said, Kind.COMPLETE)
    moved = (before["task"] == FIRST) & (before["job"] == carrier)
    assert moved.sum() == 1
    assert (found.completions["time_ns"] - before["time_ns"]).tolist() == (moved * 3000).tolist()
    assert (found.completions["value"] - before["value"]).tolist() == (moved * 3000).tolist()


def in_one_domain(system: System) -> System:
    """The same hops as tasks of one domain."""
    first, second = system.domains
    tasks = tuple(one.tasks[0].replace(name=name) for one, name in ((first, "h"), (second, "k")))
    flows = tuple(flow.replace(hops=("a.h", "a.k")) for flow in system.flows)
    return system.replace(domains=(first.replace(tasks=tasks),), flows=flows)


@pytest.mark.parametrize("place", [System.replace, in_one_domain], ids=["two", "one"])
def test_a_source_that_hears_late_of_an_item_that_left(
    system: System, place: Callable[[System], System]
) -> None:
    """Three are on their way at 5 ms, or two: that one left at 4.999 ms was not known yet.

    The hops may be those of two domains, or two threads of one.
    """
    at_ns = {"came": 0, "passed": 100, "left": 4_999_000}
    rows = [
        (Kind.RELEASE, FIRST, number, at_ns["came"], at_ns["came"] + 5 * MS) for number in range(3)
    ]
    rows += [(Kind.ITEM, FIRST, number, at_ns["came"], number) for number in range(3)]
    rows += [(Kind.COMPLETE, FIRST, 0, at_ns["passed"], 100)]
    rows += [(Kind.RELEASE, SECOND, 0, at_ns["passed"], at_ns["passed"] + 5 * MS)]
    rows += [(Kind.ITEM, SECOND, 0, at_ns["passed"], 1 << 32)]
    rows += [(Kind.COMPLETE, SECOND, 0, at_ns["left"], at_ns["left"] - at_ns["passed"])]
    records = new_records(len(rows) + 3, Kind.DROP, 5 * MS)
    for record, fields in zip(records, rows, strict=False):
        for name, value in zip(("kind", "task", "job", "time_ns", "value"), fields, strict=True):
            record[name] = value
    records["value"][-3:] = [3, 4, 5]
    found = follow(
        place(system),
        of(records, Kind.RELEASE),
        of(records, Kind.COMPLETE),
        of(records, Kind.ITEM, Kind.DROP),
        lambda _flow, _left: [0, 0, 5 * MS],
        END_NS,
    )
    last = found.completions[found.completions["task"] == SECOND][0]
    assert last["time_ns"] == 5 * MS + 1
    assert last["value"] == 5 * MS + 1 - at_ns["passed"]


def altered(said: Records, kind: Kind, task: int, by_ns: int) -> Records:
    """The fifth record of its kind at another time, and the deadline with it."""
    changed = said.copy()
    at = np.flatnonzero((said["kind"] == kind) & (said["task"] == task))[4]
    job = (said["task"] == task) & (said["job"] == said["job"][at])
    changed["time_ns"][job & np.isin(said["kind"], (Kind.RELEASE, Kind.ITEM))] += np.int64(
        by_ns
    ).astype(np.uint64)
    return changed


def test_an_item_is_nowhere_before_it_was_done(system: System, said: Records) -> None:
    with pytest.raises(FailedError, match=r"was at hop 1 at .* ns and not done before"):
        followed(system, altered(said, Kind.ITEM, SECOND, -1))


def test_a_source_that_draws_otherwise_is_noticed(system: System, said: Records) -> None:
    with pytest.raises(FailedError, match="the draws say"):
        followed(system, altered(said, Kind.ITEM, FIRST, 1))


def test_an_item_that_a_source_left_out_is_noticed(system: System, said: Records) -> None:
    rest = said[(said["kind"] != Kind.DROP) | (said["value"] != drops(said)[0][1])]
    with pytest.raises(FailedError, match="in place"):
        followed(system, rest)
