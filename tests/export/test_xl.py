# SPDX-License-Identifier: BSD-2-Clause
"""`export --to xen-xl`: the commands, in order, as a dom0 would see them; and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.control_machines import Machine
from tests.support.exported import called, server, system

from hyperperiod.analysis import analyze
from hyperperiod.export import export_xl, write_folder
from hyperperiod.model import InputError, System, load_system

TOP = Path(__file__).parents[2]
MS = 1_000_000


def exported(folder: Path, one: System, cpus: list[int] | None = None) -> Path:
    write_folder(folder / "out", export_xl(one, cpus), {})
    return folder


def conf(folder: Path) -> str:
    """The file that `hyperperiod-xen apply` gets, without its comment."""
    return (folder / "out" / "hyperperiod-xen.conf").read_text().split("\n", 1)[1]


def test_weights_are_set(tmp_path: Path) -> None:
    one = system({"name": "rest", "best_effort": True, "weight": 300}, policy="sedf")
    assert "vcpu 0 = best effort, weight 300\n" in conf(exported(tmp_path, one))


def test_one_pcpu_is_one_pool(tmp_path: Path) -> None:
    one = system(
        {"name": "control", "interface": server(2, 10)},
        {"name": "video", "interface": server(7.5, 20), "vcpus": 2, "extra": True},
        {"name": "rest", "best_effort": True},
    )
    folder = exported(tmp_path, one)
    assert called(folder, "start.sh") == [
        "xl create -p control.cfg",
        "xl create -p video.cfg",
        "xl create -p rest.cfg",
        "hyperperiod-xen apply hyperperiod-xen.conf",
        "xl unpause control",
        "xl unpause video",
        "xl unpause rest",
    ]
    assert (
        conf(folder)
        == """\
version = 1

[pool s]
policy = crps
scope = partitioned
cpus = 1

[domain control]
pool = s
vcpu 0 = 2ms in 10ms, priority 0

[domain video]
pool = s
vcpu 0 = 7500us in 20ms, priority 1, extra time
vcpu 1 = 7500us in 20ms, priority 1, extra time

