# SPDX-License-Identifier: BSD-2-Clause
"""The trace file: what is written is read, and what is no trace is refused by name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod.model.errors import InputError
from hyperperiod.trace.format import (
    NONE,
    RECORD,
    SPARE,
    Kind,
    chunks,
    is_interrupted,
    read,
    read_windows,
    signed,
    write_header,
)

Damage = Callable[[bytes], bytes]


def script(name: str = "a") -> Script:
    header = make_header("ptps", [vcpu(name, 10, 4)])
    return Script(header).arrive(0, 0).run(0, 0).depart(3, 0).idle(3, 0).idle(4).end(10)


def test_round_trip(tmp_path: Path) -> None:
    header, records = script().trace(tmp_path)
    assert header["vcpus"][0]["name"] == "a"
    assert [Kind(kind).name for kind in records["kind"]] == [
        "ARRIVE", "RUN", "CHARGE", "DEPART", "IDLE", "CHARGE", "IDLE", "END",
    ]  # fmt: skip
    assert records["value"][2] == 3
    assert is_interrupted(header, records)
    header["horizon_ns"] = 10
    assert not is_interrupted(header, records)


def test_pieces_that_were_given_back_can_still_be_read(tmp_path: Path) -> None:
    """Records on many pages, in pieces that end within pages and on their borders."""
    long = Script(make_header("ptps", [vcpu("a", 10, 4)]))
    for now in range(5_000):
        long.arrive(now, 0)
    _, records = long.end(5_000).trace(tmp_path)
    whole = records.tobytes()
    for size in (1, 127, 128, 1000, 6_000):
        pieces = list(chunks(records, size))
        assert b"".join(piece.tobytes() for piece in pieces) == whole
        assert records.tobytes() == whole


def resident_kib(path: Path) -> int:
    """How much of a file this process has in memory as its own mapping."""
    regions = Path("/proc/self/smaps").read_text().split("VmFlags:")
    return sum(
        int(region.partition("\nRss:")[2].split()[0]) for region in regions if str(path) in region
    )


@pytest.mark.parametrize("size", [100, 1_000, 8_192])
def test_what_is_done_is_given_back_whole(size: int, tmp_path: Path) -> None:
    """However short the pieces, no page between two of them stays: of 4 MiB nearly all is gone."""
    header = make_header("ptps", [vcpu("a", 10, 4)], [task("a", "t", 10, 1)])
    path = tmp_path / "long.hpt"
    write_header(path, header)
    records = np.zeros(1 << 17, RECORD)
    records["kind"] = Kind.KICK
    records["kind"][-1] = Kind.END
    with path.open("ab") as file:
        records.tofile(file)
    _, mapped = read(path)
    for piece in chunks(mapped, size):
        assert piece["kind"].all()
    # The system brings pages in a few at a time.
    assert resident_kib(path) <= 128


def test_records_start_on_a_multiple_of_their_size(tmp_path: Path) -> None:
    for name in ("a", "ab", "abc", "ä", "a" * 31):
        path = script(name).write(tmp_path / "trace.hpt")
        assert path.stat().st_size % RECORD.itemsize == 0
        header, records = read(path)
        assert header["vcpus"][0]["name"] == name
        assert len(records) == 8


def test_a_trace_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = script().write(tmp_path / "whole.hpt").read_bytes()
    path = tmp_path / "cut.hpt"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError) as refusal:
            read(path)
        if size >= 12:
            assert "a trace that was cut short" in refusal.value.found, size
    path.write_bytes(whole[:-40])
    with pytest.raises(InputError, match="6 records and 24 bytes of the next, up to 4ns, and no"):
        read(path)


def test_further_header_keys_are_kept(tmp_path: Path) -> None:
    script = Script(make_header("ptps", [vcpu("a", 10, 4, colour=3)], guarantees=True))
    header, _ = script.end(10).trace(tmp_path)
    assert header["guarantees"] is True
    assert header["vcpus"][0]["colour"] == 3  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("damage", "key", "found"),
    [
        (lambda raw: b"HPTRACE9" + raw[8:], "magic", "HPTRACE9"),
        (lambda raw: raw[:10], "header length", "end of file"),
        (lambda raw: raw.replace(b"HPTRACE1", b"HPTRACE1\x01", 1), "header length", ""),
        (lambda raw: raw + raw[-32:], "record 7: kind", "an end with records after it"),
        (lambda raw: raw.replace(b'"format":1', b'"format":x'), "header", "not JSON"),
        (lambda raw: raw.replace(b'"format":1', b'"format":2'), "format", "2"),
        (lambda raw: raw.replace(b'"pcpus":1', b'"pcpus":{'.ljust(9)), "header", "not JSON"),
        (lambda raw: raw.replace(b'"slack"', b'"slick"'), "slack", ""),
        (lambda raw: raw[:-4] + b"\x63" + raw[-3:], "record 7: kind", "99"),
        (lambda raw: raw[:-32] + bytes(8) + raw[-24:], "record 7: time_ns", "0 after 4"),
        (lambda raw: raw[:-12] + b"\x07\x00" + raw[-10:], "record 7: pcpu", "7"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, damage: Damage, key: str, found: str) -> None:
    path = script().write(tmp_path / "bad.hpt")
    raw = path.read_bytes()
    path.write_bytes(damage(raw))
    with pytest.raises(InputError) as refusal:
        read(path)
    assert key in refusal.value.key
    assert found in refusal.value.found
    assert refusal.value.allowed
    assert str(path) in str(refusal.value)


IDS = {"pcpu": 2, "vcpu": 3, "payer": 3, "task": 1}
"""How many ids there are for each field of the trace below."""
NAMED = {
    Kind.RUN: {"pcpu", "vcpu"},
    Kind.IDLE: {"pcpu"},
    Kind.CHARGE: {"pcpu", "payer"},
    Kind.REPLENISH: {"vcpu"},
    Kind.DEPLETE: {"vcpu"},
    Kind.ARRIVE: {"vcpu"},
    Kind.DEPART: {"vcpu"},
    Kind.RELEASE: {"task"},
    Kind.COMPLETE: {"task"},
    Kind.MISS: {"task"},
    Kind.ITEM: {"task"},
}
"""What a record of a kind must name, as docs/formats.md has it; the spare has no vcpu that runs."""
RUNS = {Kind.RUN, Kind.ARRIVE, Kind.DEPART}


def may_be(kind: Kind, field: str, number: int) -> bool:
    """Whether the field of a record may be this number, said plainly."""
    if number == NONE:
        return field not in NAMED.get(kind, set())
    if number == SPARE:
        return field == "payer" or (field == "vcpu" and kind not in RUNS)
    return number < IDS[field]


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.END])
def test_fields_are_what_their_kinds_allow(kind: Kind, tmp_path: Path) -> None:
    header = make_header(
        "ptps",
        [vcpu(name, 10, 2) for name in "abc"],
        [task("a", "t", 10, 1)],
        pcpus=2,
    )
    for field, count in IDS.items():
        for number in (0, count - 1, count, 0x7FFF, SPARE - 1, SPARE, NONE):
            fields = dict.fromkeys(IDS, 0) | {field: number}
            small = Script(header).arrive(0, 0).add(1, kind, **fields).end(2)
            if may_be(kind, field, number):
                assert len(small.trace(tmp_path)[1]) == 3
                continue
            with pytest.raises(InputError) as refusal:
                small.trace(tmp_path)
            assert refusal.value.key == f"record 1: {field}"
            assert refusal.value.found == str(number)
            if number == NONE or (number == SPARE and field in ("vcpu", "payer")):
                assert refusal.value.allowed == f"an id in a {kind.name}"
            else:
                assert refusal.value.allowed.startswith(f"below {count}, or 65535")


@pytest.mark.parametrize(("value", "is_swap"), [(0, True), (0x010101, True), (0x7F, False),
    (0x7F00, False), (0x7F0000, False), (1 << 24, False), (1 << 63, False)])  # fmt: skip
def test_swaps_are_to_rules_that_there_are(value: int, is_swap: bool, tmp_path: Path) -> None:
    small = Script(make_header("ptps", [vcpu("a", 10, 4)])).add(1, Kind.SWAP, value=value).end(2)
    if is_swap:
        assert small.trace(tmp_path)[1]["value"][0] == value
        return
    with pytest.raises(InputError) as refusal:
        small.trace(tmp_path)
    assert (refusal.value.key, refusal.value.found) == ("record 0: value", str(value))


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_what_is_wrong_is_found_in_any_windows(at_once: int, tmp_path: Path) -> None:
    long = Script(make_header("ptps", [vcpu("a", 10, 4)])).arrive(5, 0).depart(7, 0).arrive(6, 0)
    _, _, windows = read_windows(long.end(10).write(tmp_path / "x.hpt"), at_once)
    with pytest.raises(InputError) as refusal:
        list(windows)
    assert (refusal.value.key, refusal.value.found) == ("record 2: time_ns", "6 after 7")
    early = Script(make_header("ptps", [vcpu("a", 10, 4)])).arrive(5, 0).end(6).depart(7, 0)
    _, _, windows = read_windows(early.end(10).write(tmp_path / "x.hpt"), at_once)
    with pytest.raises(InputError) as refusal:
        list(windows)
    assert refusal.value.key == "record 1: kind"
    assert refusal.value.found == "an end with records after it"


def test_a_remaining_budget_may_be_a_debt() -> None:
    assert signed(5) == 5
    assert signed((1 << 64) - 3) == -3
