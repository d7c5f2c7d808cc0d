# SPDX-License-Identifier: BSD-2-Clause
"""What `tools/bare_machine` refuses, and what it says of a machine that cannot make one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "bare_machine"
PROGRAMS = ("bash", "cat", "date", "dirname", "id", "mkdir", "realpath")


def run(*arguments: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    command = [bash, str(SCRIPT), *arguments]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "found 0 commands; allowed: one"),
        (("a", "b"), "found 2 commands; allowed: one"),
        (("--suite", "sid", "true"), "--suite: found sid; allowed: bookworm, trixie"),
        (("--suite",), "--suite: found nothing; allowed: bookworm, trixie"),
        (("--fast", "true"), "found --fast; allowed: --suite"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_elsewhere_it_says_what_it_lacks(tmp_path: Path) -> None:
    for name in PROGRAMS:
        program = shutil.which(name)
        assert program is not None
        (tmp_path / name).symlink_to(program)
    (tmp_path / "id").unlink()
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    done = run("true", path=str(tmp_path))
    assert done.returncode == 3
    assert "made by root: sudo tools/bare_machine" in done.stderr

    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    done = run("true", path=str(tmp_path))
    assert done.returncode == 3
    assert "apt-get: not found" in done.stderr

    (tmp_path / "apt-get").symlink_to("/bin/true")
    done = run("true", path=str(tmp_path))
    assert done.returncode == 3
    assert "apt-get install -y mmdebstrap" in done.stderr
