# SPDX-License-Identifier: BSD-2-Clause
"""Runs under schedulers that Xen has itself, without Xen: what they are told of a system, what does
not fit them, what is proved, and who ran when, read of Xen's trace buffers."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.exported import TASK, server
from tests.support.xentraces import record, state_change

from hyperperiod.export.judged import for_stock, stock_page
from hyperperiod.for_host import for_host
from hyperperiod.hosts import STOCK, Stock, machine_of
from hyperperiod.hosts.channels import PAGE_BYTES
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.rings import RingHeader
from hyperperiod.hosts.stock import unserved, with_interfaces
from hyperperiod.hosts.xen import trace_buffers
from hyperperiod.hosts.xen.devicetree import Module, chosen
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.hosts.xen.run import _record
from hyperperiod.hosts.xen.stock import (
    SETTING,
    WHOLE_DOMAIN,
    buffer_bytes,
    not_told,
    refuse,
    settings,
    switches,
    xen_arguments,
)
from hyperperiod.hosts.xen.trace_buffers import LIMIT_PAGES, PLACE, read_buffers
from hyperperiod.model import FailedError, InputError, System
from hyperperiod.observe.xentrace import window
from hyperperiod.runs import simulate
from hyperperiod.trace.format import NONE, STOLEN, Kind

MS = 1_000_000
A = {"name": "a", "interface": server(4, 10)}
REST = {"name": "rest", "best_effort": True, "task": [{"name": "t", "kind": "busy"}]}
TWO: dict[str, Any] = {
    "name": "b", "vcpus": 2, "interface": server(8, 20),
    "task": [TASK | {"vcpu": 0}, TASK | {"name": "u", "vcpu": 1}],
}  # fmt: skip
COSTS: Any = {"overheads": "none", "margin": None, "grid_ns": None}
ON_XEN = [host for host in STOCK if machine_of(host) == "xen"]


def of(*domains: dict[str, Any], **more: Any) -> System:
    """A system of domains, each with a task unless it has its own."""
    listed = [{"task": [TASK]} | one for one in domains]
    return System.of({"name": "s", "policy": "rtds", **more, "domain": listed})


def rows(one: System, scheduler: Stock) -> list[tuple[int, ...]]:
    return list(SETTING.iter_unpack(settings(one, scheduler)))


def test_weights_are_in_proportion_to_budgets() -> None:
    """A vcpu has its domain's weight under credit2, so a domain with two has twice of it."""
    assert rows(of(A, TWO, REST, pcpus=2), Stock.CREDIT2) == [
        (6, 1, 400, 0, 0, WHOLE_DOMAIN),
        (6, 2, 400, 0, 0, WHOLE_DOMAIN),
        (6, 3, 1, 0, 0, WHOLE_DOMAIN),
    ]


def test_vcpus_have_their_servers_under_rtds() -> None:
    """Best effort has a little and extra time; domain 0 gives away what it had, last."""
    extra = A | {"extra": True, "interface": {"period": 10 * MS, "budget": 4 * MS - 1}}
    assert rows(of(extra, TWO, REST, pcpus=2), Stock.RTDS) == [
        (8, 1, 10_000, 4_000, 1, 0),
        (8, 2, 20_000, 8_000, 0, 0),
        (8, 2, 20_000, 8_000, 0, 1),
        (8, 3, 1_000_000, 1_000, 1, 0),
        (8, 0, 1_000_000, 1_000, 0, 0),
    ]


def test_nothing_is_set_where_there_is_nothing_to_schedule() -> None:
    assert settings(of(A), Stock.NULL) == b""
    assert "sched=null tbuf_size=2 " in xen_arguments(Stock.NULL, 8192)


@pytest.mark.parametrize(
    ("scheduler", "domains", "more", "key"),
    [
        ("null", [A, REST], {}, "pcpus"),
        ("rtds", [A | {"pcpu": 1}], {"pcpus": 2, "policy": "crps"}, "pcpus"),
        ("rtds", [A | {"interface": server(0.005, 1)}], {}, "domain[0].interface.budget"),
        ("rtds", [A | {"interface": server(1, 2.0005)}], {}, "domain[0].interface.period"),
        ("rtds", [A | {"interface": server(1, 2**32 / 1000)}], {}, "domain[0].interface.period"),
        ("rtds", [A | {"guest": "linux"}], {}, "domain[0].guest"),
        (
            "rtds",
            [A | {"vcpu": [{}, {"interface": server(0.005, 1)}]}],
            {"pcpus": 2},
            "domain[0].vcpu[1].interface.budget",
        ),
        ("credit2", [A], {"swap": [{"at": MS, "policy": "ertds"}]}, "swap"),
    ],
)
def test_what_does_not_map_is_refused(
    scheduler: str, domains: list[dict[str, Any]], more: dict[str, Any], key: str
) -> None:
    with pytest.raises(InputError) as caught:
        refuse(of(*domains, **more), Stock(scheduler))
    assert (caught.value.file, caught.value.key) == ("", key)
    assert f"on xen-{scheduler}" in caught.value.found


