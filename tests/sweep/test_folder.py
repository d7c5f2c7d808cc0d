# SPDX-License-Identifier: BSD-2-Clause
"""Whatever ends a sweep, the same command ends it well: no row is lost, none is there twice."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.sweep.sweeps import MANY, SMALL, command, files_of, rows_of, swept, written

from hyperperiod.experiments.sweep.folder import DRAFT

PATIENCE_S = 60


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the sweep that nothing disturbs."""
    folder = tmp_path_factory.mktemp("reference")
    assert swept(written(folder, MANY), folder / "out").returncode == 0
    return files_of(folder / "out")


def begun(folder: Path) -> subprocess.Popen[str]:
    """A sweep of which some parts are done, and others are not."""
    process = subprocess.Popen(
        command(written(folder, MANY), folder / "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up = time.monotonic() + PATIENCE_S
    while not (folder / "out/systems/part-00002.parquet").exists():
        assert time.monotonic() < give_up
        assert process.poll() is None
        time.sleep(0.002)
    return process


def finish(folder: Path, reference: dict[str, bytes]) -> None:
    """The same command goes on: what was done is left alone, and all is as if nothing had been."""
    sealed = {path.name: path.stat() for path in (folder / "out/systems").glob("part-*")}
    assert 0 < len(sealed) < 100
    done = swept(folder / "sweep.toml", folder / "out")
    assert done.returncode == 0, done.stderr
    assert files_of(folder / "out") == reference
    for name, before in sealed.items():
        after = (folder / "out/systems" / name).stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    found = Counter((row["point"], row["system"]) for row in rows_of(folder / "out", "systems"))
    assert found == Counter((0, number) for number in range(1600))
    assert list(folder.glob(f"out/*/{DRAFT}*")) == []


def test_a_killed_sweep_goes_on(tmp_path: Path, reference: dict[str, bytes]) -> None:
    process = begun(tmp_path)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    finish(tmp_path, reference)


def test_ctrl_c_leaves_valid_results(tmp_path: Path, reference: dict[str, bytes]) -> None:
    process = begun(tmp_path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert "the same command goes on" in out
    finish(tmp_path, reference)


def test_a_full_disk_says_so(tmp_path: Path, reference: dict[str, bytes]) -> None:
    """The largest file that is to be written is too large by a byte, and all before it are not."""
    limit = max(len(data) for name, data in reference.items() if name.startswith("tasks")) - 1

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        command(written(tmp_path, MANY), tmp_path / "out"),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=full,
    )
    assert done.returncode == 3
    assert "tasks/part-" in done.stderr
    assert "file too large" in done.stderr
    finish(tmp_path, reference)


def test_files_without_their_seal_do_not_count(tmp_path: Path, reference: dict[str, bytes]) -> None:
    """What a crash between two files of a part leaves is written again, and drafts go."""
    assert swept(written(tmp_path, MANY), tmp_path / "out").returncode == 0
    (tmp_path / "out/systems/part-00007.parquet").unlink()
    (tmp_path / "out/tasks/part-00007.parquet").write_bytes(b"half")
    (tmp_path / f"out/tasks/{DRAFT}part-00007.parquet").write_bytes(b"a quarter")
    finish(tmp_path, reference)


def test_a_finished_sweep_does_nothing_again(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    first, again = (swept(path, tmp_path / "out", "--json") for _ in range(2))
    assert first.returncode == again.returncode == 0
    assert first.stdout == again.stdout


def test_another_experiment_is_refused(tmp_path: Path) -> None:
    swept(written(tmp_path, SMALL), tmp_path / "out")
    other = written(tmp_path, SMALL.replace("systems = 8", "systems = 9"), "other.toml")
    before = files_of(tmp_path / "out")
    done = swept(other, tmp_path / "out")
    assert done.returncode == 2
    assert "another experiment" in done.stderr
    assert files_of(tmp_path / "out") == before


def test_a_folder_without_rows_is_for_whoever_comes(tmp_path: Path) -> None:
    """What a sweep has left behind that did no part is gone, and all is as in a new folder."""
    swept(written(tmp_path, SMALL), tmp_path / "new")
    other = SMALL.replace("systems = 8", "systems = 9")
    swept(written(tmp_path, other, "other.toml"), tmp_path / "out")
    for part in (tmp_path / "out/systems").iterdir():
        part.unlink()
    (tmp_path / "out/tasks/part-00099.parquet").write_bytes(b"half")
    done = swept(tmp_path / "sweep.toml", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files_of(tmp_path / "out") == files_of(tmp_path / "new")
    for name in ("sweep.json", "report.html"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "new" / name).read_text()


def test_a_description_that_is_no_sweeps_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out/tasks").mkdir(parents=True)
    kept = {"sweep.json": "[1]", "tasks/part-1.parquet": "mine"}
    for name, text in kept.items():
        (tmp_path / "out" / name).write_text(text)
    done = swept(written(tmp_path, SMALL), tmp_path / "out")
    assert done.returncode == 2
    assert {name: (tmp_path / "out" / name).read_text() for name in kept} == kept


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/letter.txt").write_text("dear")
    done = swept(written(tmp_path, SMALL), tmp_path / "out")
    assert done.returncode == 2
    assert "other files" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["letter.txt"]
    file = swept(tmp_path / "sweep.toml", tmp_path / "out/letter.txt")
    assert file.returncode == 2
    assert "letter.txt: --out: found a file; allowed: a folder to write to" in file.stderr


@pytest.mark.parametrize("place", ["sweep.toml/out", "/proc/nowhere/out"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, place: str) -> None:
    done = swept(written(tmp_path, SMALL), tmp_path / place)
    assert done.returncode == 2
    assert f"{place}: --out: found no" in done.stderr
    assert done.stderr.endswith("allowed: a folder to write to\n")


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    process = begun(tmp_path)
    process.send_signal(signal.SIGSTOP)  # else it may be done before the other one looks
    done = swept(tmp_path / "sweep.toml", tmp_path / "out")
    process.kill()
    process.communicate()
    assert done.returncode == 2
    assert "under way" in done.stderr
