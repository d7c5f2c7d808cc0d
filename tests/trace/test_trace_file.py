# SPDX-License-Identifier: BSD-2-Clause
"""The trace file: what is written is read, and what is no trace is refused by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.trace.writer import Script, make_header, vcpu

from hyperperiod.model.errors import InputError
from hyperperiod.trace.format import RECORD, Kind, chunks, is_interrupted, read, signed

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


def test_a_remaining_budget_may_be_a_debt() -> None:
    assert signed(5) == 5
    assert signed((1 << 64) - 3) == -3
