# SPDX-License-Identifier: BSD-2-Clause
"""Patterns of cgroup paths: what matches belongs to the server when it comes, until it goes.

The daemon is that of daemons.py, whose cgroups are folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.linux.daemons import Daemon, daemon_in

ROOT = "/sys/fs/cgroup"
TIMES = "period_ns=10000000 budget_ns=1000000"
SERVERS = ("policy name=ds pcpus=0-1", f"server a pcpu=0 {TIMES}", f"server b pcpu=1 {TIMES}")
A, B = 0, 64
"""The servers as the kernel calls them."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_in(tmp_path) as one:
        one.does(*SERVERS)
        yield one


def make(daemon: Daemon, *paths: str) -> None:
    for path in paths:
        (daemon.folder / "kernel.cgroups" / path).mkdir(parents=True, exist_ok=True)


def remove(daemon: Daemon, path: str) -> None:
    (daemon.folder / "kernel.cgroups" / path).rmdir()


def members(daemon: Daemon, name: str) -> list[dict[str, Any]]:
    found = daemon.does("status")["servers"]
    listed: list[dict[str, Any]] = next(one["members"] for one in found if one["name"] == name)
    return listed


def brought(daemon: Daemon, name: str = "a") -> list[str]:
    """The cgroups that the only member of a server, a pattern, has brought."""
    (pattern,) = members(daemon, name)
    assert pattern["matches"] == len(pattern["matching"])
    return sorted(path.removeprefix(f"{ROOT}/") for path in pattern["matching"])


def in_kernel(daemon: Daemon) -> dict[str, int]:
    """The servers of the cgroups, by their paths, as the kernel knows them."""
    folder = daemon.folder / "kernel.cgroups"
    paths = {str(path.stat().st_ino): str(path.relative_to(folder)) for path in folder.rglob("*")}
    known: dict[str, int] = {}
    for call in daemon.calls:
        verb, server, *words = call.split()
        what = words[0] if words else ""
        if verb == "start":
            known.clear()
        elif what.startswith("cgroup=") and what != "cgroup=0":
            name = paths.get(what.removeprefix("cgroup="), "gone")
            if verb == "attach":
                known[name] = int(server)
            else:
                known.pop(name, None)
    return known


def look(daemon: Daemon, seconds: int) -> None:
    """The daemon looks at what is, so many seconds after the clock began; a request wakes it."""
    daemon.write("clock", f"{seconds}000000000")
    daemon.ask("swap")


def test_what_matches_comes_and_goes(daemon: Daemon) -> None:
    """Now and later, in force and not; folders that were there before among them."""
    make(daemon, "system.slice/docker-1.scope", "system.slice/nginx.service")
    daemon.does("attach a cgroup=system.slice/docker-*.scope")
    assert brought(daemon) == ["system.slice/docker-1.scope"]
    look(daemon, 100)
    daemon.does("start")
    assert in_kernel(daemon) == {"system.slice/docker-1.scope": A}
    make(daemon, "system.slice/docker-2.scope/below")
    look(daemon, 101)
    assert in_kernel(daemon) == {f"system.slice/docker-{i}.scope": A for i in (1, 2)}
    remove(daemon, "system.slice/docker-1.scope")
    look(daemon, 102)
    assert brought(daemon) == ["system.slice/docker-2.scope"]
    assert daemon.calls[-1].startswith("detach 0 cgroup=")
    daemon.does("detach a cgroup=system.slice/docker-*.scope")
    assert in_kernel(daemon) == {}
    assert members(daemon, "a") == []


def test_a_cgroup_that_is_made_anew_is_found_again(daemon: Daemon) -> None:
    make(daemon, "a/one")
    daemon.does("attach a cgroup=a/*", "start")
    remove(daemon, "a/one")
    make(daemon, "other", "a/one")  # the number of the folder that went may be that of `other`
    daemon.does("status")
    make(daemon, "a/two")
    daemon.does("status")
    assert in_kernel(daemon) == {"a/one": A, "a/two": A}


def test_nothing_matches_and_then_all_above_it_comes(daemon: Daemon) -> None:
    """A pattern needs nothing that is there, and waits as long as it takes."""
    daemon.does("attach a cgroup=kubepods.slice/*.slice/cri-*.scope", "start")
    assert brought(daemon) == []
    make(daemon, "kubepods.slice/kubepods-pod1.slice/cri-7.scope")
    assert brought(daemon) == ["kubepods.slice/kubepods-pod1.slice/cri-7.scope"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("m/machine-qemu\\x2d+([0-9])\\x2dweb.scope/vcpu?", ["vcpu0", "vcpu1"]),
        ("m/machine-qemu\\x2d+([0-9])\\x2dweb.scope/!(vcpu*)", ["emulator", "iothread1"]),
        ("m/machine-qemu\\x2d+([0-9])\\x2dweb.scope/!(vcpu*|iothread*)", ["emulator"]),
        ("m/machine-qemu\\x2d+([0-9])\\x2dweb.scope/iothread*", ["iothread1"]),
        ("m/*/[!e]*0", ["vcpu0"]),
        ("*/*/*1", ["iothread1", "vcpu1"]),
        ("m//*/@(vcpu0|emulator)/", ["emulator", "vcpu0"]),
        ("*/vcpu0", []),
        ("m/*[.]scope", ["m"]),
        ("n/[*]", ["*"]),
        ("n/.*", []),
    ],
)
def test_a_pattern_is_a_shells(daemon: Daemon, pattern: str, expected: list[str]) -> None:
    """Each component for itself; a backslash is itself, as systemd writes names."""
    scope = "m/machine-qemu\\x2d12\\x2dweb.scope"
    below = ("vcpu0", "vcpu1", "emulator", "iothread1")
    make(daemon, *(f"{scope}/{each}" for each in below), "n/*", "n/x")
    (daemon.folder / "kernel.cgroups" / scope / "vcpu9").write_text("no folder\n")
    daemon.does(f"attach a cgroup={pattern}")
    names = [Path(path).name for path in brought(daemon)]
    assert sorted(name if "qemu" not in name else "m" for name in names) == expected


