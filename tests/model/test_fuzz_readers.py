# SPDX-License-Identifier: BSD-2-Clause
"""Thousands of damaged files: whatever they contain, only InputError may come out.

Good files are damaged by a seeded generator: bytes flipped, lines doubled or dropped, words of
the format and nasty values put in places where they do not belong. A file that is still a
system after that must survive being written and read again; one that is not must be refused
with lines that exist. A failure prints the number that reproduces it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hyperperiod.model import InputError, load_system, to_toml

SYSTEMS = Path(__file__).parents[2] / "systems"
MODELS = (
    Path(__file__).parents[2] / "docs" / "examples" / "steering.amxmi",
    Path(__file__).parents[1] / "data" / "amalthea" / "older.amxmi",
)
ECU = MODELS[0].with_name("pedal.arxml")
OTHERS = Path(__file__).parents[1] / "data" / "other_tools"
ROUNDS = 1200

CARTS = """<system os_scheduler="DM" min_period="10" max_period="100">
  <component name="part1" scheduler="DM" min_period="10" max_period="10">
    <task name="t1" p="500" d="500" e="22"/>
    <task name="t2" p="500" d="400" e="31.5" jitter="10" cs="0"/>
  </component>
  <component name="outer" scheduler="EDF" period="20">
    <component name="inner" scheduler="RM" min_period="40" max_period="40" vmips="0">
      <task name="t1" p="250" d="250" e="17"> </task>
      <task name="t1" p="250" d="250" e="0"> </task>
    </component>
  </component>
</system>
"""

POOLS = """Name               CPUs   Sched     Active   Domain count
Pool-0               2    credit2       y          1
rt                   2       rtds       y          2
"""
SERVERS = """Cpupool rt: sched=RTDS
Name                                ID VCPU    Period    Budget  Extratime
control                              3    0     10000      4000         no
video                                4    0     20000      5000        yes
video                                4    1     20000      7000        yes
"""

LIBVIRT = """<domain type='kvm'>
  <name>video</name>
  <vcpu placement='static' current='2'>4</vcpu>
  <cputune>
    <period>20000</period>
    <quota>12500</quota>
    <vcpupin vcpu='0' cpuset='5'/>
    <vcpupin vcpu='1' cpuset='7'/>
    <emulatorpin cpuset='0-4,^1'/>
    <iothreadpin iothread='1' cpuset='0'/>
  </cputune>
  <iothreads>1</iothreads>
</domain>
"""

WORDS = [
    b'"', b"'", b'"""', b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b".", b",", b"#", b"\\",
    b"\n", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xe2\x80\xae", b"-1", b"0", b"nan", b"inf",
    b"1e999", b"true", b'"0ms"', b'"1ns"', b'"99999999999s"', b"1979-05-27T07:32:00Z", b"0x7f",
    b"[[domain]]", b"[[domain.task]]", b"[[domain.domain]]", b"[overheads]", b"name = 'x'",
    b"policy = 'ertds'", b"quantum = '1ms'", b"pcpus = 2", b"best_effort = true", b"vcpus = 3",
    b"scheduler = 'fp'", b"kind = 'busy'", b"priority = 1", b"interface_period = '7us'",
    b"<component", b"</component>", b"<task/>", b"<!DOCTYPE a [", b"<!ENTITY b 'c'>", b"&b;",
    b'xsi:type="am:Ticks"', b"<items>", b'unit="ms"', b'value="-1"', b"upperBound",
    b"/*", b"*/", b"//", b'"run": 1,', b'"cpus": [1],', b'"loop": -1,', b"null", b"1.5", b"\\ud800",
    b"&#0;", b"<![CDATA[", b"<?xml version='1.1'?>", b"<!--", b"-->", b"/>", b">", b"<",
]  # fmt: skip


def _flip(draw: random.Random, text: bytearray) -> None:
    text[draw.randrange(len(text))] ^= 1 << draw.randrange(8)


def _insert(draw: random.Random, text: bytearray) -> None:
    at = draw.randrange(len(text) + 1)
    text[at:at] = draw.choice(WORDS)


def _replace(draw: random.Random, text: bytearray) -> None:
    at = draw.randrange(len(text))
    text[at : at + draw.randrange(1, 12)] = draw.choice(WORDS)


def _drop(draw: random.Random, text: bytearray) -> None:
    at = draw.randrange(len(text))
    del text[at : at + draw.randrange(1, 60)]


def _truncate(draw: random.Random, text: bytearray) -> None:
    del text[draw.randrange(len(text)) :]


