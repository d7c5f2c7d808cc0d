# SPDX-License-Identifier: BSD-2-Clause
"""`make wheels` builds what it can and says what it left out; a release is whole or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import build_checker, make_wheels

TOP = Path(__file__).parents[2]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The wheels built on a machine that has Python 3.11 and no later one."""
    made: list[tuple[str, str]] = []
    monkeypatch.setattr(make_wheels, "TOP", tmp_path)
    monkeypatch.setattr(make_wheels, "DIST", tmp_path / "dist")

    def environment(name: str, _version: str) -> Path | None:
        return tmp_path / "bin" if name == "3.11" else None

    def wheel(name: str, _folder: Path, arch: str) -> None:
        made.append((name, arch))
        make_wheels.DIST.mkdir(exist_ok=True)
        (make_wheels.DIST / f"{name}-{arch}.whl").touch()

    monkeypatch.setattr(make_wheels, "environment", environment)
    monkeypatch.setattr(make_wheels, "wheel", wheel)
    monkeypatch.setattr(make_wheels, "run", lambda *_words, **_environment: "")
    monkeypatch.setattr(build_checker, "missing", lambda: None)
    monkeypatch.setattr(make_wheels, "playground", lambda: tmp_path / "playground.html")
    return made


def test_with_one_python_its_wheels_are_built(
    built: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["make_wheels.py"])
    assert make_wheels.main() == 0
    assert built == [("3.11", "x86_64"), ("3.11", "aarch64")]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "left out, and needed for a release: wheels for CPython, stable ABI (no Python >=3.12)"
    )


def test_without_coq_the_checker_is_left_out(
    built: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(build_checker, "missing", lambda: "coqc")
    monkeypatch.setattr("sys.argv", ["make_wheels.py"])
    assert make_wheels.main() == 0
    assert built
    assert "the checker of certificates (no coqc: sudo apt-get" in capsys.readouterr().out


def test_without_its_compiler_the_playground_is_left_out(
    built: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(make_wheels, "playground", lambda: None)
    monkeypatch.setattr("sys.argv", ["make_wheels.py"])
    assert make_wheels.main() == 0
    assert built
    assert "the playground (make playground names what is missing)" in capsys.readouterr().out


def test_a_release_needs_all_of_them(
    built: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["make_wheels.py", "--all"])
    assert make_wheels.main() == make_wheels.LACKS
    assert not built
    assert "stable ABI (no Python >=3.12)" in capsys.readouterr().err
    assert "make wheels ALL=1\n" in (TOP / "tools" / "release").read_text()
