# SPDX-License-Identifier: BSD-2-Clause
"""Machines of a test's own: network namespaces, each with a wire to the first one.

A namespace lives as long as a process that does nothing in it, so that nothing is left behind. For
who is not root the first belongs to a user namespace, where the kernel lets users make one; root
needs none, and may not make one in a folder that is its root. The
first is at FIRST; number k of the others is at 10.77.k.2 and reaches nothing but the first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

FIRST = "10.77.0.1"


@contextmanager
def machines(others: int) -> Iterator[list[list[str]]]:
    """What commands begin with that run on each; skips the test where there can be none."""
    for needed in ("unshare", "nsenter", "ip"):
        if shutil.which(needed) is None:
            pytest.skip(f"needs {needed}: apt-get install util-linux iproute2")
    with ExitStack() as stack:
        own = [] if os.geteuid() == 0 else ["--map-root-user"]
        first = stack.enter_context(_namespace(["unshare", *own, "--net"]))
        inside = _entering(first)
        _ip(inside, "link set lo up")
        _ip(inside, f"address add {FIRST}/32 dev lo")
        homes = [inside]
        for number in range(1, others + 1):
            other = stack.enter_context(_namespace([*inside, "unshare", "--net"]))
            homes.append(_entering(other))
            _wire(inside, homes[-1], other, number)
        yield homes


def unplug(homes: list[list[str]], number: int) -> None:
    """Takes the wire of one of the others away: nobody is told, packets are lost."""
    _ip(homes[0], f"link set wire{number} down")


def _wire(first: list[str], home: list[str], pid: int, number: int) -> None:
    here, there = f"10.77.{number}.1", f"10.77.{number}.2"
    _ip(first, f"link add wire{number} type veth peer name wire netns {pid}")
    _ip(first, f"address add {here} peer {there} dev wire{number}")
    _ip(first, f"link set wire{number} up")
    _ip(home, "link set lo up")
    _ip(home, f"address add {there} peer {here} dev wire")
    _ip(home, "link set wire up")
    _ip(home, f"route add {FIRST} via {here} src {there}")


def _ip(home: list[str], words: str) -> None:
    ran = subprocess.run([*home, "ip", *words.split()], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        pytest.skip(f"no network of its own here: ip {words}: {ran.stderr.strip()}")


def _entering(pid: int) -> list[str]:
    own = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return ["nsenter", "--target", str(pid), "--net", *own]


@contextmanager
def _namespace(made_by: list[str]) -> Iterator[int]:
    """A process in a namespace that is new."""
    holder = subprocess.Popen(
        [*made_by, "sh", "-c", "echo there; read _"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin
    assert holder.stdout
    assert holder.stderr
    try:
        if holder.stdout.readline() != "there\n":
            pytest.skip(f"no network namespaces here: {holder.stderr.read().strip()}")
        yield holder.pid
    finally:
        holder.kill()
        holder.communicate()
