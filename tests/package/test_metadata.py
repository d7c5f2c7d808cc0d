# SPDX-License-Identifier: BSD-2-Clause
"""What PyPI, archives and citations say of the package."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
from tests.package.installed import TOP

from hyperperiod.version import VERSION

BUILD = "import scikit_build_core.build as b, sys; b.build_sdist(sys.argv[1])"


def test_the_version_is_the_same_everywhere() -> None:
    assert metadata("hyperperiod")["Version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (TOP / "CITATION.cff").read_text()


def test_links_and_pictures_of_the_description_lead_somewhere() -> None:
    """PyPI shows the README without the repository around it."""
    text = metadata("hyperperiod")["Description"]
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    assert targets
    relative = [
        one for pair in targets for one in pair if one and not one.startswith(("http", "#"))
    ]
    assert not relative
    pictures = re.findall(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/v[^/]+/([^)\"]+)", text)
    assert pictures
    assert all((TOP / picture).is_file() for picture in pictures)


def test_the_sources_are_all_there(tmp_path: Path) -> None:
    """From the source distribution all can be built and tested."""
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listing = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git repository")
    files = {name for name in listing.stdout.split("\0") if name and (TOP / name).is_file()}
    # Built from a copy, because the backend looks into all folders that are there.
    for name in files:
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / "copy" / name)
    build = [sys.executable, "-c", BUILD, str(tmp_path)]
    subprocess.run(build, cwd=tmp_path / "copy", check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {name for name in files - names if not name.startswith(".ci/")} == set()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that looks ready for a release of version 1.2.3."""
    for name, text in {
        "tools/release": (TOP / "tools" / "release").read_text(),
        "src/hyperperiod/version.py": 'VERSION = "1.2.3"\n',
        "CITATION.cff": "version: 1.2.3\n",
        "CHANGELOG.md": "## [1.2.3] - 2026-01-31\n",
        "Makefile": "%:\n\t@echo made $@\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    somebody = {
        "GIT_COMMITTER_NAME": "somebody",
        "GIT_COMMITTER_EMAIL": "somebody@example.org",
    }
    # Nothing of a make around this one: it would say more, and pass its flags on.
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        ["bash", "tools/release", *arguments],
        cwd=folder,
        env=kept | somebody,
        capture_output=True,
        text=True,
    )


def test_a_release_checks_builds_and_tags(repository: Path) -> None:
    done = release(repository, "1.2.3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["made check", "made test", "made wheels"]
    assert git(repository, "tag") == "v1.2.3\n"


@pytest.mark.parametrize("broken", ["check", "test", "wheels"])
def test_what_fails_is_not_tagged(repository: Path, broken: str) -> None:
    (repository / "Makefile").write_text(f"%:\n\t@true\n{broken}:\n\t@false\n")
    commit(repository)
    assert release(repository, "1.2.3").returncode != 0
    assert git(repository, "tag") == ""


@pytest.mark.parametrize(
    ("version", "file", "message"),
    [
        ("", "", "VERSION: found ''"),
        ("1.2", "", "VERSION: found '1.2'"),
        ("1.2.4", "", "src/hyperperiod/version.py: found no line for 1.2.4"),
        ("1.2.3", "CITATION.cff", "CITATION.cff: found no line for 1.2.3"),
        ("1.2.3", "CHANGELOG.md", "CHANGELOG.md: found no line for 1.2.3"),
        ("1.2.3", "new", "found changes that are not committed"),
    ],
)
def test_what_is_not_ready_is_refused(
    repository: Path, version: str, file: str, message: str
) -> None:
    if file:
        (repository / file).write_text("other\n")
    done = release(repository, version)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")
    assert git(repository, "tag") == ""


def test_a_version_is_released_once(repository: Path) -> None:
    assert release(repository, "1.2.3").returncode == 0
    done = release(repository, "1.2.3")
    assert done.returncode == 2
    assert "found a tag v1.2.3" in done.stderr
