# SPDX-License-Identifier: BSD-2-Clause
"""Channels: which domains need one, how large it is, and how Xen and the guests are told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperperiod.hosts.channels import CHANNEL_LIMIT, channels_of, hop_places
from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.rings import GUEST_RING_OFFSET
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.devicetree import chosen
from hyperperiod.hosts.xen.machine import Guest, XenMachine, domain_nodes, lay_out
from hyperperiod.hosts.xen.plan import guest_memory_bytes, hypervisor_ring_bytes
from hyperperiod.model import InputError, System


def system(flows: list[dict[str, Any]], domains: int = 3) -> System:
    """Domains a, b, c, ... with a hop each, and what flows between them."""
    names = [chr(ord("a") + number) for number in range(domains)]
    hop = {"name": "h", "kind": "event", "period": "5ms", "wcet": "100us"}
    return System.of(
        {
            "name": "s",
            "policy": "crps",
            "domain": [
                {
                    "name": name,
                    "interface": {"period": "5ms", "budget": "100us"},
                    "task": [{"name": "own", "period": "50ms", "wcet": "10us"}, hop],
                }
                for name in names
            ],
            "flow": flows,
        }
    )


def flow(name: str, hops: str, **more: Any) -> dict[str, Any]:
    """A flow through the domains whose letters are given."""
    return {
        "name": name,
        "source": {"period": "10ms"},
        "hops": [f"{hop}.h" for hop in hops],
        "deadline": "10ms",
        **more,
    }


def test_a_wire_connects_what_follows_and_the_end_with_the_source() -> None:
    found = system([flow("there", "abc", queue=3), flow("back", "ba", queue=2), flow("own", "cc")])
    channels = channels_of(found)
    assert [(channel.lower, channel.higher, channel.room) for channel in channels] == [
        (0, 1, 8),  # five items at most
        (1, 2, 4),
        (0, 2, 4),  # what has left at c is told to a
    ]
    assert [channel.port for channel in channels] == [1, 2, 3]
    assert [channel.offset for channel in channels] == [0x10000, 0x11000, 0x12000]
    assert channels[0].other(0) == 1
    assert channels[0].other(1) == 0
    assert channels[0].other(2) is None
    assert hop_places(found)[0] == [(0, 1), (1, 1), (2, 1)]


def test_a_wire_has_room_for_all_that_can_be_on_their_way() -> None:
    large = channels_of(system([flow("f", "ab", queue=9000)]))[0]
    assert large.room == 16384
    assert large.size == 2 * (128 + 16 * 16384) + 4096 - 256


def test_flows_inside_a_domain_need_none() -> None:
    assert channels_of(system([flow("own", "cc")])) == []
    assert channels_of(system([])) == []


def test_guests_are_told_of_their_flows_and_wires() -> None:
    source = {"kind": "sporadic", "period": "4ms", "offset": "1ms", "jitter": "2us", "burst": 2}
    found = system([flow("own", "cc"), flow("there", "ab", queue=3, source=source)])

    def told(number: int) -> list[str]:
        words = guest_words(
            found, number, epoch_ns=0, horizon_ns=10**9, seed=7, memory_bytes=8 << 20
        )
        return words[words.index("rate=1000") + 1 :]

    own = "task=p:50000000:10000:10000:50000000:0:0:1:-"
    hop = "task=h:5000000:100000:100000:5000000:0:0:0:-"
    there = "flow=1:s:4000000:1000000:2000:2:3:0.1,1.1"
    assert told(0) == [own, hop, there, "wire=1:1:65536:4"]
    assert told(1) == [own, hop, there, "wire=0:1:65536:4"]
    assert told(2) == [own, hop, "flow=0:p:10000000:0:0:1:1:2.1,2.1"]


def test_the_device_tree_connects_two_ends(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"x")
    channels = tuple(channels_of(system([flow("there", "ab", queue=300)])))
    machine = XenMachine(image, "", (Guest(image, "", 8 << 20),) * 3, channels=channels)
    layout = lay_out(machine, tmp_path)
    assert layout.channels[0] == layout.places[-1].memory + (8 << 20)
    assert layout.ram_bytes > layout.channels[0] + channels[0].size - 0x4000_0000
    nodes = chosen("", domain_nodes(machine, layout)).split("domU")
    at = f"0x0 {layout.channels[0]:#x} 0x1 0x10000 0x0 {channels[0].size:#x}"
    for node, own, other in ((nodes[1], "a", "b"), (nodes[2], "b", "a")):
        assert f"wire0_{own}: evtchn@1 {{" in node
        assert f"xen,evtchn = <1 &wire0_{other}>;" in node
        assert 'xen,shm-id = "wire0";' in node
        assert f"xen,shared-mem = <{at}>;" in node
        assert 'xen,enhanced = "no-xenstore";' in node
    assert "evtchn" not in nodes[3]
    assert "enhanced" not in nodes[3]


def test_a_guest_s_ring_has_room_for_items() -> None:
    few = system([flow("f", "ab")])
    many = system([flow("f", "ab", source={"period": "10ms", "burst": 100})])
    horizon_ns = 10**10
    items = 1000 * 100
    # Five records of each job, two of each item.
    assert guest_memory_bytes(many, 0, horizon_ns) > guest_memory_bytes(few, 0, horizon_ns)
    assert guest_memory_bytes(many, 0, horizon_ns) - GUEST_RING_OFFSET > 7 * 32 * items
    assert hypervisor_ring_bytes(many, horizon_ns) > 6 * 32 * items


def test_wires_and_arguments_share_a_device_tree() -> None:
    few, many = (
        system([flow(other, f"a{other}a") for other in others], 19)
        for others in ("bc", "bcdefghijklmnopqrs")
    )
    assert command_line.arguments_limit(few, 0) == command_line.arguments_limit(many, 5) == 1000
    assert command_line.arguments_limit(many, 0) == 110
    command_line.refuse(many)


@pytest.mark.parametrize(
    ("flows", "domains", "key", "allowed"),
    [
        ([flow("f", "ab", queue=16385)], 2, "flow f: queue", "16384"),
        (
            [flow("f", "ab", queue=9000), flow("g", "ba", queue=9000)],
            2,
            "domain a: items on their way",
            "16384",
        ),
        ([flow(f"f{n}", "a") for n in range(257)], 1, "flow", "256"),
        ([flow(f"f{n}", "ab" * 60) for n in range(9)], 2, "domain a: hops of its flows", "1024"),
        (
            [flow(f"{a}{b}", a + b) for a in "abcdefghi" for b in "abcdefghi" if a < b],
            9,
            "flow: pairs of domains with items between them",
            str(CHANNEL_LIMIT),
        ),
        (
            [flow(other, f"a{other}a") for other in "bcdefghijklmnopqrst"],
            20,
            "domain a: domains that it exchanges items with",
            "18",
        ),
    ],
)
def test_what_has_no_room_is_refused(
    flows: list[dict[str, Any]], domains: int, key: str, allowed: str
) -> None:
    with pytest.raises(InputError, match=f"at most {allowed} on Xen") as caught:
        command_line.refuse(system(flows, domains))
    assert caught.value.key == key


def test_too_many_vcpus_are_refused_as_what_they_are() -> None:
    found = system([], 1)
    domain = found.domains[0].replace(vcpus=40)
    with pytest.raises(InputError, match="found 40; allowed: at most 16 on Xen") as caught:
        command_line.refuse(found.replace(domains=(domain,)))
    assert caught.value.key == "domain a: vcpus"
