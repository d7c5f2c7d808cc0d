# SPDX-License-Identifier: BSD-2-Clause
"""Hardships for the scheduler on Linux, one after the other on one machine, and what they left.

A hardship is a piece of shell script that runs on the machine between the start of a system and
its end. Of each the script keeps what the daemon knew at the end and the rings. Whoever reads them
plays every decision again, asks for the core's laws after each, and adds up the servers' accounts
by hand.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.support.building import TOP, make
from tests.support.on_linux import files_left

from hyperperiod.hosts import rings
from hyperperiod.hosts.replay import replay
from hyperperiod.trace.format import NONE, SECOND_PAYER, Call, Kind

HELPERS = """\
cpus=$(busybox nproc)
server() { ask server "$@"; }
said() { hyperperiodctl "$@" >/tmp/answer 2>&1; }

# A process that never sleeps, in $spinning.
spin() { faults spin & spinning=$!; }

# How long (ns) a process has run so far, in $ran.
ran() { read -r ran rest </proc/$1/schedstat || give_up "process $1 is gone"; }

# All these processes get on: none is stuck.
all_run() {
    for each in "$@"; do
        ran $each
        before=$ran
        for try in 1 2 3 4 5 6 7 8 9 10; do
            busybox usleep 100000
            ran $each
            [ "$ran" = "$before" ] || break
        done
        [ "$ran" != "$before" ] || give_up "process $each is stuck in $name"
    done
}

begin() {
    name=$1
    busybox mkdir -p /left/$name
    ask policy $2
    ask record on
}

keep() {
    ask status
    busybox cp /tmp/answer /left/$name/status
    ask rings path=/left/$name/rings
}

finish() {
    keep
    ask stop
    ask clear
}

fact() { echo "$2" >/left/$name/$1; }

# BPF objects are given back when nobody can be in them any more: that may take a moment.
objects_are() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ "$(faults objects)" = "$1" ] && return
        busybox usleep 100000
    done
    give_up "BPF objects: found $(faults objects), allowed: $1 (programs, maps, links)"
}

# The kernel takes a while to let go of a scheduler whose daemon is gone.
state_is() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        read -r state </sys/kernel/sched_ext/state
        [ "$state" = disabling ] || break
        busybox usleep 100000
    done
    [ "$state" = "$1" ] || give_up "sched_ext: found $state, allowed: $1"
}

start_daemon() {
    hyperperiodd --cpus $cpus --object /bin/hyperperiod.bpf.o $keep >/tmp/daemon 2>&1 ||
        give_up "hyperperiodd: $(busybox cat /tmp/daemon)"
    daemon=$(busybox pidof hyperperiodd)
}
none=$(faults objects)
start_daemon
"""

END = """\
kill $daemon
objects_are "$none"
"""


class Account(NamedTuple):
    """What a server used by hand, at the earliest and the latest instant of the daemon's look."""

    least_ns: int
    most_ns: int


class Span(NamedTuple):
    """A stretch of a pcpu (ns)."""

    begin_ns: int
    end_ns: int
    run: int
    payers: tuple[int, ...]
    """Who pays of its budget."""


@dataclass(frozen=True)
class Left:
    """What a hardship left: rings, the daemon's status at the end, and facts by name."""

    name: str
    status: dict[str, Any]
    rings: list[rings.Ring]
    files: dict[str, bytes]

    def server(self, name: str) -> dict[str, Any]:
        """What the daemon knows of a server."""
        (found,) = (each for each in self.status["servers"] if each["name"] == name)
        return dict(found)

    def number(self, fact: str) -> int:
        return int(self.files[fact])

    def fact(self, fact: str) -> Any:
        return json.loads(self.files[fact])


def run(
    hardships: str, folder: Path, cpus: int = 1, *, counts: bool = False, keep: str = ""
) -> dict[str, Left]:
    """Boots a machine and runs the script of hardships there; what each left, by its name.

    `keep` are more of the daemon's options.
    One cpu counts instructions. Several run as they can, or count in turns if `counts` says so.
    """
    make("tests/linux/faults.mk")
    programs = {"bin/faults": (TOP / "build/linux-faults/faults").read_bytes()}
    script = "".join([f'keep="{keep}"\n', HELPERS, hardships, END])
    icount = counts or cpus == 1
    found = files_left(script, folder, first="", cpus=cpus, icount=icount, programs=programs)
    return dict(_left(found))


def _left(files: dict[str, bytes]) -> Iterator[tuple[str, Left]]:
    by_name: dict[str, dict[str, bytes]] = defaultdict(dict)
    for path, data in files.items():
        name, _, file = path.partition("/")
        by_name[name][file] = data
    for name, own in by_name.items():
        yield name, Left(name, json.loads(own["status"]), _rings(own["rings"]), own)


def _rings(data: bytes) -> list[rings.Ring]:
    found = []
    at = 0
    while at < len(data):
        ring = rings.read_ring(lambda address, size: data[address : address + size], at, "a lock")
        at += ring.header.header_bytes + ring.records.nbytes
        found.append(ring)
    return found


def require_right(left: Left, tolerance_ns: int = 0) -> None:
    """No decision differs, the core's laws hold after each, and the accounts are right.

    The daemon's look and the next decision are instants of one cpu: where several go on meanwhile,
    what they did between the two is the tolerance.
    """
    assert left.status["running"], left.status
    for ring in left.rings:
        assert len(ring.records) > 0
        replay(ring, 1 << 62, "Linux")
    for server in left.status["servers"]:
        lock, number = _place(left, server)
        account = account_by_hand(left.rings[lock], number, server["now_ns"])
        found = server["used_ns"]
        assert account.least_ns - tolerance_ns <= found, (left.name, server, account)
        assert found <= account.most_ns + tolerance_ns, (left.name, server, account)


