# SPDX-License-Identifier: BSD-2-Clause
"""A folder of exported files, which appears whole or not at all, also on a disk that is full.

The files are written into a new folder beside the target, which then takes its name. A target that
is there already must be empty, or hold an earlier export and nothing else: that one is replaced.
The list of its files in `export.json` says what belongs to an export.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from hyperperiod.model import InputError
from hyperperiod.whole_file import unwritable

MANIFEST = "export.json"
KEY = "--out"
ALLOWED = "a new folder, an empty one, or one with an earlier export and nothing else"


def write_folder(target: Path, files: Mapping[str, str | bytes | Path], about: object) -> bool:
    """Write `files` (text, bytes, or a file to copy) below `target`; whether one was replaced.

    A text that begins with `#!` becomes executable. `about` goes into the manifest.
    """
    replaced = _check(target)
    try:
        with made_folder(target.parent):
            draft = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
            try:
                _fill(draft, files, about)
                _take_place(draft, target)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise unwritable(str(target), KEY, error, ALLOWED) from None
    return replaced


@contextlib.contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """The folder, and those above it, for the block; of those made here none is left empty."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for one in made:
            with contextlib.suppress(OSError):
                one.rmdir()


def _take_place(draft: Path, target: Path) -> None:
    """The draft takes the name of the target, in place of an earlier export."""
    if not target.exists():
        draft.rename(target)
        return
    old = draft.with_name(f"{draft.name}.old")
    target.rename(old)
    draft.rename(target)
    shutil.rmtree(old)


def _check(target: Path) -> bool:
    """InputError unless the target may be written; whether it holds an earlier export."""
    if not target.exists() and not target.is_symlink():
        return False
    if not target.is_dir() or target.is_symlink():
        raise InputError(str(target), None, KEY, "something that is no folder", ALLOWED)
    present = {str(path.relative_to(target)) for path in target.rglob("*") if not path.is_dir()}
    if not present:
        return False
    if MANIFEST not in present:
        raise InputError(str(target), None, KEY, "a folder with other files", ALLOWED)
    foreign = sorted(present - _listed(target / MANIFEST))
    if foreign:
        raise InputError(str(target), None, KEY, f"{foreign[0]} beside an export", ALLOWED)
    return True


def _listed(manifest: Path) -> set[str]:
    """The names of the files that an earlier export left in the folder."""
    try:
        found = json.loads(manifest.read_text())["files"]
        return {MANIFEST, *map(str, found)}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(str(manifest), None, KEY, "a list that is none of ours", ALLOWED) from None


def _fill(folder: Path, files: Mapping[str, str | bytes | Path], about: object) -> None:
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)
    manifest = json.dumps({"about": about, "files": sorted(files)}, indent=2) + "\n"
    for name, content in {**files, MANIFEST: manifest}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        if isinstance(content, str) and content.startswith("#!"):
            path.chmod(0o777 & ~mask)