@pytest.mark.parametrize("pattern", ["+(a|aa)", "s/*(*)", "+(a)*(b)", "+(+(a))", "x+(@(a))y"])
def test_a_pattern_that_could_take_hours_is_refused(daemon: Daemon, pattern: str) -> None:
    assert "found a pattern that repeats too much" in daemon.refuses(f"attach a cgroup={pattern}")
    daemon.does("attach a cgroup=+(a)/*(b)/@(a|aa)*!(c|(d)/+(e")


def test_a_path_comes_before_a_pattern_whoever_was_first(daemon: Daemon) -> None:
    """And when it is detached the pattern has it."""
    make(daemon, "s/one", "s/two")
    daemon.does("attach b cgroup=s/one", "attach a cgroup=s/*", "attach b cgroup=s/two", "start")
    assert in_kernel(daemon) == {"s/one": B, "s/two": B}
    assert brought(daemon) == []
    daemon.does("detach b cgroup=s/one")
    assert in_kernel(daemon) == {"s/one": A, "s/two": B}
    assert "found one that a pattern brings" in daemon.refuses("detach a cgroup=s/one")


def test_of_two_patterns_the_first_has_what_both_match(daemon: Daemon) -> None:
    """Whichever was renewed last; when it goes, or its server does, the second has it."""
    make(daemon, "s/one")
    daemon.does("attach a cgroup=s/o*", "attach b cgroup=s/*e", "start")
    make(daemon, "s/ore", "s/else", "s/o")
    assert (brought(daemon, "a"), brought(daemon, "b")) == (["s/o", "s/one", "s/ore"], ["s/else"])
    daemon.does("detach a cgroup=s/o*")
    assert in_kernel(daemon) == {"s/one": B, "s/ore": B, "s/else": B}
    daemon.does("attach a cgroup=s/o*")
    assert in_kernel(daemon) == {"s/one": B, "s/ore": B, "s/else": B, "s/o": A}
    daemon.does("remove b")
    assert in_kernel(daemon) == {"s/one": A, "s/ore": A, "s/o": A}


def test_a_pattern_that_is_attached_again_moves_what_it_has(daemon: Daemon) -> None:
    """It stays as old as it was."""
    make(daemon, "s/one")
    daemon.does("attach a cgroup=s/*", "attach a cgroup=s/one*", "start", "attach b cgroup=s/*")
    assert in_kernel(daemon) == {"s/one": B}
    assert brought(daemon, "b") == ["s/one"]
    assert brought(daemon, "a") == []


def test_an_attach_that_cannot_be_done_whole_is_not_done(daemon: Daemon) -> None:
    """The kernel has no room, or the daemon: 1,024 members, of which some go again."""
    make(daemon, *(f"s/{number}" for number in range(1023)), "t/1")
    daemon.does("start")
    refuses = daemon.write("refuse", "kernel: the member cannot be kept (E2BIG)")
    assert daemon.ask("attach a cgroup=s/*") == {"ok": False, "error": refuses.read_text()}
    refuses.unlink()
    assert members(daemon, "a") == []
    daemon.does("attach a cgroup=s/*")
    (pattern,) = members(daemon, "a")
    assert (pattern["matches"], len(pattern["matching"])) == (1023, 32)
    assert "found 1024 already" in daemon.refuses("attach b cgroup=t/*")
    remove(daemon, "s/7")
    before = daemon.does("status")
    assert "found 1024 already" in daemon.ask("attach b cgroup=t/*")["error"]
    assert daemon.does("status") == before
    remove(daemon, "s/8")
    daemon.does("attach b cgroup=t/*")
    assert len(in_kernel(daemon)) == 1022


def test_what_comes_and_has_no_room_is_said_once(daemon: Daemon) -> None:
    """It has it as soon as there is some."""
    make(daemon, "s")
    daemon.does("attach a cgroup=s/*", "start")
    refuses = daemon.write("refuse", "kernel: the member cannot be kept (E2BIG)")
    make(daemon, "s/one", "s/two")
    for _ in range(3):
        (pattern,) = members(daemon, "a")
        assert (pattern["matches"], pattern["left_out"]) == (0, 2)
    (line,) = (line for line in daemon.log if "belong to nobody" in line)
    assert f"{ROOT}/s/*: 2 cgroups that match belong to nobody: {refuses.read_text()}" in line
    refuses.unlink()
    (pattern,) = members(daemon, "a")
    assert pattern["matches"] == 2
    assert "left_out" not in pattern


def test_names_that_no_text_can_have_are_matched_and_shown(daemon: Daemon) -> None:
    make(daemon, 's/a "quoted" \\ one', os.fsdecode(b"s/\xff\x01"))
    daemon.does("attach a cgroup=s/*")
    assert brought(daemon) == ['s/a "quoted" \\ one', "s/\xff\x01"]
