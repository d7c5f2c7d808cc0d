# SPDX-License-Identifier: BSD-2-Clause
"""The Makefile's own rules: areas of tests, checks that go on, copied checkouts, quick tests first.

Builds are of a checkout with the real Makefile and stand-ins for what it calls: what matters is
which of them run where.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
STANDS_IN = "#!/bin/sh\n"
# What uv does here: the environment's programs are made for the folder in which it runs.
UV = """#!/bin/sh
[ "$1" = sync ] || exit 0
mkdir -p .venv/bin
for name in python hyperperiod ruff mypy deptry; do
  printf '#!/bin/sh\\necho "%s: %s $*"\\n' "$PWD" "$name" > ".venv/bin/$name"
  chmod +x ".venv/bin/$name"
done
"""
GET_UV = '#!/bin/sh\nmkdir -p "$2/bin" && cp tools/uv "$2/bin/uv"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that builds in a moment."""
    top = tmp_path / "checkout"
    (top / "tools").mkdir(parents=True)
    (top / "src" / "hyperperiod").mkdir(parents=True)
    for name in (
        "core",
        "hosts/sim",
        "src/hyperperiod/model/rules",
        "src/hyperperiod/analysis/kernels",
    ):
        (top / name).mkdir(parents=True)
    for name in ("Makefile", "tools/step"):
        shutil.copy(TOP / name, top / name)
    for name in ("uv.lock", "pyproject.toml", "CMakeLists.txt", "tools/uv.txt"):
        (top / name).touch()
    programs = {"uv": UV, "get_uv": GET_UV, "prerequisites": STANDS_IN, "clang_format": STANDS_IN}
    for name, text in programs.items():
        (top / "tools" / name).write_text(text)
        (top / "tools" / name).chmod(0o755)
    return top


def make(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `make` does there, apart from the make that runs these tests."""
    return subprocess.run(
        ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "--no-print-directory", *arguments],
        cwd=top,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_copied_checkout_does_not_run_the_original(checkout: Path) -> None:
    assert make(checkout, "build").returncode == 0
    copy = checkout.with_name("copy")
    shutil.copytree(checkout, copy, copy_function=shutil.copy2, symlinks=True)
    assert make(copy, "build").returncode == 0
    said = subprocess.run([copy / ".venv/bin/hyperperiod"], capture_output=True, text=True)
    assert said.stdout.startswith(f"{copy}: ")


def test_a_second_build_does_nothing(checkout: Path) -> None:
    assert "native modules" in make(checkout, "build").stdout
    again = make(checkout, "build")
    assert (again.returncode, again.stdout) == (0, "")


def test_checks_go_on_after_one_that_fails(checkout: Path) -> None:
    assert make(checkout, "build").returncode == 0
    (checkout / ".venv/bin/mypy").write_text("#!/bin/sh\nexit 1\n")
    done = make(checkout, "check", "JOBS=1")
    assert done.returncode == 2
    assert "mypy: failed (exit code 1)" in done.stdout
    for name in ("clang-format", "ruff", "layers", "core", "files", "lock file", "imports"):
        assert f"== {name}: done" in done.stdout


def test_an_area_is_its_folders(checkout: Path) -> None:
    done = make(checkout, "test", "AREA=sim", "OPTIONS=-k one")
    assert done.returncode == 0
    assert "python -m pytest" in done.stdout
    assert "tests/sim tests/integration -k one\n" in done.stdout


def test_an_unknown_area_is_refused_with_those_there_are(checkout: Path) -> None:
    done = make(checkout, "test", "AREA=scheduler")
    assert done.returncode == 2
    assert "AREA is scheduler, and not among: core sim analysis" in done.stderr
    assert not (checkout / ".venv").exists()


def test_every_test_is_in_one_area(checkout: Path) -> None:
    (checkout / "Makefile").write_text(
        (TOP / "Makefile").read_text() + "\nfolders:\n\t@echo $(TEST_FOLDERS)\n"
    )
    areas = make(checkout, "folders", "AREA=$(AREAS)").stdout.split()
    folders = {file.relative_to(TOP).parts[1] for file in TOP.glob("tests/*/test_*.py")}
    assert sorted(areas) == sorted(f"tests/{name}" for name in folders)


def test_quick_tests_come_first(tmp_path: Path) -> None:
    shutil.copy(TOP / "tests" / "conftest.py", tmp_path)
    for name in ("guests", "xen", "zebra", "analysis", "package"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text("def test_b(): ...\ndef test_a(): ...\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "--rootdir=.",
            "-c/dev/null",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = [line for line in done.stdout.splitlines() if "::" in line]
    order = ("analysis", "zebra", "package", "guests", "xen")
    expected = [f"{name}/test_{name}.py::test_{case}" for name in order for case in "ba"]
    assert listed == expected
