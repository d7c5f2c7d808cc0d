# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler in Linux on four cpus at once: races end nothing, and replay finds no difference.

The machine is as fast as this host lets it: nothing is said of how much time anybody gets.
"""

from __future__ import annotations

import random

import pytest
from tests.linux.scripts import Left, cpus_of, run_phases

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("four cpus on linux")]

CPUS = 4
SEED = 20250101


def toggles(seed: int, count: int) -> str:
    """Cpus go and come again at random, the first excepted, and no two are gone at once."""
    rng = random.Random(seed)
    lines = ""
    for _ in range(count):
        online = f"/sys/devices/system/cpu/cpu{rng.randrange(1, CPUS)}/online"
        lines += f"echo 0 >{online}\nbusybox usleep {rng.randrange(20_000, 150_000)}\n"
        lines += f"echo 1 >{online}\nbusybox usleep {rng.randrange(20_000, 150_000)}\n"
    return lines


def moves(seed: int, count: int) -> str:
    """A thread is pinned to one cpu after the other."""
    rng = random.Random(seed)
    return "".join(f"/bin/load pin $one {rng.randrange(CPUS)}\n" for _ in range(count))


def requests(seed: int, count: int) -> str:
    """Servers change, and so does the policy, as fast as the daemon takes it."""
    rng = random.Random(seed)
    lines = ""
    for _ in range(count):
        server, budget = rng.randrange(6), rng.randrange(1_000, 3_000)
        lines += f"ask set s{server} budget_ns={budget * 1000}\n"
        lines += f"ask set s{rng.randrange(6)} pcpus={rng.choice(['0-3', '1-2', '3', '0,2'])}\n"
        lines += f"ask swap name={rng.choice(['rtds', 'ertds', 'deferrable+edf+none'])}\n"
    return lines


PARTITIONED = """\
ask policy name=ds pcpus=0-3
ask record on
""" + "".join(
    f"ask server s{cpu} pcpu={cpu} period_ns=10000000 budget_ns=3000000 priority=1 inside=turns\n"
    f"load hog\none=$it\nask attach s{cpu} pid=$it\nload hog\n"
    for cpu in range(CPUS)
)
GLOBAL = """\
ask policy name=rtds pcpus=0-3 global=1
ask record on
""" + "".join(
    f"ask server s{number} pcpu=global period_ns={10 + number}000000 budget_ns=2500000"
    f" inside=turns\nload hog\nask attach s{number} pid=$it\n"
    for number in range(6)
)
START = "ask start force=1\nbusybox sleep 0.3\n"
PHASES = {
    "parked": PARTITIONED + START + toggles(SEED, 8),
    "pinned": PARTITIONED + START + moves(SEED, 60) + "busybox sleep 0.3\n",
    "global": GLOBAL + START + toggles(SEED + 1, 8),
    "contended": GLOBAL + START + requests(SEED, 40),
}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    """What each phase left, by its name: the daemon's status, and its decisions played again."""
    return run_phases(PHASES, tmp_path_factory.mktemp("four"), cpus=CPUS)


@pytest.mark.parametrize("phase", PHASES)
def test_the_kernel_ends_nothing_and_all_is_played_again(phase: str, left: dict[str, Left]) -> None:
    assert left[phase].status["ends"] == 0
    assert left[phase].status["ended"] == ""
    assert all(sum(domain.picks(1 << 62)) > 0 for domain in left[phase].domains)


@pytest.mark.parametrize("phase", PHASES)
def test_all_servers_are_there_afterwards(phase: str, left: dict[str, Left]) -> None:
    assert left[phase].status["parked"] == 0
    assert sum(server["runnable"] for server in left[phase].status["servers"]) >= CPUS - 1


def test_all_cpus_have_servers_of_a_global_policy(left: dict[str, Left]) -> None:
    granted = set[int]().union(*(cpus_of(left["contended"], number) for number in range(6)))
    assert granted == set(range(CPUS))
