# SPDX-License-Identifier: BSD-2-Clause
"""A folder of exported files, which appears whole or not at all.

The files are written into a new folder beside the target, which then takes its name. A target that
is there already must be empty, or hold an earlier export and nothing else: that one is replaced.
The list of its files in `export.json` says what belongs to an export.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hyperperiod.model import InputError

MANIFEST = "export.json"
KEY = "--out"
ALLOWED = "a new folder, an empty one, or one with an earlier export and nothing else"


def write_folder(target: Path, files: Mapping[str, str | bytes | Path], about: object) -> bool:
    """Write `files` (text, bytes, or a file to copy) below `target`; whether one was replaced.

    A text that begins with `#!` becomes executable. `about` goes into the manifest.
    """
    replaced = _check(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
    except OSError as error:
        raise _unwritable(target, error) from None
    try:
        _fill(draft, files, about)
        if target.exists():
            old = draft.with_name(f"{draft.name}.old")
            target.rename(old)
            draft.rename(target)
            shutil.rmtree(old)
        else:
            draft.rename(target)
    except OSError as error:
        raise _unwritable(target, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return replaced


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
    """The files of an earlier export."""
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


def _unwritable(target: Path, error: OSError) -> InputError:
    reason = (error.strerror or "an unwritable place").lower()
    return InputError(str(target), None, KEY, reason, ALLOWED)
