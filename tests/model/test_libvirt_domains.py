# SPDX-License-Identifier: BSD-2-Clause
"""Domains as `virsh dumpxml` prints them, read as a system, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, Interface, System, load_system

PRINTED = """\
<domain type='kvm' id='3'>
  <name>video</name>
  <memory unit='KiB'>1048576</memory>
  <vcpu placement='static' current='2'>4</vcpu>
  <cputune>
    <period>20000</period>
    <quota>12500</quota>
    <vcpupin vcpu='0' cpuset='5'/>
    <vcpupin vcpu='1' cpuset='7'/>
    <emulatorpin cpuset='0-3'/>
  </cputune>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
  </os>
</domain>
"""
WHOLE = """\
<domain type='kvm'>
  <name>control</name>
  <vcpu cpuset='2'>1</vcpu>
</domain>
"""


def load(folder: Path, text: str, name: str = "machine") -> System:
    path = folder / name
    path.write_text(text)
    return load_system(path)


def test_each_vcpu_has_a_pcpu_and_what_its_quota_promises(tmp_path: Path) -> None:
    system = load(tmp_path, PRINTED + WHOLE)
    assert (str(system.policy), system.pcpus) == ("ds", 3)
    video, control = system.domains
    assert (video.pcpus, control.pcpus) == ((0, 1), (2,))
    assert video.interface == Interface(period="20ms", budget="7.5ms")
    assert control.interface == Interface(period="10ms", budget="9.5ms")


@pytest.mark.parametrize(
    "before", ["", "<?xml version='1.0'?>\n", "<!--\nWARNING: <system>\n-->\n"]
)
def test_a_file_is_known_by_its_first_element(tmp_path: Path, before: str) -> None:
    assert load(tmp_path, before + PRINTED, "video.xml").name == "video"


def test_no_limit_is_nearly_all_of_a_cpu(tmp_path: Path) -> None:
    (video,) = load(tmp_path, PRINTED.replace(">12500<", ">-1<")).domains
    assert video.interface == Interface(period="10ms", budget="9.5ms")
    (video,) = load(tmp_path, PRINTED.replace("<period>20000</period>", "")).domains
    assert video.interface == Interface(period="100ms", budget="7.5ms")


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (PRINTED + WHOLE.replace("'2'", "'7'"), 18, "cpu 7 a second time"),
        (PRINTED.replace("'7'", "'6-7'"), 9, "'6-7'"),
        (PRINTED.replace(" current='2'", ""), 4, "''"),
        (PRINTED.replace(">4<", "><").replace(" current='2'", " current='x'"), 4, "'x'"),
        (PRINTED.replace("12500", "5000"), 7, "5000"),
        (PRINTED.replace("12500", "many"), 7, "'many'"),
        (PRINTED.replace("20000", "0"), 7, "0"),
        (PRINTED.replace("<os>", "<cputune><global_quota>9</global_quota></cputune><os>"), 12, "9"),
        (f"{PRINTED}<network/>\n", 16, "the element network outside of a domain"),
    ],
)
def test_what_promises_nothing_is_refused(tmp_path: Path, text: str, line: int, found: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.found[: len(found)]) == (line, found)
    assert problem.allowed
