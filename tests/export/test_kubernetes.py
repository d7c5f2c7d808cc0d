# SPDX-License-Identifier: BSD-2-Clause
"""`export --to kubernetes` and `kubevirt`: manifests, what is judged, refusals.

FIELDS are the fields of Pod (v1) and VirtualMachine (kubevirt.io/v1) that a manifest of ours has,
with the type of each. No API is asked.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.support.exported import server, system

from hyperperiod.export import HOSTS
from hyperperiod.model import InputError, System

A = {"name": "a", "interface": server(4, 10)}
TWO = {"name": "b-2", "interface": server(7.5, 20), "vcpus": 2}
REST = {"name": "rest", "best_effort": True}
QUANTITY = re.compile(r"[1-9][0-9]*(Mi|Gi)?")
RESOURCES = {"cpu": QUANTITY, "memory": QUANTITY}
FIELDS: dict[str, dict[str, Any]] = {
    "kubernetes": {
        "apiVersion": re.compile("v1"),
        "kind": re.compile("Pod"),
        "metadata": {"name": str},
        "spec": {
            "containers": [
                {
                    "name": str,
                    "image": str,
                    "resources": {"requests": RESOURCES, "limits": RESOURCES},
                }
            ]
        },
    },
    "kubevirt": {
        "apiVersion": re.compile("kubevirt.io/v1"),
        "kind": re.compile("VirtualMachine"),
        "metadata": {"name": str},
        "spec": {
            "runStrategy": re.compile("Always|Manual|Halted|RerunOnFailure|Once"),
            "template": {
                "spec": {
                    "domain": {
                        "cpu": {
                            "sockets": int,
                            "cores": int,
                            "threads": int,
                            "dedicatedCpuPlacement": bool,
                            "isolateEmulatorThread": bool,
                            "realtime": {},
                            "numa": {"guestMappingPassthrough": {}},
                        },
                        "memory": {"guest": QUANTITY, "hugepages": {"pageSize": QUANTITY}},
                        "devices": {},
                    }
                }
            },
        },
    },
}


def manifests(target: str, one: System) -> dict[str, Any]:
    host = HOSTS[target]
    files = host.files(host.judged(one), None)
    return {
        name: json.loads(text)
        for name, text in files.items()
        if name.endswith(".json") and isinstance(text, str)
    }


def require_form(found: Any, form: Any) -> None:
    """Every field is known and of its type, and none is missing."""
    if isinstance(form, dict):
        assert found.keys() == form.keys()
        for name, inside in form.items():
            require_form(found[name], inside)
    elif isinstance(form, list):
        for one in found:
            require_form(one, form[0])
    elif isinstance(form, type):
        assert type(found) is form
    else:
        assert form.fullmatch(found)


@pytest.mark.parametrize("target", FIELDS)
def test_each_domain_with_a_server_has_a_manifest(target: str) -> None:
    found = manifests(target, system(A, TWO, REST))
    assert list(found) == ["a.json", "b-2.json"]
    for one in found.values():
        require_form(one, FIELDS[target])


def test_a_pod_has_a_whole_cpu_for_each_vcpu() -> None:
    """Requests that are limits, in whole cpus: what the static CPU manager asks for."""
    pod = manifests("kubernetes", system(A, TWO))["b-2.json"]
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"]
    assert resources["limits"]["cpu"] == "2"


def test_a_virtual_machine_has_dedicated_cpus() -> None:
    machine = manifests("kubevirt", system(A, TWO))["b-2.json"]
    cpu = machine["spec"]["template"]["spec"]["domain"]["cpu"]
    assert cpu["sockets"] * cpu["cores"] * cpu["threads"] == 2
    assert cpu["dedicatedCpuPlacement"] is True
    assert cpu["isolateEmulatorThread"] is True


@pytest.mark.parametrize("target", FIELDS)
def test_what_is_judged_is_nearly_all_of_a_cpu_for_each_vcpu(target: str) -> None:
    judged = HOSTS[target].judged(system(A, TWO))
    assert [one.pcpus for one in judged.domains] == [(0,), (1, 2)]
    interface = judged.domains[1].each_vcpu[1].interface
    assert interface is not None
    assert (interface.budget_ns, interface.period_ns) == (9_500_000, 10_000_000)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a.b", "a" * 64, "export"])
def test_names_are_labels_of_dns(name: str) -> None:
    one = system({**A, "name": name})
    with pytest.raises(InputError, match="a label of DNS"):
        manifests("kubernetes", one)


def test_a_machine_of_an_even_number_of_vcpus_needs_a_cpu_more() -> None:
    hosts = {target: HOSTS[target] for target in FIELDS}
    readmes = {
        target: str(host.files(host.judged(system(TWO)), None)["README.md"])
        for target, host in hosts.items()
    }
    said = {target for target, text in readmes.items() if "EmulatorThreadCompleteToEven" in text}
    assert said == {"kubevirt"}


def test_cpus_are_the_kubelets_to_choose() -> None:
    host = HOSTS["kubernetes"]
    with pytest.raises(InputError, match="--cpus"):
        host.files(host.judged(system(A)), [2])
