# SPDX-License-Identifier: BSD-2-Clause
"""The toolstack on arm64: Xen with its assertions on, a dom0 of Debian, stock xl, a guest."""

import json
from pathlib import Path

import pytest
from tests.stack.sessions import CALAMITIES, SCENARIOS, need_tools
from tests.support.xen_images import dom0, guest, image, tools

from hyperperiod.hosts.xen.build.dom0 import ARM64
from hyperperiod.hosts.xen.dom0_machine import ARM_SYSTEM, DOM0, ArmMachine

LIMIT_S = 300
SHARE = 0.4
SLACK_NS = 20_000_000
"""A budget more than periods have ended, and what dom0's clock does not show.

The machine is as busy as its host: what a late pick gave too much is taken back only later."""
SEND = b"#!/bin/sh\necho results begin; base64; echo results end\n"
"""Takes the place of the program that knows a port of a PC."""


@pytest.mark.slow
def test_dom0_on_arm64_sets_a_server(tmp_path: Path) -> None:
    """A guest that stock xl made has its 40 % in a pool of ours, and no more."""
    need_tools({ARM_SYSTEM: "qemu-system-arm", "readelf": "binutils"})
    session = {name: (SCENARIOS / name).read_bytes() for name in ("run", "lib.sh", "arm64.sh")}
    for program in (guest(), tools("tools-arm64")):
        session[program.name] = program.read_bytes()
    session |= {"names": b"arm64\n", "rounds": b"1\n", "send": SEND}
    machine = ArmMachine(
        image("arm64-debug"), dom0(ARM64), pcpus=2, boot_line=f"{DOM0} timer_slop=0"
    )
    ran = machine.run(tmp_path, session, LIMIT_S)
    output = ran.results.get("arm64.out", b"").decode(errors="replace")
    assert ran.results.get("arm64.status") == b"0\n", f"{output[-3000:]}\n{ran.log[-3000:]}"
    assert ran.ended, ran.log[-3000:]
    assert not CALAMITIES.search(ran.log.partition("reboot: Power down")[0])
    (row,) = json.loads(ran.results["stats.json"])["vcpus"]
    span_ns = (float(ran.results["end"]) - float(ran.results["begin"])) * 1e9
    most_ns = SHARE * span_ns + SLACK_NS + row["overrun_ns_max"]
    assert SHARE / 2 * span_ns < row["used_ns"] < most_ns
