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
    <emulatorpin cpuset='0-1'/>
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
  <cputune>
    <emulatorpin cpuset='0-3,^2'/>
  </cputune>
</domain>
"""


FIFO = "<cputune><vcpusched vcpus='0-1' scheduler='fifo' priority='1'/></cputune>"
IO = "<cputune><iothreadpin iothread='1' cpuset='0'/></cputune>"


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


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (">12500<", ">-1<", ("10ms", "9.5ms")),
        (">12500<", ">20000<", ("10ms", "9.5ms")),
        ("<period>20000</period>", "", ("100ms", "7.5ms")),
        ("20000</period>\n    <quota>12500", "1000000</period><quota>960000", ("1s", "950ms")),
        ("<period>", "<global_quota>-1</global_quota><period>", ("20ms", "7.5ms")),
    ],
)
def test_a_quota_promises_at_most_nearly_all_of_a_cpu(
    tmp_path: Path, old: str, new: str, found: tuple[str, str]
) -> None:
    (video,) = load(tmp_path, PRINTED.replace(old, new)).domains
    assert video.interface == Interface(period=found[0], budget=found[1])


def test_vcpus_that_may_be_plugged_in_later_are_not_there(tmp_path: Path) -> None:
    listed = "".join(f"<vcpu id='{n}' enabled='{'no' if n % 2 else 'yes'}'/>" for n in range(4))
    text = PRINTED.replace("<cputune>", f"<vcpus>{listed}</vcpus><cputune>")
    (video,) = load(tmp_path, text.replace("vcpu='1'", "vcpu='2'")).domains
    assert video.pcpus == (0, 1)
    with pytest.raises(InputError, match="one cpu for vcpu 2"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (PRINTED + WHOLE.replace("'2'", "'7'"), 18, "cpu 7 a second time"),
        (PRINTED.replace("'7'", "'6-7'"), 9, "'6-7'"),
        (PRINTED.replace(" current='2'", ""), 4, "''"),
        (PRINTED.replace(">4<", "><").replace(" current='2'", " current='x'"), 4, "'x'"),
        (PRINTED.replace("12500", "5000"), 7, "5000"),
        (PRINTED.replace("12500", "many"), 7, "'many'"),
        (PRINTED.replace("20000", "0"), 6, "0"),
        (PRINTED.replace("20000", "1000001"), 6, "1000001"),
        (PRINTED.replace("12500", "-many"), 7, "'-many'"),
        (PRINTED.replace("vcpu='1'", "vcpu='one'"), 9, "'one'"),
        (PRINTED.replace("vcpu='1'", "vcpu='00'"), 9, "00 a second time"),
        (PRINTED.replace("<os>", f"{FIFO}<os>"), 12, "'fifo'"),
        (PRINTED.replace("0-1", "0-8,^5"), 10, "emulator threads on cpu 7"),
        (PRINTED.replace("0-1", "0-8,^5,^7,5"), 10, "emulator threads on cpu 5"),
        (PRINTED.replace("0-1", "0-"), 10, "'0-'"),
        (PRINTED.replace("emulatorpin", "other"), 4, "emulator threads on cpu 7"),
        (WHOLE + PRINTED.replace("0-1", "0,2"), 17, "emulator threads on cpu 2"),
        (PRINTED.replace("<os>", "<iothreads>1</iothreads><os>"), 4, "iothread threads on cpu 7"),
        (PRINTED.replace("<os>", f"{IO}<iothreads>2</iothreads><os>"), 4, "iothread threads on"),
        (PRINTED.replace("<os>", f"{IO.replace('0', '5')}<os>"), 12, "iothread threads on cpu 5"),
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
