# SPDX-License-Identifier: BSD-2-Clause
"""The parts of the guests that are plain C, built for this machine with sanitizers.

Releases, execution times and the order inside a domain are compared with the simulator's own
code; arguments, trees, rings and times are checked against what is worked out here.
"""

import os
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.support.building import TOP, make

from hyperperiod.hosts.rings import HEADER
from hyperperiod.trace.format import RECORD

SEED = os.environ.get("HYPERPERIOD_SEED", "20250101")
NEVER = 2**64 - 1
NONE = 2**32 - 1


@pytest.fixture(scope="module")
def built() -> Path:
    make("tests/guests/Makefile")
    return TOP / "build/guests-tests"


def run(command: list[str | Path], data: bytes = b"") -> tuple[int, bytes]:
    """The exit code and the output; a sanitizer's finding fails."""
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert not done.stderr, done.stderr.decode()
    return done.returncode, done.stdout


def test_tasks_and_domains_are_those_of_the_simulator(built: Path) -> None:
    code, said = run([built / "against_simulator", "20000", SEED])
    assert code == 0, said.decode()


def read_arguments(built: Path, text: str) -> tuple[int, list[str]]:
    code, said = run([built / "parts", "arguments"], text.encode())
    return code, said.decode().splitlines()


def test_arguments_are_understood(built: Path) -> None:
    code, said = read_arguments(
        built,
        "workload=tasks domain=3 vcpus=2 scheduler=edf epoch=125000000 horizon=1000000000 seed=7\n"
        "memory=16777216 rate=1000 loop=68000 task-time=7 task-period=9 period=11\0"
        "task=p:10:5:4:9:1:2:0:- \t task=s:20:6:6:0:0:0:1:1\n task=b:0:0:0:-:0:0:-:0",
    )
    assert (code, said) == (
        0,
        [
            "0 1 3 2 125000000 1000000000 7 16777216 1000 68000 7 9 11",
            f"task 0 10 5 4 9 1 2 0 {NONE}",
            f"task 1 20 6 6 {NEVER} 0 0 1 1",
            f"task 3 0 0 0 {NEVER} 0 0 2 0",
        ],
    )


ROOM = "memory=16777216"

HOP = "task=h:10:5:4:9:0:0:0:-"
FLOW = "flow=3:p:2500:7:2:1:4:0.0,1.5,0.0"
WIRE = "wire=1:9:65536:4"


def test_flows_and_wires_are_understood(built: Path) -> None:
    code, said = read_arguments(
        built,
        f"{ROOM} {HOP} {FLOW} {WIRE} flow=255:s:9:0:0:2:16300:@7,0.0,@0 wire=7:63:131072:16384"
        " flow=4:c:10:50:30:60:61:0.0 card=7:48:167772160:1342177280:64 card=0:49:0:0:1",
    )
    assert (code, said[1:]) == (
        0,
        [
            f"task 4 10 5 4 9 0 0 0 {NONE}",
            "flow 3 0 2500 7 2 1 4 0.0 1.5 0.0",
            "clients 4 10 50 30 60 61 0.0",
            "flow 255 1 9 0 0 2 16300 0.0 comes 7 goes 0",
            "wire 1 9 65536 4",
            "wire 7 63 131072 16384",
            "card 0 49 0 0 1",
            "card 7 48 167772160 1342177280 64",
        ],
    )


