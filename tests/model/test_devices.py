# SPDX-License-Identifier: BSD-2-Clause
"""Devices: the tasks and hops that are made of them, files with them, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.drawn_devices import with_devices
from tests.support.small_flows import GLOBAL, PARTITIONED, draw_system

from hyperperiod.model import InputError, System, load_system, to_toml

TEXT = """\
name = "s"
policy = "ds"
[[domain]]
name = "io"
scheduler = "fifo"
interface = { period = "1ms", budget = "300us" }
[[domain]]
name = "control"
[[domain.task]]
name = "law"
kind = "event"
period = "8ms"
wcet = "700us"
[[device]]
name = "eth0"
driver = "io"
receive = "60us"
send = "80us"
queue = 8
[[flow]]
name = "loop"
via = "eth0"
out = "eth0"
source = { period = "8ms" }
hops = ["control.law"]
deadline = "12ms"
[[flow]]
name = "log"
via = "eth0"
source = { period = "24ms", burst = 2 }
hops = ["control.law"]
deadline = "50ms"
queue = 1
"""


def loaded(folder: Path, text: str) -> System:
    file = folder / "s.toml"
    file.write_text(text)
    return load_system(file)


def test_packets_pass_tasks_of_the_driver(tmp_path: Path) -> None:
    """5 packets in 24 ms are received, one in 8 is sent; due when the first of their flows is."""
    one = loaded(tmp_path, TEXT)
    io, control = one.domains
    ms = 1_000_000
    assert [(t.name, t.wcet_ns, t.period_ns, t.deadline_ns) for t in io.tasks] == [
        ("eth0 in", 60_000, 24 * ms // 5, 12 * ms),
        ("eth0 out", 80_000, 8 * ms, 12 * ms),
    ]
    assert [t.name for t in control.tasks] == ["law"]
    assert [(flow.hops, flow.queue) for flow in one.flows] == [
        (("io.eth0 in", "control.law", "io.eth0 out"), 8),
        (("io.eth0 in", "control.law"), 1),
    ]
    assert [one.ring_of(flow) for flow in one.flows] == [8, 8]


def test_a_driver_without_a_server_is_not_endlessly_busy(tmp_path: Path) -> None:
    text = TEXT.replace('interface = { period = "1ms", budget = "300us" }', "best_effort = true")
    one = loaded(tmp_path, text)
    assert [task.name for task in one.domains[0].tasks] == ["eth0 in", "eth0 out"]
    assert loaded(tmp_path, to_toml(one)) == one
    hog = '[[domain.task]]\nname = "hog"\nkind = "busy"\nvcpu = 0\n[[domain]]\nname = "control"'
    one = loaded(tmp_path, text.replace('[[domain]]\nname = "control"', hog))
    assert [task.name for task in one.domains[0].tasks] == ["hog", "eth0 in", "eth0 out"]


def test_what_was_made_goes_with_the_devices(tmp_path: Path) -> None:
    one = loaded(
        tmp_path,
        TEXT.replace('name = "io"', 'name = "io"\nbest_effort = true', 1).replace(
            'interface = { period = "1ms", budget = "300us" }\n', ""
        ),
    )
    flows = tuple(flow.replace(via=None, out=None) for flow in one.flows)
    plain = System.of({**vars(one), "devices": (), "flows": flows})
    assert "eth0" not in to_toml(plain)
    assert [flow.hops for flow in plain.flows] == [("control.law",)] * 2


@pytest.mark.parametrize("policy", PARTITIONED[:2] + GLOBAL[:1])
def test_files_say_the_device_again(policy: str, tmp_path: Path) -> None:
    """What is made of devices is in no file, and made again of what is read."""
    rng = random.Random(policy)
    for _ in range(20):
        one = with_devices(rng, draw_system(rng, policy))
        text = to_toml(one)
        assert "eth0 in" not in text
        assert loaded(tmp_path, text) == one == System.of(vars(one))


FLOW = '[[flow]]\nname = "loop"'
SECOND = '[[device]]\nname = "eth0"\ndriver = "control"\nreceive = "1us"\nsend = "1us"\nqueue = 1\n'
CLOSED = '{ kind = "closed", clients = 1, think = "1ms" }'
REFUSED = [
    ('driver = "io"', 'driver = "ioo"', "16: device[0].driver: found 'ioo'", "io, control; did"),
    ('via = "eth0"', 'via = "eth1"', "22: flow[0].via: found 'eth1'", "a device: eth0; did you"),
    ('driver = "io"', 'driver = "control"', "25: flow[0].hops[0]: found 'control.law'", "other"),
    ("control.law", "io.eth0 in", "25: flow[0].hops[0]: found 'io.eth0 in'", "via or out"),
    (FLOW, SECOND + FLOW, "21: device[1].name: found 'eth0' a second time", "each name once"),
    ('"fifo"', '"fp"', "14: device[0].priority: found nothing", "a whole number from 0"),
    (
        "queue = 8",
        "queue = 8\npriority = 1",
        "20: device[0].priority: found 1",
        "only with scheduler",
    ),
    ('"fifo"', '"fifo"\nvcpus = 2', "17: device[0].driver: found 'io' with 2 vcpus", "one vcpu"),
    ('{ period = "8ms" }', CLOSED, '24: flow[0].source.kind: found "closed"', '"periodic" or'),
    ("eth0", "e" * 61, "15: device[0].name: found 61 characters", "at most 60: the names of its"),
    ('kind = "event"', 'kind = "event"\n"" = 1', "12: domain[1].task[0].: found the", "name, kind"),
    ("[[device]]", '[[domain]]\nname = "no"\n[[device]]', "14: domain[2].task", "at least one"),
]
"""A replacement in the file, and what a message says then."""


@pytest.mark.parametrize(("old", "new", "found", "allowed"), REFUSED)
def test_refused(old: str, new: str, found: str, allowed: str, tmp_path: Path) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, TEXT.replace(old, new, 1))
    assert found in str(caught.value)
    assert allowed in str(caught.value).partition("; allowed: ")[2]


def test_a_domain_is_its_whole_name(tmp_path: Path) -> None:
    """Neither is `io.control` a part of the driver `io`, nor `control` all of `control.2`."""
    one = loaded(tmp_path, TEXT.replace("control", "io.control"))
    assert one.flows[1].hops == ("io.eth0 in", "io.control.law")
    with pytest.raises(InputError, match=r"hops\[0\]: found 'control.2.law', in the domain that"):
        loaded(tmp_path, TEXT.replace("control", "control.2").replace('"io"', '"control.2"', 2))


def test_a_finding_is_told_once(tmp_path: Path) -> None:
    text = TEXT.replace('"control.law"', '"io.eth0 in"', 1).replace('{ period = "8ms" }', CLOSED)
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert [one.key for one in caught.value.problems] == ["flow[0].source.kind", "flow[0].hops[0]"]


def test_a_name_that_is_the_device_s(tmp_path: Path) -> None:
    own = '[[domain.task]]\nname = "eth0 out"\nperiod = "9ms"\nwcet = "1ms"\n[[domain]]\nname = "c'
    with pytest.raises(InputError, match=r"8: .*'eth0 out'.*another name: .* device eth0"):
        loaded(tmp_path, TEXT.replace('[[domain]]\nname = "c', own))
