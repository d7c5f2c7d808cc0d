# SPDX-License-Identifier: BSD-2-Clause
"""`export --to libvirt` and `libvirt-quota`: the XML, by libvirt's own schema where that is
installed, the commands as virsh would see them, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support.exported import called, server, system

from hyperperiod.analysis import analyze
from hyperperiod.export import HOSTS, write_folder
from hyperperiod.model import InputError, System

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
A = {"name": "a", "interface": server(4, 10)}
TWO = {"name": "b", "interface": server(7.5, 20), "vcpus": 2}
REST = {"name": "rest", "best_effort": True}
TARGETS = ("libvirt", "libvirt-quota")


def exported(folder: Path, target: str, one: System, cpus: list[int] | None = None) -> Path:
    host = HOSTS[target]
    write_folder(folder / "out", host.files(host.judged(one), cpus), {})
    return folder / "out"


def tuned(path: Path) -> list[tuple[str, dict[str, str], str | None]]:
    """What a file says of the cpus of its domain."""
    found = ET.parse(path).getroot().find("cputune")
    assert found is not None
    return [(one.tag, one.attrib, one.text) for one in found]


def test_each_vcpu_has_all_of_a_cpu(tmp_path: Path) -> None:
    out = exported(tmp_path, "libvirt", system(A, TWO, REST), [0, 2, 3])
    fifo = {"scheduler": "fifo", "priority": "1"}
    assert tuned(out / "b.xml") == [
        ("vcpupin", {"vcpu": "0", "cpuset": "2"}, None),
        ("vcpupin", {"vcpu": "1", "cpuset": "3"}, None),
        ("emulatorpin", {"cpuset": "1"}, None),
        ("vcpusched", {"vcpus": "0", **fifo}, None),
        ("vcpusched", {"vcpus": "1", **fifo}, None),
    ]
    assert not (out / "rest.xml").exists()


def test_a_quota_is_in_force_for_each_vcpu(tmp_path: Path) -> None:
    out = exported(tmp_path, "libvirt-quota", system(A, TWO))
    assert tuned(out / "b.xml")[-2:] == [("period", {}, "20000"), ("quota", {}, "12500")]
    assert "libvirt-quota" in (out / "README.md").read_text()


def test_the_commands_say_the_same(tmp_path: Path) -> None:
    """One domain runs, the other is off."""
    exported(tmp_path, "libvirt-quota", system(A, TWO))
    answers = 'domstate) if [ "$2" = a ]; then echo running; else echo shut off; fi ;;\n'
    assert called(tmp_path, "apply.sh", answers) == [
        "virsh vcpupin a 0 1 --config --live",
        "virsh emulatorpin a 0 --config --live",
        "virsh schedinfo a --config --live --set vcpu_period=10000 vcpu_quota=9000",
        "virsh vcpupin b 0 2 --config",
        "virsh vcpupin b 1 3 --config",
        "virsh emulatorpin b 0 --config",
        "virsh schedinfo b --config --set vcpu_period=20000 vcpu_quota=12500",
    ]


def test_what_is_judged_is_a_cpu_for_each() -> None:
    """Three quarters of a cpu are there if all of it is, and not if the quota is for less."""
    task = {"name": "t", "period": 20_000_000, "wcet": 15_000_000}
    one = system({**A, "task": [task]}, {**A, "name": "b"})
    verdicts = [analyze(HOSTS[target].judged(one)).schedulable for target in TARGETS]
    assert verdicts == [True, False]


@pytest.mark.parametrize(
    ("target", "one", "key"),
    [
        ("libvirt", system({**A, "name": "a b"}), "domain[0].name"),
        ("libvirt", system(REST), "domain"),
        ("libvirt-quota", system({**A, "interface": server(0.4, 0.5)}), "domain a: interface.peri"),
        (
            "libvirt-quota",
            system({"name": "a", "vcpu": [{"interface": server(n, 10)} for n in (2, 3)]}),
            "domain a: vcpu interfaces",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(target: str, one: System, key: str) -> None:
    with pytest.raises(InputError) as caught:
        HOSTS[target].files(HOSTS[target].judged(one), None)
    assert caught.value.key is not None
    assert caught.value.key.startswith(key)


@pytest.mark.parametrize("target", TARGETS)
def test_libvirts_schema_takes_it(tmp_path: Path, target: str) -> None:
    """In the place of a whole domain's, as a user puts it there."""
    if not SCHEMA.exists() or shutil.which("xmllint") is None:
        pytest.skip("libvirt's schema or xmllint is not installed")
    out = exported(tmp_path, target, system(A, TWO))
    root = ET.parse(out / "b.xml").getroot()
    root.set("type", "kvm")
    for name, text in (("name", "b"), ("memory", "1048576")):
        ET.SubElement(root, name).text = text
    ET.SubElement(ET.SubElement(root, "os"), "type").text = "hvm"
    (tmp_path / "whole.xml").write_bytes(ET.tostring(root))
    command = ["xmllint", "--noout", "--relaxng", str(SCHEMA), str(tmp_path / "whole.xml")]
    subprocess.run(command, check=True, capture_output=True)
    root.append(ET.Element("cputuned"))
    (tmp_path / "whole.xml").write_bytes(ET.tostring(root))
    assert subprocess.run(command, check=False, capture_output=True).returncode != 0
