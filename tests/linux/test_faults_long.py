# SPDX-License-Identifier: BSD-2-Clause
"""The scheduler on Linux bears for longer what goes wrong: a minute of changes, many kills."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.linux.fault_scripts import (
    KEEP,
    SEED,
    changed,
    changes_server,
    clients_killed,
    daemon_killed,
    memory,
    other_build,
    random_ends,
    storm,
    workload_killed,
)
from tests.linux.hardships import Left, require_no_gap, require_right, run

from hyperperiod.model import Scope

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("long faults on linux")]

PIECES = 6
"""A ring has room for a part of a minute of changes."""


def loading_killed(instants_ms: list[int]) -> str:
    """The daemon is killed while it loads its programs: the kernel keeps none."""
    text = 'kill $daemon\nobjects_are "$none"\n'
    for instant_ms in instants_ms:
        text += f"""\
hyperperiodd --foreground --cpus $cpus --object /bin/hyperperiod.bpf.o >/tmp/daemon 2>&1 & daemon=$!
busybox usleep {instant_ms}000
kill -9 $daemon
wait $daemon
objects_are "$none"
state_is disabled
"""
    return text + "start_daemon\n"


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    hardships = [
        *(changed(f"changed{piece}", Scope.PARTITIONED, 10_000) for piece in range(PIECES)),
        changed("changed_global", Scope.GLOBAL, 10_000),
    ]
    return run("".join(hardships), tmp_path_factory.mktemp("minute"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    rng = random.Random(SEED)
    hardships = [
        storm(3000),
        memory(),
        workload_killed(SEED + 1, 100),
        clients_killed(SEED + 1, 200),
        changes_server(SEED + 1),
        daemon_killed([rng.randrange(300_000) for _ in range(4)]),
        loading_killed([rng.randrange(5_000) for _ in range(4)]),
    ]
    return run("".join(hardships), tmp_path_factory.mktemp("killed"))


def test_a_minute_of_changes_each_millisecond(minute: dict[str, Left]) -> None:
    """And of another policy every 10 ms, through all of them."""
    pieces = [minute[f"changed{piece}"] for piece in range(PIECES)]
    assert sum(piece.fact("said")["asked"] for piece in pieces) == 60_000
    for piece in (*pieces, minute["changed_global"]):
        assert piece.fact("said")["refused"] == 0
        require_right(piece)


@pytest.mark.parametrize("name", ["storm", "memory", "killed", "clients", "changes", "daemon3"])
def test_decisions_and_accounts_are_right_afterwards(name: str, killed: dict[str, Left]) -> None:
    require_right(killed[name])


def test_whatever_ends_300_times_the_system_is_in_force_again(tmp_path: Path) -> None:
    """The daemon is killed, or the scheduler ends, or both do."""
    kinds = random.Random(SEED).choices(["daemon", "scheduler", "both"], [8, 1, 1], k=300)
    done = run(other_build() + random_ends("ends", SEED, kinds), tmp_path, keep=KEEP)
    require_no_gap(done["ends"], kinds)
    require_right(done["ends"])
    build = done["build"]
    assert b"programs of another build than that of --object" in build.files["said"]
    assert b"another build" not in build.files["again"]
    assert b"without a gap" in build.files["again"]
