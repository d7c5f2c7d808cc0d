# SPDX-License-Identifier: BSD-2-Clause
"""The series of patches: `git am` makes of Xen what is compiled, and nothing is there twice."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support.xen_images import image

from hyperperiod.cli import main
from hyperperiod.hosts.build_job import BuildError
from hyperperiod.hosts.xen.build import patches, source

TOP = Path(__file__).parents[2]
RELEASE = source.VERSION

# Linux's and Xen's custom, so that a log of commits is readable in 80 columns.
MAX_SUBJECT = 72
MAX_BODY = 80


def built_trees() -> tuple[Path, Path]:
    """Xen's source as it came, and as it is compiled."""
    folder = image("arm64").parents[1]
    return folder / "source", folder / "source-hyperperiod"


def git(tree: Path, *arguments: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "test", "GIT_COMMITTER_NAME": "test", "EMAIL": "test@localhost"}
    done = subprocess.run(
        ["git", *arguments],
        cwd=tree,
        env=os.environ | patches.PLAIN_GIT | identity,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_patches(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["xen", "patches", *arguments])


def small_xen(tree: Path) -> Path:
    """The files of Xen that the series changes, and no others."""
    stock, _ = built_trees()
    for patch in patches.series(RELEASE):
        for place in patch.files:
            if (stock / place).is_file():
                (tree / place).parent.mkdir(parents=True, exist_ok=True)
                (tree / place).write_bytes((stock / place).read_bytes())
    return tree


def test_git_am_on_clean_xen_makes_the_tree_that_is_compiled(tmp_path: Path) -> None:
    stock, compiled = built_trees()
    source.mirror(stock, tmp_path / "xen", keep=set())
    tree = tmp_path / "xen"
    git(tree, "init", "-q")
    git(tree, "add", "--force", ".")
    git(tree, "commit", "-q", "-m", "Xen")
    done = run_patches("--out", str(tmp_path / "series"))
    assert done.exit_code == 0
    written = sorted((tmp_path / "series").glob("*.patch"))
    assert done.output.split() == [str(path) for path in written]
    git(tree, "am", "-q", *map(str, written))
    assert git(tree, "status", "--porcelain", "--ignored") == ""
    commits = git(tree, "log", "--format=%s", "--reverse").splitlines()[1:]
    assert commits == [subject(patch) for patch in patches.series(RELEASE)]
    same = subprocess.run(
        ["diff", "-r", "--no-dereference", "--exclude=.git", tree, compiled],
        capture_output=True,
        text=True,
    )
    assert (same.returncode, same.stdout) == (0, "")


@pytest.mark.parametrize("release", patches.releases())
def test_the_schedulers_files_come_from_the_checkout_and_from_nowhere_else(release: str) -> None:
    ours = set(patches.our_files())
    series = patches.series(release)
    generated = [patch for patch in series if patch.files & ours]
    assert [patch.name for patch in generated] == ["0005-scheduler.patch"]
    assert generated[0].files == ours
    assert "--- a/" not in generated[0].text, "it changes a file of Xen"
    files = patches.our_files()
    for folder in ("core", "record", "words"):
        for path in (TOP / folder).rglob("*.h"):
            assert files[patches.FOLDER / path.relative_to(TOP)] == path.read_text()
    for path in (TOP / "hosts/xen").glob("*.[ch]"):
        place = patches.PUBLIC if path.name == "public.h" else patches.FOLDER / path.name
        assert files[place] == path.read_text()


def subject(patch: patches.Patch) -> str:
    found = re.search(r"^Subject: \[PATCH\] (.+(?:\n .+)*)$", patch.text, re.MULTILINE)
    assert found is not None, patch.name
    return found[1].replace("\n", "")


@pytest.mark.parametrize("release", patches.releases())
def test_each_patch_says_what_it_is_and_why(release: str) -> None:
    for number, patch in enumerate(patches.series(release), 1):
        assert patch.name.startswith(f"{number:04}-"), "a number is missing"
        assert len(subject(patch)) <= MAX_SUBJECT, patch.name
        assert re.match(r"[a-z/]+: .*[^.]$", subject(patch)), patch.name
        body = patch.text.split("\n\n", 1)[1].split("\n---\n", 1)[0].splitlines()
        assert len(body) >= 4, f"{patch.name} does not say why"
        assert max(map(len, body)) <= MAX_BODY, patch.name


def test_a_patch_may_find_its_lines_elsewhere(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    plain = patches.patched_files(tree, RELEASE)
    core = tree / "xen/common/sched/core.c"
    core.write_text("/* a line more */\n" + core.read_text())
    moved = patches.patched_files(tree, RELEASE)
    assert moved.pop(Path("xen/common/sched/core.c")) == (
        "/* a line more */\n" + plain.pop(Path("xen/common/sched/core.c"))
    )
    assert moved == plain


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(tree.rglob("*")) if path.is_file()}


def test_a_line_of_context_that_is_another_is_refused(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    core = tree / "xen/common/sched/core.c"
    text = core.read_text()
    core.write_text(text.replace("    domain_pause(d);\n\n    old_domdata", "\n    old_domdata"))
    assert core.read_text() != text
    before = contents(tree)
    with pytest.raises(BuildError, match=r"0003-\S+ does not apply") as caught:
        patches.patched_files(tree, RELEASE)
    assert caught.value.code == 2
    assert "xen/common/sched/core.c" in str(caught.value)
    assert f"allowed: Xen {RELEASE}, without the series" in str(caught.value)
    assert contents(tree) == before


def test_a_tree_that_has_the_series_is_refused(tmp_path: Path) -> None:
    tree = small_xen(tmp_path)
    source.write(patches.patched_files(tree, RELEASE), tree)
    with pytest.raises(BuildError, match=r"0001-\S+ does not apply"):
        patches.patched_files(tree, RELEASE)


def test_the_users_git_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither settings nor a repository around change what is applied."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "inside"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / ".gitconfig").write_text("[core]\n\tautocrlf = true\n[apply]\n\twhitespace = fix\n")
    (tmp_path / "inside").mkdir()
    git(tmp_path, "init", "-q")
    tree = small_xen(tmp_path / "xen")
    _, compiled = built_trees()
    for place, text in patches.patched_files(tree, RELEASE).items():
        assert (compiled / place).read_text() == text


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    texts = {Path("a/b"): "one\n", Path("c"): "two\n"}
    source.write(texts, tmp_path)
    times = {place: (tmp_path / place).stat().st_mtime_ns for place in texts}
    texts[Path("c")] = "three\n"
    source.write(texts, tmp_path)
    assert (tmp_path / "a/b").stat().st_mtime_ns == times[Path("a/b")]
    assert (tmp_path / "c").read_text() == "three\n"


def test_the_series_is_written_again_over_itself(tmp_path: Path) -> None:
    first = run_patches("--out", str(tmp_path / "out"))
    once = contents(tmp_path / "out")
    again = run_patches("--out", str(tmp_path / "out"))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert contents(tmp_path / "out") == once
    assert set(once) == set(first.output.split())


def test_other_patches_in_the_folder_are_not_mixed_with_ours(tmp_path: Path) -> None:
    (tmp_path / "0007-mine.patch").write_text("")
    done = run_patches("--out", str(tmp_path))
    assert done.exit_code == 2
    assert "found 0007-mine.patch, which is not of this series" in done.stderr
    assert contents(tmp_path) == {str(tmp_path / "0007-mine.patch"): b""}


def test_a_release_that_we_have_no_series_for(tmp_path: Path) -> None:
    done = run_patches("--out", str(tmp_path), "--release", "4.17")
    assert done.exit_code == 2
    assert f"found 4.17; allowed: {RELEASE}" in done.stderr
