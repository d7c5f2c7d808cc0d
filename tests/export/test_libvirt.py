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
from hyperperiod.model import InputError, Interface, System, load_system

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
    """Returns tag, attributes and text of each setting of cpus in the XML of a domain, in order."""
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
    """One domain is there, though it does not run, the other is off."""
    exported(tmp_path, "libvirt-quota", system(A, TWO))
    answers = 'domstate) if [ "$2" = a ]; then echo paused; else echo shut off; fi ;;\n'
    assert called(tmp_path, "apply.sh", answers) == [
        "virsh vcpupin a 0 1 --config --live",
        "virsh emulatorpin a 0 --config --live",
        "virsh schedinfo a --config --live --set vcpu_period=10000 vcpu_quota=9000 global_quota=-1",
        "virsh vcpupin b 0 2 --config",
        "virsh vcpupin b 1 3 --config",
        "virsh emulatorpin b 0 --config",
        "virsh schedinfo b --config --set vcpu_period=20000 vcpu_quota=12500 global_quota=-1",
    ]


def test_a_whole_cpu_has_no_quota_left(tmp_path: Path) -> None:
    exported(tmp_path, "libvirt", system(A))
    last = called(tmp_path, "apply.sh", "domstate) echo shut off ;;\n")[-1]
    assert last == "virsh schedinfo a --config --set vcpu_quota=-1 global_quota=-1"


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


def test_it_is_read_again(tmp_path: Path) -> None:
    """One file after the other, as virsh prints its domains: with the servers, and nearly all."""
    for target, found in (("libvirt-quota", server(7.5, 20)), ("libvirt", server(9.5, 10))):
        out = exported(tmp_path, target, system(A, TWO))
        (tmp_path / "both").write_text((out / "a.xml").read_text() + (out / "b.xml").read_text())
        again = load_system(tmp_path / "both")
        assert [(one.name, one.pcpus) for one in again.domains] == [("a", (0,)), ("b", (1, 2))]
        assert again.domains[1].interface == Interface(**found)


@pytest.mark.parametrize("target", TARGETS)
def test_libvirt_takes_it(tmp_path: Path, target: str) -> None:
    """In a whole domain, as a user puts it there: by its schema and, as it is meant, by itself."""
    if not SCHEMA.exists() or shutil.which("xmllint") is None or shutil.which("virsh") is None:
        pytest.skip("libvirt's schema, xmllint or virsh is not installed")
    out, whole = exported(tmp_path, target, system(A, TWO)), tmp_path / "whole.xml"
    root = ET.parse(out / "b.xml").getroot()
    root.set("type", "test")
    ET.SubElement(root, "memory").text = "1048576"
    ET.SubElement(ET.SubElement(root, "os"), "type").text = "hvm"
    whole.write_bytes(ET.tostring(root))
    by_schema = ["xmllint", "--noout", "--relaxng", str(SCHEMA), str(whole)]
    subprocess.run(by_schema, check=True, capture_output=True)
    command = ["virsh", "-q", "-c", "test:///default", f"define {whole}; dumpxml b"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (tmp_path / "printed").write_text(printed[printed.index("<domain") :])
    again, meant = (sorted(tuned(path), key=str) for path in (tmp_path / "printed", out / "b.xml"))
    assert again == meant
    root.append(ET.Element("cputuned"))
    whole.write_bytes(ET.tostring(root))
    assert subprocess.run(by_schema, check=False, capture_output=True).returncode != 0
