# SPDX-License-Identifier: BSD-2-Clause
"""A program that is watched may end while somebody looks at it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperperiod.hosts.watched import SilentError, Watched
from hyperperiod.model import FailedError


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that prints its last word when its input ends."""
    command = ["sh", "-c", "cat; echo over"]
    with (
        (tmp_path / "console").open("wb") as console,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=console) as running,
    ):
        yield running
        running.kill()


def end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def test_one_that_ends_while_it_is_asked_has_still_said_it(
    process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    watched = Watched(process, tmp_path / "console", "the program")

    def look() -> None:
        end(process)
        raise SilentError("the program does not answer")

    assert watched.wait_for("over", look=look)[0] == "over"


def test_one_that_ends_and_has_not_said_it_has_failed(
    process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    watched = Watched(process, tmp_path / "console", "the program")

    def look() -> None:
        end(process)
        raise SilentError("the program does not answer")

    with pytest.raises(FailedError, match="the program ended before the console showed 'done'"):
        watched.wait_for("done", look=look)


def test_silence_alone_is_no_sign_of_life(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    watched = Watched(process, tmp_path / "console", "the program")
    asked = []

    def look() -> None:
        asked.append(True)
        raise SilentError("the program does not answer")

    with pytest.raises(FailedError, match="no sign of life"):
        watched.wait_for("over", patience_s=0, look=look)
    assert asked


def test_what_a_look_finds_wrong_is_raised(
    process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    watched = Watched(process, tmp_path / "console", "the program")

    def look() -> None:
        raise FailedError("a complaint")

    with pytest.raises(FailedError, match="a complaint"):
        watched.wait_for("over", look=look)