def members_of(status: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The servers of a status with their members; the daemon's process is "self"."""
    found = {}
    for server in status["servers"]:
        members = [dict(member) for member in server["members"]]
        for member in members:
            if member.get("pid") == status["pid"]:
                member["pid"] = "self"
        found[server["name"]] = members
    return found


def require_no_gap(left: Left, kinds: Sequence[str]) -> None:
    """After each end of `random_ends` the same servers are in force, with the same members. Where
    only the daemon ended they had their budgets meanwhile."""
    for number, kind in enumerate(kinds):
        before, after = left.fact(f"before{number}"), left.fact(f"after{number}")
        assert after["running"], (number, kind)
        assert members_of(after) == members_of(before), (number, kind)
        assert (after["base_ns"] == before["base_ns"]) == (kind == "daemon"), (number, kind)
        for server, then in zip(after["servers"], before["servers"], strict=True):
            assert server["period_ns"] == then["period_ns"], (number, kind)
            assert server["budget_ns"] == then["budget_ns"], (number, kind)
            if kind == "daemon":
                periods = (server["now_ns"] - then["now_ns"]) // server["period_ns"]
                used_ns = server["used_ns"] - then["used_ns"]
                least, most = periods - 1, periods + 2
                assert least * server["budget_ns"] <= used_ns, (number, server, then)
                assert used_ns <= most * server["budget_ns"], (number, server, then)


def _place(left: Left, server: dict[str, Any]) -> tuple[int, int]:
    """The lock domain of a server and its number there, which are given in turns."""
    is_global = left.status["policy"]["global"]
    lock = 0 if is_global else left.status["cpus"].index(server["pcpu"])
    before = [
        each for each in left.status["servers"] if is_global or each["pcpu"] == server["pcpu"]
    ]
    return lock, [each["name"] for each in before].index(server["name"])


def spans(ring: rings.Ring, until_ns: int) -> Iterator[Span]:
    """All grants of a ring by pcpu, as far as nobody stole them; in the order of their ends. Those
    that the ring does not end last until the instant given."""
    granted: dict[int, tuple[int, int, tuple[int, ...]]] = {}
    pcpus = 0
    for record in ring.records:
        kind, time_ns = int(record["kind"]), int(record["time_ns"])
        pcpu = int(record["pcpu" if kind in (Kind.RUN, Kind.IDLE) else "value"])
        if kind == Call.START:
            pcpus = int(record["job"])
        elif kind == Call.ADD_PCPU:
            pcpus += 1
        if kind not in (Kind.RUN, Kind.IDLE, Call.STEAL, Call.RETURN, Call.DROP_PCPU):
            continue
        if pcpu in granted:
            begin_ns, run, payers = granted.pop(pcpu)
            yield Span(begin_ns, time_ns, run, payers)
        if kind in (Kind.RUN, Kind.IDLE):
            granted[pcpu] = (time_ns, int(record["vcpu"]), _payers(record))
        elif kind == Call.DROP_PCPU:
            # The last one takes over the number of the one that is gone.
            pcpus -= 1
            if pcpus in granted:
                granted[pcpu] = granted.pop(pcpus)
    for begin_ns, run, payers in granted.values():
        yield Span(begin_ns, until_ns, run, payers)


def _payers(record: np.void) -> tuple[int, ...]:
    if int(record["job"]) or int(record["payer"]) == NONE:
        return ()
    also = (int(record["vcpu"]),) if int(record["flags"]) & SECOND_PAYER else ()
    return (int(record["payer"]), *also)


def account_by_hand(ring: rings.Ring, server: int, now_ns: int) -> Account:
    """What a server has paid until an instant, and until the next decision after it."""
    later = ring.records["time_ns"][ring.records["time_ns"] > now_ns]
    next_ns = int(later[0]) if len(later) else now_ns
    least = most = 0
    for span in spans(ring, next_ns):
        paid = span.payers.count(server)
        least += paid * max(0, min(span.end_ns, now_ns) - span.begin_ns)
        most += paid * max(0, min(span.end_ns, next_ns) - span.begin_ns)
    return Account(least, most)


def per_period(
    ring: rings.Ring, server: int, period_ns: int, from_ns: int, to_ns: int
) -> Sequence[int]:
    """What a server ran of its own budget in each whole period between two instants."""
    first, last = -(-from_ns // period_ns), to_ns // period_ns
    used = [0] * (last - first)
    for span in spans(ring, to_ns):
        if span.run != server or server not in span.payers:
            continue
        for period in range(span.begin_ns // period_ns, span.end_ns // period_ns + 1):
            if first <= period < last:
                begin_ns = max(span.begin_ns, period * period_ns)
                end_ns = min(span.end_ns, (period + 1) * period_ns)
                used[period - first] += max(0, end_ns - begin_ns)
    return used


def stolen_per_period(ring: rings.Ring, period_ns: int, from_ns: int, to_ns: int) -> Sequence[int]:
    """How long pcpu 0 was somebody else's in each whole period between two instants."""
    first, last = -(-from_ns // period_ns), to_ns // period_ns
    stolen = [0] * (last - first)
    since_ns = None
    for record in ring.records:
        kind, time_ns = int(record["kind"]), int(record["time_ns"])
        if kind == Call.STEAL and since_ns is None:
            since_ns = time_ns
        elif kind == Call.RETURN and since_ns is not None:
            for period in range(since_ns // period_ns, time_ns // period_ns + 1):
                if first <= period < last:
                    begin_ns = max(since_ns, period * period_ns)
                    end_ns = min(time_ns, (period + 1) * period_ns)
                    stolen[period - first] += end_ns - begin_ns
            since_ns = None
    return stolen
