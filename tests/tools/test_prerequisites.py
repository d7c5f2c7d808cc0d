# SPDX-License-Identifier: BSD-2-Clause
"""What a machine lacks is named, with the command that installs it, and the exit code is 3."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "prerequisites"
PROGRAMS = ("bash", "basename", "id", "gcc", "g++", "flock")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of programs that is the whole PATH: complete, until a test takes one away."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        (tmp_path / name).symlink_to(path)
    # An interpreter in an environment knows its base; the base has the headers and ensurepip.
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    return tmp_path


def check(machine: Path, *what: str) -> subprocess.CompletedProcess[str]:
    """`tools/prerequisites check python3` with nothing but this machine's programs."""
    return subprocess.run(
        [machine / "bash", SCRIPT, "check", "python3", *what],
        env={"PATH": str(machine)},
        capture_output=True,
        text=True,
    )


def test_complete_machine_passes(machine: Path) -> None:
    done = check(machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_missing_compiler_is_named(machine: Path) -> None:
    (machine / "g++").unlink()
    done = check(machine)
    assert done.returncode == 3
    assert "apt-get install -y g++" in done.stderr


def test_missing_python_is_named(machine: Path) -> None:
    (machine / "python3").unlink()
    done = check(machine)
    assert done.returncode == 3
    assert "apt-get install -y python3 python3-venv python3-dev" in done.stderr


def test_missing_venv_and_headers_are_named(machine: Path) -> None:
    # Debian's python3 alone: it says its version, and nothing else works.
    (machine / "python3").write_text(
        '#!/bin/sh\ncase "$*" in *version_info*) exit 0;; esac\nexit 1\n'
    )
    done = check(machine)
    assert done.returncode == 3
    assert "apt-get install -y python3-venv python3-dev" in done.stderr


def test_old_python_is_refused(machine: Path) -> None:
    (machine / "python3").write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.10.12\nexit 1\n')
    done = check(machine)
    assert done.returncode == 3
    assert "3.11 or newer is needed; python3 is Python 3.10.12" in done.stderr


def test_what_xen_needs_is_asked_for_only_with_xen(machine: Path) -> None:
    done = check(machine, "xen")
    assert done.returncode == 3
    assert "qemu-system-arm device-tree-compiler gcc-aarch64-linux-gnu" in done.stderr
    assert check(machine).returncode == 0


def test_what_the_playground_needs_is_named(machine: Path) -> None:
    done = check(machine, "wasm")
    assert done.returncode == 3
    assert "apt-get install -y clang-19 lld-19 libc++-19-dev-wasm32" in done.stderr


def test_without_a_machine_to_boot_the_demo_ends_well(machine: Path) -> None:
    done = subprocess.run(
        [machine / "bash", "tools/demo_on_xen", "python3", "none.toml", "none.html"],
        cwd=SCRIPT.parents[1],
        env={"PATH": str(machine)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "qemu-system-arm" in done.stderr
    assert done.stdout == "Without that the demo ends here; everything else works.\n"
