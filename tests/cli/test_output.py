# SPDX-License-Identifier: BSD-2-Clause
"""Files appear whole or not at all; tables say what the objects say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hyperperiod.cli.tables.cells import interface_text, share_text, time_text
from hyperperiod.model import InputError
from hyperperiod.model.vcpus import InterfaceResult
from hyperperiod.whole_file import require_different, whole_file


def test_a_file_appears_when_the_work_is_done(tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    with whole_file(str(target), "--report") as draft:
        assert draft is not None
        assert draft.parent == tmp_path
        assert draft.suffix == ".html"
        draft.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def write_half(target: Path) -> None:
    with whole_file(str(target), "--report") as draft:
        assert draft is not None
        draft.write_text("half")
        raise KeyError


def test_an_old_file_stays_when_the_work_fails(tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    target.write_text("old")
    with pytest.raises(KeyError):
        write_half(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_files_get_the_usual_rights(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with whole_file(str(tmp_path / "out"), "--trace"):
            pass
    finally:
        os.umask(mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_nothing_asked_nothing_written() -> None:
    with whole_file(None, "--trace") as draft:
        assert draft is None


def test_devices_are_written_directly() -> None:
    with whole_file("/dev/null", "--trace") as draft:
        assert draft == Path("/dev/null")


@pytest.mark.parametrize("name", ["", ".", "/", "a/b/c", "x\0y", "n" * 5000])
def test_places_that_cannot_be_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="allowed: "), whole_file(name, "--trace"):
        pass
    assert not list(tmp_path.iterdir())


def test_two_outputs_are_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    require_different({"a": "x", "b": "y", "c": None, "d": None})
    require_different({"a": "/dev/null", "b": "/dev/null"})
    with pytest.raises(InputError, match="found the file of --trace; allowed: another file"):
        require_different({"--trace": "x", "--report": f"../{tmp_path.name}/x"})


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (None, "-"), (0, "0 ns"), (999, "999 ns"), (1_000, "1 us"), (1_234_567, "1.235 ms"),
        (12_345.678, "12.35 us"), (5e12, "5000 s"),
    ],
)  # fmt: skip
def test_times_for_people(time_ns: float | None, text: str) -> None:
    assert time_text(time_ns) == text


def test_shares_and_interfaces_for_people() -> None:
    assert share_text(None) == "-"
    assert share_text(0.12345) == "12.35 %"
    assert interface_text(None) == "best effort"
    one = InterfaceResult(period_ns=10_000_000, budget_ns=1_500, bandwidth=0.000_15)
    assert interface_text(one) == "1.5us in 10ms"
    assert interface_text(one, 2) == "2 x 1.5us in 10ms"