def _move_line(draw: random.Random, text: bytearray) -> None:
    lines = bytes(text).split(b"\n")
    line = draw.choice(lines)
    if draw.random() < 0.5:
        lines.remove(line)
    lines.insert(draw.randrange(len(lines) + 1), line)
    text[:] = b"\n".join(lines)


DAMAGE: list[Callable[[random.Random, bytearray], None]] = [
    _flip, _insert, _replace, _drop, _truncate, _move_line, _move_line, _insert,
]  # fmt: skip


def damaged(draw: random.Random, good: bytes) -> bytes:
    """A good file after one to four accidents."""
    text = bytearray(good)
    for _ in range(draw.randrange(1, 5)):
        if text:
            draw.choice(DAMAGE)(draw, text)
    return bytes(text)


def check(file: Path, number: str) -> bool:
    """Read a file; True if it was a system. Anything but InputError is a failure."""
    try:
        system = load_system(file)
    except InputError as error:
        lines = file.read_bytes().count(b"\n") + 1
        for problem in error.problems:
            assert problem.line is None or 1 <= problem.line <= lines + 1, (number, problem)
            assert problem.found, (number, problem)
            assert problem.allowed, (number, problem)
        return False
    except Exception as error:
        raise AssertionError(f"{number}: {type(error).__name__}: {error}") from error
    again = file.with_suffix(".again.toml")
    again.write_text(to_toml(system), encoding="utf-8")
    assert load_system(again) == system, number
    return True


def check_damaged(file: Path, seed: str, good: Sequence[bytes], rounds: int = ROUNDS) -> None:
    """Read good files after accidents, drawn from the seed; some are systems all the same."""
    draw = random.Random(seed)
    still_good = 0
    for number in range(rounds):
        file.write_bytes(damaged(draw, draw.choice(good)))
        still_good += check(file, f"{seed} {number}")
    assert 0 < still_good < rounds


@pytest.mark.parametrize("seed", range(2))
def test_damaged_toml(seed: int, tmp_path: Path) -> None:
    names = ["brake-by-wire", "ertds-example3", "hot-swap", "deferrable-gedf-counterexample"]
    good = [(SYSTEMS / f"{name}.toml").read_bytes() for name in names]
    check_damaged(tmp_path / "damaged.toml", f"toml {seed}", good)


def test_damaged_carts(tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged.xml", "carts", [CARTS.encode()])


def test_damaged_lists_of_xl(tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged", "xl", [(POOLS + SERVERS).encode()])


def test_damaged_libvirt_domains(tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged", "libvirt", [LIBVIRT.encode()])


@pytest.mark.parametrize("name", ["cheddar.xml", "simso.xml", "mast.txt"])
def test_damaged_files_of_other_tools(name: str, tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged", name, [(OTHERS / name).read_bytes()])


def test_damaged_models_of_amalthea(tmp_path: Path) -> None:
    good = [path.read_bytes() for path in MODELS]
    check_damaged(tmp_path / "damaged.amxmi", "amalthea", good)


def test_damaged_ecus_of_autosar(tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged.arxml", "autosar", [ECU.read_bytes()], rounds=400)


TABLE = """\ufeff# a table
domain,scheduler,pcpu,interface_period_ms,interface_budget,name,kind,period_ms,wcet_us,deadline,\
offset,jitter_ns,blocking,priority,etf,vcpu
"control",fp,0,10,4ms,loop,,20,2000,,,,,1,0.5,
control,fp,,,,"watch, dog",sporadic,40,3000.5,35ms,1ms,1000,1us,2,,0

video,edf,0,15,,frame,periodic,40,9000,,,,,,,
"""


RT_APP = """{
	"tasks" : {
		"control" : { "run" : 2000, "timer" : { "ref" : "unique", "period" : 10000 } },
		"log" : {
			"phases" : { "only" : { "loop" : 10, "run0" : 300, "run1" : 20, "sleep" : 49500 } },
		}, // two forms
		"twin" : {
			"instance" : 2, "taskgroup" : "/video", "cpus" : [0], "policy" : "SCHED_DEADLINE",
			"dl-runtime" : 5000, "dl-period" : 40000,
			"run" : 5000, "timer" : { "ref" : "uniqueA", "period" : 40000, "mode" : "absolute" }
		}
	},
	"global" : { "duration" : 2, "calibration" : "CPU0", "default_policy" : "SCHED_FIFO" }
}
"""


def test_damaged_workloads_of_rt_app(tmp_path: Path) -> None:
    check_damaged(tmp_path / "damaged.json", "rt-app", [RT_APP.encode()])


def test_damaged_tables(tmp_path: Path) -> None:
    good = [TABLE.replace("watch, dog", "watchdog").encode(), TABLE.encode()]
    check_damaged(tmp_path / "damaged.csv", "table", good)