def test_what_is_not_told_is_said() -> None:
    assert not not_told(of(A | {"extra": True}), Stock.RTDS)
    one = of(A | {"extra": True, "pcpu": 1}, pcpus=2, quantum=MS, policy="sedf")
    assert not_told(one, Stock.CREDIT2) == (
        "xen-credit2 is not told periods, which pcpu a vcpu is on, the quantum,"
        " who may use extra time"
    )


def test_what_none_of_them_knows_is_said() -> None:
    """Priorities that a file gives, where they are the order, and what vcpus do not share."""
    high, low = A | {"priority": 1}, A | {"name": "b", "priority": 2}
    stolen = [{"period": 10 * MS, "duration": MS}]
    one = of(high, low, policy="ds", stolen=stolen)
    assert not_told(one, Stock.RTDS) == "xen-rtds is not told stolen time, priorities of servers"
    assert not not_told(of(high, low), Stock.RTDS)
    apart = of({**TWO, "vcpu": [{}, {"interface": server(1, 20)}]}, pcpus=2)
    assert not not_told(apart, Stock.RTDS)
    assert not_told(apart, Stock.CREDIT2).endswith("periods, the budgets of single vcpus")
    assert "single" in not_told(of({**TWO, "vcpu": [{}, {"best_effort": True}]}), Stock.CREDIT2)


def test_xen_has_room_for_so_many_records() -> None:
    """As much again as is thought, up to what Xen has, of which the machine's memory is a part."""
    one, small = of(A), of(A | {"interface": server(0.01, 10)})
    assert buffer_bytes(one, Stock.RTDS, 2 * MS) < 2**20
    assert buffer_bytes(one, Stock.CREDIT2, 1_200_000 * MS) == LIMIT_PAGES * PAGE_BYTES
    with pytest.raises(InputError, match=r"horizon: found 20s on xen-rtds; allowed: up to about 1"):
        buffer_bytes(small, Stock.RTDS, 20_000 * MS)


def test_vcpus_keep_their_interfaces_in_results() -> None:
    """Those that they were to get, though none had a server."""
    one = of({**TWO, "vcpu": [{}, {"interface": server(1, 20)}]}, REST, pcpus=2)
    found = with_interfaces(simulate(unserved(one, Stock.CREDIT2), 10 * MS), one)
    both, rest = found.domains
    budgets = [vcpu.interface.budget_ns for vcpu in both.each_vcpu if vcpu.interface]
    assert budgets == [8 * MS, MS]
    assert (both.interface, rest.interface) == (None, None)


def test_what_is_proved_of_each() -> None:
    """RTDS is judged by its own rules, and a vcpu with a pcpu of its own; of weights no more is."""
    one = of(A | {"interface": server(8, 10)}, REST, pcpus=2)
    found = {host: for_stock(one, host, **COSTS) for host in ON_XEN}
    assert {host: ready.verdict for host, ready in found.items()} == {
        "xen-credit2": "unknown",
        "xen-rtds": "yes",
        "xen-null": "yes",
    }
    for ready in found.values():
        assert ready.system == for_host(one, "xen", **COSTS).system
    judged = found["xen-rtds"].judged.system
    assert str(judged.policy) == "rtds"
    assert [domain.is_served for domain in judged.domains] == [True, True]
    apart = for_stock(of(A, policy="crps"), "xen-rtds", **COSTS).judged.system
    assert str(apart.policy) == "deferrable+edf+extra"
    assert stock_page(found["xen-credit2"], "xen-credit2")[1].schedulable is None


def test_a_vcpu_that_rtds_would_serve_unasked_is_refused() -> None:
    mixed = {"name": "a", "vcpus": 2, "vcpu": [{"interface": server(4, 10)}, {"best_effort": True}],
             "task": TWO["task"]}  # fmt: skip
    with pytest.raises(InputError, match="a server for each vcpu, as xen-rtds has it"):
        for_stock(of(mixed, pcpus=2), "xen-rtds", **COSTS)


