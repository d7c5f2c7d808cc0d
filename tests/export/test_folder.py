# SPDX-License-Identifier: BSD-2-Clause
"""Exports appear whole or not at all, and replace nothing but exports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hyperperiod.export import write_folder
from hyperperiod.model import InputError


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_folder_is_written_with_a_list_of_its_files(tmp_path: Path) -> None:
    copied = tmp_path / "image"
    copied.write_bytes(b"\0\1")
    target = tmp_path / "deep" / "out"
    files: dict[str, str | bytes | Path] = {
        "a.txt": "text",
        "images/b": copied,
        "run.sh": "#!/bin/sh\n",
    }
    assert write_folder(target, files, {"to": "x"}) is False
    assert names(target) == ["a.txt", "export.json", "images/b", "run.sh"]
    assert (target / "images" / "b").read_bytes() == b"\0\1"
    assert os.access(target / "run.sh", os.X_OK)
    assert not os.access(target / "a.txt", os.X_OK)
    assert json.loads((target / "export.json").read_text()) == {
        "about": {"to": "x"}, "files": ["a.txt", "images/b", "run.sh"],
    }  # fmt: skip
    assert list(target.parent.iterdir()) == [target]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert write_folder(tmp_path, {"a": "new"}, {}) is False
    assert (tmp_path / "a").read_text() == "new"


def test_an_earlier_export_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_folder(target, {"a": "old", "b": "old"}, {})
    assert write_folder(target, {"a": "new"}, {}) is True
    assert names(target) == ["a", "export.json"]
    assert (target / "a").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def refused(target: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        write_folder(target, {"a": "new"}, {})
    assert caught.value.key == "--out"
    return caught.value


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    assert "other files" in refused(tmp_path).found
    assert names(tmp_path) == ["letter"]


def test_a_file_beside_an_export_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_folder(target, {"a": "old"}, {})
    (target / "notes").write_text("mine")
    assert "notes" in refused(target).found
    assert (target / "a").read_text() == "old"


@pytest.mark.parametrize("text", ["{}", "[1]", "nonsense", '{"files": 3}'])
def test_a_list_that_is_none_of_ours_is_not_believed(tmp_path: Path, text: str) -> None:
    (tmp_path / "export.json").write_text(text)
    assert "none of ours" in refused(tmp_path).found


def test_a_file_and_a_link_are_no_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert "no folder" in refused(tmp_path / "file").found
    assert "no folder" in refused(tmp_path / "link").found


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(InputError):
        write_folder(target, {"a": "text", "b": tmp_path / "no-such-image"}, {})
    assert list(tmp_path.iterdir()) == []
