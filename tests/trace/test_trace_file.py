# SPDX-License-Identifier: BSD-2-Clause
"""The trace file: what is written is read, and what is no trace is refused by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.trace.writer import Script, make_header, vcpu

from hyperperiod.model.errors import InputError
from hyperperiod.trace.format import RECORD, Kind, is_complete, read, signed, write_header

Damage = Callable[[bytes], bytes]


def script() -> Script:
    header = make_header("ptps", [vcpu("a", 10, 4)])
    return Script(header).arrive(0, 0).run(0, 0).depart(3, 0).idle(3, 0).idle(4).end(10)


def test_round_trip(tmp_path: Path) -> None:
    header, records = script().trace(tmp_path)
    assert header["vcpus"][0]["name"] == "a"
    assert [Kind(kind).name for kind in records["kind"]] == [
        "ARRIVE", "RUN", "CHARGE", "DEPART", "IDLE", "CHARGE", "IDLE", "END",
    ]  # fmt: skip
    assert records["value"][2] == 3
    assert is_complete(records)


def test_records_start_on_a_multiple_of_their_size(tmp_path: Path) -> None:
    for name in ("a", "ab", "abc", "ä", "a" * 31):
        path = tmp_path / "trace.hpt"
        write_header(path, make_header("ptps", [vcpu(name, 10, 4)]))
        assert path.stat().st_size % RECORD.itemsize == 0
        header, records = read(path)
        assert header["vcpus"][0]["name"] == name
        assert len(records) == 0
        assert not is_complete(records)


def test_a_trace_cut_short_is_readable_up_to_the_last_whole_record(tmp_path: Path) -> None:
    path = script().write(tmp_path / "cut.hpt")
    path.write_bytes(path.read_bytes()[:-40])
    _, records = read(path)
    assert len(records) == 6
    assert not is_complete(records)


def test_further_header_keys_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.hpt"
    write_header(path, make_header("ptps", [vcpu("a", 10, 4, colour=3)], guarantees=True))
    header, _ = read(path)
    assert header["guarantees"] is True
    assert header["vcpus"][0]["colour"] == 3  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("damage", "key", "found"),
    [
        (lambda raw: b"HPTRACE9" + raw[8:], "magic", "HPTRACE9"),
        (lambda raw: raw[:10], "header length", "end of file"),
        (lambda raw: raw[:100], "header length", ""),
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