def test_domain_0_has_modules_of_its_own() -> None:
    text = chosen("sched=rtds", [], (Module(0x4900_0000, 20), Module(0x4900_1000, 24)))
    kernel, ramdisk = text.split("module@")[1:]
    assert '"multiboot,kernel"' in kernel
    assert "reg = <0x0 0x49000000 0x0 0x14>;" in kernel
    assert '"multiboot,ramdisk"' in ramdisk
    assert "domU" not in text


HZ = 62_500_000
HEADER = RingHeader(64, 1, 0, HZ, 1000, 0, 0, 0)


def test_who_ran_is_read_of_changes_of_state() -> None:
    """What domain 0 had is stolen; what was before the epoch began there."""
    trace = window(0, b"".join([
        state_change(900, (0x7FFF, 0), "running", "runnable"),
        state_change(900, (2, 1), "runnable", "running"),
        state_change(1100, (2, 1), "running", "blocked"),
        state_change(1100, (1, 0), "runnable", "running"),
        state_change(1200, (2, 1), "blocked", "runnable"),
        state_change(1300, (1, 0), "running", "runnable"),
        state_change(1300, (0, 0), "runnable", "running"),
        state_change(1400, (0, 0), "running", "blocked"),
        state_change(1400, (0x7FFF, 0), "runnable", "running"),
    ]))  # fmt: skip
    records = switches(of(A, TWO, pcpus=2), trace, HEADER).records
    names = ("time_ns", "kind", "vcpu", "flags")
    assert list(zip(*(records[name].tolist() for name in names), strict=True)) == [
        (0, Kind.RUN, 2, 0),
        (1600, Kind.RUN, 0, 0),
        (4800, Kind.IDLE, NONE, STOLEN),
        (6400, Kind.IDLE, NONE, 0),
    ]


PAGES = (0x48003, 0x48004, 0x48009)
"""Pages of a buffer, of which the third lies elsewhere."""
VIRTUAL, FIRST_MFN, INFO = 0x8000_0000_0000, 0x40000, 0x4700_0000


def memory(used: int) -> dict[int, bytes]:
    """A machine's memory with one trace buffer of which so many bytes are used, by page."""
    own = struct.pack("<3Q", VIRTUAL + INFO - FIRST_MFN * 4096, VIRTUAL, FIRST_MFN)
    data = struct.pack("<II", 0, used) + bytes(i % 251 for i in range(3 * 4096 - 8))
    info = struct.pack("<HH", 3, 65) + bytes(256) + struct.pack("<3I", *PAGES)
    pages = {mfn: data[i * 4096 : (i + 1) * 4096] for i, mfn in enumerate(PAGES)}
    return pages | {PLACE >> 12: own.ljust(4096), INFO >> 12: info.ljust(4096)}


@pytest.mark.parametrize("used", [0, 20, 2 * 4096, 3 * 4096 - 8 - 64])
def test_a_buffer_is_read_page_by_page(used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"_start": 0, "t_info": 0, "directmap_virt_start": 8, "directmap_mfn_start": 16}
    monkeypatch.setattr(trace_buffers, "_symbols", lambda _: places)
    there = memory(used)

    def read(address: int, size: int) -> bytes:
        first, last = address >> 12, address + size - 1 >> 12
        data = b"".join(there[page] for page in range(first, last + 1))
        return data[address & 0xFFF :][:size]

    assert read_buffers(read, Path("xen"), 1) == window(0, bytes(i % 251 for i in range(used)))
    there |= memory(used + 3 * 4096)
    with pytest.raises(FailedError, match="full"):
        read_buffers(read, Path("xen"), 1)


def test_what_is_lost_is_told_with_the_records() -> None:
    lost = record(0x1F001, (5, 0, 0, 0), 1250)
    trace = window(0, state_change(1200, (1, 0), "runnable", "running") + lost)
    with pytest.raises(FailedError, match="lost"):
        switches(of(A), trace, HEADER)


class _Booting:
    """A machine that is interrupted before a guest has begun."""

    places = (SimpleNamespace(ring=0),)

    def wait_for(self, *_words: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    wait_until = wait_for

    def stop(self) -> None:
        """There is nothing to be stopped."""

    def console(self) -> str:
        return ""

    def read(self, _address: int, size: int) -> bytes:
        return bytes(size)


@pytest.mark.parametrize("host", ["xen", *ON_XEN])
def test_ctrl_c_before_guests_begin_is_an_interrupted_run(host: str) -> None:
    booting: Any = _Booting()
    machine: Any = SimpleNamespace(guests=())
    with pytest.raises(KeyboardInterrupt):
        _record(booting, machine, RunRequest(of(A), 10 * MS), None, XenOptions().under(host))