@pytest.mark.parametrize(
    ("text", "word", "why"),
    [
        ("task=q:1:1:1:1:0:0:0:-", "task=q:1:1:1:1:0:0:0:-", "kind"),
        ("task=p:1:1:1:1:0:0:0", "task=p:1:1:1:1:0:0:0", "KIND:PERIOD"),
        ("task=p:1:1:1:1:0:0:0:-:1", "task=p:1:1:1:1:0:0:0:-:1", "nine parts"),
        ("task=p:1:-1:1:1:0:0:0:-", "task=p:1:-1:1:1:0:0:0:-", "KIND:PERIOD"),
        ("task=p:9:2:3:1:0:0:0:-", "task=p:9:2:3:1:0:0:0:-", "bcet"),
        ("task=p:9:0:0:1:0:0:0:-", "task=p:9:0:0:1:0:0:0:-", "endless"),
        ("task=s:0:1:1:1:0:0:0:-", "task=s:0:1:1:1:0:0:0:-", "no period"),
        ("task=p:9:1:1:1:0:0:0:1", "arguments", "does not have"),
        ("task=p:9:1:1:1:0:0:0:- task=p:9:1:1:1:0:0:0:-", "arguments", "same rank"),
        ("workload=fun", "workload=fun", "allowed: tasks, clocktick"),
        ("scheduler=", "scheduler=", "allowed: rm, dm, fp, edf, fifo or fair"),
        ("colour=1", "colour=1", "no such key"),
        ("seed", "seed", "allowed: a number from 0 to"),
        ("seed=18446744073709551616", "seed=18446744073709551616", "allowed: a number"),
        ("vcpus=17", "vcpus=17", "allowed: a number from 0 to 16"),
        ("vcpus=0", "arguments", "vcpus= is 0"),
        ("workload=clocktick loop=5", "arguments", "task-time="),
        ("workload=response", "arguments", "period="),
        ("memory=4194304", "arguments", "memory="),
        (" ".join(["task=b:0:0:0:0:0:0:-:-"] * 257), "task=b:0:0:0:0:0:0:-:-", "256"),
        ("overrun=0:1500:0:-:1", "overrun=0:1500:0:-:1", "a task before it"),
        (f"{HOP} overrun=0:1500:0:-", "overrun=0:1500:0:-", "TASK:THOUSANDTHS"),
        (f"{HOP} overrun=0:0:0:-:1", "overrun=0:0:0:-:1", "multiplies"),
        (f"{HOP} overrun=0:1500:0:-:0", "overrun=0:1500:0:-:0", "multiplies"),
        ("task=b:0:0:0:-:0:0:-:0 overrun=0:2000:0:-:1", "overrun=0:2000:0:-:1", "jobs that end"),
        ("flow=256:p:1:0:0:1:1:0.0", "flow=256:p:1:0:0:1:1:0.0", "0 to 255"),
        ("flow=0:e:1:0:0:1:1:0.0", "flow=0:e:1:0:0:1:1:0.0", "p, s or c"),
        ("flow=0:p:1:0:x:1:1:0.0", "flow=0:p:1:0:x:1:1:0.0", "NUMBER:KIND"),
        ("flow=0:p:0:0:0:1:1:0.0", "flow=0:p:0:0:0:1:1:0.0", "above 0"),
        ("flow=0:c:0:0:0:0:1:0.0", "flow=0:c:0:0:0:0:1:0.0", "above 0"),
        ("flow=0:c:2:0:1:1:1:0.0", "flow=0:c:2:0:1:1:1:0.0", "think longer"),
        ("flow=0:p:1:0:0:1:16385:0.0", "flow=0:p:1:0:0:1:16385:0.0", "1 to 16384"),
        ("flow=0:p:1:0:0:1:0:0.0", "flow=0:p:1:0:0:1:0:0.0", "1 to 16384"),
        ("flow=0:c:1:0:1:2:1:0.0", "flow=0:c:1:0:1:2:1:0.0", "for all clients"),
        (f"{HOP} flow=0:c:0:0:9:257:257:0.0", "arguments", "256 clients"),
        ("flow=0:p:1:0:0:1:1:0.256", "flow=0:p:1:0:0:1:1:0.256", "DOMAIN.TASK"),
        ("flow=0:p:1:0:0:1:1:", "flow=0:p:1:0:0:1:1:", "has hops"),
        (f"{HOP} {FLOW} {FLOW}", FLOW, "with this number"),
        (f"{HOP} {FLOW}", "arguments", "no wire"),
        (f"task=e:10:5:4:9:0:0:0:- {FLOW} {WIRE}", "arguments", "no hop"),
        (f"{HOP} {FLOW} flow=4:p:1:0:0:1:16381:0.0 {WIRE}", "arguments", "more than 16384"),
        ("wire=1:0:65536:4", "wire=1:0:65536:4", "above 0"),
        ("wire=1:1:65536:5", "wire=1:1:65536:5", "power of two"),
        ("wire=1:64:65536:4", "wire=1:64:65536:4", "DOMAIN:PORT"),
        ("wire=1:1:65537:4", "wire=1:1:65537:4", "a page"),
        (" ".join([WIRE] * 33), WIRE, "32 wires"),
        ("flow=0:p:1:0:0:1:1:@0", "flow=0:p:1:0:0:1:1:@0", "has hops"),
        ("flow=0:p:1:0:0:1:1:@8,0.0", "flow=0:p:1:0:0:1:1:@8,0.0", "@0 to @7"),
        ("flow=0:p:1:0:0:1:1:@0,@1,0.0", "flow=0:p:1:0:0:1:1:@0,@1,0.0", "one at each end"),
        ("flow=0:p:1:0:0:1:1:0.0,@0,@1", "flow=0:p:1:0:0:1:1:0.0,@0,@1", "one at each end"),
        ("flow=0:p:1:0:0:1:1:0.0,@0,0.0", "flow=0:p:1:0:0:1:1:0.0,@0,0.0", "before the card"),
        ("card=0:48:167772160:1", "card=0:48:167772160:1", "INTERRUPT:ADDRESS"),
        ("card=0:1020:0:0:1", "card=0:1020:0:0:1", "INTERRUPT:ADDRESS"),
        ("card=0:48:1073741824:0:1", "card=0:48:1073741824:0:1", "INTERRUPT:ADDRESS"),
        ("card=0:31:0:0:1", "card=0:31:0:0:1", "32 to 1019"),
        ("card=8:48:0:0:1", "card=8:48:0:0:1", "0 to 7"),
        ("card=0:48:0:0:1 card=0:49:0:0:1", "card=0:49:0:0:1", "with this number"),
    ],
)
def test_what_is_wrong_is_named(built: Path, text: str, word: str, why: str) -> None:
    code, said = read_arguments(built, f"{ROOM} {text}")
    assert code == 1
    assert said[0].startswith(f"{word}: ")
    assert why in said[0]


