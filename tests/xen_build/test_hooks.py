# SPDX-License-Identifier: BSD-2-Clause
"""The lines that add the scheduler to Xen's source: all or nothing, once, and only there."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.hosts.xen.build import hooks

TOP = Path(__file__).parents[2]


def small_xen(tree: Path) -> Path:
    """A tree that has the places our lines go to, and nothing else."""
    for hook in hooks.HOOKS:
        path = tree / hook.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"/* before */\n{hook.after}{hook.before}/* behind */\n")
    return tree


def contents(tree: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(tree.rglob("*")) if path.is_file()}


def test_every_file_gets_its_lines_and_loses_none(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    before = {hook.file: (tree / hook.file).read_text() for hook in hooks.HOOKS}
    hooks.install(tree, tree)
    for file, text in before.items():
        after = (tree / file).read_text()
        for hook in hooks.HOOKS:
            if hook.file == file:
                place = hook.after + hook.lines + hook.before
                assert after.count(place) == 1
                after = after.replace(place, hook.after + hook.before)
        assert after == text


def test_our_files_are_in_a_folder_of_their_own(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    hooks.install(tree, tree)
    folder = tree / "xen/common/sched/hyperperiod"
    assert (folder / "core/hyperperiod.h").read_bytes() == (TOP / "core/hyperperiod.h").read_bytes()
    assert (folder / "ring.h").read_bytes() == (TOP / "hosts/xen/ring.h").read_bytes()
    public = tree / "xen/include/public/hyperperiod.h"
    assert public.read_bytes() == (TOP / "hosts/xen/public.h").read_bytes()


def test_twice_is_once(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    hooks.install(tree, tree)
    once = contents(tree)
    times = {path: Path(path).stat().st_mtime_ns for path in once}
    hooks.install(tree, tree)
    assert contents(tree) == once
    assert {path: Path(path).stat().st_mtime_ns for path in once} == times, "written needlessly"


def test_a_file_of_ours_that_went_away_goes_there_too(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    hooks.install(tree, tree)
    old = tree / hooks.FOLDER / "core" / "was-here-once.h"
    old.write_text("")
    hooks.install(tree, tree)
    assert not old.exists()


@pytest.mark.parametrize("hook", hooks.HOOKS, ids=lambda hook: hook.lines.split("\n")[0].strip())
def test_a_place_that_is_not_there_stops_everything(tmp_path: Path, hook: hooks.Hook) -> None:
    tree = small_xen(tmp_path)
    path = tree / hook.file
    path.write_text(path.read_text().replace(hook.after + hook.before, "/* other */\n"))
    before = contents(tree)
    done = run_hooks(tree)
    assert done.exit_code == 2
    assert f"{hook.file}: found 0 places" in done.stderr
    assert contents(tree) == before, "half of a change was made"


def test_a_place_that_is_there_twice_stops_everything(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    hook = hooks.HOOKS[0]
    path = tree / hook.file
    path.write_text(path.read_text() * 2)
    done = run_hooks(tree)
    assert done.exit_code == 2
    assert f"{hook.file}: found 2 places" in done.stderr


def test_no_xen_at_all(tmp_path: Path) -> None:
    done = run_hooks(tmp_path)
    assert done.exit_code == 2
    assert "is this Xen?" in done.stderr
    assert done.stderr.startswith(f"error: {tmp_path}: ")


def run_hooks(tree: Path) -> Result:
    return CliRunner().invoke(main, ["xen", "patch", str(tree)])