[domain rest]
pool = s
vcpu 0 = best effort
"""
    )
    assert called(folder, "stop.sh") == [
        "xl destroy control", "xl destroy video", "xl destroy rest",
        "hyperperiod-xen pool-destroy s",
    ]  # fmt: skip
    settings: dict[str, Any] = {}
    exec((folder / "out" / "video.cfg").read_text(), settings)
    assert (settings["name"], settings["vcpus"]) == ("video", 2)


def test_a_partitioned_policy_on_several_pcpus_is_a_pool_for_each(tmp_path: Path) -> None:
    one = system(
        {"name": "a", "interface": server(2, 10), "pcpu": 0},
        {"name": "b", "interface": server(2, 10), "pcpu": 1},
        {"name": "c", "interface": server(4, 20), "pcpu": 1},
        pcpus=2,
    )
    lines = conf(exported(tmp_path, one, [3, 5])).splitlines()
    assert [line for line in lines if line.startswith(("[", "cpus", "pool"))] == [
        "[pool s-0]", "cpus = 3", "[pool s-1]", "cpus = 5",
        "[domain a]", "pool = s-0", "[domain b]", "pool = s-1", "[domain c]", "pool = s-1",
    ]  # fmt: skip


def test_a_global_policy_is_one_pool_with_its_spare(tmp_path: Path) -> None:
    one = system({"name": "a", "interface": server(2, 10)}, policy="ertds", pcpus=2)
    assert conf(exported(tmp_path, one)).startswith(
        "version = 1\n\n[pool s]\npolicy = ertds\nscope = global\ncpus = 1,2\n"
        "spare = 10ms in 10ms\n"
    )


def test_rules_without_a_name_are_spelled_out(tmp_path: Path) -> None:
    one = system({"name": "a", "interface": server(2, 10)}, policy="periodic+edf+reclaim")
    assert "policy = periodic+edf+reclaim\nscope = partitioned\n" in conf(exported(tmp_path, one))


def test_the_unit_is_beside_the_file(tmp_path: Path) -> None:
    """The service that the README speaks of applies the file that the README copies."""
    folder = exported(tmp_path, system({"name": "a", "interface": server(2, 10)}))
    unit = (folder / "out" / "hyperperiod-xen.service").read_text()
    assert "apply --watch /etc/hyperperiod-xen.conf\n" in unit
    readme = (folder / "out" / "README.md").read_text()
    assert "cp hyperperiod-xen.conf /etc/\n" in readme
    assert "cp hyperperiod-xen.service /etc/systemd/system/ " in readme


@pytest.mark.parametrize(
    "name", ["flight-control", "packet-path", "ertds-experiment-c", "stability-control"]
)
def test_the_tool_takes_the_file(tmp_path: Path, name: str) -> None:
    """What is exported is what hyperperiod-xen reads: the same pools, servers and spare."""
    path = TOP / "systems" / f"{name}.toml"
    one = load_system(path)
    folder = exported(tmp_path, one)
    machine = Machine(tmp_path, pcpus=one.pcpus + 1)
    for number, domain in enumerate(one.domains):
        machine.guest(number + 1, domain.name, domain.vcpus)
    file = folder / "out" / "hyperperiod-xen.conf"
    machine.does("apply", file)
    assert machine.does("apply", file) == "nothing to change\n"
    for domain in load_system(folder / "out" / "system.toml").domains:
        got = json.loads(machine.does("get", domain.name, "--json"))["vcpus"]
        assert len(got) == domain.vcpus
        for vcpu in got:
            assert vcpu["best_effort"] is (domain.interface is None)
            if domain.interface is not None:
                found = (vcpu["budget_ns"], vcpu["period_ns"])
                assert found == (domain.interface.budget_ns, domain.interface.period_ns)


def test_computed_budgets_are_rounded_up_to_microseconds(tmp_path: Path) -> None:
    tasks = [{"name": "t", "period": 20 * MS, "wcet": 3_333_333}]
    one = system({"name": "a", "interface_period": 7 * MS, "task": tasks})
    folder = exported(tmp_path, one)
    again = load_system(folder / "out" / "system.toml")
    interface = again.domains[0].interface
    assert interface is not None
    assert interface.budget_ns % 1000 == 0
    assert f"vcpu 0 = {interface.budget_ns // 1000}us in 7ms" in conf(folder)
    assert analyze(again).schedulable is True


CHANGE = {"at": 5 * MS, "domain": "a", "interface": server(1, 10)}


@pytest.mark.parametrize(
    ("one", "cpus", "key"),
    [
        (system({"name": "a", "interface": server(2, 10)}, quantum=MS), None, "quantum"),
        (
            system({"name": "a", "interface": server(2, 10)}, swap=[{"at": MS, "policy": "ptps"}]),
            None,
            "swap",
        ),
        (system({"name": "a", "interface": server(2, 10)}, change=[CHANGE]), None, "change"),
        (system({"name": "a b", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "7", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "Domain-0", "interface": server(2, 10)}), None, "domain[0].name"),
        (
            system({"name": "a", "interface": {"period": 10 * MS, "budget": 2_000_001}}),
            None,
            "domain[0].interface.budget",
        ),
        (system({"name": "a", "interface": server(2, 10)}), [1, 2], "--cpus"),
        (
            system({"name": "a", "interface": server(2, 10)}, policy="rtds", pcpus=2),
            [1, 1],
            "--cpus",
        ),
    ],
)
def test_what_the_tools_cannot_say_is_refused(
    one: System, cpus: list[int] | None, key: str
) -> None:
    with pytest.raises(InputError) as caught:
        export_xl(one, cpus)
    assert caught.value.key == key


def test_the_table_names_the_pcpus_that_the_files_bind_to(tmp_path: Path) -> None:
    one = load_system(TOP / "systems" / "linux-four-vcpus.toml")
    folder = exported(tmp_path, one) / "out"
    readme = (folder / "README.md").read_text()
    rows = re.findall(r"^\| `(\S+)` \|.*\| ([\d, ]+) \|$", readme, re.MULTILINE)
    assert len(rows) == len(one.domains)
    for name, cpus in rows:
        listed = ", ".join(f'"{cpu}"' for cpu in cpus.split(", "))
        assert f"cpus = [{listed}]\n" in (folder / f"{name}.cfg").read_text()


def test_flows_are_left_to_the_guests(tmp_path: Path) -> None:
    plain = load_system(TOP / "systems" / "flight-control.toml")
    packets = load_system(TOP / "systems" / "packet-path.toml")
    names = ", ".join(f"`{flow.name}`" for flow in packets.flows)
    for one, said in ((plain, False), (packets, True)):
        text = (exported(tmp_path / one.name, one) / "out" / "README.md").read_text()
        assert ("is up to your guests" in text) is said
        assert (f"items of {names} get" in text) is said