def test_the_largest_numbers(built: Path) -> None:
    _, said = read_arguments(built, f"{ROOM} seed=18446744073709551615")
    assert said[0].split()[6] == "18446744073709551615"


@pytest.mark.parametrize("room", ["1", "2", "64"])
def test_messages_come_in_order_and_none_is_lost(built: Path, room: str) -> None:
    code, said = run([built / "parts", "wire", room, "20000", SEED])
    assert code == 0
    assert int(said) > 0


def test_damaged_arguments_are_read_safely(built: Path) -> None:
    tasks = f"{HOP} task=p:10:5:4:9:1:2:1:- task=e:9:8:7:6:5:4:3:-"
    text = f"{ROOM} {tasks} {FLOW} {WIRE} scheduler=edf epoch=1 horizon=2"
    code, said = run([built / "parts", "noise", "20000", SEED], text.encode())
    assert code == 0
    assert int(said) > 0


def tree(source: str) -> bytes:
    """A flattened tree, made by the device tree compiler."""
    if shutil.which("dtc") is None:
        pytest.skip("dtc: not found; apt-get install device-tree-compiler")
    done = subprocess.run(["dtc", "-q"], input=source.encode(), capture_output=True, check=True)
    return done.stdout


GUEST_TREE = """/dts-v1/;
/ {
    #address-cells = <2>;
    bootargs = "not this one";
    cpus { cpu@0 { bootargs = "nor this"; }; chosen { bootargs = "nor this"; }; };
    chosen {
        other = <1>;
        bootargs = "workload=tasks seed=1";
        linux,initrd-start = <0x0 0x48000000>;
        linux,initrd-end = <0x48000123>;
        module { bootargs = "nor this"; };
    };
    memory { reg = <0 1 2 3>; };
};"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bootargs", "yes 0 " + b"workload=tasks seed=1\0".hex()),
        ("linux,initrd-start", f"yes {0x48000000} 0000000048000000"),
        ("linux,initrd-end", f"yes {0x48000123} 48000123"),
        ("reg", "no 0 "),
        ("bootarg", "no 0 "),
    ],
)
def test_a_tree_is_read(built: Path, name: str, expected: str) -> None:
    _, said = run([built / "parts", "tree", name], tree(GUEST_TREE))
    assert said.decode().rstrip("\n") == expected


def test_damaged_trees_are_read_safely(built: Path) -> None:
    code, said = run([built / "parts", "damage", "20000", SEED], tree(GUEST_TREE))
    assert code == 0
    assert 0 < int(said) < 20000


@pytest.mark.parametrize(
    ("records", "kept", "flags"), [(3, 3, 2), (9, 9, 2), (10, 10, 3), (12, 10, 3)]
)
def test_a_ring_ends_and_overflows(built: Path, records: int, kept: int, flags: int) -> None:
    room = 64 + 10 * 32 + 31
    _, memory = run([built / "parts", "ring", str(room), str(records)])
    header = np.frombuffer(memory, HEADER, 1)[0]
    assert header["magic"] == b"HPRING01"
    assert (header["header_bytes"], header["record_bytes"], header["capacity"]) == (64, 32, 10)
    assert (header["frequency_hz"], header["epoch_ticks"], header["source"]) == (62500000, 1000, 3)
    assert (header["written"], header["flags"]) == (min(records + 1, 10), flags)
    found = np.frombuffer(memory, RECORD, kept, 64)
    numbers = np.arange(kept)
    assert (found["time_ns"] == 1000 + numbers).all()
    assert (found["value"] == 7 * numbers).all()
    assert (found["job"] == numbers).all()
    assert set(found["task"]) == {2}
    assert set(found["vcpu"]) == {1}
    if records < 10:
        assert np.frombuffer(memory, RECORD, 1, 64 + 32 * kept)[0]["kind"] == 13


@pytest.mark.parametrize(
    "hz", [24_000_000, 54_000_000, 62_500_000, 19_200_000, 10**9, 1_600_000_001]
)
def test_times_are_exact(built: Path, hz: int) -> None:
    random = Random(f"{SEED} {hz}")
    epoch = 12_345_678_901
    spans = [random.randrange(1 << random.randrange(1, 46)) for _ in range(500)]
    spans += [hz * seconds for seconds in (1, 2, 3600)]
    ticks = "".join(f"n {epoch + span}\n" for span in spans)
    _, said = run([built / "parts", "clock", str(hz), str(epoch)], ticks.encode())
    for span, ns in zip(spans, map(int, said.split()), strict=True):
        # Rounded down; the ratio's last bit may lift a value that is next to a whole one.
        assert 0 <= ns - span * 10**9 // hz <= 1
        assert ns <= Fraction(span * 10**9, hz) + 1
    _, said = run(
        [built / "parts", "clock", str(hz), str(epoch)], b"".join(b"t %d\n" % s for s in spans)
    )
    back = "".join(f"n {tick}\n" for tick in map(int, said.split()))
    _, again = run([built / "parts", "clock", str(hz), str(epoch)], back.encode())
    step = -(-(10**9) // hz)
    for ns, reached in zip(spans, map(int, again.split()), strict=True):
        assert 0 <= reached - ns <= step


def test_times_before_the_epoch_count_as_it(built: Path) -> None:
    _, said = run(
        [built / "parts", "clock", "62500000", "1000"], b"n 1\nn 1000\nn 1001\nt 0\nt 1\n"
    )
    assert said.split() == [b"0", b"0", b"16", b"1000", b"1001"]
